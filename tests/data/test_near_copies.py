"""Near-copies: what counts as one, and that hashing loses none."""

import random

import pytest

from target_bench.core.schema import Table, TableId
from target_bench.data.distractors import LEAST, GoldTables, compute_jaccard, hash_cells


def _table(name: str, *cells: str) -> Table:
    return Table(TableId("0", name), ["name"], [[cell] for cell in cells])


def _words(random: random.Random, n: int) -> list[str]:
    return [f"word{random.randrange(10**6)}" for _ in range(n)]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("Élodie_Ouédraogo", "élodie ouédraogo", True),
        ("Jean (politician)", "Jean", True),
        ("{{flag|SWE}} Sweden", "SWEDEN", True),
        ("1,145", "1 145", True),
        ("1958 election", "1962 election", False),
    ],
)
def test_cells_are_normalised(left: str, right: str, same: bool) -> None:
    assert (hash_cells(_table("a", left)) == hash_cells(_table("b", right))) == same


@pytest.mark.parametrize("cells", [("1", "22"), ("北京", "二千")])
def test_a_table_of_short_cells_alone_is_found_as_a_whole(cells: tuple[str, ...]) -> None:
    table = Table(TableId("0", "c"), ["x"], [[cell] for cell in cells])
    gold = GoldTables([table])
    assert gold.find_nearest(table) == (table.id, 1.0)
    assert gold.find_nearest(Table(TableId("0", "d"), ["x"], [[cells[0]]])) is None
    nothing = Table(TableId("0", "e"), [""], [[""]])
    assert GoldTables([nothing]).find_nearest(nothing) is None


def test_hashing_loses_none() -> None:
    """Against all pairs: at the least similarity one in 10,000 may be missed."""
    rng = random.Random(5)
    tables = [_table(str(n), *_words(rng, rng.randrange(5, 80))) for n in range(300)]
    gold = GoldTables(tables)
    n_near = 0
    for table in tables:
        cells = [str(row[0]) for row in table.rows]
        kept = rng.sample(cells, rng.randrange(len(cells) // 3, len(cells) + 1))
        copy = _table("copy", *kept, *_words(rng, rng.randrange(5)))
        index = compute_jaccard(hash_cells(copy), hash_cells(table))
        n_near += index >= LEAST
        expected = (table.id, index) if index >= LEAST else None
        assert gold.find_nearest(copy) == expected
    assert n_near > 100
