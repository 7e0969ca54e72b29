"""The file of a submission: a zip of ``card.yaml`` and run folders, always written the same way.

Whoever reads one takes it for hostile: a plain zip of a few files with known names is read member
by member and line by line, in bounded memory. Nothing is unpacked to disk, and nothing that a
submission says of its scores is read, because it says nothing of them.
"""

import re
import stat
import struct
import zipfile
import zlib
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import SEEK_END
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator

from target_bench.core import registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import DataError
from target_bench.core.registry import make_task
from target_bench.core.schema import Dataset, Generation, Retrieval, TableId
from target_bench.core.task import Task, given_tables
from target_bench.harness.score import MISSING
from target_bench.reporting.leaderboard.card import (
    Card,
    Strict,
    check_visible,
    describe_first_fault,
)
from target_bench.runs.record_log import ANSWERS, RANKINGS, Log

SUFFIX = ".tbs.zip"
MEBI = 2**20
LARGEST_ARCHIVE = 64 * MEBI
LARGEST_TOTAL = 512 * MEBI
LARGEST_DIRECTORY = 128 * 1024
LARGEST_MANIFEST = 64 * 1024
LARGEST_LINE = MEBI
MOST_RUNS = 100
MOST_FILES = 1 + 2 * MOST_RUNS
MOST_TABLES = 1000
LONGEST_ANSWER = 20_000

RUN_FOLDER = r"[a-z0-9][a-z0-9._-]{0,120}"
MEMBER = re.compile(
    rf"card\.yaml|{RUN_FOLDER}/(manifest\.json|retrieval\.jsonl|generations\.jsonl)"
)

REPACK = f"pack the runs again with `target-bench leaderboard submit RUN... -o team{SUFFIX}`"

ModelT = TypeVar("ModelT", bound=BaseModel)


class RefusedError(DataError):
    """A file that is no submission, or one that cannot be on a board."""

    def __init__(self, fault: str, remedy: str = REPACK) -> None:
        super().__init__(f"{fault}; {remedy}")


Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(check_visible)]
Label = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(check_visible)]
Id = Annotated[str, Field(max_length=500)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Cutoff = Annotated[int, Field(ge=1, le=MOST_TABLES)]
Tables = Annotated[
    list[Annotated[list[Id], Field(min_length=2, max_length=2)]], Field(max_length=MOST_TABLES)
]
Count = Annotated[int, Field(ge=0, le=2**53)]


class SubmittedRun(Strict):
    """``manifest.json`` of a submitted run: its data and its systems, and nothing of the machine.

    Attributes:
        task: short name of the task.
        sets: whether the tables returned are a set that the retriever chose, scored as one too.
        corpus: registered name of the corpus.
        split: full name of the split.
        about: the task whose queries were ranked, or None for all of the split.
        distractors: each set of distractors as it was asked for.
        corpus_fingerprint: of the tables.
        queries_fingerprint: of queries and gold tables, of answers of the references too.
        retriever: label of the retriever; None where nothing was retrieved.
        generator: label of the generator; None for a run of rankings.
        top_k: the cutoffs, ascending; none without a retriever.
        retrieval: the folder of the rankings that answers are built on; None for rankings.
        date: the day it was run.
    """

    task: Name
    sets: bool = False
    corpus: Name
    split: Name
    about: Name | None = None
    distractors: Annotated[list[Label], Field(max_length=20)]
    corpus_fingerprint: Hash
    queries_fingerprint: Hash
    retriever: Label | None = None
    generator: Label | None = None
    top_k: Annotated[list[Cutoff], Field(max_length=20)]
    retrieval: Annotated[str, Field(pattern=rf"^{RUN_FOLDER}$")] | None = None
    date: Annotated[str, Field(pattern=r"^([0-9]{4}-[01][0-9]-[0-3][0-9])?$")]

    @model_validator(mode="after")
    def _check_parts(self) -> "SubmittedRun":
        if sorted(set(self.top_k)) != self.top_k:
            raise ValueError("top_k should be ascending")
        if (self.retriever is None) == bool(self.top_k):
            raise ValueError("top_k belongs to runs with a retriever, and to all of them")
        if (self.retrieval is None) != (self.generator is None or self.retriever is None):
            raise ValueError(
                "expected retrieval, the run of the rankings, if there are a retriever and a "
                "generator, and only then"
            )
        return self

    @property
    def log(self) -> Log[Any]:
        """The file of its predictions."""
        return RANKINGS if self.generator is None else ANSWERS

    def make_task(self) -> Task[Any]:
        """Return the task by which it is scored: as it is, whatever a run was scored by."""
        return make_task(f"{self.task}:sets=true" if self.sets else self.task)


@contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a submission; errors as for ``check_zip``."""
    try:
        if path.exists() and not path.is_file():
            raise DataError(f"{path}: is not a file")
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    with file:
        if file.read(2) != b"PK":
            raise RefusedError("the file is not a zip, so it is not a submission")
        yield check_zip(file)


def check_zip(file: BinaryIO) -> zipfile.ZipFile:
    """Return a plain zip of a few small files with known names; no other zip is read."""
    size = file.seek(0, SEEK_END)
    if size > LARGEST_ARCHIVE:
        raise RefusedError(
            f"the archive has {size:,} bytes, but at most {LARGEST_ARCHIVE:,} are read",
            "submit fewer runs at a time",
        )
    # A directory of millions of files takes memory, so its size is looked at before it is read.
    file.seek(max(0, size - 42))
    before, end = file.read(max(0, min(size, 42) - 22)), file.read()
    if end[:4] != b"PK\5\6" or end[20:] != b"\0\0":
        raise RefusedError("the archive does not end like a zip: truncated, or with data after it")
    n, directory, start = struct.unpack("<HLL", end[10:20])
    if n > MOST_FILES or directory > LARGEST_DIRECTORY:
        raise RefusedError(f"the archive has {n:,} files, but at most {MOST_FILES} are read")
    if before[:4] == b"PK\6\7" or start + directory != size - 22:
        raise RefusedError("the archive is no plain zip: zip64, or with more in it")
    with _refuse_damage("the archive"):
        archive = zipfile.ZipFile(file)
    _check_members(archive.infolist())
    return archive


def _check_members(members: Sequence[zipfile.ZipInfo]) -> None:
    if len(members) > MOST_FILES:
        raise RefusedError(f"the archive has {len(members):,} files; at most {MOST_FILES} are read")
    names: set[str] = set()
    for member in members:
        name = member.orig_filename
        shown = f"member {name[:80]!a}"
        if not MEMBER.fullmatch(name) or name != member.filename:
            raise RefusedError(
                f"{shown}: a submission has card.yaml, and of each run RUN/manifest.json and "
                "RUN/retrieval.jsonl or RUN/generations.jsonl"
            )
        if name in names:
            raise RefusedError(f"{shown}: is there twice")
        if (
            stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG)
            or member.flag_bits & (0x1 | 0x20 | 0x40 | 0x2000)
            or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        ):
            raise RefusedError(f"{shown}: is a link, encrypted, or packed by an unknown method")
        names.add(name)
    if (total := sum(member.file_size for member in members)) > LARGEST_TOTAL:
        raise RefusedError(
            f"the archive unpacks to {total:,} bytes; at most {LARGEST_TOTAL:,} are read",
            "submit fewer runs at a time",
        )


def read_member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Return a whole member of at most so many bytes."""
    if name not in archive.namelist():
        raise RefusedError(f"{name}: is missing")
    if (size := archive.getinfo(name).file_size) > most:
        raise RefusedError(f"{name}: has {size:,} bytes; at most {most:,} are read")
    with _refuse_damage(name):
        return archive.read(name)


def read_runs(archive: zipfile.ZipFile, card: Card) -> dict[str, SubmittedRun]:
    """Return run folder -> its manifest, after all checks that need no data."""
    names = set(archive.namelist()) - {"card.yaml"}
    runs: dict[str, SubmittedRun] = {}
    chosen: dict[tuple[Any, ...], str] = {}
    for folder in sorted({name.partition("/")[0] for name in names}):
        member = f"{folder}/manifest.json"
        run = _validate(SubmittedRun, read_member(archive, member, LARGEST_MANIFEST), member)
        runs[folder] = run
        names -= {member, log := f"{folder}/{run.log.file}"}
        if log not in archive.namelist():
            raise RefusedError(f"{log}: is missing")
        _check_names(member, run)
        key = run.task, run.about, run.corpus, run.split, *run.distractors
        if (other := chosen.setdefault(key, folder)) != folder:
            raise RefusedError(
                f"{member}: has the task and data of {other}; a submission has one setting of "
                "one system for each",
                "choose it on another split, and say in the card which (chosen_on)",
            )
        if run.corpus not in card.trained_on:
            raise RefusedError(
                f"card.yaml: trained_on: says nothing about {run.corpus!a}",
                f"add '{run.corpus}: no' to it, or yes or unknown",
            )
    if names:
        raise RefusedError(f"{min(names)}: belongs to no run of its folder")
    if not 1 <= len(runs) <= MOST_RUNS:
        raise RefusedError(f"the archive holds {len(runs)} runs, but should hold 1 to {MOST_RUNS}")
    shared = ("corpus", "split", "distractors", "corpus_fingerprint", "top_k")
    for folder, run in runs.items():
        if run.retrieval is None:
            continue
        ranked = runs.get(run.retrieval)
        if (
            ranked is None
            or ranked.generator is not None
            or ranked.about not in (None, run.task, run.about)
            or any(getattr(run, name) != getattr(ranked, name) for name in shared)
        ):
            raise RefusedError(
                f"{folder}/manifest.json: retrieval: {run.retrieval!a} is no run of rankings of "
                "the same data and cutoffs"
            )
    return runs


def check_reproducible(where: str, task: str, *corpora: str) -> None:
    """Refuse what others cannot load by its name: a task, a corpus, a set of distractors.

    Refuse also a task whose scores they cannot compute again.
    """
    if task not in registry.names("task"):
        raise RefusedError(
            f"{where}: task: {task!a} is not registered",
            "offer it in an installed package, as an entry point of target_bench.tasks",
        )
    for name in (spec.partition(":")[0] for spec in corpora):
        if name not in registry.names("corpus"):
            names = ", ".join(registry.names("corpus"))
            raise RefusedError(
                f"{where}: corpus {name[:60]!a} is not registered, so others cannot load it",
                f"submit runs of {names}",
            )
    judge = make_task(task).judge
    if judge is not None and not judge.is_repeatable:
        raise RefusedError(
            f"{where}: task: a model judges answers to {task}, so that others cannot compute its "
            "scores again",
            "submit runs of other tasks",
        )


def _check_names(member: str, run: SubmittedRun) -> None:
    """See that task and corpora are registered here, and that the task is about such a run."""
    check_reproducible(member, run.task, run.corpus, *run.distractors)
    if run.sets and run.task != RANKING_TASK:
        raise RefusedError(f"{member}: sets: only {RANKING_TASK} is scored as sets of tables")
    task = run.make_task()
    if (task.answer == "ranking") != (run.generator is None):
        expected = "none" if task.answer == "ranking" else "one"
        raise RefusedError(f"{member}: generator: expected {expected} for {run.task}")
    if (task.source == "retrieved") != (run.retriever is not None):
        expected = "one" if task.source == "retrieved" else "none"
        raise RefusedError(f"{member}: retriever: expected {expected} for {run.task}")


def check_lines(archive: zipfile.ZipFile, runs: Mapping[str, SubmittedRun]) -> None:
    """Read the predictions of all runs, and refuse those that hold what they should not."""
    for folder, run in runs.items():
        model: type[BaseModel] = _RankingLine if run.generator is None else _AnswerLine
        deque(_read_lines(archive, f"{folder}/{run.log.file}", model), maxlen=0)


def read_rankings(
    archive: zipfile.ZipFile,
    folder: str,
    run: SubmittedRun,
    task: Task[Any],
    dataset: Dataset,
    notes: list[str],
) -> dict[str, Retrieval]:
    """Return the ranking of every query: a run's, or those that its answers are built on.

    Where nothing was retrieved, they are the tables that the task gives. What the board should say
    of them is added to ``notes``.
    """
    if run.retriever is None:
        return {
            query.id: Retrieval(query.id, given_tables(task, query)) for query in dataset.queries
        }
    name = f"{run.retrieval or folder}/{RANKINGS.file}"
    tables = {table: table for table in dataset.corpus.ids}  # an id is in memory once
    query_ids = {query.id for query in dataset.queries}
    rankings: dict[str, Retrieval] = {}
    for line in _read_lines(archive, name, _RankingLine):
        if run.retrieval is not None and line.query_id not in query_ids:
            continue  # rankings of more queries than were answered
        where = _check_query(name, line.query_id, query_ids, rankings)
        largest, at = run.top_k[-1], {int(k): listed for k, listed in line.at.items()}
        if largest in at:
            raise RefusedError(f"{where}: at: has {largest}, whose tables are those of the line")
        depths = {largest: line.tables} | at
        ranked = {}
        for k, listed in depths.items():
            ids = [TableId(*pair) for pair in listed]
            if k not in run.top_k or len(ids) > k:
                raise RefusedError(
                    f"{where}: has {len(ids)} tables at {k}, which is not a cutoff or allows fewer"
                )
            if ids and line.error is not None:
                raise RefusedError(f"{where}: has tables and an error")
            if len(set(ids)) < len(ids):
                raise RefusedError(f"{where}: names a table twice")
            if unknown := [table for table in ids if table not in tables]:
                raise RefusedError(
                    f"{where}: names {ascii(unknown[0])[:80]}, which is not in the corpus"
                )
            ranked[k] = tuple(tables[table] for table in ids)
        rankings[line.query_id] = Retrieval(
            line.query_id,
            ranked.pop(largest),
            error=line.error,
            resorted=line.resorted,
            tied=line.tied,
            divides_ties=line.divides_ties,
            at=ranked,
        )
    if run.retrieval is None:
        _note_missing(name, rankings, query_ids, notes)
    return rankings | {i: Retrieval(i, (), error=MISSING) for i in query_ids - rankings.keys()}


def read_answers(
    archive: zipfile.ZipFile, folder: str, dataset: Dataset, notes: list[str]
) -> dict[str, Generation]:
    """Return the answers that a run has; what the board should say of them goes to ``notes``."""
    name = f"{folder}/{ANSWERS.file}"
    query_ids = {query.id for query in dataset.queries}
    answers: dict[str, Generation] = {}
    for line in _read_lines(archive, name, _AnswerLine):
        _check_query(name, line.query_id, query_ids, answers)
        answers[line.query_id] = Generation(**line.model_dump())
    _note_missing(name, answers, query_ids, notes)
    return answers


def _check_query(
    name: str, query_id: str, query_ids: Collection[str], read: Collection[str]
) -> str:
    """Return where the line of a query stands, if the query is asked and not read before."""
    where = f"{name}, query {query_id[:60]!a}"
    if query_id not in query_ids:
        raise RefusedError(f"{where}: is not a query of this run")
    if query_id in read:
        raise RefusedError(f"{where}: is there twice")
    return where


def _note_missing(
    name: str, read: Collection[str], query_ids: Collection[str], notes: list[str]
) -> None:
    if missing := len(query_ids) - len(read):
        notes.append(
            f"{name}: {missing:,} of {len(query_ids):,} queries are missing; they count as wrong"
        )


class _RankingLine(Strict):
    """A line of ``retrieval.jsonl``, without scores and tracebacks: tables, best first."""

    query_id: Id
    tables: Tables
    error: Id | None = None
    resorted: bool = False
    tied: bool = False
    divides_ties: bool | None = None
    at: dict[Annotated[str, Field(pattern="^[0-9]{1,4}$")], Tables] = Field({}, max_length=20)


class _AnswerLine(Strict):
    """A line of ``generations.jsonl``, without times and tracebacks."""

    query_id: Id
    text: Annotated[str, Field(max_length=LONGEST_ANSWER)]
    error: Id | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost: Annotated[float, Field(strict=False, ge=0, le=1e9)] | None = None
    finish_reason: Id | None = None
    truncated: bool = False


def _read_lines(archive: zipfile.ZipFile, name: str, model: type[ModelT]) -> Iterator[ModelT]:
    """Yield the lines of a member, of which never more than one is in memory."""
    number = 0
    with _refuse_damage(name), archive.open(name) as file:
        while line := file.readline(LARGEST_LINE + 1):
            number += 1
            if len(line) > LARGEST_LINE:
                raise RefusedError(f"{name}, line {number}: longer than {LARGEST_LINE:,} bytes")
            yield _validate(model, line, f"{name}, line {number}")


def _validate(model: type[ModelT], content: bytes, where: str) -> ModelT:
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        raise RefusedError(f"{where}: {describe_first_fault(error)}") from None


@contextmanager
def _refuse_damage(where: str) -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, OSError, ValueError
    ) as error:  # fmt: skip  # a NotImplementedError is a RuntimeError
        raise RefusedError(f"{where}: is damaged, or cannot be read: {error!s:.200}") from error
