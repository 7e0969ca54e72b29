"""How far people agree: Cohen's kappa of two on tables, Fleiss' kappa of several on cells."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.data.highlights import HIGHLIGHTED
from target_bench.data.linearisation import are_places
from target_bench.data.table_text import grid_rows
from target_bench.reporting.labels.form import read_records


def pair_agreement(
    replies: Mapping[str, Mapping[tuple[str, TableId | None], str]],
) -> list[dict[str, Any]]:
    """Return how far each two people agree.

    Args:
        replies: annotator -> (query id, table, or None for the question) -> reply.

    Returns:
        A record of each pair that judged anything in common: ``annotators``, how many both judged
        (``n``), the share on which they agree (``same``), Cohen's ``kappa`` (1960; None where both
        always say the same one thing) and its 95% ``interval`` (jackknife over questions; None of
        one question).
    """
    records = []
    for first, second in combinations(replies, 2):
        if not (both := [key for key in replies[first] if key in replies[second]]):
            continue
        query_ids = np.array([query_id for query_id, _ in both])
        pairs = np.array([[replies[name][key] for key in both] for name in (first, second)])
        others = [query_ids != name for name in {*query_ids.tolist()}]
        kappa = _cohen_kappa(pairs)
        records.append(
            {
                "annotators": [first, second],
                "n": len(both),
                "same": float((pairs[0] == pairs[1]).mean()),
                "kappa": kappa,
                "interval": _interval(kappa, [_cohen_kappa(pairs[:, kept]) for kept in others]),
            }
        )
    return records


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
    gold = {query.id: query.gold[0] for query in dataset.queries if query.gold}
    grids = {}  # query id -> rows of its table
    people: dict[str, dict[str, set[tuple[int, int]]]] = {}
    for record in read_records(files):
        query_id = str(record.get("query_id", record.get("example_id")))
        place = f"{record['file']}: {query_id!r:.60}"
        if query_id not in gold:
            raise DataError(f"{place}: {dataset.info.name} {dataset.split} has no such query")
        rows = grids[query_id] = grid_rows(dataset.corpus[gold[query_id]])
        named = record[HIGHLIGHTED]
        cells = are_places(rows, named) if isinstance(named, list) else []
        if not isinstance(named, list) or len(cells) < len(named):
            raise DataError(f"{place}: {HIGHLIGHTED} {named!r:.80}: not all are cells of the table")
        by_query = people.setdefault(record["annotator"], {})
        if query_id in by_query:
            raise DataError(f"{place}: {record['annotator']!r:.60} has it twice")
        by_query[query_id] = {(row, column) for row, column in cells}
    common = [name for name in grids if all(name in by_query for by_query in people.values())]
    n = len(people)
    if n < 2 or not common:
        raise DataError(
            f"{', '.join(map(str, files))}: agreement is of two people or more, on the same queries"
        )
    counts = [  # of each query how many people highlight a cell, cell by cell
        np.array(
            [
                sum((i, j) in by_query[name] for by_query in people.values())
                for i, row in enumerate(grids[name])
                for j in range(len(row))
            ],
            dtype=np.float64,
        )
        for name in common
    ]
    yes = np.concatenate(counts)
    others = [np.concatenate([*counts[:i], *counts[i + 1 :], []]) for i in range(len(counts))]
    kappa = _fleiss_kappa(yes, n)
    return {
        "annotators": sorted(people),
        "queries": len(common),
        "cells": len(yes),
        "same": float(((yes == 0) | (yes == n)).mean()),
        "kappa": kappa,
        "interval": _interval(kappa, [_fleiss_kappa(each, n) for each in others]),
    }


def _cohen_kappa(replies: Any) -> float | None:
    """Return Cohen's kappa of the rows of a (2, n) array; None where all say the same one thing."""
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(*replies)) if len({*replies.ravel().tolist()}) > 1 else None


def _fleiss_kappa(yes: Any, n: int) -> float | None:
    """Return Fleiss' kappa (1971) of how many of n people say yes; None where all say the same."""
    share = yes.mean() / n if len(yes) else 0.0
    chance = share**2 + (1 - share) ** 2
    if chance == 1:
        return None
    pairs = yes * (yes - 1) + (n - yes) * (n - yes - 1)
    return float(((pairs / (n * (n - 1))).mean() - chance) / (1 - chance))


def _interval(kappa: float | None, left_out: Sequence[float | None]) -> list[float] | None:
    """Return the 95% interval of a kappa by the jackknife; None of one question.

    Args:
        kappa: of all questions.
        left_out: the same of all questions but one.
    """
    if kappa is None or len(left_out) < 2:
        return None
    values = [kappa if value is None else value for value in left_out]
    error = 1.96 * float((len(values) - 1) * np.var(values)) ** 0.5
    return [max(kappa - error, -1.0), min(kappa + error, 1.0)]
