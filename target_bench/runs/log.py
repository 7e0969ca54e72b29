"""``retrieval.jsonl``: one line a query, appended as rankings come, found again by query id."""

import errno
import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from target_bench.errors import StoreError
from target_bench.schema import Retrieval, TableId

SECONDS_BETWEEN_SYNCS = 1.0
"""How much work a power cut may cost; a killed process loses no finished batch."""

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode


class RetrievalLog:
    """The file, open for appending; use it as a context manager.

    Every batch is handed to the system at once, and to the disk once a second and at the end.

    Args:
        path: the file; it need not exist.

    Raises:
        StoreError: it cannot be written. Lines that were written before are whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._encoded_ids = _EncodedIds()
        self._synced = time.monotonic()
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise StoreError(cannot("be written", path, error)) from error

    def __enter__(self) -> "RetrievalLog":
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

    def append(self, retrievals: Iterable[Retrieval]) -> None:
        """Add finished retrievals.

        Raises:
            StoreError: they cannot be written, or not all of them.
        """
        text = "".join(map(self._line, retrievals))
        left = memoryview(text.encode("utf-8", "surrogatepass"))
        try:
            while left:
                left = left[os.write(self._file, left) :]
            if time.monotonic() - self._synced >= SECONDS_BETWEEN_SYNCS:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except OSError as error:
            raise StoreError(cannot("be written", self.path, error)) from error

    def _line(self, retrieval: Retrieval) -> str:
        tables = ", ".join(map(self._encoded_ids.__getitem__, retrieval.tables))
        parts = [f'"query_id": {_ENCODE(retrieval.query_id)}, "tables": [{tables}]']
        if retrieval.scores:
            parts.append(f'"scores": [{", ".join(map(repr, retrieval.scores))}]')
        if retrieval.error is not None:
            parts.append(f'"error": {_ENCODE(retrieval.error)}')
        if retrieval.resorted:
            parts.append('"resorted": true')
        return f"{{{', '.join(parts)}}}\n"


class _EncodedIds(dict[TableId, str]):
    """Table id -> its JSON, made once."""

    def __missing__(self, table_id: TableId) -> str:
        text = self[table_id] = _ENCODE(table_id)
        return text


def read(path: Path) -> dict[str, Retrieval]:
    """Query id -> what was retrieved last; empty without the file.

    A last line without its end is what a killed process was writing: it is cut off.

    Raises:
        StoreError: another line is not what ``append`` writes.
    """
    if not path.exists():
        return {}
    try:
        raw = path.read_bytes()
        if not raw.endswith(b"\n"):
            raw = raw[: raw.rfind(b"\n") + 1]
            os.truncate(path, len(raw))
    except OSError as error:
        raise StoreError(cannot("be read", path, error)) from error
    found = {}
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            retrieval = _retrieval(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{path}, line {number}: damaged ({error}); remove the line to have the query "
                "answered again"
            ) from error
        found[retrieval.query_id] = retrieval
    return found


def _retrieval(record: Mapping[str, Any]) -> Retrieval:
    return Retrieval(
        str(record["query_id"]),
        tuple(TableId(database_id, table_id) for database_id, table_id in record["tables"]),
        tuple(record.get("scores", ())),
        record.get("error"),
        record.get("resorted", False),
    )


def cannot(what: str, path: Path, error: OSError) -> str:
    """The message for a file of a run that the system refuses."""
    advice = "Choose a writable folder with --out."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        advice = "Make room and run the same command again: what was answered is kept."
    return f"{path} cannot {what}: {error.strerror}. {advice}"
