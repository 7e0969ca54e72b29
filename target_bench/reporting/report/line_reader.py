"""JSON lines by query id, read from disk one at a time."""

from pathlib import Path
from typing import IO, Any

from target_bench.core.errors import StoreError
from target_bench.core.files import parse_json, unsealed_line


class Lines:
    """Positions of the last line of each query in a file, which may be missing.

    What is kept is one offset per query, not the lines. A last line without its end is left out: it
    is what another process is writing, or was when it was killed.

    Args:
        path: the file.

    Raises:
        StoreError: it cannot be read, or a line is damaged or not a JSON object with a query id.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offsets: dict[str, int] = {}
        self._file: IO[bytes] | None = None
        try:
            if path.exists():
                with path.open("rb") as file:
                    self._note(file)
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error

    def _note(self, file: IO[bytes]) -> None:
        offset = 0
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):
                self._offsets[_query_id(self.path, number, line)] = offset
            offset += len(line)

    def __contains__(self, query_id: str) -> bool:
        return query_id in self._offsets

    def get(self, query_id: str) -> dict[str, Any] | None:
        """Return the content of the last line of a query, or None."""
        if query_id not in self._offsets:
            return None
        if self._file is None:
            self._file = self.path.open("rb")
        self._file.seek(self._offsets[query_id])
        line = self._file.readline().removesuffix(b"\n")
        found: dict[str, Any] = parse_json(unsealed_line(line))
        return found

    def close(self) -> None:
        """Close the file, until another line is read."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _query_id(path: Path, number: int, line: bytes) -> str:
    try:
        return str(parse_json(unsealed_line(line.removesuffix(b"\n"), required=True))["query_id"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}, line {number}: damaged ({error})") from error
