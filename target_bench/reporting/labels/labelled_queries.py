"""Queries with the labels of people, as records of ``queries.jsonl`` and as qrels."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.files import atomic_write
from target_bench.core.schema import Dataset, Query, TableId
from target_bench.data.question_files import record_of
from target_bench.metrics.pooled import NOT_RELEVANT, labelled_tables
from target_bench.reporting.labels.merged_labels import Merged
from target_bench.reporting.labels.sampling import Stratum, strata
from target_bench.runs.record_log import cannot
from target_bench.runs.trec import word, words_of

REJECTED = "rejected"
"""The split of questions that people rejected."""
WEIGHT = "sampling_weight"
"""The entry of the metadata with the number of questions that a labelled one stands for."""

REVIEWED = "reviewed"
"""The entry of the metadata that says that somebody accepted the question itself."""

_OF_LABELLED = frozenset({NOT_RELEVANT, WEIGHT, REVIEWED})


@dataclass(frozen=True, slots=True)
class StratumCount:
    """A part of the questions, as a sample was drawn from it.

    Attributes:
        values: what its questions have in common.
        questions: how many there are.
        labelled: how many of them are labelled, now or before.
    """

    values: Stratum
    questions: int
    labelled: int

    @property
    def weight(self) -> float | None:
        """How many questions each labelled one stands for; None without any."""
        return self.questions / self.labelled if self.labelled else None


def stratum_counts(
    queries: Sequence[Query], found: Mapping[str, Merged], by: Sequence[str]
) -> list[StratumCount]:
    """Count the questions of every stratum, and those that are labelled, now or before.

    Raises:
        ConfigError: the queries have no such property.
    """
    of = strata(queries, by)
    labelled = Counter(
        stratum
        for query, stratum in zip(queries, of, strict=True)
        if _is_labelled(query, found.get(query.id))
    )
    return [StratumCount(name, n, labelled[name]) for name, n in sorted(Counter(of).items())]


def _is_labelled(query: Query, found: Merged | None) -> bool:
    if found is not None and found.state in ("labelled", "rejected"):
        return found.state == "labelled"
    return not _OF_LABELLED.isdisjoint(query.metadata)


def with_labels(
    queries: Sequence[Query], found: Mapping[str, Merged], by: Sequence[str] = ()
) -> list[Query]:
    """Return the queries with what people said of them, without those they rejected.

    Args:
        queries: the queries of a split.
        found: query id -> what people say; of a question that is disputed or unfinished nothing
            is taken.
        by: the properties that the sample was proportional over: labelled questions get a weight,
            those that were labelled before get theirs again.
    """
    weights = dict[Stratum, float | None]()
    if by:
        weights = {one.values: one.weight for one in stratum_counts(queries, found, by)}
    kept = []
    for query, stratum in zip(queries, strata(queries, by), strict=True):
        one = found.get(query.id)
        if one is not None and one.state == "rejected":
            continue
        new = _labelled(query, one) if one is not None and one.state == "labelled" else query
        weight = weights.get(stratum) if _is_labelled(query, one) else None
        if weight is not None:
            new = replace(new, metadata={**new.metadata, WEIGHT: round(weight, 6)})
        kept.append(new)
    return kept


def _labelled(query: Query, found: Merged) -> Query:
    gold = tuple(dict.fromkeys([*query.gold, *found.relevant]))
    database = gold[0].database_id if gold else query.database_id
    more: dict[str, Any] = {}
    if found.relevant or found.not_relevant or NOT_RELEVANT in query.metadata:
        refused = labelled_tables(query) - set(query.gold) | set(found.not_relevant)
        more[NOT_RELEVANT] = [_named(table, database) for table in sorted(refused - set(gold))]
    if found.reviewed:
        more[REVIEWED] = True
    if found.text is not None and found.text != query.text:
        more["query_before"] = query.text
    text = found.text or query.text
    metadata = {**query.metadata, **more}
    return replace(query, text=text, gold=gold, database_id=database, metadata=metadata)


def _named(table: TableId, database: str) -> Any:
    return table.table_id if table.database_id == database else list(table)


def write_labels(
    path: Path,
    dataset: Dataset,
    found: Mapping[str, Merged],
    by: Sequence[str] = (),
    other_splits: Mapping[str, Sequence[Query]] | None = None,
) -> None:
    """Write the questions with what people said of them; or, as ``.qrels``, the judgements alone.

    Args:
        path: the file, which is replaced. Questions that people rejected go to a split of their
            own.
        dataset: the questions.
        found: query id -> what people say together.
        by: the properties that the sample was proportional over.
        other_splits: split -> its queries, which are written as they are.

    Raises:
        ConfigError: the file has another suffix than ``.jsonl`` and ``.qrels``.
        DataError: gold tables of a query are in several databases, which JSON lines cannot hold.
        StoreError: the file cannot be written.
    """
    check_place(path)
    kept = with_labels(dataset.queries, found, by)
    if path.suffix == ".qrels":
        _write_qrels(path, kept)
        return
    left = {query.id for query in kept}
    refused = [query for query in dataset.queries if query.id not in left]
    splits: dict[str, list[Query]] = {dataset.split: kept}
    for split, queries in [*(other_splits or {}).items(), (REJECTED, refused)]:
        splits.setdefault(split, []).extend(queries)
    lines = (
        json.dumps(record_of(query) | {"split": split}, ensure_ascii=False) + "\n"
        for split, queries in splits.items()
        for query in queries
    )
    _write(path, lines)


def _write_qrels(path: Path, queries: Sequence[Query]) -> None:
    """Write the judgements as TREC's qrels: 1 for a relevant table, 0 for one that is not."""
    judged = [(query, sorted(labelled_tables(query))) for query in queries]
    words = words_of(dict.fromkeys(table for _, tables in judged for table in tables))
    lines = (
        f"{word(query.id)} 0 {words[table]} {int(table in query.gold)}\n"
        for query, tables in judged
        for table in tables
    )
    _write(path, lines)


def check_place(path: Path) -> None:
    """See that labels can be written to a file of this name.

    Raises:
        ConfigError: it has another suffix.
    """
    if path.suffix not in (".jsonl", ".qrels"):
        raise ConfigError(
            f"-o {path}: name a file of queries (queries.jsonl in the folder of the tables) or of "
            "judgements for trec_eval and ir-measures (labels.qrels)"
        )


def _write(path: Path, lines: Iterator[str]) -> None:
    try:
        atomic_write(path, "".join(lines).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise StoreError(cannot("be written", path, error, "-o")) from error
