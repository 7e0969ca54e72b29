"""Table -> text, for every format."""

import csv
import io
import json
import unicodedata
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Cell, Field, Format, Table, TableId
from target_bench.data.table_text import Serializer, _words_with_marks

FORMATS: tuple[Format, ...] = get_args(Format)
BODY: tuple[Field, ...] = ("header", "rows")

TABLE = Table(
    TableId("shop", "fruit"),
    ("name", "price"),
    (("apple", 3), ("pear", 4.5), (None, b"\x00\xff")),
    {
        "title": "Fruit",
        "section_title": "Prices",
        "primary_key": ["name"],
        "foreign_keys": [["name", "stock", "fruit"]],
        "url": "not written",
    },
)

TEXTS: dict[Format, str] = {
    "text": "name price apple 3 pear 4.5  00ff",
    "markdown": "| name | price |\n| --- | --- |\n| apple | 3 |\n| pear | 4.5 |\n|  | 00ff |",
    "csv": "name,price\napple,3\npear,4.5\n,00ff",
    "json": '{"columns": ["name", "price"], "rows": [["apple", 3], ["pear", 4.5], [null, "00ff"]]}',
    "html": (
        "<table>\n<tr><th>name</th><th>price</th></tr>\n<tr><td>apple</td><td>3</td></tr>\n"
        "<tr><td>pear</td><td>4.5</td></tr>\n<tr><td></td><td>00ff</td></tr>\n</table>"
    ),
    "sentences": (
        "name is apple, price is 3.\nname is pear, price is 4.5.\nname is , price is 00ff."
    ),
}


def _table(header: Sequence[str], rows: Sequence[Sequence[Cell]] = (), **context: Any) -> Table:
    return Table(TableId("0", "t"), header, rows, context)


@pytest.mark.parametrize("format", FORMATS)
def test_whole_body(format: Format) -> None:
    assert Serializer(BODY, format)(TABLE) == TEXTS[format]


@pytest.mark.parametrize("format", FORMATS)
def test_row_limits(format: Format) -> None:
    """A number of rows is as good as a table that has no more."""
    write_all = Serializer(BODY, format, "all")
    for n in (0, 1, 2, 3, 4, 100):
        cut = Table(TABLE.id, TABLE.header, TABLE.rows[:n], TABLE.context)
        assert Serializer(BODY, format, n)(TABLE) == write_all(cut)


KEYS = '{"primary_key": ["name"], "foreign_keys": [["name", "stock", "fruit"]]}'


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (("id",), "fruit"),
        (("title",), "Fruit"),
        (("section",), "Prices"),
        (("keys",), KEYS),
        (("title", "section"), "Fruit Prices"),
        (("section", "title"), "Prices Fruit"),
        (("title", "header", "section"), "Fruit name price Prices"),
        (("rows", "title", "header"), "name price apple 3 Fruit"),
        (("header", "title", "rows"), "name price apple 3 Fruit"),
        (("keys", "id"), f"{KEYS} fruit"),
    ],
)
def test_fields_in_the_order_given(fields: tuple[Field, ...], expected: str) -> None:
    """Header and rows stand together, at the place of the first of the two."""
    assert Serializer(fields, "text", 1)(TABLE) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fields": ()}, r"fields=\[\]: expected one or more of id, title"),
        ({"fields": ("title", "body")}, r"fields=\['title', 'body'\]: expected"),
        ({"format": "xml"}, "format='xml': expected one of text, markdown"),
        ({"rows": -1}, "rows=-1: expected 'all' or a number from 0"),
        ({"rows": "some"}, "rows='some': expected 'all'"),
        ({"rows": 1.5}, "rows=1.5: expected 'all'"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Serializer(**settings)


csv_text = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(',"\n| '), max_size=6)


@st.composite
def grids(draw: st.DrawFn) -> list[list[str]]:
    """A header and some rows of the same length."""
    width = draw(st.integers(min_value=1, max_value=4))
    line = st.lists(csv_text, min_size=width, max_size=width)
    return draw(st.lists(line, min_size=1, max_size=5))


@given(grids())
def test_formats_read_back(grid: list[list[str]]) -> None:
    """CSV and JSON give the same cells; in Markdown a row is one line, with any cells."""
    header, *rows = grid
    table = _table(header, rows)
    text = Serializer(BODY, "csv")(table)
    assert list(csv.reader(io.StringIO(text, newline=""), strict=True)) == grid
    body = json.loads(Serializer(BODY, "json")(table))
    assert (body["columns"], body.get("rows", [])) == (header, rows)
    lines = Serializer(BODY, "markdown")(table).replace("\\|", "").split("\n")
    assert len(lines) == len(rows) + 2
    assert all(line.count("|") == len(header) + 1 for line in lines)


def test_every_mark_of_the_plane_is_part_of_its_word() -> None:
    """Whatever blocks the pattern looks for them in."""
    marks = [c for c in map(chr, range(0x300, 0xFFFF)) if unicodedata.category(c) in ("Mn", "Mc")]
    find = _words_with_marks()
    assert all(find(f"กา{mark}") == [f"กา{mark}"] for mark in marks)
