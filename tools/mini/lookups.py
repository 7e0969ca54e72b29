"""Questions and statements whose answers are looked up or computed in their tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .tables import Table, number

Answer = str | list[str]
Look = Callable[[Sequence[Table]], str]
Test = Callable[[Sequence[Table]], bool]


@dataclass(frozen=True)
class Question:
    """A question with its gold tables and the way to its answer."""

    text: str
    table_ids: tuple[str, ...]
    look: Look
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statement:
    """A statement with its gold tables, its label and the test of that label."""

    text: str
    table_ids: tuple[str, ...]
    label: bool
    test: Test


def _ids(table_ids: str | Sequence[str]) -> tuple[str, ...]:
    return (table_ids,) if isinstance(table_ids, str) else tuple(table_ids)


def qa(text: str, table_ids: str | Sequence[str], look: Look, *also: str) -> Question:
    """Make a question; `also` names other acceptable spellings of the answer."""
    return Question(text, _ids(table_ids), look, also)


def yes(text: str, table_ids: str | Sequence[str], test: Test) -> Statement:
    """Make a true statement."""
    return Statement(text, _ids(table_ids), True, test)


def no(text: str, table_ids: str | Sequence[str], test: Test) -> Statement:
    """Make a false statement."""
    return Statement(text, _ids(table_ids), False, test)


def at(*keys_and_column: str, table: int = 0) -> Look:
    """Look up the cell of the column named last, in the only row that holds the keys before it."""
    *keys, column = keys_and_column
    return lambda tables: tables[table].cell(keys, column)


def _extreme(label: str, by: str, table: int, sign: int) -> Look:
    def look(tables: Sequence[Table]) -> str:
        values = [sign * number(cell) for cell in tables[table].column(by)]
        best = max(values)
        if values.count(best) != 1:
            raise ValueError(f"{tables[table].table_id}: a tie over {by!r}")
        return tables[table].column(label)[values.index(best)]

    return look


def most(label: str, by: str, table: int = 0) -> Look:
    """Look up the label of the only row with the largest number in the column `by`."""
    return _extreme(label, by, table, 1)


def least(label: str, by: str, table: int = 0) -> Look:
    """Look up the label of the only row with the smallest number in the column `by`."""
    return _extreme(label, by, table, -1)


def tally(column: str, *values: str, table: int = 0) -> Look:
    """Count the rows that have one of the values in the column."""

    def look(tables: Sequence[Table]) -> str:
        cells = tables[table].column(column)
        return str(sum(cell in values for cell in cells))

    return look


def holding(column: str, part: str, table: int = 0) -> Look:
    """Count the rows that have the part somewhere in their cell of the column."""
    return lambda tables: str(sum(part in cell for cell in tables[table].column(column)))


def over(column: str, limit: float, table: int = 0) -> Look:
    """Count the rows that have more than the limit in the column."""
    return lambda tables: str(sum(number(cell) > limit for cell in tables[table].column(column)))


def under(column: str, limit: float, table: int = 0) -> Look:
    """Count the rows that have less than the limit in the column."""
    return lambda tables: str(sum(number(cell) < limit for cell in tables[table].column(column)))


def whole(column: str, table: int = 0) -> Look:
    """Add up a column."""
    return lambda tables: f"{sum(number(cell) for cell in tables[table].column(column)):g}"


def distinct(column: str, table: int = 0) -> Look:
    """Count the different values of a column."""
    return lambda tables: str(len(set(tables[table].column(column))))


def longest(label: str, low: str, high: str, table: int = 0) -> Look:
    """Look up the label of the only row with the widest span between two columns."""

    def look(tables: Sequence[Table]) -> str:
        source = tables[table]
        pairs = zip(source.column(low), source.column(high), strict=True)
        spans = [number(end) - number(start) for start, end in pairs]
        if spans.count(max(spans)) != 1:
            raise ValueError(f"{source.table_id}: a tie between {low!r} and {high!r}")
        return source.column(label)[spans.index(max(spans))]

    return look


def gap(first: Look, second: Look) -> Look:
    """Take the distance between two numbers."""
    return lambda tables: f"{abs(number(first(tables)) - number(second(tables))):g}"


def plus(*looks: Look) -> Look:
    """Add up numbers."""
    return lambda tables: f"{sum(number(look(tables)) for look in looks):g}"


def larger(left: Look, right: Look, names: tuple[str, str]) -> Look:
    """Choose the first name if the first number is larger, the second if the second is."""

    def look(tables: Sequence[Table]) -> str:
        first, second = number(left(tables)), number(right(tables))
        if first == second:
            raise ValueError(f"no difference between {names}")
        return names[0] if first > second else names[1]

    return look


def smaller(first: Look, second: Look, names: tuple[str, str]) -> Look:
    """Choose the first name if the first number is smaller, the second if the second is."""
    return larger(first, second, (names[1], names[0]))


def shared(column: str) -> Look:
    """Look up the only value that the column has in both tables."""

    def look(tables: Sequence[Table]) -> str:
        common = set(tables[0].column(column)) & set(tables[1].column(column))
        if len(common) != 1:
            raise ValueError(f"{column!r}: {len(common)} values in common")
        return common.pop()

    return look


def eq(first: Look, second: Look | str) -> Test:
    """Test whether a look-up gives a value, or the same as another look-up."""
    return lambda tables: first(tables) == (second if isinstance(second, str) else second(tables))


def gt(look: Look, bound: Look | float) -> Test:
    """Test whether a number is larger than another."""

    def test(tables: Sequence[Table]) -> bool:
        limit = number(bound(tables)) if callable(bound) else bound
        return number(look(tables)) > limit

    return test


def lt(look: Look, bound: Look | float) -> Test:
    """Test whether a number is smaller than another."""

    def test(tables: Sequence[Table]) -> bool:
        limit = number(bound(tables)) if callable(bound) else bound
        return number(look(tables)) < limit

    return test


def answer(question: Question, tables: dict[str, Table]) -> Answer:
    """Return the answer of the gold tables; raise when there is not exactly one."""
    value = question.look([tables[table_id] for table_id in question.table_ids])
    return [value, *question.also] if question.also else value


def verdict(statement: Statement, tables: dict[str, Table]) -> str:
    """Return `True` or `False`; raise ValueError when the test contradicts the label."""
    if (
        statement.test([tables[table_id] for table_id in statement.table_ids])
        is not statement.label
    ):
        raise ValueError(f"the table contradicts the label: {statement.text}")
    return str(statement.label)
