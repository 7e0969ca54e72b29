"""Answers as tables: what is read in each format, and which faults are named."""

import csv
import io
import json
import time
from collections.abc import Sequence
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.tables.answer_tables import (
    FATAL,
    FORMATS,
    LONGEST,
    MOST_CELLS,
    TableFormat,
    UnreadableTableError,
    match_tables,
)
from target_bench.tables.h_score import h_score_html
from target_bench.tables.reading import read_tables

GRID = (("Team", "Wins"), ("Hawks", "46"), ("Magic", "19"))

WRITTEN: dict[TableFormat, str] = {
    "text": "| Team | Wins |\n|---|---|\n| Hawks | 46 |\n| Magic | 19 |",
    "html": (
        "<table><tr><th>Team</th><th>Wins</th></tr><tr><td>Hawks</td><td>46</td></tr>"
        "<tr><td>Magic</td><td>19</td></tr></table>"
    ),
    "latex": (
        r"\begin{tabular}{lr} \hline Team & Wins \\ \hline Hawks & 46 \\ Magic & 19 \\ "
        r"\end{tabular}"
    ),
    "csv": "Team,Wins\nHawks,46\nMagic,19",
    "json": '[{"Team": "Hawks", "Wins": 46}, {"Team": "Magic", "Wins": 19}]',
}
CUT: dict[TableFormat, str] = {
    "text": "| Team | Wins |\n| Hawks | 46",
    "html": "<table><tr><td>Team</td><td>Wins</td></tr><tr><td>Hawks",
    "latex": r"\begin{tabular}{lr} Team & Wins \\ Hawks & 4",
    "csv": 'Team,Wins\n"Hawks, 46',
    "json": '[{"Team": "Hawks", "Wins": 46}, {"Team": "Mag',
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_table_alone_in_prose_and_cut_off(name: TableFormat) -> None:
    alone = read_tables(WRITTEN[name], name)
    assert [table.rows for table in alone.tables] == [GRID]
    assert (alone.error, alone.strict_error) == (None, None)
    fenced = read_tables(f"Here is your table\n\n```\n{WRITTEN[name]}\n```\nEnjoy it!", name)
    assert [table.rows for table in fenced.tables] == [GRID]
    assert set(fenced.faults) == {"fenced", "prose"}
    cut = read_tables(CUT[name], name)
    assert (fenced.error, cut.error) == (None, None)
    assert "truncated" in cut.faults


def test_names_of_tables() -> None:
    paper = (
        "Team: <NEWLINE> | | Wins | <NEWLINE> | Hawks | 46 | <NEWLINE> Player: <NEWLINE> | | P |"
    )
    reference = read_tables(paper, "text")
    assert [table.name for table in reference.tables] == ["Team", "Player"]
    answer = read_tables("## Player Table\n| | P |\n\n**Team**\n| | W |", "text")
    assert [table.name for table in answer.tables] == ["Player Table", "Team"]
    assert match_tables(answer, reference) == [(1, 0), (0, 1)]
    of_json = read_tables(
        '{"Team": [{"a": 1}], "Player": {"columns": ["b"], "rows": [[2]]}}', "json"
    )
    assert [(t.name, t.rows) for t in of_json.tables] == [
        ("Team", (("a",), ("1",))),
        ("Player", (("b",), ("2",))),
    ]


@pytest.mark.parametrize(
    ("name", "text", "rows", "faults"),
    [
        ("text", "a | b\n1 | 2\n3", ["ab", "12"], {"prose"}),
        ("text", "| a | b |\n| 1 |", ["ab", "1"], {"ragged"}),
        ("text", r"| a \| b | c |", [("a | b", "c")], set()),
        ("text", "name | points\n--- | ---\n | 3 \nAnn | ",
         [("name", "points"), ("", "3"), ("Ann", "")], set()),
        ("text", "a | b\n| 1 | 2 |\n", ["ab", "12"], set()),
        ("text", "| **a** | `b` |\n|---|---|\n| \\$5 | x<br>y |", ["ab", ("$5", "x y")], set()),
        ("text", "**a** | b <NEWLINE> *1* | a\\_b", [("**a**", "b"), ("*1*", "a\\_b")], set()),
        ("text", "\ufeff> | a | b |\n> |---|---|\n> | 1 | 2 |", ["ab", "12"], set()),
        ("text", "> a | b\n> --- | ---\n> 1 | 2", ["ab", "12"], set()),
        ("json", '{"a": "1", "b": "x"}\n{"a": "2", "b": "y"}', ["ab", "1x", "2y"], set()),
        ("json", '["a", "b"]\n["1", "2"]', ["ab", "12"], set()),
        ("json", '[{"a": "x,]"}, {"a": 1.50,},]', ["a", ("x,]",), ("1.50",)], {"last_comma"}),
        ("json", '[["a", "b"], ["1", "2"], "c"]', ["ab", "12", "c"], {"ragged"}),
        ("json", '{"Team": [{"a": "1"}], "x": 2}', ["a", "1"], {"prose"}),
        ("html", "<table><thead><th>a</th><th>b</th></thead><tbody><tr><td>1</td><td>2</td></tr>"
         "<td>3</td><td>4</td></tbody><tbody><td>5<td>6</table>", ["ab", "12", "34", "56"], set()),
        ("html", "<table><th>a<th>b<tr><td>1<td>2</tr><td>3<td>4</table>", ["ab", "12", "34"],
         set()),
        ("latex",
         r"\begin{tabular}{ll} a & b \\ \cmidrule(lr){1-1}\cline{2-2} 1 & 2 \\[3pt] "
         r"\rowcolor{gray!20} 3 & \cellcolor[HTML]{FF0000}4 \\ [1ex] \hhline{|=|=|} "
         r"\specialrule{1pt}{2pt}{3pt} \textcolor{red}{5} & {\color{blue}6} \\* "
         r"\addlinespace[3pt] \colorbox{red}{7} & 8 \\ \noalign{\smallskip} "
         r"\arrayrulecolor{black}\hline \end{tabular}",
         ["ab", "12", "34", "56", "78"], set()),
        ("latex", r"\begin{tabular}{ll}\multirow{2}*{M} & 3 \\ \cline{2-2} & 4 \end{tabular}",
         ["M3", "M4"], set()),
        ("latex",
         r"\begin{tabular}{ll}a & \href{https://x.org}{\textbf{b}} \\ 1 & 2 \\\end{tabular}",
         ["ab", "12"], set()),
        ("latex", r"\begin{tabular}{ll}\multicolumn{2}{c}{a} b \\ c & d \\\end{tabular}",
         [("a b", "a b"), "cd"], set()),
        ("json", '[{"a": 1, "a": 2}]', ["a", "2"], {"repeated"}),
        ("json", '[{"a  b ": "x  y"}]', [("a  b ",), ("x y",)], set()),
        ("json", '[{"a": "x", "b": 1', ["a", "x"], {"truncated"}),
        ("json", '[{"a": "x", "b": 1}, {"a": "y", "b"', ["ab", "x1", ("y", "")],
         {"truncated", "ragged"}),
        ("json", '[{"a": 1}, {"b": [2]}]', ["ab", ("1", ""), ("", "[2]")], {"ragged", "nested"}),
        ("html", "<tr><td>1</td><td>2</td></tr>", ["12"], {"no_table_tag"}),
        ("html", "<ul><li>a</li><li>b</li></ul>", ["a", "b"], {"no_table_tag"}),
        ("html", "<table><tr><th colspan=2>a<tr><td rowspan=2>1<td>2<tr><td>3</table>",
         ["aa", "12", "13"], set()),
        ("html", "<table><tr><th colspan=2>a<tr><td rowspan=2>1<td>2</table>", ["aa", "12"],
         {"ragged"}),
        ("html", "<table><tr><td rowspan=2>1<td>2<tr><td colspan=2>3</table>",
         [("1", "2", ""), "133"], {"ragged"}),
        ("html", "<table><tr><td colspan=-2>1<td rowspan=x>2</table>", ["12"], set()),
        ("html", "<table><tr><td><table><tr><td>x</td></tr></table></td><td>y</td></tr></table>",
         ["xy"], {"nested"}),
        ("html",
         "<table><tr><td>19<b>92</b></td><td>a<br>b<p>c</p>d<ul><li>x<li>y</ul></td></table>",
         [("1992", "a b c d x y")], set()),
        ("latex",
         r"\begin{tabular}{ll}\textbf{a} & \foo{b} \\ \multicolumn{2}{c}{1\%} \\\end{tabular}",
         ["ab", ("1%", "1%")], set()),
        ("latex", r"\begin{tabular}{ll}\multirow{2}{*}{M} & 3 \\ & 4 \end{tabular}", ["M3", "M4"],
         set()),
        ("latex", r"\begin{tabular}{ll} x\^{}2 & \~{}3\textasciicircum{} \\ \end{tabular}",
         [("x^2", "~3^")], set()),
        ("csv", "a;b\n1;2", ["ab", "12"], set()),
        ("csv", "Team;Avg\nA;1,5\nB;2,5", [("Team", "Avg"), ("A", "1,5"), ("B", "2,5")], set()),
        ("csv", "Team,Note\nA,x;y\nB,z;w", [("Team", "Note"), ("A", "x;y"), ("B", "z;w")], set()),
    ],
)  # fmt: skip
def test_odd_tables(
    name: TableFormat, text: str, rows: list[Sequence[str]], faults: set[str]
) -> None:
    """A row of a text has a character a cell."""
    answer = read_tables(text, name)
    assert list(answer.tables[0].rows) == list(map(tuple, rows))
    assert set(answer.faults) == faults


SPANS: list[tuple[str, str, list[Sequence[str]]]] = [
    (
        r"\hline \multirow{2}{*}{Team} & \multicolumn{2}{c}{Score} \\ \cline{2-3} "
        r"& H & A \\ \hline Nets & 5 & 6 \\ \hline",
        "<tr><th rowspan=2>Team<th colspan=2>Score<tr><th>H<th>A<tr><td>Nets<td>5<td>6",
        [("Team", "Score", "Score"), ("Team", "H", "A"), ("Nets", "5", "6")],
    ),
    (
        r"\toprule & \multicolumn{2}{c}{Score} \\ \cmidrule(lr){2-3} Team & H & A \\ \midrule[1pt] "
        r"Nets & 5 & 6 \\ \bottomrule",
        "<thead><tr><td><td colspan=2>Score<tr><td>Team<td>H<td>A</thead><tr><td>Nets<td>5<td>6",
        [("", "Score", "Score"), ("Team", "H", "A"), ("Nets", "5", "6")],
    ),
    (
        r"\multirow{2}{*}{Team} & \multicolumn{2}{c}{Score} \\ & H & A \\ Nets & 5 & 6 \\",
        "<tr><td rowspan=2>Team<td colspan=2>Score<tr><td>H<td>A<tr><td>Nets<td>5<td>6",
        [("Team", "Score", "Score"), ("Team", "H", "A"), ("Nets", "5", "6")],
    ),
    (
        r"Team & H \\ \hline \multirow{2}{*}{Nets} & 5 \\ & 6 \\ \hline Hawks & 7 \\",
        "<tr><td>Team<td>H<tr><td rowspan=2>Nets<td>5<tr><td>6<tr><td>Hawks<td>7",
        [("Team", "H"), ("Nets", "5"), ("Nets", "6"), ("Hawks", "7")],
    ),
    (
        r"\multicolumn{2}{c}{Nets} \\ \hline Home & 5 \\ Away & 6 \\ \hline",
        "<tr><td colspan=2>Nets<tr><td>Home<td>5<tr><td>Away<td>6",
        [("Nets", "Nets"), ("Home", "5"), ("Away", "6")],
    ),
    (
        r"Team & H \\ Nets & 5 \\ \hline Sum & 5 \\",
        "<tr><td>Team<td>H<tr><td>Nets<td>5<tr><td>Sum<td>5",
        [("Team", "H"), ("Nets", "5"), ("Sum", "5")],
    ),
]


@pytest.mark.parametrize(("latex", "html", "rows"), SPANS)
def test_cells_that_span_are_repeated(latex: str, html: str, rows: list[Sequence[str]]) -> None:
    tabular = rf"\begin{{tabular}}{{lll}} {latex} \end{{tabular}}"
    (table,) = read_tables(tabular, "latex").tables
    assert list(table.rows) == rows
    (table,) = read_tables(f"<table>{html}</table>", "html").tables
    assert list(table.rows) == rows


HOSTILE: list[tuple[TableFormat, str]] = [
    ("latex", r"\begin{tabular}{l}\href\end{tabular}"),
    ("latex", r"\begin{tabular}{l}\begin{array}x\end{array}\end{tabular}"),
    ("latex", r"\begin{tabular}{l}$\sqrt[\frac<]$\end{tabular}"),
    ("html", "<table><tr><td>\ud800</td></tr></table>"),
    ("html", "<div>" * 20_000),
    ("html", "<!--" * 24_000 + ">"),
    ("html", "<a" * 50_000),
    ("html", "<td>" * 25_000),
    ("html", "<table>" + "<tr><td>" * 20 + "</x>" * 20_000),
    ("html", '<table><tr><td colspan="999999" rowspan="999999">x</td></tr></table>' * 100),
    ("latex", "{" * 100_000),
    ("latex", r"\textbf" * 14_000),
    ("latex", r"\begin{tabular}" * 6_000),
    ("latex", "$" * 100_000),
    ("latex", "&" * 100_000),
    ("json", "[" * 100_000),
    ("json", '{"a":' * 20_000),
    ("json", "[]" * 50_000),
    ("csv", '"' * 99_999),
    ("csv", "," * 100_000),
    ("text", "|" * 100_000),
    ("text", r"\|" * 50_000),
    ("text", " " * 99_999 + "x"),
    ("text", "|a" * 20_000 + "|\n" + "|b|\n" * 12_000),
    ("csv", "a," * 20_000 + "a\n" + "b,c\n" * 12_000),
    ("json", "[[" + "1," * 20_000 + "1]," + "[1]," * 12_000 + "[1]]"),
    ("json", "[" + ",".join(f'{{"k{n}":1}}' for n in range(6_000)) + "]"),
    ("text", "# a" + " " * 98_000 + "b:\n| a | b |"),
    ("text", "# a" + "*" * 98_000 + "b:\n| a | b |"),
    ("text", "+-" * 49_000),
    ("html", "<table><tr><td>" + "<b>x</b>" * 10_000),
    ("latex", r"\begin{tabular}{c}" + r"\toprule[" * 9_000),
    ("latex", r"\begin{tabular}{c}" + r"\rowcolor{" * 9_000),
    ("latex", r"\begin{tabular}{c}" + r"\\[" * 30_000),
    ("json", '"' + ",]" * 49_000),
    ("json", '["' + '\\"' * 49_000),
    ("json", "," + " " * 90_000),
    ("text", "| " + "**a" * 30_000 + " |"),
    ("text", "> " * 49_000 + "|"),
    ("html", "<table>" + "<tbody><td>x</td></tbody>" * 3_000),
    ("latex", r"\begin{tabular}{c}" + "{}" * 49_000 + r"\end{tabular}"),
    ("latex", r"\begin{tabular}{c}" + r"\multirow" * 9_000 + r"\end{tabular}"),
    ("latex", r"\begin{tabular}{l}" + "&" * 20_000 + r"\\" + r"a\\" * 12_000 + r"\end{tabular}"),
]


@pytest.mark.parametrize(("name", "text"), HOSTILE, ids=lambda value: value[:12])
def test_hostile_answers_take_linear_time(name: TableFormat, text: str) -> None:
    assert len(text) <= LONGEST
    begin = time.process_time()
    answer = read_tables(text, name)
    assert time.process_time() - begin < 5
    assert answer.tables or answer.error in FATAL
    assert all(len(table.rows) * table.width <= MOST_CELLS for table in answer.tables)


def test_nested_tags_have_a_limit_in_the_official_score() -> None:
    """The official list doubles with every level: at 20 levels it has 2.1 million tags."""
    deep = "<div>" * 20 + "x" + "</div>" * 20
    begin = time.process_time()
    with pytest.raises(UnreadableTableError, match="too_deep: nested tags repeat 2097150"):
        h_score_html(deep, deep)
    assert time.process_time() - begin < 1


PIECES = st.sampled_from(
    [
        *("|", "\n", "-", " ", "a", "12", ",", '"', "[", "]", "{", "}", ":", "```", "```json\n"),
        *("<table>", "</table>", "<tr>", "<td>", "</td>", "<th colspan=3>", "<!--", "<li>", "&"),
        *(r"\begin{tabular}", "{ll}", r"\end{tabular}", r"\\", r"\hline", r"\textbf{", "$", "%"),
        *("\\", "Team:", "<NEWLINE>", "\0", "é", "<think>", r"\multicolumn{2}{c}{x}", r"\caption"),
    ]
)


@pytest.mark.parametrize("name", FORMATS)
def test_any_text_is_a_table_or_a_typed_fault(name: TableFormat) -> None:
    @given(st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=40).map("".join)))
    def check(text: str) -> None:
        answer = read_tables(text, name)
        assert bool(answer.tables) == (answer.error is None)
        assert all(table.rows for table in answer.tables)

    check()


CELL = st.text("abc 12,.|&%<>{}\"'\\é-", min_size=1, max_size=8).map(str.strip).filter(bool)


@given(
    st.integers(2, 4).flatmap(
        lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=2)
    )
)
def test_what_is_written_is_read(rows: list[list[str]]) -> None:
    """JSON, CSV and HTML hold any cell; white space counts as one blank."""
    squeezed = tuple(tuple(" ".join(cell.split()) for cell in row) for row in rows)
    of_json = read_tables(json.dumps({"header": rows[0], "rows": rows[1:]}), "json")
    assert of_json.tables[0].rows == squeezed
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    written = "".join(f"<tr>{row}</tr>" for row in cells)
    assert read_tables(f"<table>{written}</table>", "html").tables[0].rows == squeezed
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    assert read_tables(file.getvalue(), "csv").tables[0].rows == tuple(map(tuple, rows))
