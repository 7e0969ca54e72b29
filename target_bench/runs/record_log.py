"""The append-only files of a run: one line per query, and what a killed process leaves of them.

``RANKINGS``, ``ANSWERS`` and ``JUDGEMENTS`` are the three kinds of lines. The manifest of a
finished run has the SHA-256 of each file, which is checked when the file is read.
"""

import errno
import hashlib
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic_core import from_json

from target_bench.core.contract import find_invalid_field
from target_bench.core.errors import StoreError
from target_bench.core.files import atomic_write, parse_json, sync_one
from target_bench.core.schema import FLAGS, Generation, Judgement, Retrieval, TableId

SECONDS_BETWEEN_SYNCS = 1.0
"""How much work a power cut may cost; a killed process loses no finished batch."""

T = TypeVar("T")
Append = Callable[[Iterable[T]], None]
"""Appends records to a log."""


@dataclass(frozen=True, slots=True)
class Log(Generic[T]):
    """One of the logs that every run folder may have; the methods take the folder."""

    file: str  # its name in a run folder
    to_json: Callable[[T], str]  # a record -> its JSON object, without a line break
    # a JSON object -> its record, or ``KeyError``, ``TypeError`` or ``ValueError``
    from_json: Callable[[dict[str, Any]], T]
    query_id: Callable[[T], str]  # a record -> the id of its query

    @contextmanager
    def open(self, folder: Path) -> Iterator[Append[T]]:
        """Open the log for appending, and give the function that appends.

        Every batch is handed to the system at once, and to the disk once a second and at the end.
        """
        path = folder / self.file
        with storage_errors("be written", path):
            _truncate_torn_line(path)
            is_new = not path.exists()
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        synced = time.monotonic()

        def append(records: Iterable[T]) -> None:
            nonlocal synced
            rest = memoryview(self._encode(records))
            with storage_errors("be written", path):
                while rest:  # a quota or an interrupt lets the system take a part
                    rest = rest[os.write(file, rest) :]
                if time.monotonic() - synced >= SECONDS_BETWEEN_SYNCS:
                    os.fsync(file)
                    synced = time.monotonic()

        try:
            if is_new:  # without this, a power cut may lose its name, though not its content
                with storage_errors("be written", path):
                    sync_one(folder)
                    sync_one(folder.parent)
            try:
                yield append
            except BaseException:
                with suppress(OSError):  # the error that ended the work says more
                    os.fsync(file)
                raise
            with storage_errors("be written", path):
                os.fsync(file)
        finally:
            os.close(file)

    def _encode(self, records: Iterable[T]) -> bytes:
        return b"".join(encode_line(self.to_json(record)) for record in records)

    def write(self, folder: Path, records: Iterable[T]) -> None:
        """Replace the log as a whole."""
        write_file(folder / self.file, self._encode(records))

    def read(self, folder: Path, sha256: str | None = None) -> dict[str, T]:
        """Return query id -> its last record; nothing without the file."""
        return {self.query_id(record): record for record in self.iterate(folder, sha256)}

    def iterate(self, folder: Path, sha256: str | None = None) -> Iterator[T]:
        """Yield the record of every whole line.

        Raises:
            StoreError: the file is damaged: it has another SHA-256, or a line is no record.
        """
        for number, line in enumerate(self._read_lines(folder, sha256), start=1):
            try:
                yield self.from_json(_parse_line(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise StoreError(
                    f"{folder / self.file}, line {number}: damaged ({error}); remove the line and "
                    "run the same command again"
                ) from error

    def check(self, folder: Path, sha256: str | None) -> None:
        """Check that a file is not damaged: by its SHA-256, else by reading all lines."""
        if sha256 is not None:
            self._read_lines(folder, sha256)
        else:
            deque(self.iterate(folder), maxlen=0)

    def _read_lines(self, folder: Path, sha256: str | None) -> list[bytes]:
        path = folder / self.file
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            if sha256 is None:
                return []
            raise StoreError(f"{path}: missing; run the same command again") from error
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error
        if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
            raise StoreError(
                f"{path}: damaged (not what was written when the run finished); remove it "
                "and run the same command again"
            )
        # After the last line end is nothing, or what another process is writing or died writing.
        return content.split(b"\n")[:-1]


def encode_line(text: str) -> bytes:
    """Return the JSON object as a line of a file, with its end."""
    # A lone surrogate is not UTF-8; written with a backslash it is what JSON has for it.
    return text.encode("utf-8", "backslashreplace") + b"\n"


@contextmanager
def storage_errors(what: str, path: Path, option: str = "--out") -> Iterator[None]:
    """Turn ``OSError`` into a ``StoreError`` that names the file and the remedy."""
    try:
        yield
    except OSError as error:
        advice = f"Choose a writable folder with {option}."
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            advice = "Make room and run the same command again: what was answered is kept."
        raise StoreError(f"{path} cannot {what}: {error.strerror}. {advice}") from error


def write_file(path: Path, content: bytes | Iterable[bytes], option: str = "--out") -> None:
    """Replace a file as a whole; errors as for ``storage_errors``."""
    with storage_errors("be written", path, option):
        atomic_write(path, content)


def _parse_line(line: bytes) -> Any:
    try:
        return from_json(line)  # in half the time of json.loads
    except ValueError:  # lone surrogates, which it does not read
        return parse_json(line)


def _truncate_torn_line(path: Path) -> None:
    with suppress(FileNotFoundError), path.open("rb+") as file:
        content = file.read()
        if not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)


_to_json = json.JSONEncoder(ensure_ascii=False).encode


def _ranking_to_json(value: Retrieval) -> str:
    record: dict[str, Any] = {"query_id": value.query_id, "tables": value.tables}
    if value.scores:
        record["scores"] = value.scores
    if value.error is not None:
        record["error"] = value.error
    if value.traceback is not None:
        record["traceback"] = value.traceback
    for name in FLAGS:
        if getattr(value, name):
            record[name] = True
    if value.divides_ties is not None:
        record["divides_ties"] = value.divides_ties
    if value.at:
        record["at"] = value.at
    return _to_json(record)


def _parse_table_id(pair: Any) -> TableId:
    if type(pair) is list and len(pair) == 2 and type(pair[0]) is type(pair[1]) is str:
        return tuple.__new__(TableId, pair)  # a file has a hundred thousand of them
    raise ValueError(f"{pair!r:.80} is no id of a table: [database, table], both text")


def _read_ranking(record: Mapping[str, Any]) -> Retrieval:
    return Retrieval(
        str(record["query_id"]),
        tuple(map(_parse_table_id, record["tables"])),
        tuple(record.get("scores", ())),
        record.get("error"),
        **{name: record[name] for name in FLAGS if name in record},
        divides_ties=record.get("divides_ties"),
        traceback=record.get("traceback"),
        at={int(k): tuple(map(_parse_table_id, ids)) for k, ids in record.get("at", {}).items()},
    )


_DEFAULTS = {field.name: field.default for field in fields(Generation)}


def _answer_to_json(value: Generation) -> str:
    answer = asdict(value)
    record = {n: v for n, v in answer.items() if n in ("query_id", "text") or v != _DEFAULTS[n]}
    return _to_json(record)


def _read_answer(record: dict[str, Any]) -> Generation:
    generation = Generation(**{**record, "shown_rows": tuple(record.get("shown_rows", ()))})
    fault = find_invalid_field(generation)
    if fault:
        raise ValueError(fault)
    return generation


def _judgement_to_json(value: Judgement) -> str:
    return _to_json({"query_id": value.query_id, **value.record, "fingerprint": value.fingerprint})


def _read_judgement(record: dict[str, Any]) -> Judgement:
    query_id, fingerprint = record.pop("query_id"), record.pop("fingerprint")
    if not isinstance(query_id, str) or not isinstance(fingerprint, str):
        raise TypeError("query_id and fingerprint should be text")
    return Judgement(query_id, fingerprint, record)


RANKINGS = Log("retrieval.jsonl", _ranking_to_json, _read_ranking, lambda r: r.query_id)
ANSWERS = Log("generations.jsonl", _answer_to_json, _read_answer, lambda a: a.query_id)
JUDGEMENTS = Log("judgements.jsonl", _judgement_to_json, _read_judgement, lambda j: j.query_id)
LOGS: tuple[Log[Any], ...] = (RANKINGS, ANSWERS, JUDGEMENTS)
