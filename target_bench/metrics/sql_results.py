"""Rules by which two results of SQL are equal, and soft F1.

Every worker process imports this when it starts, so it does without NumPy.
"""

import marshal
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, repeat
from math import copysign, isclose, nan
from operator import ne
from typing import Any, NamedTuple

from target_bench.core.schema import Cell

# A result is its rows in the order they came; values compare as Python compares them: 1 equals
# 1.0, '1' equals neither, NULL equals NULL. A submission chooses its statements, and so could
# choose rows whose hashes collide, on which sets and counters take forever: Python's hashes of
# numbers are not secret. So rows are encoded as bytes, whose hash has a secret key of the process.

Row = tuple[Cell, ...]
Rows = Sequence[Row]
Column = tuple[bytes, ...]
"""The encoded values of a column."""

_FEW_PAIRS = 400  # pairs of values of two rows that are compared one by one
_CLOSE = 1e-9  # largest difference of two engines' floats, relative to the larger one
_FORM = 2  # of marshal: the last one that writes equal values as equal bytes, shared or not


def compare_results(
    names: Iterable[str], gold: Rows, predicted: Rows, gold_sql: str
) -> dict[str, float]:
    """Return rule -> value, of those named of ``bird``, ``spider`` and ``soft_f1``."""
    gold, predicted = _EncodedOnce(unify_nans(gold)), _EncodedOnce(unify_nans(predicted))
    measures: dict[str, Callable[[], float]] = {
        "bird": lambda: same_set(gold, predicted),
        "spider": lambda: same_table(gold, predicted, order_matters(gold_sql)),
        "soft_f1": lambda: soft_f1(gold, predicted),
    }
    return {name: float(measures[name]()) for name in names}


def unify_nans(rows: Rows) -> Rows:
    """Replace every NaN (DuckDB has them) by one object, which equals itself in a tuple."""
    if not any(map(ne, chain.from_iterable(rows), chain.from_iterable(rows))):
        return rows
    return [tuple(nan if value != value else value for value in row) for row in rows]


def same_set(gold: Rows, predicted: Rows) -> bool:
    """Apply BIRD's rule (Li et al. 2023): the sets of rows are equal, columns in their order.

    So duplicates and the order of rows are ignored, and two empty results are equal whatever their
    columns are.
    """
    return set(_get_codes(gold)) == set(_get_codes(predicted))


def same_multiset(gold: Rows, predicted: Rows) -> bool:
    """Return whether the same rows occur equally often, in any order, columns in their order."""
    return len(gold) == len(predicted) and _are_equally_often(gold, predicted)


def same_table(gold: Rows, predicted: Rows, ordered: bool) -> bool:
    """Apply Spider's test-suite rule (Zhong et al. 2020): equal under some order of columns.

    Two empty results are equal. The official quick reject is part of the rule: it sorts the values
    of each row by their text and type, so rows in which 1 and 1.0 sort differently are not equal.
    The official search for the order of columns can take forever; this one is of bounded length.

    Args:
        gold: the gold result.
        predicted: the result to judge.
        ordered: whether the order of rows matters; see ``order_matters``.
    """
    if not gold or not predicted:
        return not gold and not predicted
    if len(gold) != len(predicted) or len(gold[0]) != len(predicted[0]):
        return False
    if ordered:  # in any order of columns, each as it is
        matched = _are_equally_often(zip(*gold, strict=True), zip(*predicted, strict=True))
    else:
        matched = same_multiset(gold, predicted) or _columns_match(gold, predicted)
    return matched and _passes_quick_reject(gold, predicted, ordered)


def same_rows(here: Rows, there: Rows, repeated: bool = False) -> bool:
    """Return whether results of two engines have the same rows in any order, floats rounded.

    With ``repeated``, they must occur equally often.
    """
    if not repeated:
        here, there = drop_repeated(here), drop_repeated(there)
    first, second = sorted(here, key=_make_sort_key), sorted(there, key=_make_sort_key)
    return len(first) == len(second) and all(
        len(row) == len(other) and all(map(_is_same_cell, row, other))
        for row, other in zip(first, second, strict=True)
    )


def _make_sort_key(row: Row) -> tuple[list[tuple[str, object]], list[float], list[float]]:
    """Return a key by which rows that are the same but for rounding are sorted alike."""
    numbers: list[float] = []
    others: list[tuple[str, object]] = []
    for cell in row:
        if isinstance(cell, int | float) and cell == cell:
            numbers.append(cell)
            others.append(("number", 0))
        else:
            others.append((type(cell).__name__, cell if cell is not None and cell == cell else 0))
    # rounded numbers come first, so that rows with close numbers are beside each other
    return others, [float(f"{number:.6g}") for number in numbers], numbers


def _is_same_cell(here: Cell, there: Cell) -> bool:
    if isinstance(here, int | float) and isinstance(there, int | float):
        return isclose(here, there, rel_tol=_CLOSE) or (here != here and there != there)
    return here == there


def drop_repeated(rows: Rows) -> list[Row]:
    """Return the rows without repetitions, in the order in which they come first."""
    return list(dict(zip(_get_codes(rows), rows, strict=True)).values())


def order_matters(gold_sql: str) -> bool:
    """Return whether Spider's rule heeds the order of rows: "order by" is in the gold."""
    return "order by" in gold_sql.lower()


def soft_f1(gold: Rows, predicted: Rows) -> float:
    """Return BIRD mini-dev's soft F1, as a fraction (the official script prints it times 100).

    Duplicate rows go, then the i-th rows are compared with each other: each predicted value that
    occurs anywhere in the gold row is a match, and all counts are divided by the gold row's
    length. So the order of rows matters, and values that repeat can lift the score above 1. A row
    without a partner is one false positive or one false negative.
    """
    if not gold or not predicted:
        return float(not gold and not predicted)
    gold, predicted = drop_repeated(gold), drop_repeated(predicted)
    overlaps = [_overlap(*pair) for pair in zip(gold, predicted, strict=False)]
    matched, only_predicted, only_gold = map(sum, zip(*overlaps, strict=True))
    if matched == 0:
        return 0.0
    only_predicted += max(len(predicted) - len(gold), 0)
    only_gold += max(len(gold) - len(predicted), 0)
    precision, recall = matched / (matched + only_predicted), matched / (matched + only_gold)
    return 2 * precision * recall / (precision + recall)


def _overlap(gold: Row, predicted: Row) -> tuple[float, float, float]:
    """Count matches, values only predicted and values only in gold, per gold column."""
    if gold == predicted:
        return 1.0, 0.0, 0.0
    if len(gold) * len(predicted) > _FEW_PAIRS:
        gold_list, predicted_list = (
            _encode_rows([(value,) for value in row]) for row in (gold, predicted)
        )
        gold_codes, predicted_codes = set(gold_list), set(predicted_list)
        matches = sum(value in gold_codes for value in predicted_list)
        missed = sum(value not in predicted_codes for value in gold_list)
    else:
        matches = sum(value in gold for value in predicted)
        missed = sum(value not in predicted for value in gold)
    return matches / len(gold), (len(predicted) - matches) / len(gold), missed / len(gold)


def _passes_quick_reject(gold: Rows, predicted: Rows, ordered: bool) -> bool:
    """Apply Spider's quick reject to results that are equal under some order of columns.

    Values that are equal sort alike unless their texts differ (1 and 1.0, 0.0 and -0.0), so only
    rows with such values are looked at.
    """
    if len(gold[0]) == 1:
        return True
    ambiguous = _find_ambiguous([*gold, *predicted])
    if not ambiguous:
        return True
    gold_rows, predicted_rows = (
        [_sort_cells(row) for row in rows if not ambiguous.isdisjoint(_encode_numbers(row))]
        for rows in (gold, predicted)
    )
    return gold_rows == predicted_rows if ordered else same_set(gold_rows, predicted_rows)


def _find_ambiguous(rows: Rows) -> set[bytes]:
    """Return the encodings of numbers that occur as integer and float, or as 0.0 and -0.0."""
    if float not in set(map(type, chain.from_iterable(rows))):
        return set()
    floats, other_forms = set(), set()
    for cell in chain.from_iterable(rows):
        if type(cell) is float:
            floats.add(_encode_cell(cell))
        if type(cell) is int or (cell == 0.0 and copysign(1, cell) < 0):
            other_forms.add(_encode_cell(cell))
    return floats & other_forms


def _encode_numbers(row: Row) -> Iterator[bytes]:
    return (_encode_cell(cell) for cell in row if isinstance(cell, int | float))


_TYPE_TEXTS = {kind: str(kind) for kind in (str, int, float, bytes, type(None))}


def _sort_cells(row: Row) -> Row:
    return tuple(sorted(row, key=lambda value: str(value) + _TYPE_TEXTS[type(value)]))


def _columns_match(gold: Rows, predicted: Rows) -> bool:
    """Return whether some order of columns makes the rows equal as multisets; False if unknown."""
    search = _ColumnSearch(40 * len(gold) * len(gold[0]))
    try:
        return search.match(_encode_columns(gold), _encode_columns(predicted))
    except _GivenUpError:
        return False


def _encode_columns(rows: Rows) -> "_EncodedResult":
    columns = zip(*_unify_numbers(rows), strict=True)
    encoded = (tuple(map(marshal.dumps, column, repeat(_FORM))) for column in columns)
    return _EncodedResult(Counter(encoded), [0] * len(rows))


class _EncodedResult(NamedTuple):
    """One of two results in the search for an order of columns."""

    columns: dict[Column, int]  # those not matched yet, and how often each occurs
    classes: list[int]  # of each row; those of one class, on both sides, are not told apart yet

    def kinds(self) -> dict[Column, tuple[int, int]]:
        """Return the kind of each column: the same for the same values in the same row classes."""
        return {
            column: (times, _fingerprint(zip(self.classes, column, strict=True)))
            for column, times in self.columns.items()
        }

    def row_kinds(self, kinds: Mapping[Column, tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Return the kind of each row: the same for the same class and values by column kind."""
        rows = (zip(kinds.values(), row, strict=True) for row in zip(*kinds, strict=True))
        return zip(self.classes, map(_fingerprint, rows), strict=True)

    def drop(self, columns: Iterable[Column], classes: list[int]) -> "_EncodedResult":
        """Return the columns that are left when some are matched."""
        left = dict(self.columns)
        for column in columns:
            del left[column]
        return _EncodedResult(left, classes)


class _GivenUpError(Exception):
    """The search for an order of columns has reached its limit."""


class _ColumnSearch:
    """The search for an order of columns under which two results have the same rows.

    It is colour refinement, as for graph isomorphism: columns match only if they are of one kind,
    and every match tells more rows apart and with them more columns. Where every column has several
    candidates, and rows tell no more columns apart, each candidate is tried.
    """

    def __init__(self, limit: int) -> None:
        # cells to look at (20 million take some seconds); to need more takes hundreds of columns of
        # a symmetry that results of queries do not have
        self._left = max(limit, 20_000_000)

    def match(self, gold: _EncodedResult, predicted: _EncodedResult) -> bool:
        """Return whether the columns that are left match in some order."""
        if not gold.columns:
            return True
        self._left -= 4 * len(gold.columns) * len(gold.classes)
        if self._left < 0:
            raise _GivenUpError
        gold_kinds, predicted_kinds = gold.kinds(), predicted.kinds()
        if Counter(gold_kinds.values()) != Counter(predicted_kinds.values()):
            return False
        groups, candidates = _group_by_kind(gold_kinds), _group_by_kind(predicted_kinds)
        certain = [kind for kind, columns in groups.items() if len(columns) == 1]
        if certain:
            pairs = [(groups[kind][0], candidates[kind][0]) for kind in certain]
            return self._match_pairs(pairs, gold, predicted)
        classes = _number_classes(gold.row_kinds(gold_kinds), predicted.row_kinds(predicted_kinds))
        if classes is None:
            return False
        if max(classes[0]) > max(gold.classes):  # more rows are told apart
            return self.match(
                _EncodedResult(gold.columns, classes[0]),
                _EncodedResult(predicted.columns, classes[1]),
            )
        column = min(groups.values(), key=len)[0]
        return any(
            self._match_pairs([(column, candidate)], gold, predicted)
            for candidate in candidates[gold_kinds[column]]
        )

    def _match_pairs(
        self,
        pairs: Sequence[tuple[Column, Column]],
        gold: _EncodedResult,
        predicted: _EncodedResult,
    ) -> bool:
        """Return whether the columns left match in some order when these pairs are matched."""
        gold_columns, predicted_columns = zip(*pairs, strict=True)
        classes = _number_classes(
            zip(gold.classes, *gold_columns, strict=True),
            zip(predicted.classes, *predicted_columns, strict=True),
        )
        if classes is None:
            return False
        return self.match(
            gold.drop(gold_columns, classes[0]), predicted.drop(predicted_columns, classes[1])
        )


def _group_by_kind(kinds: Mapping[Column, tuple[int, int]]) -> dict[tuple[int, int], list[Column]]:
    groups: dict[tuple[int, int], list[Column]] = defaultdict(list)
    for column, kind in kinds.items():
        groups[kind].append(column)
    return groups


def _fingerprint(pairs: Iterable[tuple[Any, Any]]) -> int:
    """Return a hash of pairs, independent of their order."""
    return sum(map(hash, pairs))


def _number_classes(
    gold: Iterable[Any], predicted: Iterable[Any]
) -> tuple[list[int], list[int]] | None:
    """Return each item as the number of its kind; None unless both have equal multisets."""
    gold, predicted = list(gold), list(predicted)
    if Counter(gold) != Counter(predicted):
        return None
    numbers = {item: number for number, item in enumerate(dict.fromkeys(gold))}
    return [numbers[item] for item in gold], [numbers[item] for item in predicted]


def _are_equally_often(gold: Iterable[Row], predicted: Iterable[Row]) -> bool:
    return Counter(_get_codes(gold)) == Counter(_get_codes(predicted))


class _EncodedOnce(list[Row]):
    """Rows that keep their encoding, which several rules need."""

    @cached_property
    def codes(self) -> list[bytes]:
        return _encode_rows(self)


def _get_codes(rows: Iterable[Row]) -> list[bytes]:
    return rows.codes if isinstance(rows, _EncodedOnce) else _encode_rows(rows)


def _encode_rows(rows: Iterable[Row]) -> list[bytes]:
    """Return each row as bytes that are equal where rows are."""
    return list(map(marshal.dumps, _unify_numbers(rows), repeat(_FORM)))


def _encode_cell(cell: Cell) -> bytes:
    return marshal.dumps(_unify_number(cell), _FORM)


def _unify_numbers(rows: Iterable[Row]) -> Sequence[Row]:
    """Return the rows with equal numbers as the same type: 1.0 and True as 1."""
    rows = list(rows)
    if _PLAIN.issuperset(map(type, chain.from_iterable(rows))):
        return rows
    return [tuple(map(_unify_number, row)) for row in rows]


_PLAIN = {int, str, bytes, type(None)}


def _unify_number(cell: Cell) -> Cell:
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() else (nan if cell != cell else cell)
    return int(cell) if isinstance(cell, bool) else cell
