"""Tables as text: at any width, nothing of the data is lost."""

import csv
import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core import text_tables
from target_bench.core.text_tables import (
    Column,
    TextTable,
    csv_text,
    has_colours,
    lines,
    text,
    wrap_sentence,
)

WIDTHS = (40, 60, 80, 100, 200, None)

NAMES = st.text('abcxyz0189:=,[]"-_.表', min_size=1, max_size=70)
SENTENCES = st.lists(st.text("abc,.-é", min_size=1, max_size=12), min_size=1, max_size=30)


@st.composite
def tables(draw: st.DrawFn) -> TextTable:
    """Tables of names, figures with intervals below them, and sentences."""
    columns = [
        Column("\n".join(draw(st.lists(NAMES, min_size=1, max_size=2))), right=right)
        for right in draw(st.lists(st.booleans(), min_size=1, max_size=8))
    ]
    sentences = SENTENCES.map(" ".join)
    figures = st.lists(NAMES, max_size=2).map("\n".join)
    rows = st.tuples(*(figures if column.right else sentences for column in columns))
    return TextTable(columns, draw(st.lists(rows, max_size=5)))


@given(tables(), st.sampled_from(WIDTHS))
def test_no_word_of_a_cell_is_lost(table: TextTable, width: int | None) -> None:
    printed = "\n".join(lines(table, width))
    words = re.findall(r"[^\s,]+,*|,+", " ".join(cell for row in table.rows for cell in row))
    assert [word for word in words if word not in printed] == []


TABLE = TextTable(
    [Column("run"), Column("score\n[95%]", right=True), Column("what it is")],
    [
        ["bm25", "0.988\n[.973, .998]", "Words that are rare count more than words that are not."],
        ["tfidf", "–", "Cosine."],
    ],
    "recall@10",
)


FIGURES = TextTable(
    [Column("run"), *(Column(name, right=True) for name in ("R@1", "R@10", "MRR", "MAP"))],
    [["bm25", "0.797", "0.988", "0.870", "0.850"]],
)


def test_the_first_layout_that_fits() -> None:
    assert text([TABLE]) == (
        "recall@10\n"
        "\n"
        " run    score [95%]         what it is\n"
        f" {'─' * 82}\n"
        " bm25   0.988 [.973, .998]  Words that are rare count more than words that are not.\n"
        " tfidf      –               Cosine."
    )
    assert lines(TABLE, 60)[2:4] == [
        " bm25   0.988 [.973, .998]  Words that are rare count more",
        "                            than words that are not.",
    ]
    assert lines(FIGURES, 27) == [
        " run     R@1   R@10    MRR",
        " " + "─" * 25,
        " bm25  0.797  0.988  0.870",
        "",
        " run     MAP",
        " " + "─" * 11,
        " bm25  0.850",
    ], "what is too wide stands below, with the names of the rows"
    assert lines(TABLE, 38) == [
        "               score",
        " run           [95%]  what it is",
        " " + "─" * 37,
        " bm25          0.988  Words that are",
        "        [.973, .998]  rare count more",
        "                      than words that",
        "                      are not.",
        " tfidf             –  Cosine.",
    ]
    long = TextTable([Column("run")], [["bm25:fields=[title,header],stopwords=en,stemmer=none"]])
    assert lines(long, 30)[2:] == [" bm25:fields=[title,header],", " stopwords=en,stemmer=none"]


def test_control_characters_move_no_cursor() -> None:
    assert lines(TextTable([Column("a")], [["x\x1b[2Jy\rz"]]))[-1] == r" x\x1b[2Jy\rz"


def test_an_output_that_encodes_ascii_only(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", out := io.TextIOWrapper(raw, "ascii", newline="\n"))
    text_tables.print_tables(TextTable([Column("é")], [["1–2"]]))
    out.flush()
    assert raw.getvalue() == b" \\xe9\n ---\n 1-2\n"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_colours_need_a_terminal_that_has_them(
    variables: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "LINES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"COLUMNS": "72", **variables}.items():
        monkeypatch.setenv(name, value)
    assert (has_colours(), text_tables.terminal_width()) == (False, None), "not a terminal"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert has_colours() is expected
    assert text_tables.terminal_width() == (80 if variables["TERM"] == "dumb" else 72)


def test_sentences_are_wrapped_between_words() -> None:
    """By the columns that they take: a wide character takes two."""
    assert wrap_sentence("日本語の 長い 文章", 10, "  ") == ["日本語の", "  長い", "  文章"]
    sentence = "  two  words of-hyphens/and.paths"
    assert wrap_sentence(sentence, 14, "  ") == ["  two  words", "  of-hyphens/and.paths"]


def test_formulas_in_csv_stay_text() -> None:
    """A spreadsheet runs what begins so; numbers, also as text, stay as they are."""
    hostile = ["=1+1", "@SUM(1+1)", "+1+cmd|' /C calc'!A0", "-2+3", "\t=1", " =1", "\uff1d1"]
    harmless = ["-0.5", "+1e3", "a=b", "–", "", "x-1"]
    records = [{"id": text, "n": -0.5} for text in [*hostile, *harmless]]
    rows = list(csv.reader(csv_text([*records, {"=name": None}]).splitlines()))
    assert rows[0] == ["id", "n", "'=name"]
    assert [row[0] for row in rows[1:-1]] == [f"'{text}" for text in hostile] + harmless
    assert {row[1] for row in rows[1:-1]} == {"-0.5"}
