"""Tables compared by rules: what is paired, how cells differ, and what that costs.

Pairs of cells stand in texts, two spaces or a line apart, with ``=`` signs between them.
"""

import random
import re
import time
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Table, TableId
from target_bench.tables.answer_tables import AnswerTable
from target_bench.tables.comparison import RubricWeights, TableComparison, compare_tables
from target_bench.tables.comparison.differences import CellDifference
from target_bench.tables.comparison.values import read_name

Rows = list[list[str]]

PEOPLE = [
    ["Name", "Height (m)", "Born", "City"],
    ["Ann Smith", "1.80", "3 May 1990", "Paris"],
    ["Bob Jones", "1.75", "1 June 1991", "Rome"],
    ["Cyd Moore", "1.60", "7 July 1985", "London"],
]
MERGED = [["Name", "Height (m)", "Born in"]]
MERGED += [[row[0], row[1], f"{row[3]}, {row[2]}"] for row in PEOPLE[1:]]


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = (pair.partition(" == ") for pair in re.split(r"\s{2,}|\n", text.strip()))
    return [(first, second) for first, _, second in pairs]


def _both_ways(text: str) -> list[tuple[str, str]]:
    return [pair for left, right in _pairs(text) for pair in ((left, right), (right, left))]


def _columns(first: Sequence[str], second: Sequence[str], *names: str) -> TableComparison:
    """Compare a column, in a table whose rows have names."""
    name, right = names or ("value", "value")
    return compare_tables(
        [["name", name], *([f"n{i}", cell] for i, cell in enumerate(first))],
        [["name", right], *([f"n{i}", cell] for i, cell in enumerate(second))],
    )


def _differences(comparison: TableComparison) -> list[CellDifference | None]:
    return [cell.difference for cell in comparison.cells if cell.column.reference]


def _kinds(first: Sequence[str], second: Sequence[str]) -> list[str | None]:
    return [apart and apart.kind for apart in _differences(_columns(first, second))]


def _cell(left: str, right: str, *beside: str) -> CellDifference:
    """Return how one cell of a column differs, whose others are equal."""
    (apart, *others) = _differences(_columns([left, *beside], [right, *beside]))
    assert apart is not None
    assert not any(others)
    return apart


def _changed(column: int, text: str) -> Rows:
    table = [list(cells) for cells in PEOPLE]
    table[1][column] = text
    return table


# ------------------------------------------------------------------------------------------------
# Cells


EQUAL = """
1,234.5 == 1234.50  1.234,5 == 1234.5  $1.2 million == $1,200,000  $3.4bn == US$ 3400 million
(12) == -12  45% == 45 percent  2 km == 2000 m  32 °F == 0 °C  yes == True
10:30 == 10:30:00  3:05 pm == 15:05  29.10.2010 == 29 October 2010  10/11/2010 == 11 October 2010
N/A == -  about 5 == ca. 5  ~5 == approximately 5  ±5 == +/-5
$1.2m == $1,200,000  1.2M == 1.2 million  €3bn == €3,000,000,000
£5k == £5,000  1.2 m USD == $1.2M  5m == 500 cm  45% == 0.45  2020-01-01 00:00:00 == 2020-01-01
2020-01-01T00:00:00Z == 1 January 2020  U.S. == US
Washington, D.C. == Washington DC  0.3 == 0.30000000000000004
1.1 million == 1100000  12,345,678,901,234,567 == 12345678901234567  A → B == A -> B
+5 of 7 == 5 of 7  Intel® == Intel  ½ of it == 1/2 of it  2-0 == 2–0  1998* == 1998†
pre- and post-test == Pre and Post Test  12/31/1999 == 31 December 1999
31.12.99 == 31 December 1999  2001/2/13 == 13 Feb 2001  NA == -  no == false
1.5M == 1.5m
10 bps == 0.1%  25 basis points == 0.25 percent  1.2T == 1.2 trillion  $3 trn == $3,000bn
"""


@pytest.mark.parametrize(("left", "right"), _both_ways(EQUAL))
def test_the_same_value_in_another_format_is_equal(left: str, right: str) -> None:
    assert _columns([left, "x"], [right, "x"]).score() == 1


SAME_AMOUNT = """
1 mi == 1.609344 km; 1 mile == 1,609.344 m; 5 miles == 8.04672 km; 1 yd == 0.9144 m; 3 yards == 9 ft
1 foot == 12 inches; 6 feet == 1.8288 metres; 1 nmi == 1.852 km; 250 cm == 2.5 m; 35 mm == 3.5 cm
1 kg == 1000 g; 2.5 kg == 2,500 grams; 1 tonne == 1000 kg; 1 lb == 16 oz; 3 pounds == 48 ounces
1 stone == 14 lbs; 500 mg == 0.5 g; 2 min == 120 s; 2 hours == 120 minutes; 1 day == 24 h
2 weeks == 14 days; 250 ms == 0.25 s; 100 °C == 212 °F; 100 mph == 160.9344 km/h; 36 km/h == 10 m/s
10 knots == 18.52 km/h; 1 ha == 10,000 m²; 1 km² == 100 ha; 1 acre == 43,560 sq ft
2 sq mi == 1280 acres; 1 l == 1000 ml; 2 m³ == 2000 litres; 3 kW == 3000 W; 2 MW == 2000 kW
3 kJ == 3000 J; 1 kWh == 3600 kJ; 2 GHz == 2000 MHz; 5 MHz == 5000 kHz; 3 GB == 3000 MB
2 TB == 2000 GB; 1 bar == 1000 hPa; 1013 hPa == 101,300 Pa; $5m == 5,000,000 USD
€3bn == 3 billion EUR; £2 million == 2,000,000 GBP; ¥7 == 7 yen; ₹9 == 9 rupees
4k == 4 thousand; 3 mln == 3 million
2 trillion == 2,000 bn
"""


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pair.strip().split(" == ")
        for line in SAME_AMOUNT.split("\n")
        for pair in line.split(";")
        if pair
    ],
)
def test_amounts_in_two_units_are_equal(left: str, right: str) -> None:
    """Each unit and scale that people write; another number of it is another amount."""
    assert _columns([left, "x"], [right, "x"]).score() == 1
    changed = re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), right, count=1)
    assert _columns([left, "x"], [changed, "x"]).score() < 1


OTHER = """
45% == 54%  $12 == €12  yes == no  a, b == a, c  1990 == 1991  version 2 == version 3
12 m == 12 km  5 of 7 == -5 of 7  <0.05 == >0.05  p < .05 == p > .05  ≥ 5 == ≤ 5  5 == ~5
5 == 5+  5 == ±5  1990 == 1990s  c. 1990 == 1990  $5m == 5 m  2020-01-01 10:30 == 2020-01-01
2020-01-01 10:30 == 2020-01-02 10:30  A+ == A-  C++ == C  C# == C  10² == 102
5% of all == 5 of all  $5 fee == €5 fee  3-1 == 1-3  A+++ == A+  C++ == C+  BBB- == BBB
AA- == AA  ▲2.5% == ▼2.5%  ▲2.5% == 2.5%  3 ↑ == 3 ↓  x > y == x < y  a=b == a≠b  a + b == a b
♥ 7 == ♠ 7  ★★★ == ★★  🇫🇷 Paul == 🇩🇪 Paul  5-6 == 5.6  10-3-1 == 3-10-1  1.2.3 == 2.1.3
6-4-2 == 4-6-2  Na == -  Nan == NaN  2 h 55 min == 2 h 50 min  5 ft 10 in == 5 ft 1 in
5% == ~5
10 bps == 10%  1.2T == 1.2bn  1.2 T == 1.2 tonnes  10:30 EST == 10:30 PST  10:30-11:30 == 10:30
"""


@pytest.mark.parametrize(("left", "right"), _both_ways(OTHER))
def test_another_value_is_not_equal(left: str, right: str) -> None:
    assert _columns([left, "x"], [right, "x"]).score() < 1


@pytest.mark.parametrize(
    ("column", "text", "kind", "magnitude", "unit"),
    [
        (0, "Ann Smiht", "typo", 1.0, "edits"),
        (0, "A. Smith", "abbreviation", None, ""),
        (0, "AS", "abbreviation", None, ""),
        (0, "Smith Ann", "semantic", 8.0, "edits"),
        (0, "ANN SMITH", "format", None, ""),
        (0, "Zoe Quill", "different", 7.0, "edits"),
        (1, "1.70", "numeric", -0.1, "meter"),
        (1, "180 cm", "format", None, ""),
        (1, "200 cm", "numeric", 0.2, "meter"),
        (1, "~1.80", "relation", None, ""),
        (1, "about 1.90", "numeric", 0.1, "meter"),
        (1, "1.8 kg", "unit", None, "meter"),
        (1, "tall", "type", None, ""),
        (2, "1990-05-03", "format", None, ""),
        (2, "1990-05-13", "date", 10.0, "days"),
        (3, "Lutetia", "different", 6.0, "edits"),
    ],
)
def test_differences_have_a_kind_and_a_size_in_the_unit_of_the_reference(
    column: int, text: str, kind: str, magnitude: float | None, unit: str
) -> None:
    cells = compare_tables(PEOPLE, _changed(column, text)).cells
    (cell,) = (cell for cell in cells if cell.outcome != "exact" or cell.difference)
    assert cell.difference is not None
    assert (cell.difference.kind, cell.difference.unit) == (kind, unit)
    assert cell.difference.magnitude == pytest.approx(magnitude)
    assert cell.outcome == ("exact" if kind == "format" else "partial")


@pytest.mark.parametrize(
    ("left", "right"),
    _pairs("5 million == 5  $1.2 million == 1.2  5M == 5  12 k == 12  5 == 5 billion"),
)
def test_a_scale_that_is_left_out_or_added_is_another_number(left: str, right: str) -> None:
    assert _columns([left], [right]).score() < 0.51
    assert _cell(left, right).kind == "unit"


@pytest.mark.parametrize(
    ("left", "right"), [*_both_ways("5% == 5  45% == 0.45"), ("5 percent", "5")]
)
def test_a_percent_sign_that_is_left_out_or_added_is_another_unit(left: str, right: str) -> None:
    assert _cell(left, right).kind == "unit"


@pytest.mark.parametrize(
    ("left", "right", "names", "score"),
    [
        ("5", "5", ("cost (million)", "cost"), 0.5),
        ("5", "5000000", ("cost (million)", "cost"), 1),
        ("5,000", "5", ("cost (thousand)", "cost (million)"), 1),
        ("$5", "5", ("cost (million)", "cost (million)"), 1),
        ("$5", "$5 million", ("cost (million)", "cost (million)"), 1),
        ("5 million", "$5 million", ("cost ($)", "cost ($)"), 1),
        ("5", "5 million", ("cost ($ million)", "cost ($)"), 1),
        ("1e308", "1e308", ("length (mm)", "length (km)"), 1),
    ],
)
def test_the_units_of_a_cell_and_of_its_column_are_read_together(
    left: str, right: str, names: tuple[str, str], score: float
) -> None:
    assert _columns([left], [right], *names).score() == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize(
    ("left", "right", "beside", "share"),
    [
        ("1250000", "1.3 million", ["2000000"], 50_000 / 1_625_000),
        ("2 million", "1 million", ["500 thousand", "800 thousand"], 1 / 1.1),
        ("2 km", "1 km", ["500 m", "800 m"], 1 / 1.1),
        ("2 km", "1 km", ["3 km", "4 km"], 1 / 3),
        ("2 km", "1 km", ["1 kg", "4 km"], 1 / 3),
        ("5", "~5", ["7"], 0.25),
    ],
)
def test_a_difference_is_a_share_of_the_mean_size_of_its_column(
    left: str, right: str, beside: list[str], share: float
) -> None:
    assert _cell(left, right, *beside).share == pytest.approx(share)


def test_numbers_that_rounding_explains_or_nobody_can_calculate_with() -> None:
    for text in ("1250000", "1249870"):
        assert _columns([text, "2000000"], ["1.25 million", "2000000"]).score() == 1
    for number in ("1e308", "1e-300", "9" * 70 + "e250"):
        assert _columns([number] * 3, [number] * 3).score() == 1
        assert _columns([number] * 2, ["5", number]).score() < 1


DIGITS = """
9780306406157 == 9780306406158  12345678901 == 12345678902  4111111111111111 == 4111111111111112
12345678901234567890 == 12345678901234567891  1e-13 == 5e-13
0.00000000000012 == 0.00000000000013  123.456789012345 == 123.456789012346
"""


@pytest.mark.parametrize(("left", "right"), _both_ways(DIGITS))
def test_numbers_that_differ_in_any_digit_are_not_another_format(left: str, right: str) -> None:
    apart = _cell(left, right)
    assert apart.kind == ("identifier" if left.isdigit() else "numeric")
    assert apart.magnitude != 0


def test_identifiers() -> None:
    """Codes may lose their zeros, long ones their digits; amounts are no codes."""
    zips = ["01037", "02139", "10001"]
    less, more = (CellDifference("identifier", 0.5, zeros, "leading zeros") for zeros in (-1, 1))
    assert _differences(_columns(zips, ["1037", "2139", "10001"])) == [less, less, None]
    assert _cell("1037", "01037") == more
    assert _kinds(["05", "11"], ["5", "11"]) == ["format", None], "a month"
    amounts = _kinds(["12", "150", "007", "98"], ["13", "150", "7", "98"])
    assert amounts == ["numeric", None, "format", None]
    assert _cell("030123", "30123", "0401234", "0511", "89") == less, "most of them begin with zero"
    ids, lost = ["123456789012", "123456789345", "123456789678"], ["1.23457E+11"] * 3
    assert _differences(_columns(ids, lost)) == [CellDifference("identifier", 1.0)] * 3
    assert _kinds(ids, [f"{number}.0" for number in ids]) == ["format"] * 3
    assert _kinds(["123456789000", *ids[1:]], lost) == ["numeric"] * 3


def test_a_column_has_its_dates_in_one_order() -> None:
    """One cell decides: 01/18 has the month first, so 05/02 is not the 5th of February."""
    iso = ["2024-01-18", "2024-02-05", "2024-03-04", "2024-07-01"]
    american = ["01/18/2024", "02/05/2024", "03/04/2024", "07/01/2024"]
    exchanged = ["01/18/2024", "05/02/2024", "03/04/2024", "01/07/2024"]
    assert _kinds(iso, american) == ["format"] * 4
    assert _kinds(iso, exchanged) == ["format", "date", "format", "date"]
    assert _kinds(american, exchanged) == [None, "date", None, "date"]
    # no cell decides: the order that fits most
    iso, days = ["2024-01-02", "2024-03-04", "2024-05-06"], ["02/01/2024", "04/03/2024"]
    assert _kinds(iso, [*days, "06/05/2024"]) == ["format"] * 3
    assert _kinds(iso, [*days, "05/06/2024"]) == ["format", "format", "date"]
    assert _kinds(days, ["01/02/2024", days[1]])[0] is not None


def test_yes_and_no_of_one_letter_are_booleans_among_booleans_only() -> None:
    assert _columns(["N", "yes", "Y"], ["No", "yes", "Y"]).score() == 1
    assert _columns(["N", "He", "Ne"], ["No", "He", "Ne"]).score() < 1


OPPOSITES = """
active == inactive  not guilty == guilty  male == female  with insurance == without insurance
legal == illegal  possible == impossible  regular == irregular  approved == disapproved
is covered == isn't covered  smoker == non-smoker
"""


@pytest.mark.parametrize(("left", "right"), _both_ways(OPPOSITES))
def test_opposites_are_other_text_at_full_cost(left: str, right: str) -> None:
    apart = _cell(left, right)
    assert apart.kind in ("different", "type")
    assert apart.share == 1


# ------------------------------------------------------------------------------------------------
# What is paired


def test_columns_with_another_name() -> None:
    """By a cell or by the name; empty cells are no evidence that two columns are one."""
    steals = [["player", "steals", "points"], ["Ann", "", "10"], ["Bo", "", "12"], ["Cy", "3", "9"]]

    def paired(header: str, *cells: str) -> bool:
        rows = [[row[0], cell, row[2]] for row, cell in zip(steals[1:], cells, strict=True)]
        columns = compare_tables(steals, [["player", header, "points"], *rows]).columns
        return ("steals", header) in {(column.name, column.predicted_name) for column in columns}

    assert paired("balls won", "", "", "3")
    assert paired("steal", "", "", "")
    assert not paired("turnovers", "5", "", "")


def test_a_transposed_table_is_recognised_with_its_names_in_any_column() -> None:
    rng = random.Random(0)
    for _ in range(10):
        turned = [list(row) for row in zip(*PEOPLE, strict=True)]
        order = rng.sample(range(len(turned[0])), len(turned[0]))
        shuffled = [[row[j] for j in order] for row in turned]
        for pair in ((PEOPLE, shuffled), (shuffled, PEOPLE)):
            assert (compare_tables(*pair).transposed, compare_tables(*pair).score()) == (True, 1)
    turned = [["", *turned[0][1:]], ["size", *turned[1][1:]], ["birthday", *turned[2][1:]]]
    renamed = compare_tables(PEOPLE, turned)
    assert (renamed.transposed, renamed.structure["matched_rows"]) == (True, 3)


def test_missing_and_extra_parts_are_counted_once() -> None:
    prediction = [[*row[:3], "1" if i else "Shoe size"] for i, row in enumerate(PEOPLE[:3])]
    prediction[1][1] = ""
    compared = compare_tables(PEOPLE, prediction)
    structure = compared.structure
    assert (
        structure["missing_rows"],
        structure["missing_columns"],
        structure["missing_cells"],
    ) == (1, 1, 1)
    assert (structure["extra_rows"], structure["extra_columns"], structure["extra_cells"]) == (
        0,
        1,
        0,
    )
    assert sum(term.value for term in compared.terms()) == pytest.approx(
        1 / 3 + 1 / 5 + 1 / 15 + 1 / 5
    )
    halved = RubricWeights(missing=0.5, extra=0)
    assert compared.score(halved) == pytest.approx(1 - (1 / 3 + 1 / 5 + 1 / 15) / 2)
    empty = compare_tables(PEOPLE, AnswerTable("", ()))
    assert (empty.structure["missing_rows"], empty.structure["missing_columns"]) == (3, 4)
    assert empty.score() == 0


def test_columns_that_were_merged_or_split_are_found_and_charged_once() -> None:
    there, back = compare_tables(PEOPLE, MERGED), compare_tables(MERGED, PEOPLE)
    assert [merged.in_prediction for merged in (*there.merged, *back.merged)] == [True, False]
    for compared in (there, back):
        structure = compared.structure
        assert structure["merged_columns"] == 1
        assert structure["missing_columns"] == structure["extra_columns"] == 0
        assert [term.name for term in compared.terms()] == ["merged columns"]
        assert compared.score() == pytest.approx(1 - 0.1 / 4)
    apart = [["id", "first", "last"], ["1", "Ann", "Smith"], ["2", "Bob", "Jones"]]
    lossy = [["id", "name"], ["1", "Ann Smith"], ["2", "Bob"]]
    lost = compare_tables([*apart, ["3", "Cy", "Young"]], [*lossy, ["3", "Cy Young"]])
    assert sum(cell.outcome == "partial" for cell in lost.cells) == 1


# ------------------------------------------------------------------------------------------------
# What is taken for a table


def test_ragged_rows_are_filled_and_tables_of_a_corpus_are_tables() -> None:
    ragged = compare_tables(PEOPLE, [PEOPLE[0], PEOPLE[1][:3], *PEOPLE[2:]])
    assert ragged.structure["missing_cells"] == 1
    table = Table(TableId("0", "t"), PEOPLE[0], PEOPLE[1:])
    assert compare_tables(table, PEOPLE).score() == 1


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ([["a"]] * 2002, DataError, "the prediction has 2,001 rows"),
        ([["a"] * 201], DataError, r"201 columns; tables are compared up to"),
        ([["a"] * 100] * 502, DataError, "tables are compared up to"),
        (None, ConfigError, r"the prediction is None, a NoneType; expected a Table"),
        ("a,b", ConfigError, r"the prediction is 'a,b', a str; expected a Table"),
        ({"a": ["1"]}, ConfigError, r"the prediction is {'a': \['1'\]}, a dict; expected a Table"),
        (
            [["a"], "xyz"],
            ConfigError,
            r"the prediction is \[\['a'\], 'xyz'\], a list; expected a Table",
        ),
        (
            [[name, text] for name, text in zip(*PEOPLE[:2], strict=True)]
            + [[f"row {i}", str(i)] for i in range(200)],
            DataError,
            "the transposed prediction has 1 rows and 204 columns",
        ),
    ],
)
def test_what_is_not_compared(table: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        compare_tables(PEOPLE, table)


def test_columns_of_yes_and_no_do_not_outvote_the_names_of_rows() -> None:
    header = ["name", "member", "paid", "active"]
    reference = [
        ["Ann", "yes", "no", "yes"],
        ["Bob", "no", "yes", "no"],
        ["Cid", "yes", "yes", "no"],
    ]
    turned = [["Ann", "no", "yes", "no"], ["Bob", "yes", "no", "yes"], ["Cid", "yes", "yes", "no"]]
    rows = compare_tables([header, *reference], [header, *turned]).rows
    assert rows == ((0, 0), (1, 1), (2, 2))
    answers = [row[1:] for row in reference]  # without names their order does not count, as ever
    assert compare_tables([header[1:], *answers], [header[1:], *answers[::-1]]).score() == 1


# ------------------------------------------------------------------------------------------------
# Weights, and what is shown


def test_what_is_shown_names_every_difference_and_escapes_text() -> None:
    prediction = _changed(0, "<script>alert(1)</script>")
    prediction[2][1] = "1.65"
    compared = compare_tables(PEOPLE, prediction)
    html, text = compared._repr_html_(), str(compared)
    assert "<script>" not in html
    assert "number -0.1 meter" in html
    assert "1.75 → 1.65 [number -0.1 meter]" in text
    assert f"the score is {compared.score():.4f}" in text
    assert compared.to_json()["score"] == compared.score()
    assert html.count('<td class="partial">') == 2
    renamed = [["Name", "Height (m)", "Birthday", "City"], *PEOPLE[1:]]
    for table, other, sentence in (
        (PEOPLE, renamed, "Columns with another name: Born → Birthday."),
        (PEOPLE, MERGED, "Columns merged: Born + City → Born in."),
        (MERGED, PEOPLE, "Columns split: Born in → Born + City."),
        (PEOPLE, PEOPLE, "All matched cells are equal. No differences: the score is 1."),
        ([["a"], ["x"]], [["z"], ["7"], ["8"]], "No cell of one matches one of the other."),
    ):
        assert sentence in str(compare_tables(table, other))
    assert compare_tables(PEOPLE, [])._repr_html_().count("<tr>") > 4


# ------------------------------------------------------------------------------------------------
# What holds of any tables

CELLS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.integers(-10_000, 10_000).map(str),
    st.floats(-1e6, 1e6).map(lambda number: f"{number:,.2f}"),
    st.dates().map(str),
    st.sampled_from(["", "-", "yes", "no", "12%", "$1.2 million", "3 km", "a, b", "10:30", "(12)"]),
)
TABLES = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=6)
)


@st.composite
def named_tables(draw: st.DrawFn) -> Rows:
    """Draw a table with names of columns and keys of rows that are all different."""
    width, height = draw(st.integers(2, 5)), draw(st.integers(2, 6))
    numbers = st.lists(st.integers(1, 9999), min_size=width - 1, max_size=width - 1)
    names = ("Amsterdam", "Berlin", "Copenhagen", "Dublin", "Edinburgh", "Florence")
    rows = [[f"{names[i]} {i}", *map(str, draw(numbers))] for i in range(height)]
    return [["city", "population", "founded", "area", "students"][:width], *rows]


@given(TABLES)
@example([["a"], ["1", "2"], []])
@example([["", ""], ["", ""]])
@example([["1/2"], ["١٢"], ["²"], ["1e999"], ["9" * 400]])
def test_a_table_equals_itself(table: Rows) -> None:
    compared = compare_tables(table, table)
    assert compared.score() == 1
    assert all(cell.outcome == "exact" and cell.difference is None for cell in compared.cells)
    assert not compared.transposed


@given(TABLES, TABLES)
@settings(deadline=None)
def test_any_two_tables_are_compared(left: Rows, right: Rows) -> None:
    compared = compare_tables(left, right)
    assert 0 <= compared.score() <= 1
    structure = compared.structure
    assert structure["matched_rows"] + structure["missing_rows"] == len(compared.reference.rows)
    assert structure["matched_rows"] + structure["extra_rows"] == len(compared.prediction.rows)
    differences = [cell.difference for cell in compared.cells if cell.difference is not None]
    assert all(0 <= apart.share <= 1 for apart in differences)
    assert str(compared)
    assert compared._repr_html_()


@given(named_tables(), st.randoms(use_true_random=False), st.data())
def test_order_formats_and_sides(table: Rows, rng: random.Random, data: st.DataObject) -> None:
    """Order, turning and formats of numbers count for nothing; missing turned round is extra."""
    columns = rng.sample(range(len(table[0])), len(table[0]))
    rows = [table[0], *rng.sample(table[1:], len(table) - 1)]
    shuffled = [[row[j] for j in columns] for row in rows]
    turned = [list(row) for row in zip(*table, strict=True)]
    written = [table[0], *([key, *(f"{int(n):,}.00" for n in rest)] for key, *rest in table[1:])]
    for other in (shuffled, turned, written):
        assert compare_tables(table, other).score() == 1
    keep = data.draw(st.sets(st.integers(1, len(table) - 1), min_size=1))
    width = data.draw(st.integers(1, len(table[0])))
    less = [row[:width] for i, row in enumerate(table) if i == 0 or i in keep]
    there, back = compare_tables(table, less).structure, compare_tables(less, table).structure
    expected = (len(table) - 1 - len(keep), len(table[0]) - width, 0, 0)
    lacks = (
        there["missing_rows"],
        there["missing_columns"],
        there["extra_rows"],
        there["extra_columns"],
    )
    assert lacks == expected
    too_much = (
        back["extra_rows"],
        back["extra_columns"],
        back["missing_rows"],
        back["missing_columns"],
    )
    assert too_much == expected


@given(st.lists(st.dates(date(1000, 1, 1)), min_size=2, max_size=6, unique=True))
def test_other_formats_of_dates_are_equal(days: Sequence[date]) -> None:
    forms = ("%Y-%m-%d", "%d %B %Y", "%b %d, %Y", "%d-%B-%Y")
    first, *others = ([day.strftime(form) for day in days] for form in forms)
    assert all(_columns(first, other).score() == 1 for other in others)


@given(st.lists(st.integers(1, 100_000), min_size=2, max_size=6, unique=True))
def test_other_units_are_equal(metres: Sequence[int]) -> None:
    plain, thousandth = [str(m) for m in metres], [f"{m / 1000}" for m in metres]
    assert _columns(plain, thousandth, "length (m)", "length (km)").score() == 1
    assert _columns(plain, [f"{m} km" for m in thousandth], "length (m)", "length").score() == 1


def test_hostile_lengths() -> None:
    """Units in long names and words of long texts are looked for in linear time."""
    name, unit = read_name("Length (km)")
    assert (name, str(unit)) == ("Length", "kilometer")
    for long in ("a" + ", " * 50_000 + "b", "a" + " " * 50_000 + "b", "a" * 500 + " (km)"):
        assert read_name(long).text == long
    start = time.process_time()
    texts = (" ".join(f"{letter}{i}" for i in range(3_000)) for letter in ("ab", "xyz"))
    assert _cell(*texts).kind == "different"
    assert time.process_time() - start < 5


# ------------------------------------------------------------------------------------------------
# The score by the equation of the paper


def test_the_example_of_the_papers_appendix_b() -> None:
    """Missing 1 row of 5 and .4 of a number, an extra column: .18 + .18 + .0092 (there .0088)."""
    names = ["Movie", "Star", "Year", "Rating", "Minutes"]
    movies = [[f"m{i}", f"s{i}", str(1990 + i), f"4.{i}", "100"] for i in range(5)]
    seen = [[*row, f"director {i}"] for i, row in enumerate(movies[:4])]
    seen[0][4] = "140"
    comparison = compare_tables([names, *movies], [[*names, "Director"], *seen])
    weights = RubricWeights(
        missing=1, extra=0.9, partial=0.8, row=0.9, column=1, cell=0.8, kinds={"numeric": 0.9}
    )
    assert 1 - comparison.paper_score(weights) == pytest.approx(0.18 + 0.18 + 0.8 * 0.8 * 0.36 / 25)
    both = 0.9 / 5 + 0.9 / 6 + 0.8 * 0.8 * 0.36 / 30
    assert sum(term.value for term in comparison.terms(weights)) == pytest.approx(both)
    assert f"as in the paper: {comparison.paper_score():.4f}" in str(comparison)


def test_the_papers_score_of_tables_without_rows_or_columns() -> None:
    assert compare_tables([], []).paper_score() == 1
    assert compare_tables([], PEOPLE).paper_score() == 0
    assert compare_tables(PEOPLE, []).paper_score() == 0
    assert compare_tables(PEOPLE, MERGED).paper_score() == 1, "no term for merged columns"
