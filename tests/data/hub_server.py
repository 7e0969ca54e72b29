"""A hub on 127.0.0.1: as much of the Hugging Face hub's protocol as huggingface_hub needs.

It serves folders in the layout of hub repositories. A file in the large-file store (here: Parquet)
is answered with a redirect to another host name, as the hub does with its CDN.
"""

import hashlib
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from target_bench.core.schema import Query, Table, TableId
from tests.data.written import write_target

CORPUS, QUERIES = "target-benchmark/ottqa-corpus", "target-benchmark/ottqa-queries"
PARQUET = "data/validation-00000-of-00001.parquet"

_LARGE = ".parquet"


def commit_of(files: dict[str, bytes]) -> str:
    """A made-up commit hash of this content."""
    text = json.dumps([(path, content.hex()) for path, content in sorted(files.items())])
    return hashlib.sha1(text.encode()).hexdigest()


@dataclass
class Hub:
    """What it serves, and how it misbehaves.

    Attributes:
        repositories: id -> commit -> path -> content.
        branches: (id, branch or tag) -> commit.
        gated: ids that may not be read.
        refused: the status of every answer, if not 0, with this text.
        wrong: path -> bytes sent in place of the content, as often as ``wrong_times`` says.
        lost: paths that are listed, but not there.
        dies_after: after this many bytes of a file the connection breaks, and there is no other.
        seen: (method, path, headers) of every request.
    """

    repositories: dict[str, dict[str, dict[str, bytes]]] = field(default_factory=dict)
    branches: dict[tuple[str, str], str] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    refused: tuple[int, str] = (0, "")
    wrong: dict[str, bytes] = field(default_factory=dict)
    wrong_times: int = 1000
    lost: set[str] = field(default_factory=set)
    dies_after: int | None = None
    garbled: bool = False
    dead: bool = False
    port: int = 0
    seen: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, repository: str, folder: Path, branch: str = "main") -> str:
        """Serve a folder as a new commit of a branch; the commit."""
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
        commit = commit_of(files)
        self.repositories.setdefault(repository, {})[commit] = files
        self.branches[repository, branch] = commit
        return commit

    def gets(self, ending: str) -> int:
        """How often files with this ending were sent."""
        paths = [path for method, path, _ in self.seen if method == "GET"]
        return sum(path.endswith(ending) for path in paths)

    def commit(self, repository: str, revision: str) -> str | None:
        found = self.branches.get((repository, revision), revision)
        return found if found in self.repositories[repository] else None


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve until the end of the block."""

    class Handler(_Handler):
        state = hub

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hub.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    state: Hub

    def log_message(self, *args: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = urlsplit(self.path).path
        self.state.seen.append((self.command, unquote(path), dict(self.headers)))
        if self.state.dead:
            return
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if self.state.refused[0]:
            status, text = self.state.refused
            self._send(status, text.encode(), {"X-Error-Message": text})
        elif parts[:2] == ["api", "datasets"]:
            self._info("/".join(parts[2:4]), parts[5] if len(parts) > 5 else "main")
        elif parts[0] == "datasets" and len(parts) > 5 and parts[3] == "resolve":
            self._file("/".join(parts[1:3]), parts[4], "/".join(parts[5:]))
        elif parts[0] == "cdn":
            self._stored("/".join(parts[1:3]), parts[3], "/".join(parts[4:]))
        else:
            self._error(404, "EntryNotFound")

    def _commit(self, repository: str, revision: str) -> str | None:
        """The commit of a revision, or None after an error was sent."""
        if repository not in self.state.repositories:
            self._error(401, "RepoNotFound")  # as the hub does without a login
        elif repository in self.state.gated:
            self._error(403, "GatedRepo")
        elif (commit := self.state.commit(repository, revision)) is None:
            self._error(404, "RevisionNotFound")
        else:
            return commit
        return None

    def _info(self, repository: str, revision: str) -> None:
        commit = self._commit(repository, revision)
        if commit is None:
            return
        files = self.state.repositories[repository][commit]
        siblings = [_sibling(path, content) for path, content in files.items()]
        info = {"id": repository, "sha": commit, "private": False, "tags": [], "downloads": 0}
        body = json.dumps({**info, "likes": 0, "siblings": siblings}).encode()
        self._send(200, b"<html>Log in" if self.state.garbled else body)

    def _file(self, repository: str, revision: str, path: str) -> None:
        commit = self._commit(repository, revision)
        if commit is None:
            return
        content = self.state.repositories[repository][commit].get(path)
        if content is None or path in self.state.lost:
            self._error(404, "EntryNotFound")
            return
        headers = {"X-Repo-Commit": commit}
        if path.endswith(_LARGE):
            headers |= {
                "X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"',
                "X-Linked-Size": str(len(content)),
                "Location": f"http://localhost:{self.state.port}/cdn/{repository}/{commit}/{path}",
            }
            self._send(302, b"", headers)
        else:
            self._content(path, content, headers | {"ETag": f'"{_git_sha1(content)}"'})

    def _stored(self, repository: str, commit: str, path: str) -> None:
        self._content(path, self.state.repositories[repository][commit][path], {})

    def _content(self, path: str, content: bytes, headers: dict[str, str]) -> None:
        if path in self.state.wrong and self.state.wrong_times > 0:
            content = self.state.wrong[path]
            self.state.wrong_times -= self.command == "GET"
        start = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-")
        status = 206 if int(start) else 200
        if int(start):
            headers = {
                **headers,
                "Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}",
            }
        self._send(status, content[int(start) :], headers)

    def _error(self, status: int, code: str) -> None:
        self._send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code})

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            whole = self.state.dies_after is None or not self.path.endswith(_LARGE)
            self.wfile.write(body if whole else body[: self.state.dies_after])
            self.state.dead = self.state.dead or not whole


def _sibling(path: str, content: bytes) -> dict[str, Any]:
    sibling: dict[str, Any] = {"rfilename": path, "size": len(content)}
    if not path.endswith(_LARGE):
        return {**sibling, "blobId": _git_sha1(content)}
    sha256 = hashlib.sha256(content).hexdigest()
    lfs = {"sha256": sha256, "size": len(content), "pointerSize": 130}
    return {**sibling, "blobId": _git_sha1(sha256.encode()), "lfs": lfs}


def _git_sha1(content: bytes) -> str:
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()


def publish(server: Hub, folder: Path, cell: str = "Mars") -> dict[str, str]:
    """Serve a corpus of one table and its queries; the commits."""
    gold = TableId("0", "moons")
    tables = [Table(gold, ["planet", "moons"], [[cell, "2"]], {"title": "Moons"})]
    queries = [Query("q1", "How many moons?", (gold,), "2")]
    write_target(folder, tables, queries, "validation", "parquet", "hub")
    commits = {}
    for repository, part in ((CORPUS, "corpus"), (QUERIES, "queries")):
        readme = folder / f"any-{part}" / "README.md"
        readme.write_text("---\nlicense: cc-by-4.0\n---\n# Data\n", encoding="utf-8")
        commits[repository] = server.add(repository, folder / f"any-{part}")
    return commits


@contextmanager
def hub_in_use(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with one corpus, a cache of its own, and a huggingface_hub that reads its address."""
    pytest.importorskip("huggingface_hub")
    with serving(Hub()) as served:
        publish(served, folder / "published")
        patch.setenv("HF_ENDPOINT", served.address)
        patch.setenv("HF_HOME", str(folder / "hf"))
        patch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        patch.setenv("NO_PROXY", "127.0.0.1,localhost")
        patch.setenv("TARGET_BENCH_CACHE", str(folder / "cache"))
        for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "TARGET_BENCH_DATA"):
            patch.delenv(name, raising=False)
        for name in [name for name in sys.modules if name.split(".")[0] == "huggingface_hub"]:
            patch.delitem(sys.modules, name)  # it reads the environment when it is imported
        yield served
        close = getattr(sys.modules.get("huggingface_hub.utils"), "close_session", None)
        if close:
            close()


def left_over(cache: Path) -> list[str]:
    """Everything below the cache's hub folder that is not part of a whole pull."""
    pulls = {path.parent for path in cache.glob("hub/*/*/source.json")}
    files = [path for path in (cache / "hub").rglob("*") if path.is_file()]
    return [str(path) for path in files if not pulls & set(path.parents)]


class Said(list[str]):
    """What a pull said."""

    def __call__(self, text: str) -> None:
        self.append(text)

    def has(self, *parts: str) -> bool:
        return any(all(part in text for part in parts) for text in self)
