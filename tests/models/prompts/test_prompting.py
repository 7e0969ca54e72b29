"""Prompts: what a file may hold, how tables are fitted in, and what the record says of it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError
from target_bench.core.prompt_writer import CHARACTERS_PER_TOKEN
from target_bench.core.registry import make_task
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Cell, Format, Query, Table, TableId
from target_bench.data.table_text import Serializer
from target_bench.models.prompts.prompting import Prompt, Prompter, load_prompt

FORMATS: tuple[Format, ...] = get_args(Format)
TASKS = ("question_answering", "fact_verification", "text_to_sql")
PROMPT = Prompt.load("question_answering")
OWN = {
    "system": "Be brief.",
    "user": "{{ tables }}\n{{ query }}",
    "no_context_system": "Guess.",
    "no_context_user": "{{ query }}",
}


def table(n_rows: int, name: str = "t", **context: Any) -> Table:
    rows: list[list[Cell]] = [[f"row {i} of {name}", i] for i in range(n_rows)]
    return Table(TableId("0", name), ["Name", "Points"], rows, context)


def prompter(budget: int = 8000, format: Format = "markdown") -> Prompter:
    return Prompter("question_answering", replace(PROMPT, tokens=budget), format)


def written(number: int, whole: Table, n_rows: int, format: Format) -> str:
    """A table as it should stand in a prompt."""
    kept = Table(whole.id, whole.header, whole.rows[:n_rows], whole.context)
    text = Serializer(("title", "section", "keys", "header", "rows"), format)(kept)
    left_out = len(whole.rows) - n_rows
    marker = f"\n[{left_out} of {len(whole.rows)} rows left out]" if left_out else ""
    return f"Table {number}:\n{text}{marker}"


def expected_text(tables: Sequence[Table], rows: Sequence[int], format: Format) -> str:
    """The text that shows so many rows of each table."""
    shown = zip(tables, rows, strict=True)
    blocks = [
        written(number, whole, n, format)
        for number, (whole, n) in enumerate(shown, start=1)
        if n >= 0
    ]
    if missing := list(rows).count(-1):
        blocks.append(f"[{missing} of {len(tables)} tables left out: no room]")
    return "\n\n".join(blocks)


def most_rows(tables: Sequence[Table], budget: int, format: Format) -> tuple[int, ...]:
    """How many rows fit, by trying every number."""
    left = budget * CHARACTERS_PER_TOKEN
    rows = []
    for number, whole in enumerate(tables, start=1):
        sizes = [(len(written(number, whole, n, format)), n) for n in range(len(whole.rows) + 1)]
        size, shown = max(
            ((s, n) for s, n in sizes if s <= left), key=lambda x: x[1], default=(0, -1)
        )
        rows.append(shown)
        left -= size + 2 if shown >= 0 else 0
    return tuple(rows)


cell = st.text(max_size=9) | st.integers(-999, 10**6) | st.none() | st.binary(max_size=3)


@st.composite
def tables(draw: st.DrawFn) -> list[Table]:
    """A few tables, some without rows, some with long headers."""
    drawn = []
    for number in range(draw(st.integers(1, 4))):
        header = draw(st.lists(st.text(max_size=20), min_size=1, max_size=3))
        row = st.lists(cell, min_size=len(header), max_size=len(header))
        rows = draw(st.lists(row, max_size=25))
        context = draw(st.fixed_dictionaries({}, optional={"title": st.text(max_size=30)}))
        drawn.append(Table(TableId("0", str(number)), header, rows, context))
    return drawn


@given(tables(), st.integers(1, 200), st.sampled_from(FORMATS))
@settings(max_examples=60, deadline=None)
def test_fitting(drawn: list[Table], budget: int, format: Format) -> None:
    """Every table is accounted for, in order, within the budget, with as many rows as fit."""
    text, rows = prompter(budget, format).fit_tables(drawn)
    assert rows == most_rows(drawn, budget, format)
    assert text == expected_text(drawn, rows, format)
    marker = "tables left out: no room]"
    body = text.rpartition("[")[0] if text.endswith(marker) else text
    assert len(body.removesuffix("\n\n")) <= budget * CHARACTERS_PER_TOKEN


def test_the_note_on_what_is_left_out_needs_room_too() -> None:
    for budget in range(1, 120):
        text, rows = prompter(budget).fit_tables([table(12)])
        assert rows == most_rows([table(12)], budget, "markdown")
        assert len(text) <= budget * CHARACTERS_PER_TOKEN or rows == (-1,)


class Counted(list[list[Any]]):
    """Rows that count how often one of them is taken out."""

    taken = 0

    def __getitem__(self, place: Any) -> Any:
        rows = super().__getitem__(place)
        self.taken += len(rows)
        return rows


@pytest.mark.parametrize("format", FORMATS)
def test_long_tables_are_not_written_out_to_find_what_fits(format: Format) -> None:
    """What is done goes by the rows that fit, not by those that are there."""
    rows = Counted([["some text", i, None, 1.5] for i in range(100_000)])
    long = [Table(TableId("0", str(i)), list("abcd"), rows, {}) for i in range(10)]
    _, shown = prompter(8000, format).fit_tables(long)
    assert 300 < shown[0] < 3000
    assert rows.taken < 20 * shown[0]


@pytest.mark.parametrize(
    "odd", ["{{ 7 * 7 }}", "{% for x in y %}", "{# no #}", "{{ query.__class__ }}", "{{", "<b>&"]
)
@pytest.mark.parametrize("format", ["text", "markdown", "csv", "sentences"])
def test_cells_and_queries_are_not_templates(odd: str, format: Format) -> None:
    strange = Table(TableId("0", "t"), [odd], [[odd]], {"title": odd})
    messages = prompter(format=format).write_prompt(Query("q", f"Is {odd}?", ()), [strange])
    user = messages.request.messages[1].content
    assert f"Question: Is {odd}?\n" in user
    assert user.count(odd) >= 4


def _file(folder: Path, **changes: Any) -> Path:
    path = folder / "mine.yaml"
    entries = {name: text for name, text in (OWN | changes).items() if text is not None}
    path.write_text(yaml.safe_dump(entries), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"user": None}, ["entry 'user' is missing"]),
        ({"no_context_user": None}, ["entry 'no_context_user' is missing"]),
        ({"system": 5}, ["entry 'system' is missing"]),
        ({"sytem": "x"}, ["entry 'sytem' is missing, unknown"]),
        (
            {"user": "{{ tabels }} {{ tables }} {{ query }}"},
            ["'user'", "'tabels' is undefined"],
        ),
        ({"no_context_system": "{{ table }}"}, ["'no_context_system'", "'table' is undefined"]),
        ({"user": "{% if nothing %}{{ tables }}{{ query }}{% endif %}"}, ["'nothing' is"]),
        ({"user": "Answer the query: {{ tables }}"}, ["{{ query }}", "system and user"]),
        ({"user": "The tables say: {{ query }}"}, ["{{ tables }}", "system and user"]),
        (
            {"no_context_user": "the query"},
            ["{{ query }}", "no_context_system and no_context_user"],
        ),
        ({"user": "{{ tables }} {{ query"}, ["entry 'user' is no template", "end of template"]),
        ({"user": "{{ tables }} {{ query | no_such }}"}, ["no_such"]),
        ({"user": "{{ tables }} {{ query.__class__.__mro__ }}"}, ["SecurityError"]),
    ],
)
def test_invalid_prompt(tmp_path: Path, changes: dict[str, Any], parts: list[str]) -> None:
    path = _file(tmp_path, **changes)
    with pytest.raises(ConfigError) as caught:
        Prompt.load("question_answering", path)
    for part in ("mine.yaml", *parts):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"system: [", "cannot be read"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"", "expected the entries system, user"),
        (b"- system", "expected the entries system, user"),
        (b"just text", "expected the entries system, user"),
    ],
)
def test_file_that_is_not_a_prompt(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=part):
        Prompt.load("question_answering", path)
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: there is no such file"):
        Prompt.load("question_answering", tmp_path / "nowhere.yaml")
    with pytest.raises(ConfigError, match=r"question_answering\.yaml: .* has prompts for mine"):
        Prompt.load("question_answering", tmp_path)


def test_hash_is_of_the_wording(tmp_path: Path) -> None:
    """Not of comments, names, styles of quoting or line ends; but of every word."""
    path = _file(tmp_path)
    prompt = Prompt.load("question_answering", path)
    other = tmp_path / "other.yaml"
    text = "# a comment\n" + "".join(f"{k}: {v!r}\n" for k, v in reversed(OWN.items()))
    other.write_bytes(
        text.replace("'{{ tables }}\\n{{ query }}'", '"{{ tables }}\\n{{ query }}"')
        .replace("\n", "\r\n")
        .encode()
    )
    assert Prompt.load("fact_verification", other).hash == prompt.hash
    for name, text in OWN.items():
        changed = Prompt.load("question_answering", _file(tmp_path, **{name: text + "!"}))
        assert changed.hash != prompt.hash
    # YAML has an escape for half a surrogate pair, UTF-8 has none.
    half = Prompt.load("question_answering", _file(tmp_path, system="Be brief \ud800."))
    assert half.hash != prompt.hash
    moved = OWN | {"system": "Be brief. Guess.", "no_context_system": ""}
    assert Prompt.load("question_answering", _file(tmp_path, **moved)).hash != prompt.hash


def test_hashes_of_the_prompts_in_this_package() -> None:
    """Published figures name them: a change of wording is a change of scores."""
    assert {task: Prompt.load(task).hash for task in TASKS} == HASHES


HASHES = {
    "question_answering": "f1e7c22ad07a",
    "fact_verification": "de28b3d3decd",
    "text_to_sql": "5a88a18d42f0",
}


@pytest.mark.parametrize(
    ("text", "tokens"), [("tokens: 600\n", 600), ("tokens: 0\n", None), ("tokens: many\n", None)]
)
def test_room_for_tables_is_a_setting_of_the_prompt(
    tmp_path: Path, text: str, tokens: int | None
) -> None:
    """A file may hold it alone: the texts are then those of the task."""
    file = tmp_path / "p.yaml"
    file.write_text(text)
    if tokens is None:
        with pytest.raises(ConfigError, match=r"tokens=.*: expected a whole number from 1"):
            Prompt.load("question_answering", file)
        return
    prompt = Prompt.load("question_answering", file)
    own = Prompt.load("question_answering")
    assert (prompt.tokens, own.tokens) == (tokens, 8000)
    assert (prompt.system, prompt.hash) == (own.system, own.hash)


def test_a_file_with_tokens_alone_keeps_the_texts_of_any_task(tmp_path: Path) -> None:
    """Also where these are in a file of their own, as for SQL of DuckDB."""
    file = tmp_path / "p.yaml"
    file.write_text("tokens: 600\n")
    task = make_task("text-to-sql:engine=duckdb,dialect=duckdb")
    prompt, own = load_prompt(task, RunConfig(prompt=file)), load_prompt(task, RunConfig())
    assert (prompt.tokens, prompt.hash) == (600, own.hash)
