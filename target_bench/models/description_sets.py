"""Sets of descriptions like ToTTo: their statistics, their splits, and how one is built.

As Parikh et al. (2020) define them: the statistics of Table 5, BLEU between annotators, the split
by header overlap, and two of the heuristics that match sentences with tables.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from statistics import fmean, median
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.grid import GridCell
from target_bench.core.schema import Dataset, Query, Table
from target_bench.data.highlights import HIGHLIGHTED
from target_bench.data.table_text import grid_rows
from target_bench.metrics.text import JudgedAnswers, SacreBLEU
from target_bench.tables.totto_text import tokens

Rows = Sequence[Sequence[GridCell]]
Place = tuple[int, int]

MATCHED_CELLS = 3
"""Distinct cells of one row that a sentence has to share with a table."""

NON_ZERO_DIGITS = 3
"""Digits other than 0 of a number that a sentence has to share with a table."""

ALPHA = 5
"""Examples of train with one set of header values up to which held-out tables take it from them."""

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
_YEAR = re.compile(r"(1[5-9]|20)\d\d")


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and mean of a number."""

    median: float
    mean: float


@dataclass(frozen=True, slots=True)
class SetStatistics:
    """Statistics of a set, as in ToTTo's Table 5.

    Attributes:
        examples: queries with highlighted cells.
        references: sentences.
        target_tokens: tokens of all sentences, by sacreBLEU's 13a in lower case.
        target_length: tokens of a sentence.
        vocabulary: different tokens.
        unique_tables: tables that differ in header or rows.
        rows_per_table: of the unique tables, header rows included.
        cells_per_table: of the unique tables, as they are in the source.
        highlighted_cells: of an example.
    """

    examples: int
    references: int
    target_tokens: int
    target_length: Spread
    vocabulary: int
    unique_tables: int
    rows_per_table: Spread
    cells_per_table: Spread
    highlighted_cells: Spread

    def to_json(self) -> dict[str, Any]:
        """Return field name -> value."""
        return asdict(self)


def statistics(dataset: Dataset) -> SetStatistics:
    """Compute the statistics of the queries of a dataset that have highlighted cells.

    Raises:
        DataError: no query has any.
    """
    asked = [query for query in dataset.queries if HIGHLIGHTED in query.metadata]
    if not asked:
        raise DataError(
            f"{dataset.info.name} {dataset.split}: no query has highlighted cells; their place is "
            f"the metadata {HIGHLIGHTED}"
        )
    texts = [tokens(text) for query in asked for text in query.references if text]
    first = {dataset.corpus.groups[dataset.corpus.positions[q.gold[0]]] for q in asked if q.gold}
    grids = [grid_rows(dataset.corpus[dataset.corpus.ids[place]]) for place in sorted(first)]
    return SetStatistics(
        examples=len(asked),
        references=len(texts),
        target_tokens=sum(map(len, texts)),
        target_length=_spread(map(len, texts)),
        vocabulary=len({token for text in texts for token in text}),
        unique_tables=len(grids),
        rows_per_table=_spread(map(len, grids)),
        cells_per_table=_spread(sum(map(len, rows)) for rows in grids),
        highlighted_cells=_spread(len(query.metadata[HIGHLIGHTED]) for query in asked),
    )


def _spread(numbers: Iterable[int]) -> Spread:
    values = list(numbers)
    return Spread(float(median(values)), fmean(values)) if values else Spread(0.0, 0.0)


def annotator_bleu(queries: Iterable[Query]) -> float:
    """Return the BLEU between annotators: of one reference against one other, mean over all pairs.

    A pair is two places of the references, in either order: corpus BLEU over the queries that have
    both. sacreBLEU with its defaults, on the text as it is, 0-100.

    Raises:
        DataError: no query has two references.
    """
    sets = [query.references for query in queries if len(query.references) > 1]
    if not sets:
        raise DataError("BLEU between annotators needs queries with two references or more")
    metric = SacreBLEU("sacrebleu", "1")
    scores = []
    for one, other in permutations(range(max(map(len, sets))), 2):
        both = [texts for texts in sets if len(texts) > max(one, other)]
        judged = JudgedAnswers([t[one] for t in both], [(t[other],) for t in both])
        scores.append(float(metric.value(metric.statistics(judged).sum(axis=0))))
    return fmean(scores)


def headers(table: Table) -> frozenset[str]:
    """Return h(d), the set of the header values of a table, lower-cased."""
    rows = grid_rows(table)
    return frozenset(c.text.strip().lower() for row in rows for c in row if c.is_header) - {""}


def overlap_split(tables: Mapping[str, Table], train: Iterable[Table]) -> dict[str, bool]:
    """Say of each example whether its table is in the overlap subset.

    It is where a table of train has the same set of header values: the same combination, not each
    value somewhere.

    Args:
        tables: id of an example -> its table.
        train: the tables that a system has seen.
    """
    seen = set(map(headers, train))
    return {name: headers(table) in seen for name, table in tables.items()}


def filtered_train(
    train: Mapping[str, Table], held_out: Iterable[Table], alpha: int = ALPHA
) -> list[str]:
    """List the examples of train that stay, so that held-out tables have headers not seen there.

    An example leaves if a held-out table has its set of header values, unless more than ``alpha``
    examples of train have that set.

    Args:
        train: id of an example -> its table.
        held_out: the tables of the validation and the test split.
        alpha: the paper's.
    """
    sets = {name: headers(table) for name, table in train.items()}
    counts, asked = Counter(sets.values()), set(map(headers, held_out))
    return [name for name, own in sets.items() if own not in asked or counts[own] > alpha]


def number_matches(sentence: str, rows: Rows) -> list[Place]:
    """List the cells that hold a number of the sentence: no year, and of three non-zero digits.

    Thousands may be divided by commas on either side. Each number counts once, at its first cell.
    """
    wanted = _matching_numbers(sentence)
    found: dict[str, Place] = {}
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if not cell.is_header:
                for number in wanted & _matching_numbers(cell.text):
                    found.setdefault(number, (i, j))
    return sorted(set(found.values()))


def _matching_numbers(text: str) -> set[str]:
    found = (one for one in _NUMBER.findall(text) if not _YEAR.fullmatch(one))
    return {
        number
        for number in (one.replace(",", "") for one in found)
        if sum(digit not in "0." for digit in number) >= NON_ZERO_DIGITS
    }


def cell_matches(sentence: str, rows: Rows) -> list[Place]:
    """List the cells of the row that shares most cells with the sentence, the first of equals.

    A cell is shared where the tokens of its text follow each other in the sentence. Cells of equal
    text count once.
    """
    said = f" {' '.join(tokens(sentence))} "
    best: list[Place] = []
    for i, row in enumerate(rows):
        found: dict[str, Place] = {}
        for j, cell in enumerate(row):
            text = " ".join(tokens(cell.text))
            if text and not cell.is_header and f" {text} " in said:
                found.setdefault(text, (i, j))
        if len(found) > len(best):
            best = sorted(found.values())
    return best


def matched(sentence: str, table: Table) -> list[Place] | None:
    """Return the cells by which a sentence is about a table, or None where too few are shared.

    A number is enough (see ``number_matches``), or three distinct cells of one row, as ToTTo's
    candidates were found; its third way, by hyperlinks, needs pages. The cells are a suggestion of
    what to highlight.

    Args:
        sentence: of a text around the table.
        table: the table.
    """
    rows = grid_rows(table)
    by_cells = cell_matches(sentence, rows)
    return number_matches(sentence, rows) or (by_cells if len(by_cells) >= MATCHED_CELLS else None)
