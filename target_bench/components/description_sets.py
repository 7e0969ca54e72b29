"""Sets of descriptions like ToTTo: their statistics, their splits, and how one is built.

After Parikh et al. 2020: the statistics of Table 5, BLEU between annotators, the split by header
overlap, and the heuristics that match sentences with tables.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

import numpy as np

from target_bench.components.highlights import HIGHLIGHTED
from target_bench.components.table_text import grid_rows
from target_bench.core.errors import DataError
from target_bench.core.grid import GridCell
from target_bench.core.schema import Dataset, Query, Table
from target_bench.metrics.descriptions.evaluation_text import tokens
from target_bench.metrics.text import JudgedAnswers, SacreBLEU

Rows = Sequence[Sequence[GridCell]]
Place = tuple[int, int]

MATCHES = 3
"""Numbers, or cells of one row, that a sentence has to share with a table."""

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
    """Return the mean BLEU of one reference of each query against the others, in every turn.

    The queries with as many references as the most have count, and each place of a reference is one
    turn. sacreBLEU with its defaults, on the text as it is, 0-100.

    Raises:
        DataError: no query has two references.
    """
    sets = [query.references for query in queries if len(query.references) > 1]
    if not sets:
        raise DataError("BLEU between annotators needs queries with two references or more")
    most = max(map(len, sets))
    sets = [texts for texts in sets if len(texts) == most]
    metric = SacreBLEU("sacrebleu", str(most - 1))
    turns = []
    for place in range(most):
        others = [(*texts[:place], *texts[place + 1 :]) for texts in sets]
        judged = JudgedAnswers([texts[place] for texts in sets], others)
        turns.append(float(metric.value(metric.statistics(judged).sum(axis=0))))
    return float(np.mean(turns))


def headers(table: Table) -> frozenset[str]:
    """Return h(d), the set of the header values of a table, lower-cased."""
    rows = grid_rows(table)
    return frozenset(c.text.strip().lower() for row in rows for c in row if c.is_header) - {""}


def overlap_split(
    tables: Mapping[str, Table], train: Iterable[Table], alpha: float = 0.0
) -> dict[str, bool]:
    """Say of each example whether its table is in the overlap subset.

    It is where more than the share ``alpha`` of its header values are header values of a table of
    train; a table without a header value is not.

    Args:
        tables: id of an example -> its table.
        train: the tables that a system has seen.
        alpha: from 0 (one shared value is enough) to below 1 (all of them).
    """
    seen = frozenset[str]().union(*map(headers, train))
    found = {}
    for name, table in tables.items():
        own = headers(table)
        found[name] = bool(own) and len(own & seen) / len(own) > alpha
    return found


def number_matches(sentence: str, rows: Rows) -> list[Place]:
    """List the cells whose whole text is a number of the sentence: not 0, not a year.

    Thousands may be divided by commas on either side. Each number counts once, at its first cell.
    """
    wanted = {_plain(found) for found in _NUMBER.findall(sentence) if not _YEAR.fullmatch(found)}
    wanted -= {"0"}
    found: dict[str, Place] = {}
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            number = _plain(cell.text.strip())
            if number in wanted and not cell.is_header:
                found.setdefault(number, (i, j))
    return sorted(found.values())


def _plain(number: str) -> str:
    return number.replace(",", "")


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


def matched(sentence: str, table: Table, at_least: int = MATCHES) -> list[Place] | None:
    """Return the cells by which a sentence is about a table, or None where too few are shared.

    First by numbers, then by the cells of one row, as ToTTo's candidates were found (its third
    way, by hyperlinks, needs pages). They are a suggestion of what to highlight.

    Args:
        sentence: of a text around the table.
        table: the table.
        at_least: how many numbers, or cells, have to be shared.
    """
    rows = grid_rows(table)
    for found in (number_matches(sentence, rows), cell_matches(sentence, rows)):
        if len(found) >= at_least:
            return found
    return None
