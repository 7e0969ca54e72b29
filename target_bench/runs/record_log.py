"""Append-only files of a run: one line per query, and what a killed process leaves of them.

Every line ends with a seal of its own (``core.files``), so that a damaged character is found
wherever it is. In a run that version 0.1.0 began, lines without one are read as they are. After
what all logs share come ``retrieval.jsonl``, ``generations.jsonl`` and ``judgements.jsonl``.
"""

import errno
import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from target_bench.core.contract import generation_fault
from target_bench.core.errors import StoreError
from target_bench.core.files import DamageError, parse_json, sealed_line, sync_one, unsealed_line
from target_bench.core.schema import MARKS, Generation, Judgement, Retrieval, TableId

SECONDS_BETWEEN_SYNCS = 1.0
"""How much work a power cut may cost; a killed process loses no finished batch."""

JUDGEMENTS = "judgements.jsonl"
"""The log that is repaired by scoring the run again; lines of the others are removed by hand."""

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
T = TypeVar("T")


class Log(ABC, Generic[T]):
    """A file open for appending; use it as a context manager.

    Every batch is handed to the system at once, and to the disk once a second and at the end. What
    a killed process left of a last line is cut off first.

    Args:
        path: the file; it need not exist.

    Raises:
        StoreError: it cannot be written. Lines that were written before are whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._synced = time.monotonic()
        try:
            _cut_torn_line(path)
            new = not path.exists()
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            if new:  # else a power cut may lose the file's name, even if its content is on disk
                for folder in (path.parent, path.parent.parent):
                    sync_one(folder)
        except OSError as error:
            raise StoreError(cannot("be written", path, error)) from error

    @abstractmethod
    def line(self, value: T) -> str:
        """Return the JSON object of a value, without a line break."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            os.fsync(self._file)
        except OSError as problem:
            if error is None:
                raise StoreError(cannot("be written", self.path, problem)) from problem
        finally:
            os.close(self._file)

    def append(self, values: Iterable[T]) -> None:
        """Add what is finished.

        Raises:
            StoreError: it cannot be written, or not all of it.
        """
        left = memoryview(b"".join(encoded_line(self.line(value)) for value in values))
        try:
            while left:
                left = left[os.write(self._file, left) :]
            if time.monotonic() - self._synced >= SECONDS_BETWEEN_SYNCS:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except OSError as error:
            raise StoreError(cannot("be written", self.path, error)) from error


def encoded_line(text: str) -> bytes:
    """Return the JSON object as a line of a file, with its seal and its end."""
    # A lone surrogate is not UTF-8; written with a backslash it is what JSON has for it.
    return sealed_line(text.encode("utf-8", "backslashreplace")) + b"\n"


def read_lines(path: Path, parse: Callable[[dict[str, Any]], T]) -> Iterator[T]:
    """Yield what the lines of a log hold; nothing without the file.

    A last line without its end is what another process is writing, or was when it was killed: it
    is left out, and left alone.

    Raises:
        StoreError: another line is not what was appended.
    """
    for found in lines(path, parse):
        if isinstance(found, StoreError):
            raise found
        yield found


def lines(path: Path, parse: Callable[[dict[str, Any]], T]) -> Iterator[T | StoreError]:
    """Read as ``read_lines`` does, with an error in the place of every damaged line.

    Raises:
        StoreError: the file cannot be read at all.
    """
    if not path.exists():
        return
    try:
        *found, _ = path.read_bytes().split(b"\n")
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(found, start=1):
        try:
            yield parse(parse_json(unsealed_line(line, required=True)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            yield _damaged(path, number, error)


def check_seals(path: Path) -> None:
    """See that no line is damaged, by their seals alone: nothing is parsed.

    Raises:
        StoreError: one is, or the file cannot be read.
    """
    try:
        content = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    *whole, _ = content.split(b"\n")  # the last one is torn, or nothing
    for number, line in enumerate(whole, start=1):
        try:
            unsealed_line(line, required=True)
        except DamageError as error:
            raise _damaged(path, number, error) from error


def _damaged(path: Path, number: int, error: Exception) -> StoreError:
    advice = "remove the line to have the query answered again"
    if path.name == JUDGEMENTS:
        advice = f"target-bench score {path.parent} judges the answer again"
    return StoreError(f"{path}, line {number}: damaged ({error}); {advice}")


def _cut_torn_line(path: Path) -> None:
    with suppress(FileNotFoundError), path.open("rb+") as file:
        content = file.read()
        if not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)


class RetrievalLog(Log[Retrieval]):
    """``retrieval.jsonl``, open for appending."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._encoded_ids = _EncodedIds()

    def line(self, value: Retrieval) -> str:
        """Return the ranking, with scores, error and marks where there are any."""
        tables = ", ".join(map(self._encoded_ids.__getitem__, value.tables))
        parts = [f'"query_id": {_ENCODE(value.query_id)}, "tables": [{tables}]']
        if value.scores:
            parts.append(f'"scores": [{", ".join(map(repr, value.scores))}]')
        if value.error is not None:
            parts.append(f'"error": {_ENCODE(value.error)}')
        if value.traceback is not None:
            parts.append(f'"traceback": {_ENCODE(value.traceback)}')
        parts += [f'"{name}": true' for name in MARKS if getattr(value, name)]
        return f"{{{', '.join(parts)}}}"


class _EncodedIds(dict[TableId, str]):
    """Table id -> its JSON, made once."""

    def __missing__(self, table_id: TableId) -> str:
        text = self[table_id] = _ENCODE(table_id)
        return text


def read_rankings(path: Path) -> dict[str, Retrieval]:
    """Query id -> what was retrieved last; empty without the file.

    Raises:
        StoreError: a line is damaged.
    """
    # Rankings name the same tables again and again: one id of each is kept.
    known: dict[TableId, TableId] = {}
    return {
        ranking.query_id: replace(
            ranking, tables=tuple(known.setdefault(table, table) for table in ranking.tables)
        )
        for ranking in read_lines(path, parse_ranking)
    }


def parse_ranking(record: Mapping[str, Any]) -> Retrieval:
    """Return the content of a line.

    Raises:
        KeyError, TypeError, ValueError: it is not a ranking.
    """
    return Retrieval(
        str(record["query_id"]),
        tuple(TableId(database_id, table_id) for database_id, table_id in record["tables"]),
        tuple(record.get("scores", ())),
        record.get("error"),
        **{name: record.get(name, False) for name in MARKS},
        traceback=record.get("traceback"),
    )


def cannot(what: str, path: Path, error: OSError, option: str = "--out") -> str:
    """Return the message for a file that the system refuses, with the option to use instead."""
    advice = f"Choose a writable folder with {option}."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        advice = "Make room and run the same command again: what was answered is kept."
    return f"{path} cannot {what}: {error.strerror}. {advice}"


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, and what its prompt showed.

    Attributes:
        generation: the answer.
        shown_rows: for each table of the prompt how many rows it showed, -1 for a table that
            found no room.
        truncated: whether anything was left out.
    """

    generation: Generation
    shown_rows: tuple[int, ...] = ()
    truncated: bool = False


_DEFAULTS = {field.name: field.default for field in fields(Generation)}


class GenerationLog(Log[Answered]):
    """``generations.jsonl``, open for appending."""

    def line(self, value: Answered) -> str:
        """Return the answer without what is not known."""
        record = {
            name: found
            for name, found in asdict(value.generation).items()
            if name in ("query_id", "text") or found != _DEFAULTS[name]
        }
        if value.shown_rows:
            record["shown_rows"] = value.shown_rows
        if value.truncated:
            record["truncated"] = True
        return json.dumps(record, ensure_ascii=False)


def read_answers(path: Path) -> dict[str, Answered]:
    """Query id -> the last answer; empty without the file.

    Raises:
        StoreError: a line is damaged.
    """
    return {a.generation.query_id: a for a in read_lines(path, parse_answer)}


def parse_answer(record: dict[str, Any]) -> Answered:
    """Return the content of a line.

    Raises:
        TypeError, ValueError: it is not an answer.
    """
    rows = tuple(record.pop("shown_rows", ()))
    truncated = record.pop("truncated", False)
    generation = Generation(**record)
    problem = generation_fault(generation)
    if problem:
        raise ValueError(problem)
    return Answered(generation, rows, truncated)


_QUERY_ID, _FINGERPRINT = "query_id", "fingerprint"


@dataclass(frozen=True, slots=True)
class StoredJudgements:
    """What the file holds.

    Attributes:
        by_query: query id -> its last judgement.
        n_lines: how many whole lines there are.
        damaged: of each line that is not what was written, what is wrong with it.
    """

    by_query: Mapping[str, Judgement] = field(default_factory=dict)
    n_lines: int = 0
    damaged: tuple[str, ...] = ()


class JudgementLog(Log[Judgement]):
    """``judgements.jsonl``, open for appending."""

    def line(self, value: Judgement) -> str:
        """Return the record between the query and the fingerprint."""
        return judgement_line(value)


def judgement_line(judgement: Judgement) -> str:
    """Return the JSON object of a judgement, without a line break."""
    head = {_QUERY_ID: judgement.query_id}
    return json.dumps(
        {**head, **judgement.record, _FINGERPRINT: judgement.fingerprint}, ensure_ascii=False
    )


def parse_judgement(record: dict[str, Any]) -> Judgement:
    """Return the content of a line.

    Raises:
        KeyError, TypeError, ValueError: it is not a judgement.
    """
    found = dict(record)
    query_id, fingerprint = found.pop(_QUERY_ID), found.pop(_FINGERPRINT)
    if not isinstance(query_id, str) or not isinstance(fingerprint, str):
        raise TypeError(f"{_QUERY_ID} and {_FINGERPRINT} should be text")
    return Judgement(query_id, fingerprint, found)


def read_judgements(path: Path) -> StoredJudgements:
    """Return the judgements of a file; none without it. A torn last line is left out.

    Raises:
        StoreError: the file cannot be read at all.
    """
    found = list(lines(path, parse_judgement))
    whole = [one for one in found if isinstance(one, Judgement)]
    damaged = tuple(str(one) for one in found if isinstance(one, StoreError))
    return StoredJudgements({one.query_id: one for one in whole}, len(found), damaged)
