"""One run on disk: ``manifest.json``, ``retrieval.jsonl`` and ``scores.json``.

Retrievals are appended one line a query and found again by query id; the other two files are
replaced as a whole, so a reader sees the old or the new content and never half of one.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from target_bench.errors import StoreError
from target_bench.runs.identity import run_key
from target_bench.schema import Retrieval, TableId

FORMAT = 1
"""The version of the layout; a folder of another version is refused."""

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode


class Run:
    """A run folder, created if it is not there.

    Args:
        root: the folder of all runs.
        label: words that make the folder's name readable.
        identity: all that can change the result; its hash completes the name.

    Raises:
        StoreError: the folder cannot be made, or holds a run of another layout or identity.
    """

    def __init__(self, root: Path, label: Iterable[str], identity: Mapping[str, Any]) -> None:
        self.identity = json.loads(json.dumps(identity))
        words = [re.sub(r"[^a-z0-9.]+", "-", word.lower()).strip("-") for word in label]
        key = run_key(self.identity)
        self.id = "-".join([*(word[:40] for word in words), key])
        earlier = sorted(root.glob(f"*-{key}"))  # the same run, perhaps spelled otherwise
        if earlier:
            self.id = earlier[0].name
        self.folder = root / self.id
        self.manifest: dict[str, Any] = {}
        self._encoded_ids = _EncodedIds()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(_cannot("be created", self.folder, error)) from error
        self._read_manifest()

    def _read_manifest(self) -> None:
        path = self.folder / "manifest.json"
        if not path.exists():
            return
        try:
            manifest = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise StoreError(f"{path}: cannot be read ({error}); move the folder away") from error
        if not isinstance(manifest, dict):
            raise StoreError(f"{path}: holds no manifest; move the folder away")
        self.manifest = manifest
        if self.manifest.get("format") != FORMAT:
            raise StoreError(
                f"{path}: format {self.manifest.get('format')!r}, but this version of "
                f"target-bench reads {FORMAT}; choose another --out folder"
            )
        if self.manifest.get("identity") != self.identity:
            raise StoreError(f"{path}: holds another run's identity; move the folder away")

    def write_manifest(self, **entries: Any) -> None:
        """Add entries to the manifest and write it."""
        self.manifest = {
            "format": FORMAT,
            "id": self.id,
            "identity": self.identity,
            **self.manifest,
            **entries,
        }
        self._replace("manifest.json", self.manifest)

    def write_scores(self, scores: Mapping[str, Any]) -> None:
        """Write ``scores.json``: it depends on the identity and the retrievals alone."""
        self._replace("scores.json", scores)

    def _replace(self, name: str, content: Mapping[str, Any]) -> None:
        path = self.folder / name
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            with temporary.open(
                "w", encoding="utf-8", errors="surrogatepass", newline="\n"
            ) as file:
                json.dump(content, file, ensure_ascii=False, indent=2)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            raise StoreError(_cannot("be written", path, error)) from error

    def append(self, retrievals: Iterable[Retrieval]) -> None:
        """Add finished retrievals to ``retrieval.jsonl``."""
        path = self.folder / "retrieval.jsonl"
        text = "".join(map(self._line, retrievals))
        try:
            with path.open("a", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise StoreError(_cannot("be written", path, error)) from error

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

    def retrievals(self) -> dict[str, Retrieval]:
        """Query id -> what was retrieved; empty for a new run.

        A last line without its end is what a killed process was writing: it is cut off.

        Raises:
            StoreError: another line is not what ``append`` writes.
        """
        path = self.folder / "retrieval.jsonl"
        if not path.exists():
            return {}
        try:
            raw = path.read_bytes()
            if not raw.endswith(b"\n"):
                raw = raw[: raw.rfind(b"\n") + 1]
                os.truncate(path, len(raw))
        except OSError as error:
            raise StoreError(_cannot("be read", path, error)) from error
        found = {}
        for number, line in enumerate(raw.splitlines(), start=1):
            try:
                retrieval = _retrieval(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise StoreError(
                    f"{path}, line {number}: damaged ({error}); remove the line to have the query "
                    "answered again"
                ) from error
            found[str(retrieval.query_id)] = retrieval
        return found


class _EncodedIds(dict[TableId, str]):
    """Table id -> its JSON, made once."""

    def __missing__(self, table_id: TableId) -> str:
        text = self[table_id] = _ENCODE(table_id)
        return text


def _retrieval(record: Mapping[str, Any]) -> Retrieval:
    return Retrieval(
        record["query_id"],
        tuple(TableId(database_id, table_id) for database_id, table_id in record["tables"]),
        tuple(record.get("scores", ())),
        record.get("error"),
        record.get("resorted", False),
    )


def _cannot(what: str, path: Path, error: OSError) -> str:
    return f"{path} cannot {what}: {error.strerror}. Choose a writable folder with --out."
