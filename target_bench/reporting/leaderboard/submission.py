"""Submissions as zip files: written the same way every time, and read as what they are: hostile.

A reader accepts one shape of archive and no other: a plain zip of a few files with known names,
stored or deflated, one after another from the first byte to the last. What is in them is read as a
stream, in bounded memory. Nothing is unpacked to disk, and nothing is read but JSON.
"""

import hashlib
import io
import json
import math
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from target_bench.core import registry
from target_bench.core.errors import DataError
from target_bench.core.files import atomic_write
from target_bench.core.schema import Dataset, Generation, Retrieval, TableId
from target_bench.core.task_names import task_class
from target_bench.reporting.leaderboard.documents import (
    LARGEST_INTEGER,
    MOST_RUNS,
    AnswerLine,
    Card,
    Index,
    RankingLine,
    RunDocument,
    first_fault,
)
from target_bench.runs.record_log import Answered

SUFFIX = ".tbs.zip"

MEBI = 1024 * 1024
LARGEST_ARCHIVE = 64 * MEBI
LARGEST_TOTAL = 512 * MEBI
LARGEST_LINE = MEBI
LARGEST_DOCUMENT = MEBI
LARGEST_DOCUMENTS = 4 * MEBI
MOST_LINES = 1_000_000
MOST_FILES = 202
LARGEST_RATIO = 300
LARGEST_DIRECTORY = 128 * 1024
DEEPEST = 16
LONGEST_ANSWERS = 20_000_000
"""Characters of all answers of a run together."""

_END = 22  # bytes of the record at the end of a zip
_LOCAL = 30  # bytes of the record before each file
_IN_RUN = ("run.json", "retrieval.jsonl", "generations.jsonl")
NAMES = frozenset(
    {"submission.json", "card.json", *(f"runs/{i}/{n}" for i in range(MOST_RUNS) for n in _IN_RUN)}
)
"""Every name that a file in a submission can have."""

ModelT = TypeVar("ModelT", bound=BaseModel)


class RefusedError(DataError):
    """A submission that is not read any further.

    Args:
        message: what is wrong.
        check: the name of the check that refused it.
    """

    def __init__(self, message: str, check: str = "readable") -> None:
        super().__init__(message)
        self.check = check


def write(path: Path, files: Mapping[str, bytes]) -> None:
    """Write an archive; equal files make equal bytes.

    Raises:
        OSError: it cannot be written.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, files[name])
    atomic_write(path, buffer.getvalue())


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
    """A submission, open: its documents are checked, its predictions are read as a stream.

    Attributes:
        archive: the file.
        card: who made what.
        runs: what the runs are of.
        hashes: the SHA-256 that each file should have.
        fingerprint: a hash of all that was submitted, for any compression.
    """

    archive: zipfile.ZipFile
    card: Card
    runs: tuple[RunDocument, ...]
    hashes: Mapping[str, str]
    fingerprint: str

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
            faults = {
                f"rankings of more than {depth} tables": len(ids) > depth,
                "rankings with a table twice": len(set(ids)) < len(ids),
                "rankings with tables that are not there": not tables.keys() >= {*ids},
            }
            fault = next((what for what, is_so in faults.items() if is_so), None)
            if fault is not None:
                predictions.fault(fault, line.query_id)
            ranking = Retrieval(line.query_id, (), error=fault or line.error)
            if ranking.error is None:
                ranked = tuple(tables[table] for table in ids)
                ranking = Retrieval(
                    line.query_id, ranked, resorted=line.resorted, tied=line.tied, cut=line.cut
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
        for place, record in lines(self.archive, name, self.hashes[name]):
            yield _validated(model, record, place)


@contextmanager
def opened(path: Path) -> Iterator[Submission]:
    """Open a submission, its documents checked.

    Raises:
        RefusedError: it is not what a submission is.
        DataError: there is no such file, it cannot be read, or is no zip file at all.
    """
    try:
        if path.exists() and not path.is_file():
            raise DataError(f"{path}: is not a file")
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    with file:
        yield _submission(opened_zip(path, file))


def _submission(archive: zipfile.ZipFile) -> Submission:
    """Read the documents, and see that each run has its predictions and nothing else."""
    names = {*archive.namelist()} - {"submission.json"}
    index = _document(archive, "submission.json", Index, None)
    odd = {*index.files} ^ names
    if odd:
        raise RefusedError(f"{min(odd)!a} is in the archive or in its index alone")
    card = _document(archive, "card.json", Card, index.files)
    runs = tuple(
        _document(archive, f"runs/{place}/run.json", RunDocument, index.files)
        for place in range(index.runs)
    )
    expected = {"card.json"}
    chosen: dict[tuple[object, ...], int] = {}
    for place, run in enumerate(runs):
        data = (run.task, run.about, run.corpus, run.split, *run.distractors)
        if (other := chosen.setdefault(data, place)) != place:
            raise RefusedError(
                f"runs {other} and {place} are of the same task and data: a submission has one "
                "setting of one system for each"
            )
        expected |= {f"runs/{place}/run.json", predictions_file(run, place)}
        _check_run(runs, place)
        if run.corpus not in card.training_data:
            raise RefusedError(f"card.json: training_data says nothing about {run.corpus!a}")
    if expected != names:
        raise RefusedError(f"{min(expected ^ names)} is missing or superfluous")
    listed = "".join(f"{name} {digest}\n" for name, digest in sorted(index.files.items()))
    fingerprint = hashlib.sha256(listed.encode()).hexdigest()
    return Submission(archive, card, runs, index.files, fingerprint)


def _check_run(runs: tuple[RunDocument, ...], place: int) -> None:
    """See that a run is what its task gives, and that answers have rankings that fit."""
    run, name = runs[place], f"runs/{place}/run.json"
    if run.task in registry.names("task"):
        task = task_class(run.task)
        if (task.answer == "ranking") != (run.generator is None):
            gives = "rankings, by no generator" if run.generator else "answers, by a generator"
            raise RefusedError(f"{name}: the task {run.task} is about {gives}")
        if (task.source == "retrieved") != (run.retriever is not None):
            are = "are not" if run.retriever else "are"
            raise RefusedError(f"{name}: the tables of {run.task} {are} retrieved")
    if run.retrieval is not None:
        rankings = runs[run.retrieval] if run.retrieval < len(runs) else None
        shared = ("corpus", "split", "distractors", "corpus_fingerprint", "cutoffs")
        if (
            rankings is None
            or rankings.generator is not None
            or rankings.about not in (None, run.task, run.about)
            or any(getattr(run, field) != getattr(rankings, field) for field in shared)
        ):
            raise RefusedError(
                f"run {place} names run {run.retrieval} as its retrieval, which is none"
            )


def rankings_of(run: RunDocument, place: int) -> int | None:
    """Return the place of the rankings of a run: its own, those it is built on, or None."""
    return place if run.generator is None else run.retrieval


def predictions_file(run: RunDocument, place: int) -> str:
    """Return the name of the file with the rankings or answers of a run."""
    return f"runs/{place}/{'retrieval' if run.generator is None else 'generations'}.jsonl"


def _validated(model: type[ModelT], document: Any, place: str) -> ModelT:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise RefusedError(f"{place}: {first_fault(error)}") from None


def _document(
    archive: zipfile.ZipFile, name: str, model: type[ModelT], hashes: Mapping[str, str] | None
) -> ModelT:
    """Read a file that is one JSON document, with the hash that is listed."""
    if name not in archive.namelist():
        raise RefusedError(f"{name} is missing")
    with _damage():
        raw = archive.read(name)
    document = _validated(model, strict_json(raw, name), name)
    if hashes is not None:
        _check_hash(name, hashlib.sha256(raw).hexdigest(), hashes[name])
    return document


def lines(archive: zipfile.ZipFile, name: str, sha256: str) -> Iterator[tuple[str, Any]]:
    """Yield (place, value) of each line of JSON; the place names file and line.

    Raises:
        RefusedError: a line is too long or not strict JSON, there are too many, or the hash of
            the file is another.
    """
    digest, number = hashlib.sha256(), 0
    with _damage(), archive.open(name) as file:
        while raw := file.readline(LARGEST_LINE + 1):
            number += 1
            place = f"{name}, line {number}"
            if len(raw) > LARGEST_LINE:
                raise RefusedError(f"{place}: longer than {LARGEST_LINE:,} bytes")
            if number > MOST_LINES:
                raise RefusedError(f"{name}: more than {MOST_LINES:,} lines")
            digest.update(raw)
            yield place, strict_json(raw, place)
    _check_hash(name, digest.hexdigest(), sha256)


def _check_hash(name: str, sha256: str, listed: str) -> None:
    if sha256 != listed:
        raise RefusedError(f"{name} was changed after packing: its SHA-256 is {sha256}")


def strict_json(raw: bytes, place: str) -> Any:
    """Return a JSON document without what parsers disagree on.

    Raises:
        RefusedError: it is not UTF-8, not JSON, holds NaN, an infinite or a huge number, a key
            twice or half a character, or is nested too deep.
    """
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_object,
            parse_float=_number,
            parse_int=_integer,
            parse_constant=_number,
        )
    except UnicodeDecodeError as error:
        raise RefusedError(f"{place}: not valid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise RefusedError(f"{place}: nested too deep") from None
    except ValueError as error:
        raise RefusedError(f"{place}: not strict JSON: {str(error)[:200]}") from None
    if _HALF.search(raw):  # an escape: as a byte sequence it would be no UTF-8
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise RefusedError(f"{place}: half of a character (a lone surrogate)") from None
        except RecursionError:
            raise RefusedError(f"{place}: nested too deep") from None
    level = [value]
    for _ in range(DEEPEST):
        containers = [inner for inner in level if isinstance(inner, dict | list)]
        level = [x for c in containers for x in (c.values() if isinstance(c, dict) else c)]
        if not level:
            return value
    raise RefusedError(f"{place}: nested deeper than {DEEPEST} levels")


_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key is there twice in one object")
    return record


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("NaN, or a number that is too large")
    return number


def _integer(digits: str) -> int:
    number = int(digits)
    if abs(number) > LARGEST_INTEGER:
        raise ValueError("a number that is too large")
    return number


def opened_zip(path: Path, file: BinaryIO) -> zipfile.ZipFile:
    """Open a file that is the plain zip of a submission; errors as for ``opened``."""
    size = path.stat().st_size
    if size > LARGEST_ARCHIVE:
        raise RefusedError(f"{size:,} bytes, but at most {LARGEST_ARCHIVE:,} are read")
    if file.read(2) != b"PK" and not zipfile.is_zipfile(file):
        raise DataError(
            f"{path}: is no zip file, so it is no submission; `target-bench leaderboard "
            f"submit RUN -o team{SUFFIX}` packs one"
        )
    _check_end(file, size)
    with _damage():
        archive = zipfile.ZipFile(file)
    _check_entries(archive.infolist(), archive.start_dir)
    return archive


def _check_end(file: BinaryIO, size: int) -> None:
    """See that the zip ends where the file ends, and that its directory is small.

    Reading a directory of millions of files takes memory, so this is done before it is read.
    """
    file.seek(max(0, size - _END - 20))
    tail = file.read()
    end, before = tail[-_END:], tail[:-_END]
    if size < _END or end[:4] != b"PK\5\6" or end[20:] != b"\0\0":
        raise RefusedError("it does not end as a zip file does: cut off, or with more")
    disk, first, here, n, directory, start = struct.unpack("<4HLL", end[4:20])
    if max(n, here) > MOST_FILES or directory > LARGEST_DIRECTORY:
        raise RefusedError(f"{n:,} files, but at most {MOST_FILES} are read")
    if disk or first or here != n or before[:4] == b"PK\6\7" or start + directory != size - _END:
        raise RefusedError("it is no plain zip file: zip64, of several parts, or with more in it")


def _check_entries(entries: list[zipfile.ZipInfo], directory: int) -> None:
    """See that the files are known, plain, one right after another, and not too large.

    Of each file no more is read than the size that the directory declares.
    """
    names: set[str] = set()
    at = total = documents = 0
    for info in sorted(entries, key=lambda info: info.header_offset):
        name, form = info.orig_filename, stat.S_IFMT(info.external_attr >> 16)
        if name not in NAMES or name != info.filename or name in names:
            raise RefusedError(f"file {name[:80]!a}: a submission has no such file, or has it once")
        if (
            form not in (0, stat.S_IFREG)
            or info.flag_bits & (0x1 | 0x20 | 0x40 | 0x2000)
            or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        ):
            raise RefusedError(f"{name} is a link, encrypted, or packed by an unknown method")
        if info.header_offset != at:
            raise RefusedError(f"{name} is not right behind the file before it")
        if info.file_size > LARGEST_RATIO * info.compress_size + MEBI // 4:
            raise RefusedError(
                f"{name} unpacks to {info.file_size:,} bytes from {info.compress_size:,}"
            )
        if name.endswith(".json"):
            documents += info.file_size
            if info.file_size > LARGEST_DOCUMENT or documents > LARGEST_DOCUMENTS:
                raise RefusedError(
                    f"{name}: documents have more than {LARGEST_DOCUMENT:,} bytes, or "
                    f"{LARGEST_DOCUMENTS:,} together"
                )
        names.add(name)
        at += _LOCAL + len(name) + info.compress_size
        total += info.file_size
    if total > LARGEST_TOTAL:
        raise RefusedError(f"it unpacks to {total:,} bytes; at most {LARGEST_TOTAL:,}")
    if at != directory:
        raise RefusedError("its directory is not right behind the last file")


@contextmanager
def _damage() -> Iterator[None]:
    """Refuse what the library cannot read."""
    try:
        yield
    except (
        zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, OSError, ValueError
    ) as error:  # fmt: skip  # a NotImplementedError is a RuntimeError
        raise RefusedError(f"it is damaged, or cannot be read: {error}") from error
