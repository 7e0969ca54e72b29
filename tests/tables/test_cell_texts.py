"""Texts of cells in one form: marks of Markdown, decimal commas, and the metrics that read them."""

from pathlib import Path
from time import process_time

import pytest

from target_bench.data.formats.single_table import read_single_table
from target_bench.tables.answer_tables import FORMATS, TableFormat
from target_bench.tables.cell_texts import convert_decimal_commas, strip_marks
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.comparison import compare_tables
from tests.tables.written import written


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        *((mark, "5") for mark in ("**5**", "*5*", "__5__", "_5_", "~~5~~", "`5`", "***5***")),
        *((mark, "5") for mark in ("<b>5</b>", "[5](https://x.y/z)")),
        ("**Hawks** (46)", "Hawks (46)"),
        ("**a *b* c**", "a b c"),
        ("a<br>b<br/>c", "a b c"),
        ("A&amp;B &lt;b&gt;", "A&B <b>"),
        (r"\$5", "$5"),
        (r"a\_b", "a_b"),
        (r"\*5\*", "*5*"),
        (r"`a\_b**`", r"a\_b**"),
        *((text, text) for text in ("5*", "p < .05**", "2*3*4", "5 * 3 * 2", "snake_case_name")),
        *((text, text) for text in ("[1]", "f(x) [a](b)", "R&D", "x < 5 > y", r"C:\new", "***")),
    ],
)
def test_marks_of_markdown_are_no_text(written: str, shown: str) -> None:
    assert strip_marks(written) == shown


@pytest.mark.parametrize("part", ["*a ", "**a", "`", "_a ", "[", "<b ", "&a", "\\", "~~a", "![a]("])
def test_marks_without_an_end_take_linear_time(part: str) -> None:
    start = process_time()
    strip_marks(part * (100_000 // len(part)))
    assert process_time() - start < 5


def test_decimal_commas_become_points_where_no_number_has_a_point() -> None:
    rows = convert_decimal_commas([["1.234,5", "Ann, Bob", "1.234", "01.02.2020", "-0,5", "2,5 %"]])
    assert rows == [("1234.5", "Ann, Bob", "1234", "01.02.2020", "-0.5", "2.5 %")]


@pytest.mark.parametrize(
    "column",
    [
        ["1,234"],
        ["1,5", "2.5"],
        ["Ann"],
        ["12,345", "1,234,567", "3,4"],
        ["12,345", "1,234.50", "3,4"],
    ],
)
def test_other_numbers_stay(column: list[str]) -> None:
    assert convert_decimal_commas([[cell] for cell in column]) is None


def test_a_column_decides() -> None:
    """One that may be read in two ways follows the others, unless one of them has points."""
    assert convert_decimal_commas([["1,5", "2.5", "1,234"]]) == [("1.5", "2.5", "1,234")]
    assert convert_decimal_commas([["1,5", "b", "1,234"]]) == [("1.5", "b", "1.234")]


NUMBERS = {
    "a.csv": "k;v\na;1,5\nb;2,5\nc;10,25\n",
    "a.md": "| k | v |\n|---|---|\n| a | 1,5 |\n| b | 2,5 |\n| c | 10,25 |\n",
    "a.html": "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1,5</td></tr>"
    "<tr><td>b</td><td>2,5</td></tr><tr><td>c</td><td>10,25</td></tr></table>",
    "a.jsonl": '{"k":"a","v":"1,5"}\n{"k":"b","v":"2,5"}\n{"k":"c","v":"10,25"}\n',
    "a.tex": r"\begin{tabular}{lr} k & v \\ a & 1,5 \\ b & 2,5 \\ c & 10,25 \\ \end{tabular}",
    "b.csv": "k,v\na,1.5\nb,2.5\nc,10.25\n",
    "b.md": "| k | v |\n|---|---|\n| a | 1.5 |\n| b | 2.5 |\n| c | 10.25 |\n",
}


@pytest.mark.parametrize("other", NUMBERS)
@pytest.mark.parametrize("reference", ["a.csv", "a.md", "b.csv"])
def test_decimal_commas_count_in_every_format(tmp_path: Path, reference: str, other: str) -> None:
    tables = []
    for name in (reference, other):
        (tmp_path / name).write_text(NUMBERS[name], encoding="utf-8")
        tables.append(read_single_table(tmp_path / name).table)
    assert compare_tables(*tables).score() == 1


GOLD: dict[TableFormat, str] = {
    "text": "| team | v |\n|---|---|\n| A&B Hawks | 1.5 |\n| Nets_2 | $6.25 |",
    "csv": "team,v\nA&B Hawks,1.5\nNets_2,$6.25",
}


def _write(rows: list[list[str]], table_format: TableFormat) -> str:
    if table_format == "text":
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return written(rows, table_format)


@pytest.mark.parametrize(
    ("mark", "shown"),
    [
        ("**1.5**", "1.5"),
        ("`1.5`", "1.5"),
        ("~~x~~", "x"),
        ("[Hawks](https://x.org)", "Hawks"),
        ("A<br>B", "A B"),
        ("A&amp;B", "A&B"),
        (r"\$5", "$5"),
    ],
)
@pytest.mark.parametrize("table_format", FORMATS)
def test_one_form_of_a_cell_in_every_format(
    table_format: TableFormat, mark: str, shown: str
) -> None:
    """Marks of Markdown in a cell, a name of a row and a name of a column, on either side."""
    marked, plain = (
        _write([["team", f"v {cell}"], [cell, "7"], ["b", cell]], table_format)
        for cell in (mark, shown)
    )
    for answer, gold in ((marked, plain), (plain, marked)):
        compared = ComparedTables(answer, gold, table_format)
        ((_, scores),) = compared.pairs("exact")
        assert compared.is_correct
        assert {part.f1 for part in scores.values()} == {1}
        assert [comparison.score() for comparison in compared.comparisons] == [1]


@pytest.mark.parametrize(
    ("table_format", "answer"),
    [
        ("text", "| **team** | `v` |\n|---|---|\n| A&amp;B<br>Hawks | *1.5* |\n"
         "| Nets\\_2 | \\$6.25 |"),
        ("text", "> | team | v |\n> |---|---|\n> | A&B Hawks | 1,5 |\n> | Nets_2 | $6,25 |"),
        ("csv", "\ufeffteam;v\nA&B Hawks;**1,5**\nNets_2;$6,25"),
    ],
)  # fmt: skip
def test_marks_and_commas_change_no_metric(table_format: TableFormat, answer: str) -> None:
    compared = ComparedTables(answer, GOLD[table_format], table_format)
    assert compared.is_correct
    ((_, scores),) = compared.pairs("exact")
    assert {part.f1 for part in scores.values()} == {1}
    assert [comparison.score() for comparison in compared.comparisons] == [1]
