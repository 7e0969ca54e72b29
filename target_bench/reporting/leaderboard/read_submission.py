"""Reading a submission: its documents at once, its predictions as a stream."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.contract import generation_fault
from target_bench.core.schema import MARKS, Generation, Judgement, Retrieval, TableId
from target_bench.data.select import task_class
from target_bench.reporting.leaderboard.archive import Archive, RefusedError
from target_bench.reporting.leaderboard.card import Card
from target_bench.reporting.leaderboard.document_models import (
    MOST_TABLES,
    RunDocument,
    card_of,
    index_of,
    run_of,
)
from target_bench.runs.record_log import JUDGEMENTS, Answered, parse_judgement

LONGEST_ID = 500
LONGEST_ANSWER = 20_000
LONGEST_ANSWERS = 20_000_000
LARGEST_COST = 1e9
"""Of an answer, as cost and as seconds; sums of more might be infinite."""

READING = {
    "archive": "The file is a plain zip, stored or deflated, with the files of a submission under "
    "their own names and nothing else: no path that leads out, no link, no name twice, no "
    "encryption, no zip64, no file over another, nothing before or after. Every document has the "
    "fields it should have.",
    "sizes": "The archive has at most 64 MiB and 302 files and unpacks to at most 512 MiB, no file "
    "to more than 300 times its packed size; a line has at most 1 MiB, a document 1 MiB, all of "
    "them together 4 MiB, a file 1,000,000 lines, an answer 20,000 characters, all answers of a "
    "run 20,000,000 together.",
    "encoding": "All text is UTF-8.",
    "json": "All JSON is strict: no NaN, no infinite number, no integer beyond 2^53, no key twice, "
    "no nesting deeper than 16 levels.",
    "hashes": "Every file has the SHA-256 that submission.json names for it.",
    "judgements": "Where a model judges the answers of a task, the submission holds the judgements "
    "as they were recorded, one of every answer that did not fail, and of that very answer. They "
    "are read and never made again: no model is asked.",
    "card": "The card has every field of a card; its texts are plain (no HTML, no control "
    "characters, none that change the direction of text), its links begin with http:// or "
    "https://, and it says of every corpus of the runs whether a model was trained on it.",
}
"""Name -> rule of the checks that are made while a submission is read: it is refused at once."""


@dataclass(frozen=True)
class Submission:
    """A submission, open.

    Attributes:
        archive: the file.
        card: who made what.
        runs: what the runs are of.
        partial: whether it was packed as a part of the queries.
        fingerprint: a hash of all that was submitted, for any compression.
        hashes: the SHA-256 that each file should have.
    """

    archive: Archive
    card: Card
    runs: tuple[RunDocument, ...]
    partial: bool
    fingerprint: str
    hashes: Mapping[str, str]

    def rankings(
        self, place: int, known: Collection[str], tables: Mapping[TableId, TableId]
    ) -> "Read":
        """Return the rankings of a run.

        Args:
            place: of the run.
            known: the ids of the queries.
            tables: the ids of the tables, each to itself, so that it is in memory once.

        Raises:
            RefusedError: the file is not what it should be.
        """
        depth = self.runs[place].cutoffs[-1]
        read = Read()
        for where, record in self._lines(f"runs/{place}/retrieval.jsonl"):
            ranking = _ranking(record, where)
            read.add(ranking.query_id, _valid(ranking, read, tables, depth), known)
        return read

    def answers(self, place: int, known: Collection[str]) -> "Read":
        """Return the answers of a run; arguments and errors as for ``rankings``."""
        read, total = Read(), 0
        for where, record in self._lines(f"runs/{place}/generations.jsonl"):
            answered = _answer(record, where)
            total += len(answered.generation.text)
            if total > LONGEST_ANSWERS:
                raise RefusedError("sizes", f"{where}: more than {LONGEST_ANSWERS:,} characters")
            read.add(answered.generation.query_id, answered, known)
        return read

    def judgements(self, place: int) -> dict[str, Judgement] | None:
        """Return the recorded judgements of a run by query id; None where it has none.

        Raises:
            RefusedError: the file is not what it should be.
        """
        name = f"runs/{place}/{JUDGEMENTS}"
        if name not in self.archive.names:
            return None
        found: dict[str, Judgement] = {}
        for where, record in self._lines(name):
            judgement = _judgement(record, where)
            if judgement.query_id in found:
                raise RefusedError("archive", f"{where}: judges a query for the second time")
            found[judgement.query_id] = judgement
        return found

    def _lines(self, name: str) -> Iterator[tuple[str, Any]]:
        yield from self.archive.lines(name)
        _check_hash(self.archive, name, self.hashes)


@dataclass
class Read:
    """Predictions of a run as they were read, and what was wrong with them.

    Attributes:
        found: query id -> the first prediction of it.
        extra: ids of queries that the split does not have, with how many there are.
        repeated: queries with a second prediction.
        unknown: queries whose ranking names a table that the corpus does not have.
        twice: queries whose ranking names a table twice.
        long: queries whose ranking is longer than declared.
        times: the seconds of single answers, as declared; those answered from a record left out.
    """

    found: dict[str, Any] = field(default_factory=dict)
    extra: "Some" = field(default_factory=lambda: Some())
    repeated: "Some" = field(default_factory=lambda: Some())
    unknown: "Some" = field(default_factory=lambda: Some())
    twice: "Some" = field(default_factory=lambda: Some())
    long: "Some" = field(default_factory=lambda: Some())
    times: list[float] = field(default_factory=list)

    def add(self, query_id: str, prediction: Any, known: Collection[str]) -> None:
        """Keep a prediction, if it is the first to a query of the split."""
        if query_id not in known:
            self.extra.add(query_id)
        elif query_id in self.found:
            self.repeated.add(query_id)
        else:
            self.found[query_id] = prediction
            generation = getattr(prediction, "generation", None)
            if generation is not None and generation.seconds is not None and not generation.cached:
                self.times.append(generation.seconds)


@dataclass
class Some:
    """Return their number, and the first of them."""

    n: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        """One more."""
        self.n += 1
        if len(self.first) < 3:
            self.first.append(ascii(name[:60]))

    def __str__(self) -> str:
        return f"{self.n:,} ({', '.join(self.first)}{', ...' if self.n > 3 else ''})"


@contextmanager
def opened(path: Path) -> Iterator[Submission]:
    """Open a submission, its documents checked.

    Raises:
        RefusedError: it is not what a submission is.
        DataError: there is no such file.
    """
    with Archive(path) as archive:
        index = index_of(archive.index())
        names = {f"runs/{place}/run.json" for place in range(index.runs)}
        declared = set(index.files)
        if declared != archive.names - {"submission.json"}:
            odd = sorted(declared ^ (archive.names - {"submission.json"}))
            raise RefusedError("hashes", f"{odd[0]!a} is in the archive or its index alone")
        if not names <= declared:
            raise RefusedError("archive", f"{min(names - declared)} is missing")
        card = card_of(archive.card())
        runs = tuple(_run(archive, place) for place in range(index.runs))
        for name in ("card.json", *sorted(names)):
            _check_hash(archive, name, index.files)
        _check_files(runs, declared)
        _check_card(card, runs)
        listed = "".join(f"{name} {digest}\n" for name, digest in sorted(index.files.items()))
        fingerprint = hashlib.sha256(listed.encode()).hexdigest()
        yield Submission(archive, card, runs, index.partial, fingerprint, index.files)


def _run(archive: Archive, place: int) -> RunDocument:
    name = f"runs/{place}/run.json"
    run = run_of(archive.document(name), name)
    problem = _task_problem(run)
    if problem is not None:
        raise RefusedError("archive", f"{name}: {problem}")
    return run


def _task_problem(run: RunDocument) -> str | None:
    """Find why a run is not one of its task, as far as that is registered; None if it may be."""
    if run.task not in registry.names("task"):
        return None
    task = task_class(run.task)
    if (task.answer == "ranking") != (run.generator is None):
        gives = "rankings, by no generator" if run.generator else "answers, by a generator"
        return f"the task {run.task} is about {gives}"
    if (task.source == "retrieved") != (run.retriever is not None):
        return f"the tables of {run.task} are {'not ' if run.retriever else ''}retrieved"
    return None


def _check_hash(archive: Archive, name: str, hashes: Mapping[str, str]) -> None:
    if archive.hashes[name] != hashes[name]:
        raise RefusedError(
            "hashes", f"{name} was changed after packing: its SHA-256 is {archive.hashes[name]}"
        )


def _check_files(runs: tuple[RunDocument, ...], names: set[str]) -> None:
    wanted = {"card.json"}
    for place, run in enumerate(runs):
        predictions = "retrieval.jsonl" if run.generator is None else "generations.jsonl"
        wanted |= {f"runs/{place}/run.json", f"runs/{place}/{predictions}"}
        if run.generator is not None:
            wanted |= {f"runs/{place}/{JUDGEMENTS}"} & names
        if run.retrieval is not None and (
            run.retrieval >= len(runs) or not _fits(run, runs[run.retrieval])
        ):
            raise RefusedError(
                "archive", f"run {place} names run {run.retrieval} as its retrieval, which is none"
            )
    if wanted != names:
        raise RefusedError("archive", f"{min(wanted ^ names)} is missing or superfluous")


def _fits(run: RunDocument, retrieval: RunDocument) -> bool:
    names = ("corpus", "split", "distractors", "corpus_fingerprint", "cutoffs")
    same = all(getattr(run, name) == getattr(retrieval, name) for name in names)
    return same and retrieval.generator is None and retrieval.about in (None, run.task, run.about)


def _check_card(card: Card, runs: tuple[RunDocument, ...]) -> None:
    missing = {run.corpus for run in runs} - set(card.training_data)
    if missing:
        raise RefusedError("card", f"card.json: training_data says nothing about {min(missing)!a}")


def _ranking(record: Any, where: str) -> Retrieval:
    _check_fields(record, {"query_id", "tables"}, {"error", *MARKS}, where)
    tables = record["tables"]
    right = isinstance(tables, list) and len(tables) <= MOST_TABLES
    if not right or not all(isinstance(t, list) and len(t) == 2 for t in tables):
        raise RefusedError(
            "archive", f"{where}: tables should be at most {MOST_TABLES} pairs of texts"
        )
    error, marks = record.get("error"), {name: record.get(name, False) for name in MARKS}
    for name, mark in marks.items():
        if not isinstance(mark, bool):
            raise RefusedError("archive", f"{where}: {name} should be true or false")
    for text in (record["query_id"], *(part for table in tables for part in table)):
        _check_text(text, LONGEST_ID, where)
    if error is not None:
        _check_text(error, LONGEST_ID, where)
        return Retrieval(record["query_id"], (), error=error)
    ids = tuple(TableId(database, table) for database, table in tables)
    return Retrieval(record["query_id"], ids, **marks)


def _valid(
    ranking: Retrieval, read: Read, tables: Mapping[TableId, TableId], depth: int
) -> Retrieval:
    """Return the ranking, or one that failed where it is none of this corpus and depth."""
    error = None
    if len(ranking.tables) > depth:
        read.long.add(ranking.query_id)
        error = "longer than declared"
    if len(set(ranking.tables)) < len(ranking.tables):
        read.twice.add(ranking.query_id)
        error = "a table twice"
    if not all(table in tables for table in ranking.tables):
        read.unknown.add(ranking.query_id)
        error = "an unknown table"
    if error is not None:
        return Retrieval(ranking.query_id, (), error=error)
    return replace(ranking, tables=tuple(tables[table] for table in ranking.tables))


_OF_AN_ANSWER = {
    "error",
    "input_tokens",
    "output_tokens",
    "cost",
    "seconds",
    "cached",
    "finish_reason",
    "truncated",
}


def _answer(record: Any, where: str) -> Answered:
    _check_fields(record, {"query_id", "text"}, _OF_AN_ANSWER, where)
    truncated = record.pop("truncated", False)
    generation = Generation(**record)
    problem = generation_fault(generation)
    if problem is None and not isinstance(truncated, bool):
        problem = "its truncated is not true or false"
    if problem:
        raise RefusedError("archive", f"{where}: {problem[:200]}")
    if max(generation.cost or 0, generation.seconds or 0) > LARGEST_COST:
        raise RefusedError("archive", f"{where}: its cost or seconds are above {LARGEST_COST:,.0f}")
    if len(generation.text) > LONGEST_ANSWER:
        raise RefusedError("sizes", f"{where}: an answer has at most {LONGEST_ANSWER:,} characters")
    for text in (generation.query_id, generation.error or "", generation.finish_reason or ""):
        _check_text(text, LONGEST_ID, where)
    return Answered(generation, (), truncated)


def _judgement(record: Any, where: str) -> Judgement:
    if not isinstance(record, dict):
        raise RefusedError("archive", f"{where}: expected a JSON object")
    try:
        found = parse_judgement(record)
    except (KeyError, TypeError) as error:
        raise RefusedError("archive", f"{where}: not a judgement: {str(error)[:200]}") from None
    for text in (found.query_id, found.fingerprint):
        _check_text(text, LONGEST_ID, where)
    return found


def _check_fields(record: Any, needed: set[str], known: set[str], where: str) -> None:
    if not isinstance(record, dict):
        raise RefusedError("archive", f"{where}: expected a JSON object")
    odd = (needed - set(record)) | (set(record) - needed - known)
    if odd:
        raise RefusedError("archive", f"{where}: field {min(odd)[:60]!a} is missing or unknown")


def _check_text(text: Any, longest: int, where: str) -> None:
    if not isinstance(text, str) or len(text) > longest:
        raise RefusedError("archive", f"{where}: expected a text of at most {longest} characters")
