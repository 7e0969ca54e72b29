"""How far people agree on which cells of a table a sentence is about: Fleiss' kappa."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset
from target_bench.data.highlights import HIGHLIGHTED
from target_bench.data.linearisation import are_places
from target_bench.data.table_text import grid_rows
from target_bench.reporting.labels.form import read_records


def hold_cells(records: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether records are highlighted cells, and not labels of tables."""
    return all(HIGHLIGHTED in record for record in records)


def cell_agreement(files: Sequence[Path], dataset: Dataset) -> dict[str, Any]:
    """Return how far people agree on the highlighted cells of a dataset.

    Every cell of a table, header cells included, is highlighted or not by each person.

    Args:
        files: JSON lines of ToTTo's form, of which ``example_id`` (or ``query_id``) and
            ``highlighted_cells`` are read; a file is a person's, or names its ``annotator``.
        dataset: the queries and tables.

    Returns:
        ``annotators``, ``queries`` (those that all of them have), ``cells`` of their tables,
        ``same`` (share of cells on which all agree), ``kappa`` (Fleiss 1971; None where no cell or
        every cell is highlighted) and its 95% ``interval`` (jackknife over queries; None of one).

    Raises:
        DataError: there is one person only, a query is unknown or a cell is not in its table.
    """
    queries = {query.id: query for query in dataset.queries}
    people: dict[str, dict[str, set[tuple[int, int]]]] = {}
    for record in read_records(files):
        query_id = str(record.get("query_id", record.get("example_id")))
        place = f"{record['file']}: {query_id!r:.60}"
        if query_id not in queries:
            raise DataError(f"{place}: {dataset.info.name} {dataset.split} has no such query")
        if not (gold := queries[query_id].gold):
            raise DataError(f"{place}: the query is of no table")
        rows = grid_rows(dataset.corpus[gold[0]])
        named = record[HIGHLIGHTED]
        cells = are_places(rows, named) if isinstance(named, list) else []
        if not isinstance(named, list) or len(cells) < len(named):
            raise DataError(f"{place}: {HIGHLIGHTED} {named!r:.80}: not all are cells of the table")
        if query_id in (own := people.setdefault(record["annotator"], {})):
            raise DataError(f"{place}: {record['annotator']!r:.60} has it twice")
        own[query_id] = {(row, column) for row, column in cells}
    if len(people) < 2:
        raise DataError(f"{', '.join(map(str, files))}: agreement is of two people at least")
    common = [name for name in queries if all(name in own for own in people.values())]
    if not common:
        raise DataError(f"{', '.join(map(str, files))}: no query is annotated by all")
    counts = [
        np.array(
            [
                sum((i, j) in own[name] for own in people.values())
                for i, row in enumerate(grid_rows(dataset.corpus[queries[name].gold[0]]))
                for j in range(len(row))
            ]
        )
        for name in common
    ]
    n = len(people)
    everything = np.concatenate(counts)
    sums = np.array([_sums(each, n) for each in counts])
    total = sums.sum(axis=0)
    kappa = _kappa(total, n)
    return {
        "annotators": sorted(people),
        "queries": len(common),
        "cells": len(everything),
        "same": float(((everything == 0) | (everything == n)).mean()),
        "kappa": kappa,
        "interval": kappa_interval(kappa, [_kappa(total - own, n) for own in sums]),
    }


def kappa_interval(kappa: float | None, left_out: Sequence[float | None]) -> list[float] | None:
    """Return the 95% interval of a kappa by the jackknife; None of one question.

    Args:
        kappa: of all questions; None where all say the same one thing.
        left_out: the same of all questions but one.
    """
    if kappa is None or len(left_out) < 2:
        return None
    values = [kappa if value is None else value for value in left_out]
    error = 1.96 * float((len(values) - 1) * np.var(values)) ** 0.5
    return [max(kappa - error, -1.0), min(kappa + error, 1.0)]


def _sums(counts: Any, n_raters: int) -> Any:
    """Return the number of subjects, the sum of yes, and the sum of agreeing pairs' shares."""
    counts = counts.astype(np.float64)
    pairs = counts * (counts - 1) + (n_raters - counts) * (n_raters - counts - 1)
    return np.array([len(counts), counts.sum(), (pairs / (n_raters * (n_raters - 1))).sum()])


def _kappa(sums: Any, n_raters: int) -> float | None:
    """Return Fleiss' kappa (1971) of yes and no; None where all say the same one thing."""
    n, yes, agreement = sums
    share = yes / (n * n_raters) if n else 0.0
    chance = share**2 + (1 - share) ** 2
    return None if chance == 1 else float((agreement / n - chance) / (1 - chance))
