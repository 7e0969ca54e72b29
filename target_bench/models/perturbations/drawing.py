"""Sets of perturbed tables, drawn from any tables with a seed, and the files they are kept in."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import atomic_write
from target_bench.core.release import field
from target_bench.core.unknown_names import unknown_name
from target_bench.models.perturbations.harmless_changes import HARMLESS
from target_bench.models.perturbations.perturbed import (
    LEVELS,
    Change,
    Changed,
    Difference,
    Level,
    Rows,
)
from target_bench.models.perturbations.structure_errors import STRUCTURE_ERRORS
from target_bench.models.perturbations.value_errors import VALUE_ERRORS

ERRORS: Mapping[str, Change] = {one.name: one for one in (*STRUCTURE_ERRORS, *VALUE_ERRORS)}
HARMLESS_CHANGES: Mapping[str, Change] = {one.name: one for one in HARMLESS}
CHANGES: Mapping[str, Change] = {**ERRORS, **HARMLESS_CHANGES}

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


@dataclass(frozen=True, slots=True)
class Drawn:
    """A set of perturbed tables.

    Attributes:
        perturbations: in the order in which they were drawn.
        absent: the changes that no table allows, as those of dates where no cell is a date.
    """

    perturbations: tuple[Perturbation, ...]
    absent: tuple[str, ...]


def is_drawn_from(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table can be perturbed: rectangular, 2 × 2 values to ``MOST_CELLS`` cells.

    The names of its columns have to differ: where two are alike, exchanging them is not an error.
    """
    if len(rows) < 3 or len(rows[0]) < 2 or len(rows) * len(rows[0]) > MOST_CELLS:
        return False
    return set(map(len, rows)) == {len(rows[0])} and len(set(rows[0])) == len(rows[0])


def draw(
    tables: Mapping[str, Rows], n: int, seed: int = 0, changes: Sequence[str] | None = None
) -> Drawn:
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
        ConfigError: an unknown change, or no change applies to any of the tables.
    """
    for name in changes or ():
        if name not in CHANGES:
            raise ConfigError(unknown_name("change", name, CHANGES))
    usable = {name: rows for name, rows in tables.items() if is_drawn_from(rows)}
    names = list(changes or CHANGES)
    seen: set[tuple[Rows, Rows]] = set()
    sources = [
        _variants(usable, CHANGES[name], level, seed, seen) for level in LEVELS for name in names
    ]
    found: list[Perturbation] = []
    while sources and len(found) < n:
        turn = [next(source, None) for source in sources]
        found += [one for one in turn if one]
        sources = [source for source, one in zip(sources, turn, strict=True) if one]
    if not found:
        raise ConfigError(f"none of the changes applies to any of the {len(tables):,} tables")
    applied = {one.change for one in found}
    absent = [name for name in names if name not in applied]
    return Drawn(tuple(found[:n]), tuple(absent))


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
    Random(f"{seed}/{change.name}/{level}").shuffle(names)  # noqa: S311 (no secret is made)
    last_new = 0
    for turn in count():
        rng = Random(f"{seed}/{change.name}/{level}/{turn}")  # noqa: S311
        applied = False
        for one in (_one(name, tables[name], change, level, rng) for name in names):
            if one is None:
                continue
            applied = True
            if (one.reference, one.table) not in seen:
                last_new = turn
                seen.add((one.reference, one.table))
                yield one
        if not applied or turn - last_new >= _TURNS_WITHOUT_NEWS:
            return


def _one(name: str, rows: Rows, change: Change, level: Level, rng: Random) -> Perturbation | None:
    made: Changed | None = change.apply(rows, rng, level)
    if made is None:
        return None
    is_error = change.name in ERRORS
    return Perturbation(
        name, change.name, level if is_error else None, rows, made.rows, made.differences
    )


def write(path: Path, perturbations: Iterable[Perturbation]) -> None:
    """Write a set, one JSON object a line.

    Raises:
        OSError: it cannot be written.
    """
    lines = (json.dumps(asdict(one), ensure_ascii=False) for one in perturbations)
    atomic_write(path, "".join(f"{line}\n" for line in lines).encode())


def read(path: Path) -> list[Perturbation]:
    """Read a set that ``write`` wrote.

    Raises:
        DataError: the file cannot be read or is empty, or a line is not one of a set: then it names
            line and field.
    """
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error})") from error
    if lines == [""]:
        raise DataError(f"{path}: holds no tables; `target-bench tables perturb` writes some")
    return [_parsed(line, f"{path}, line {place}") for place, line in enumerate(lines, start=1)]


def _parsed(line: str, place: str) -> Perturbation:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise DataError(f"{place}: not JSON: {error}") from error
    change, level = field(record, "change", str, place), record.get("level")
    if change not in CHANGES:
        raise DataError(f"{place}: {unknown_name('change', change, CHANGES)}")
    if level not in (LEVELS if change in ERRORS else (None,)):
        raise DataError(f"{place}: field 'level' is {level!r} of the change {change}")
    differences = field(record, "differences", list, place)
    if not all(
        isinstance(one, list) and len(one) == len(Difference._fields) for one in differences
    ):
        raise DataError(
            f"{place}: field 'differences' should be lists of {', '.join(Difference._fields)}"
        )
    reference, table = (_rows(record, name, place) for name in ("reference", "table"))
    table_id = field(record, "table_id", str, place)
    places = tuple(Difference(*one) for one in differences)
    return Perturbation(table_id, change, level, reference, table, places)


def _rows(record: Any, name: str, place: str) -> Rows:
    rows = field(record, name, list, place)
    if not rows or not all(
        isinstance(row, list) and all(isinstance(cell, str) for cell in row) for row in rows
    ):
        raise DataError(f"{place}: field {name!r} should be rows of texts")
    return tuple(map(tuple, rows))
