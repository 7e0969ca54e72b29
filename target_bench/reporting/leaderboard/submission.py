"""A submission, open: its documents checked at once, its predictions read as a stream."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from target_bench.core import registry
from target_bench.core.schema import Dataset, Generation, Retrieval, TableId
from target_bench.core.task_names import task_class
from target_bench.reporting.leaderboard.archive import Archive, RefusedError
from target_bench.reporting.leaderboard.documents import (
    AnswerLine,
    Card,
    Index,
    RankingLine,
    RunDocument,
    first_fault,
)
from target_bench.runs.record_log import Answered

LONGEST_ANSWERS = 20_000_000
"""Characters of all answers of a run together."""

ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass
class SubmittedPredictions:
    """Rankings or answers of a run as they were read, and what was wrong with them.

    Attributes:
        by_query: query id -> its first prediction.
        faults: what is wrong -> how many queries, and the first of them.
    """

    by_query: dict[str, Any] = field(default_factory=dict)
    faults: dict[str, tuple[int, list[str]]] = field(default_factory=dict)

    def add(self, query_id: str, prediction: Any, known: Collection[str]) -> None:
        """Keep a prediction, if it is the first to a query of the split."""
        if query_id not in known:
            self.fault("queries that are not asked", query_id)
        elif query_id in self.by_query:
            self.fault("queries that are predicted twice", query_id)
        else:
            self.by_query[query_id] = prediction

    def fault(self, what: str, query_id: str) -> None:
        """Note that something is wrong with a prediction."""
        n, first = self.faults.get(what, (0, []))
        self.faults[what] = n + 1, [*first, ascii(query_id[:60])] if n < 3 else first


@dataclass(frozen=True)
class Submission:
    """A submission, open.

    Attributes:
        archive: the file.
        card: who made what.
        runs: what the runs are of.
        fingerprint: a hash of all that was submitted, for any compression.
        hashes: the SHA-256 that each file should have.
    """

    archive: Archive
    card: Card
    runs: tuple[RunDocument, ...]
    fingerprint: str
    hashes: Mapping[str, str]

    def rankings(self, place: int, dataset: Dataset) -> SubmittedPredictions:
        """Return the rankings of a run; one that cannot be of this corpus and depth has failed.

        Args:
            place: of the run.
            dataset: the queries and tables.

        Raises:
            RefusedError: the file is not what it should be.
        """
        depth = self.runs[place].cutoffs[-1]
        known = {query.id for query in dataset.queries}
        tables = {table: table for table in dataset.corpus.ids}  # an id is in memory once
        predictions = SubmittedPredictions()
        for line in self._lines(f"runs/{place}/retrieval.jsonl", RankingLine):
            ids = [TableId(*pair) for pair in line.tables] if line.error is None else []
            fault = None
            if len(ids) > depth:
                fault = f"rankings of more than {depth} tables"
            elif len(set(ids)) < len(ids):
                fault = "rankings with a table twice"
            elif len(line.scores) not in (0, len(ids)):
                fault = "rankings with other numbers of scores than of tables"
            elif not all(table in tables for table in ids):
                fault = "rankings with tables that are not there"
            if fault is not None:
                predictions.fault(fault, line.query_id)
            if error := fault or line.error:
                ranking = Retrieval(line.query_id, (), error=error)
            else:
                ranked, scores = tuple(tables[table] for table in ids), tuple(line.scores)
                ranking = Retrieval(
                    line.query_id, ranked, scores, resorted=line.resorted, tied=line.tied
                )
            predictions.add(line.query_id, ranking, known)
        return predictions

    def answers(self, place: int, dataset: Dataset) -> SubmittedPredictions:
        """Return the answers of a run; arguments and errors as for ``rankings``."""
        known = {query.id for query in dataset.queries}
        predictions, total = SubmittedPredictions(), 0
        for line in self._lines(f"runs/{place}/generations.jsonl", AnswerLine):
            total += len(line.text)
            if total > LONGEST_ANSWERS:
                raise RefusedError(f"run {place}: answers of over {LONGEST_ANSWERS:,} characters")
            generation = Generation(**line.model_dump(exclude={"truncated"}))
            predictions.add(line.query_id, Answered(generation, (), line.truncated), known)
        return predictions

    def _lines(self, name: str, model: type[ModelT]) -> Iterator[ModelT]:
        for place, record in self.archive.lines(name):
            yield _checked(model, record, place)
        _check_hash(self.archive, name, self.hashes)


@contextmanager
def opened(path: Path) -> Iterator[Submission]:
    """Open a submission, its documents checked.

    Raises:
        RefusedError: it is not what a submission is.
        DataError: there is no such file.
    """
    with Archive(path) as archive:
        index = _checked(Index, archive.document("submission.json"), "submission.json")
        odd = set(index.files) ^ (archive.names - {"submission.json"})
        if odd:
            raise RefusedError(f"{min(odd)!a} is in the archive or in its index alone")
        card = _checked(Card, archive.document("card.json"), "card.json")
        runs = tuple(_run(archive, f"runs/{place}/run.json") for place in range(index.runs))
        _check_files(runs, set(index.files))
        for name in archive.hashes.keys() - {"submission.json"}:
            _check_hash(archive, name, index.files)
        missing = {run.corpus for run in runs} - set(card.training_data)
        if missing:
            raise RefusedError(f"card.json: training_data says nothing about {min(missing)!a}")
        listed = "".join(f"{name} {digest}\n" for name, digest in sorted(index.files.items()))
        fingerprint = hashlib.sha256(listed.encode()).hexdigest()
        yield Submission(archive, card, runs, fingerprint, index.files)


def rankings_of(run: RunDocument, place: int) -> int | None:
    """Return the place of the rankings of a run: its own, those it is built on, or None."""
    return place if run.generator is None else run.retrieval


def _checked(model: type[ModelT], document: Any, place: str) -> ModelT:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise RefusedError(f"{place}: {first_fault(error)}") from None


def _check_hash(archive: Archive, name: str, hashes: Mapping[str, str]) -> None:
    if archive.hashes[name] != hashes[name]:
        raise RefusedError(
            f"{name} was changed after packing: its SHA-256 is {archive.hashes[name]}"
        )


def _run(archive: Archive, name: str) -> RunDocument:
    run = _checked(RunDocument, archive.document(name), name)
    if run.task in registry.names("task"):
        task = task_class(run.task)
        if (task.answer == "ranking") != (run.generator is None):
            gives = "rankings, by no generator" if run.generator else "answers, by a generator"
            raise RefusedError(f"{name}: the task {run.task} is about {gives}")
        if (task.source == "retrieved") != (run.retriever is not None):
            are = "are not" if run.retriever else "are"
            raise RefusedError(f"{name}: the tables of {run.task} {are} retrieved")
    return run


def _check_files(runs: tuple[RunDocument, ...], names: set[str]) -> None:
    """See that each run has its predictions and nothing else, and that answers have rankings."""
    expected = {"card.json"}
    for place, run in enumerate(runs):
        predictions = "retrieval.jsonl" if run.generator is None else "generations.jsonl"
        expected |= {f"runs/{place}/run.json", f"runs/{place}/{predictions}"}
        if run.retrieval is not None and (
            run.retrieval >= len(runs) or not _fits(run, runs[run.retrieval])
        ):
            raise RefusedError(
                f"run {place} names run {run.retrieval} as its retrieval, which is none"
            )
    if expected != names:
        raise RefusedError(f"{min(expected ^ names)} is missing or superfluous")


def _fits(run: RunDocument, rankings: RunDocument) -> bool:
    names = ("corpus", "split", "distractors", "corpus_fingerprint", "cutoffs")
    same = all(getattr(run, name) == getattr(rankings, name) for name in names)
    return same and rankings.generator is None and rankings.about in (None, run.task, run.about)
