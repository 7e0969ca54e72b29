"""Sets of tables with a known change, drawn from any tables with a seed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random

from benchmarks.table_metrics.changes import (
    CHANGES,
    ERRORS,
    LEVELS,
    Change,
    Difference,
    Level,
    Rows,
)
from target_bench.core.schema import Dataset

MOST_CELLS = 400
"""Cells above which a table is not drawn: some metrics take the square of them."""

_TURNS_WITHOUT_NEWS = 10


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A table with one known change.

    Attributes:
        table_id: the table it was made from.
        change: the name of the error or of the harmless change.
        level: of an error; None of a harmless change.
        reference: the table.
        table: what became of it; rows may differ in length.
        differences: where they truly differ; none of a harmless change.
    """

    table_id: str
    change: str
    level: Level | None
    reference: Rows
    table: Rows
    differences: tuple[Difference, ...]

    @property
    def is_error(self) -> bool:
        """Whether the table is wrong."""
        return self.change in ERRORS


def draw(
    tables: Mapping[str, Rows], n: int, seed: int = 0, changes: Sequence[str] | None = None
) -> list[Perturbation]:
    """Change tables in known ways.

    Every change gets the same number of tables; of errors a third each is easy, medium and hard.
    One seed gives one set, and a smaller set is the beginning of a larger one; the tables of a
    change are taken in turn, from a random one on. No table is made twice from one reference: a
    change that gives nothing new leaves its share to the others.

    Args:
        tables: id -> rows, the header first. Those that cannot be perturbed are passed over.
        n: how many to make; there are fewer if the tables give no more different ones.
        seed: of the random numbers.
        changes: names of ``CHANGES``; default: all.

    Raises:
        ValueError: no change applies to any of the tables.
    """
    usable = {name: rows for name, rows in tables.items() if can_be_changed(rows)}
    seen: set[tuple[Rows, Rows]] = set()
    sources = [
        _variants(usable, CHANGES[name], level, seed, seen)
        for level in LEVELS
        for name in changes or CHANGES
    ]
    drawn: list[Perturbation] = []
    while sources and len(drawn) < n:
        turn = [next(source, None) for source in sources]
        drawn += [made for made in turn if made]
        sources = [source for source, made in zip(sources, turn, strict=True) if made]
    if not drawn:
        raise ValueError(f"none of the changes applies to any of the {len(tables):,} tables")
    return drawn[:n]


def can_be_changed(rows: Rows) -> bool:
    """Return whether a table is rectangular, with 2 × 2 values to ``MOST_CELLS`` cells.

    The names of its columns have to differ: where two are alike, exchanging them is not an error.
    """
    if len(rows) < 3 or len(rows[0]) < 2 or len(rows) * len(rows[0]) > MOST_CELLS:
        return False
    return set(map(len, rows)) == {len(rows[0])} and len(set(rows[0])) == len(rows[0])


def tables_of(dataset: Dataset) -> dict[str, Rows]:
    """Return id -> rows of the tables of a corpus; cells are texts of one line."""
    return {
        str(table.id): tuple(
            tuple("" if cell is None else " ".join(str(cell).split()) for cell in row)
            for row in (table.header, *table.rows)
        )
        for table in dataset.corpus
    }


def _variants(
    tables: Mapping[str, Rows],
    change: Change,
    level: Level,
    seed: int,
    seen: set[tuple[Rows, Rows]],
) -> Iterator[Perturbation]:
    """Yield tables with a change, turn after turn, and add them to those seen.

    It ends where the change applies to none of them, or some turns give nothing that is not seen.
    """
    names = sorted(tables)
    Random(f"{seed}/{change.name}/{level}").shuffle(names)
    last_new = 0
    for turn in count():
        rng = Random(f"{seed}/{change.name}/{level}/{turn}")
        applies = False
        for name in names:
            changed = change.apply(tables[name], rng, level)
            if changed is None:
                continue
            applies = True
            if (tables[name], changed.rows) not in seen:
                last_new = turn
                seen.add((tables[name], changed.rows))
                known = level if change.name in ERRORS else None
                yield Perturbation(
                    name, change.name, known, tables[name], changed.rows, changed.differences
                )
        if not applies or turn - last_new >= _TURNS_WITHOUT_NEWS:
            return
