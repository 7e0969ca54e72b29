"""Tables compared by rules: what is paired, what is found, how it is named, and what it costs."""

import random
import re
from typing import Any

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.grid import CellGrid, GridCell
from target_bench.core.schema import Table, TableId
from target_bench.tables.answer_tables import AnswerTable
from target_bench.tables.comparison import RubricWeights, compare_tables
from target_bench.tables.comparison.rubric import CellPair, weights_named
from target_bench.tables.comparison.values import Name, Unit, name_of

STEALS = [
    ["player", "steals", "points"],
    ["Ann", "", "10"],
    ["Bo", "", "12"],
    ["Cy", "3", "9"],
    ["Di", "", "8"],
]
COUNTS = [
    ["player", "points", "assists", "rebounds"],
    ["Ann", "10", "1", "7"],
    ["Bo", "12", "2", "6"],
    ["Cy", "9", "3", "5"],
]


def _named(prediction: list[list[str]]) -> list[tuple[str, str]]:
    found = compare_tables(STEALS, prediction)
    return [(column.name, column.predicted_name) for column in found.columns]


def test_empty_cells_are_no_evidence_that_columns_of_different_names_are_one() -> None:
    invented = [["player", "turnovers", "points"], *([row[0], "", row[2]] for row in STEALS[1:])]
    invented[1][1] = "5"
    left_out = [[row[0], row[2]] for row in STEALS]
    assert ("steals", "") in _named(invented)
    assert compare_tables(STEALS, invented).score() < compare_tables(STEALS, left_out).score() < 1


def test_a_renamed_column_is_found_by_a_cell_or_by_its_name() -> None:
    by_cell = [["player", "balls won", "points"], *STEALS[1:]]
    by_name = [["player", "steal", "points"], *([row[0], "", row[2]] for row in STEALS[1:])]
    assert ("steals", "balls won") in _named(by_cell)
    assert ("steals", "steal") in _named(by_name)


def test_a_transposed_table_is_recognised_with_its_names_in_any_column() -> None:
    rng = random.Random(0)
    for _ in range(10):
        turned = [list(row) for row in zip(*COUNTS, strict=True)]
        order = rng.sample(range(len(turned[0])), len(turned[0]))
        shuffled = [[row[j] for j in order] for row in turned]
        for one, two in ((COUNTS, shuffled), (shuffled, COUNTS)):
            found = compare_tables(one, two)
            assert found.transposed
            assert found.score() == 1


PEOPLE = [
    ["Name", "Height (m)", "Born", "City"],
    ["Ann Smith", "1.80", "3 May 1990", "Paris"],
    ["Bob Jones", "1.75", "1 June 1991", "Rome"],
    ["Cyd Moore", "1.60", "7 July 1985", "London"],
]


def _changed(row: int, column: int, text: str) -> list[list[str]]:
    table = [list(cells) for cells in PEOPLE]
    table[row][column] = text
    return table


def _only(prediction: list[list[str]]) -> CellPair:
    """The one cell that is not as it should be."""
    found = compare_tables(PEOPLE, prediction)
    (cell,) = (one for one in found.cells if one.outcome != "exact" or one.difference)
    return cell


@pytest.mark.parametrize(
    ("row", "column", "text", "kind", "magnitude", "unit"),
    [
        (1, 0, "Ann Smiht", "typo", 1.0, "edits"),
        (1, 0, "A. Smith", "abbreviation", None, ""),
        (1, 0, "AS", "abbreviation", None, ""),
        (1, 0, "Smith Ann", "semantic", 8.0, "edits"),
        (1, 0, "ANN SMITH", "format", None, ""),
        (1, 0, "Zoe Quill", "different", 7.0, "edits"),
        (1, 1, "1.70", "numeric", -0.1, "meter"),
        (1, 1, "180 cm", "format", None, ""),
        (1, 1, "200 cm", "numeric", 0.2, "meter"),
        (1, 1, "<1.80", "relation", None, ""),
        (1, 1, "about 1.90", "numeric", 0.1, "meter"),
        (1, 1, "1.8 kg", "unit", None, "meter"),
        (1, 1, "tall", "type", None, ""),
        (1, 2, "1990-05-03", "format", None, ""),
        (1, 2, "1990-05-13", "date", 10.0, "days"),
        (1, 2, "1990-05-03 00:01", "time", 60.0, "seconds"),
        (1, 3, "Lutetia", "different", 6.0, "edits"),
    ],
)
def test_differences_have_a_kind_and_a_size_in_the_unit_of_the_reference(
    row: int, column: int, text: str, kind: str, magnitude: float | None, unit: str
) -> None:
    cell = _only(_changed(row, column, text))
    assert cell.difference is not None
    assert (cell.difference.kind, cell.difference.unit) == (kind, unit)
    assert cell.difference.magnitude == pytest.approx(magnitude)
    assert cell.outcome == ("exact" if kind == "format" else "partial")


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("1,234.5", "1234.50"),
        ("1.234,5", "1234.5"),
        ("$1.2 million", "$1,200,000"),
        ("$3.4bn", "US$ 3400 million"),
        ("(12)", "-12"),
        ("45%", "45 percent"),
        ("2 km", "2000 m"),
        ("32 °F", "0 °C"),
        ("yes", "True"),
        ("a, b, c", "c; a; b"),
        ("10:30", "10:30:00"),
        ("3:05 pm", "15:05"),
        ("29.10.2010", "29 October 2010"),
        ("10/11/2010", "11 October 2010"),
        ("N/A", "-"),
        ("about 5", "ca. 5"),
        ("~5", "approximately 5"),
        (">= 5", "≥5"),
        ("5+", "at least 5"),
        ("< $5", "less than 5 dollars"),
        ("$1.2m", "$1,200,000"),
        ("1.2M", "1.2 million"),
        ("€3bn", "€3,000,000,000"),
        ("£5k", "£5,000"),
        ("1.2 m USD", "$1.2M"),
        ("5m", "500 cm"),
        ("45%", "0.45"),
        ("2020-01-01 00:00:00", "2020-01-01"),
        ("2020-01-01T00:00:00Z", "1 January 2020"),
        ("2020-01-01 10:30", "1 Jan 2020 10:30 am"),
        ("U.S.", "US"),
        ("U.S., U.K.", "US, UK"),
        ("Washington, D.C.", "Washington DC"),
    ],
)
def test_the_same_value_in_another_format_is_equal(one: str, two: str) -> None:
    table = [["name", "value"], ["Ann", one], ["Bob", "x"]]
    other = [["name", "value"], ["Ann", two], ["Bob", "x"]]
    assert compare_tables(table, other).score() == 1
    assert compare_tables(other, table).score() == 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("45%", "54%"),
        ("$12", "€12"),
        ("yes", "no"),
        ("a, b", "a, c"),
        ("1990", "1991"),
        ("version 2", "version 3"),
        ("12 m", "12 km"),
        ("5 of 7", "-5 of 7"),
        ("<0.05", ">0.05"),
        ("p < .05", "p > .05"),
        ("≥ 5", "≤ 5"),
        ("5", "~5"),
        ("5", "5+"),
        ("5", "±5"),
        ("1990", "1990s"),
        ("c. 1990", "1990"),
        ("$5m", "5 m"),
        ("2020-01-01 10:30", "2020-01-01"),
        ("2020-01-01 10:30", "2020-01-02 10:30"),
        ("A+", "A-"),
        ("C++", "C"),
        ("C#", "C"),
        ("10²", "102"),
        ("5% of all", "5 of all"),
        ("$5 fee", "€5 fee"),
        ("3-1", "1-3"),
    ],
)
def test_another_value_is_not_equal(one: str, two: str) -> None:
    table = [["name", "value"], ["Ann", one], ["Bob", "x"]]
    other = [["name", "value"], ["Ann", two], ["Bob", "x"]]
    assert compare_tables(table, other).score() < 1


def test_a_bound_the_other_way_is_all_wrong_and_an_estimate_is_a_part() -> None:
    opposite, estimate = (_only(_changed(1, 1, text)).difference for text in ("<1.80", "~1.80"))
    table = [list(row) for row in PEOPLE]
    table[1][1] = ">1.80"
    (cell,) = (
        one for one in compare_tables(table, _changed(1, 1, "<1.80")).cells if one.difference
    )
    assert cell.difference is not None
    assert opposite is not None
    assert estimate is not None
    assert (cell.difference.share, opposite.share, estimate.share) == (1, 0.25, 0.25)


def test_the_unit_of_a_difference_has_its_scale() -> None:
    table = [["service", "cost (£ million)"], ["Radio 1", "54.2"], ["Radio 2", "62.1"]]
    other = [table[0], ["Radio 1", "53.2"], ["Radio 2", "62.1"]]
    (cell,) = (one for one in compare_tables(table, other).cells if one.difference)
    assert cell.difference is not None
    assert cell.difference.magnitude == pytest.approx(-1)
    assert cell.difference.unit == "million GBP"


def test_a_transposed_table_with_other_names_is_recognised_by_the_names_of_its_rows() -> None:
    turned = [["", "Ann Smith", "Bob Jones", "Cyd Moore"], ["size", "1.80", "1.75", "1.60"]]
    turned += [["birthday", "3 May 1990", "1 June 1991", "7 July 1985"]]
    found = compare_tables(PEOPLE, turned)
    assert found.transposed
    assert found.structure.matched_rows == 3
    assert found.structure.missing_columns <= 2


def test_tables_that_share_no_cell_are_not_said_to_agree() -> None:
    assert "No cell of one matches" in str(compare_tables([["a"], ["x"]], [["z"], ["7"], ["8"]]))
    same = str(compare_tables(PEOPLE, PEOPLE))
    assert "All matched cells are equal. Nothing costs anything: the score is 1.0000." in same
    assert "term" not in same


def test_missing_and_extra_parts_are_counted_once() -> None:
    prediction = [[*row[:3], "1" if i else "Shoe size"] for i, row in enumerate(PEOPLE[:3])]
    prediction[1][1] = ""
    found = compare_tables(PEOPLE, prediction)
    structure = found.structure
    assert (structure.missing_rows, structure.missing_columns, structure.missing_cells) == (1, 1, 1)
    assert (structure.extra_rows, structure.extra_columns, structure.extra_cells) == (0, 1, 0)
    assert found.penalty().total == pytest.approx(1 / 3 + 1 / 5 + 1 / 15 + 1 / 5)
    halved = RubricWeights(missing=0.5, extra=0)
    assert found.score(halved) == pytest.approx(1 - (1 / 3 + 1 / 5 + 1 / 15) / 2)


def test_an_empty_prediction_lacks_all() -> None:
    found = compare_tables(PEOPLE, AnswerTable("", ()))
    assert (found.structure.missing_rows, found.structure.missing_columns) == (3, 4)
    assert found.score() == 0


def test_columns_that_were_merged_or_split_are_found() -> None:
    merged = [["Name", "Height (m)", "Born in"]]
    merged += [[row[0], row[1], f"{row[3]}, {row[2]}"] for row in PEOPLE[1:]]
    there, back = compare_tables(PEOPLE, merged), compare_tables(merged, PEOPLE)
    assert [one.in_prediction for one in there.merged] == [True]
    assert [one.in_prediction for one in back.merged] == [False]
    for found in (there, back):
        structure = found.structure
        assert structure.merged_columns == 1
        assert structure.missing_columns == structure.extra_columns == 0
        assert [term.name for term in found.penalty().terms] == ["merged columns"]
        assert found.score() == pytest.approx(1 - 0.1 / 4)


def test_a_merged_column_is_charged_once_and_what_it_lost_once_too() -> None:
    apart = [["id", "first", "last"], ["1", "Ann", "Smith"], ["2", "Bob", "Jones"]]
    whole = [["id", "name"], ["1", "Ann Smith"], ["2", "Bob Jones"]]
    lossy = [["id", "name"], ["1", "Ann Smith"], ["2", "Bob"]]
    for one, two in ((apart, whole), (whole, apart)):
        assert compare_tables(one, two).score() == pytest.approx(1 - 0.1 / 3)
    found = compare_tables([*apart, ["3", "Cy", "Young"]], [*lossy, ["3", "Cy Young"]])
    assert sum(cell.outcome == "partial" for cell in found.cells) == 1
    assert "Smith → Ann Smith" in str(compare_tables(apart, whole))


def test_rows_with_equal_keys_are_paired_by_the_rest() -> None:
    table = [["year", "winner"], ["1990", "Ann"], ["1990", "Bob"], ["1991", "Cyd"]]
    found = compare_tables(table, [table[0], *reversed(table[1:])])
    assert found.score() == 1
    assert [tuple(pair) for pair in found.rows] == [(0, 2), (1, 1), (2, 0)]


def test_columns_with_one_name_are_paired_by_their_cells() -> None:
    table = [["name", "points", "points"], ["Ann", "1", "20"], ["Bob", "3", "40"]]
    swapped = [[row[0], row[2], row[1]] for row in table]
    assert compare_tables(table, swapped).score() == 1


def test_ragged_rows_are_filled_and_counted() -> None:
    found = compare_tables(PEOPLE, [PEOPLE[0], PEOPLE[1][:3], *PEOPLE[2:]])
    assert found.prediction.ragged == 1
    assert found.structure.missing_cells == 1


def test_headers_of_several_levels_become_paths() -> None:
    def head(*texts: str) -> tuple[GridCell, ...]:
        return tuple(GridCell(text, is_header=True) for text in texts)

    top = (*head("Name"), GridCell("Score", column_span=2, is_header=True))
    grid = CellGrid((top, head("", "home", "away"), tuple(map(GridCell, ("Ann", "1", "2")))))
    header, rows = grid.rectangular()
    table = Table(TableId("0", "t"), header, rows, grid=grid)
    found = compare_tables(table, [["Name", "Score.home", "Score.away"], ["Ann", "1", "2"]])
    assert found.reference.header == ("Name", "Score.home", "Score.away")
    assert found.score() == 1


@pytest.mark.parametrize(
    "table", [[["a"]] * 2002, [["a"] * 201], [["a"] * 100] * 502], ids=["rows", "columns", "cells"]
)
def test_tables_that_are_too_large_are_refused(table: list[list[str]]) -> None:
    with pytest.raises(DataError, match=r"the prediction has .* tables are compared up to"):
        compare_tables(PEOPLE, table)


def test_a_turned_prediction_has_the_same_limits() -> None:
    table = [["year", *map(str, range(2000, 2004))], ["Bern", *map(str, range(4))]]
    turned = [list(row) for row in zip(*table, strict=True)]
    turned += [[f"row {i}", str(i)] for i in range(200)]
    with pytest.raises(DataError, match=r"the transposed prediction has 1 rows and 205 columns"):
        compare_tables(table, turned)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, "the prediction is a NoneType. A Table"),
        ("a,b", "the prediction is a str. A Table"),
        ({"a": ["1"]}, "the prediction is a dict. A Table"),
        ([["a"], "xyz"], "the prediction: row 1 is 'xyz', not a list"),
    ],
)
def test_what_is_no_table_is_refused(table: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        compare_tables(PEOPLE, table)


def test_a_data_frame_of_pandas_is_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "city": ["Quito", "Bern"],
            "size": [1.5, None],
            "day": pandas.to_datetime(["2024-01-02", "NaT"]),
        }
    )
    rows = [["city", "size", "day"], ["Quito", "1.5", "2024-01-02"], ["Bern", "", ""]]
    assert compare_tables(rows, frame).score() == compare_tables(frame, rows).score() == 1
    assert compare_tables(rows, frame.set_index("city")).score() == 1, "a named index is a column"
    levels = frame.rename(columns={"size": "b"}).set_axis(
        pandas.MultiIndex.from_tuples([("a", "city"), ("a", "size"), ("b", "day")]), axis=1
    )
    assert compare_tables(levels, levels).reference.header == ("a.city", "a.size", "b.day")
    assert compare_tables(frame, frame, key="city").score() == 1


def test_columns_with_another_name_and_merged_ones_are_named_below_the_counts() -> None:
    renamed = [["Name", "Height (m)", "Birthday", "City"], *PEOPLE[1:]]
    assert "Columns with another name: Born → Birthday." in str(compare_tables(PEOPLE, renamed))
    merged = [["Name", "Height (m)", "Born in"]]
    merged += [[row[0], row[1], f"{row[3]}, {row[2]}"] for row in PEOPLE[1:]]
    assert "Columns merged: Born + City → Born in." in str(compare_tables(PEOPLE, merged))
    assert "Columns split: Born in → Born + City." in str(compare_tables(merged, PEOPLE))


@pytest.mark.parametrize(
    "weights",
    [
        {"missing": -1},
        {"partial": float("nan")},
        {"row": "1"},
        {"kinds": {"numeric": -1}},
        {"kinds": {"foo": 1}},
    ],
)
def test_weights_that_are_none_are_refused(weights: Any) -> None:
    with pytest.raises(ConfigError, match="RubricWeights: "):
        RubricWeights(**weights)


def test_no_unit_is_looked_for_in_a_very_long_name() -> None:
    assert name_of("Length (km)") == Name("Length", Unit("kilometer"))
    for long in ("a" + ", " * 50_000 + "b", "a" + " " * 50_000 + "b", "a" * 500 + " (km)"):
        assert name_of(long) == Name(long)


def test_rows_keep_their_numbers_where_some_are_not_shown() -> None:
    table = [["name", "size"], *([f"n{i}", str(i)] for i in range(700))]
    found = compare_tables(table, [*table[:-1], ["n699", "7000"]])
    text, html = str(found), found._repr_html_()
    assert "640 more rows are not shown" in text
    assert "500 of 700 rows are shown" in html
    for shown in (text, html):
        assert "700" in shown
        assert "number +6,301" in shown
    assert "<th>700</th>" in html


def test_what_is_shown_names_every_difference_and_escapes_text() -> None:
    prediction = _changed(1, 0, "<script>alert(1)</script>")
    prediction[2][1] = "1.65"
    found = compare_tables(PEOPLE, prediction)
    html, text = found._repr_html_(), str(found)
    assert "<script>" not in html
    assert "number -0.1 meter" in html
    assert "1.75 → 1.65 [number -0.1 meter]" in text
    assert f"the score is {found.score():.4f}" in text
    assert found.to_json()["score"] == found.score()


@pytest.mark.parametrize(
    ("name", "other"),
    [("-", "–"), ("Area (km²)", "Area (km^2)"), ("area (km2)", "AREA (KM²)"), ("Yıl", "YIL")],
)
def test_a_name_in_other_type_costs_nothing(name: str, other: str) -> None:
    found = compare_tables([["City", name], ["Oslo", "454"]], [["City", other], ["Oslo", "454"]])
    assert found.score() == 1
    assert compare_tables([["A+"], ["1"]], [["A-"], ["1"]]).score() < 1


def test_columns_are_described_by_the_type_of_their_data() -> None:
    reference = [
        ["name", "size", "born", "open", "tags", "at"],
        ["Ann", "10", "2001-02-03", "yes", "a; b", "10:30"],
        ["Bob", "20", "2001-02-04", "no", "b; c", "11:30"],
        ["Cyd", "30", "2001-02-05", "no", "c; d", "12:30"],
    ]
    prediction = [
        ["name", "size", "born", "tags", "at", "city"],
        ["Ann", "11", "2001-02-03", "a; b", "10:30", "Rome"],
        ["Bob", "20", "", "b; c", "11:40", "Oslo"],
    ]
    found = compare_tables(reference, prediction)
    counts = {kind: tuple(numbers) for kind, numbers in found.types.items()}
    assert counts == {
        "number": (1, 0, 0, 1, 1, 1, 0),
        "string": (2, 0, 1, 2, 0, 1, 2),
        "bool": (1, 1, 0, 0, 0, 3, 0),
        "date": (1, 0, 0, 1, 0, 2, 0),
        "list": (1, 0, 0, 2, 0, 1, 0),
        "time": (1, 0, 0, 1, 1, 1, 0),
    }
    assert found.to_json()["types"]["bool"]["missing_columns"] == 1
    assert re.search(r"bool +1 +1 +0 +0 +0 +3 +0", str(found))
    assert '<th>bool</th><td class="number">1</td>' in found._repr_html_()


def test_the_page_has_both_tables_in_one_so_that_their_rows_stay_level() -> None:
    renamed = [["Name", "Height (m)", "Birthday", "City"], *PEOPLE[1:3]]
    html = compare_tables(PEOPLE, renamed)._repr_html_()
    (body,) = re.findall(r"Prediction</th>.*?<tbody>(.*?)</tbody>", html)
    for line in body.split("</tr>")[:-1]:
        assert line.count("<td") == 8, "four columns of either side"
    assert "Columns with another name: Born → Birthday." in html
    assert '<th>rows</th><td class="number">2</td><td class="number">1</td>' in html
    empty = compare_tables(PEOPLE, [])._repr_html_()
    assert empty.count("<tr>") > 4


ORDERS = [["order", "line", "amount"], ["7", "1", "10"], ["7", "2", "20"], ["8", "1", "30"]]


def test_rows_are_paired_by_their_keys_whatever_else_they_say() -> None:
    prediction = [
        ["line", "amount ($)", "order"],
        ["1", "35", "008"],
        ["2", "20", "7"],
        ["9", "1", "9"],
    ]
    found = compare_tables(ORDERS, prediction, key=["order", "line"])
    assert found.rows == ((0, None), (1, 1), (2, 0), (None, 2))
    assert [column.predicted_name for column in found.columns] == ["order", "line", "amount ($)"]
    assert found.repeated_keys == 0
    numbers = [cell.difference for cell in found.cells if cell.column.reference == 2]
    assert [d and d.magnitude for d in numbers] == [None, 5]


def test_rows_with_one_key_are_paired_in_their_order_and_it_is_said() -> None:
    prediction = [["order", "amount"], ["7", "20"], ["7", "10"], ["7", "5"], ["8", "30"]]
    found = compare_tables([[row[0], row[2]] for row in ORDERS], prediction, key="order")
    assert found.rows == ((0, 0), (1, 1), (2, 3), (None, 2))
    assert found.repeated_keys == found.to_json()["repeated_keys"] == 1
    assert "1 key stands in several rows: these are paired in their order." in str(found)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("size", r"key 'size': the reference has no such column\. Its columns are order, line"),
        ("amount", "key 'amount': the prediction has no such column"),
        ("line", "key 'line': the prediction has 2 columns of this name"),
    ],
)
def test_a_key_that_is_no_column_is_named(key: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compare_tables(ORDERS, [["order", "line", "line"], ["7", "1", "1"]], key=key)


def test_100_000_rows_are_compared_by_their_keys() -> None:
    table = [["id", "size"], *([f"n{i}", str(i % 900)] for i in range(100_000))]
    other = [table[0], *table[:0:-1]]
    other[5] = [other[5][0], "2000"]
    found = compare_tables(table, other[:-1], key="id")
    assert (found.structure.matched_rows, found.structure.missing_rows) == (99_999, 1)
    assert found.partial_counts == {"numeric": 1}
    with pytest.raises(DataError, match=r"100,000 rows .* --key COLUMN"):
        compare_tables(table, other)


@pytest.mark.parametrize(
    ("one", "two"), [("001", "1"), ("Ab", "AB"), ("01/02/2021", "02/01/2021"), ("1", "1.0")]
)
def test_keys_of_equal_text_are_paired_before_those_in_another_format(one: str, two: str) -> None:
    table = [["id", "name"], [one, "Ann"], [two, "Bob"]]
    turned = [table[0], table[2], table[1]]
    found = compare_tables(table, turned, key="id")
    assert (found.score(), found.repeated_keys) == (1, 0)


def test_a_key_of_several_rows_is_counted_once() -> None:
    table = [["id", "name"], ["3", "Ann"], ["3", "Bob"], ["3", "Cem"]]
    assert compare_tables(table, table[:2], key="id").repeated_keys == 1
    assert compare_tables(table, [table[0], ["3.0", "Ann"]], key="id").repeated_keys == 1


def test_keys_are_dates_in_the_order_of_their_column() -> None:
    months_first = [["day", "name"], ["01/02/2021", "Ann"], ["02/01/2021", "Bob"],
                    ["12/25/2021", "Cem"]]  # fmt: skip
    days_first = [["day", "name"], ["02/01/2021", "Ann"], ["01/02/2021", "Bob"],
                  ["25/12/2021", "Cem"]]  # fmt: skip
    assert compare_tables(months_first, days_first, key="day").score() == 1


def test_weights_are_read_by_name() -> None:
    assert weights_named("equal") == RubricWeights()
    assert weights_named("missing=1, numeric=2") == RubricWeights(kinds={"numeric": 2})


def test_a_weight_that_is_given_twice_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"--weights: 'missing' has 2 weights; give one"):
        weights_named("missing=1,missing=5")
