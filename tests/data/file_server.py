"""GitHub's raw files and the Hugging Face hub on 127.0.0.1, as much of them as a download needs.

Contents are small ones of our own under the real names: commits and paths of the authors' files as
they are pinned, TARGET's copies as their pages list them (``target_copies``). A large file of the
hub (here: SQLite and Parquet) is answered with a redirect to another host name, as the hub does.
"""

import hashlib
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from target_bench.core.declarations import MAIN, GitHub, Hub, Source
from target_bench.data import download
from target_bench.data.load import loader
from tests.builders import json_lines, ottqa_question, ottqa_table
from tests.data.target_copies import OWNER, REPOSITORIES, write_copy

_LARGE = (".parquet", ".sqlite")
FETCHED = ("fetaqa", "ottqa", "tabfact", "spider", "bird", "gittables")


@dataclass
class Server:
    """What it serves, and how it misbehaves.

    Attributes:
        files: path on the server -> content, of GitHub's raw files.
        copies: repository of the hub -> path -> content.
        statuses: end of a path -> status of the answer.
        wrong: end of a path -> bytes sent in place of the content.
        cut: ends of paths whose content breaks off in the middle, once each.
        held: ends of paths whose content stops in the middle for as long as the end is here.
        dead: whether every connection is closed without an answer.
        seen: (path, headers) of every request.
        declared: sources of other corpora than those of this package.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    copies: dict[str, dict[str, bytes]] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    wrong: dict[str, bytes] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    dead: bool = False
    port: int = 0
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    declared: list[Source] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def gets(self, ending: str) -> int:
        """How often files with this ending were asked for at the place where their bytes are."""
        paths = [path for path, _ in self.seen if not _is_redirected(path)]
        return sum(path.endswith(ending) for path in paths)

    def commits(self, repository: str) -> list[str]:
        """The commits of a repository of the hub, newest first: a made-up one, the pinned one."""
        pinned = [
            source.revision
            for source in (*_sources(), *self.declared)
            if isinstance(source, Hub)
            and source.repository == repository
            and source.revision != MAIN
        ]
        return ["f" * 40, *dict.fromkeys(revision.ljust(40, "0") for revision in pinned)]

    def commit(self, repository: str, revision: str) -> str | None:
        """The commit of a revision; as on the hub, an abbreviated one is none."""
        commits = self.commits(repository)
        return commits[0] if revision == "main" else revision if revision in commits else None


@cache
def _sources() -> list[Source]:
    """The sources of all corpora of this package that are fetched."""
    infos = [loader(name).info for name in FETCHED]
    return [source for info in infos for split in info.splits for source in info.sources(split)]


def _is_redirected(path: str) -> bool:
    return "/resolve/" in path and path.endswith(_LARGE)


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Serve until the end of the block."""

    class Handler(_Handler):
        state = server

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.port = http.server_address[1]
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    state: Server
    protocol_version = "HTTP/1.1"
    timeout = 5

    def log_message(self, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.state.seen.append((path, dict(self.headers)))
        if self.state.dead:
            self.close_connection = True
            return
        for ending, status in self.state.statuses.items():
            if path.endswith(ending):
                self._send(status, b"no")
                return
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "datasets"]:
            self._listing("/".join(parts[2:4]), *parts[4:6])
        elif parts[0] == "datasets":
            self._on_hub("/".join(parts[1:3]), parts[4], "/".join(parts[5:]), path)
        elif parts[0] == "cdn":
            self._content(path, self.state.copies["/".join(parts[1:3])]["/".join(parts[3:])])
        elif path in self.state.files:
            self._content(path, self.state.files[path])
        else:
            self._send(404, b"404: Not Found")

    def _listing(self, repository: str, kind: str, revision: str) -> None:
        if repository not in self.state.copies:
            self._send(401, b"{}")  # as the hub does without a login
        elif kind == "commits":
            details = {
                "title": "",
                "message": "",
                "authors": [],
                "date": "2026-01-01T00:00:00.000Z",
            }
            self._json([{"id": commit, **details} for commit in self.state.commits(repository)])
        elif (commit := self.state.commit(repository, revision)) is None:
            self._send(404, b"{}")
        else:
            files = self.state.copies[repository].items()
            self._json(
                {"id": repository, "sha": commit, "siblings": [_sibling(*file) for file in files]}
            )

    def _on_hub(self, repository: str, revision: str, path: str, address: str) -> None:
        content = self.state.copies.get(repository, {}).get(path)
        if content is None or self.state.commit(repository, revision) is None:
            self._send(404, b"Entry not found")
            return
        if path.endswith(_LARGE):
            place = f"http://localhost:{self.state.port}/cdn/{repository}/{path}"
            self._send(302, b"", {"Location": place})
        else:
            self._content(address, content)

    def _content(self, path: str, content: bytes) -> None:
        for ending, other in self.state.wrong.items():
            if path.endswith(ending):
                content = other
        headers = {}
        if any(map(path.endswith, self.state.held)):
            self._send(200, content[: len(content) // 2], {"Content-Length": str(len(content))})
            while any(map(path.endswith, self.state.held)):
                time.sleep(0.01)
            self.close_connection = True
            return
        for ending in [ending for ending in self.state.cut if path.endswith(ending)]:
            self.state.cut.remove(ending)
            headers = {"Content-Length": str(2 * len(content))}
            self.close_connection = True
        self._send(200, content, headers)

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode())

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(ConnectionError):  # the client may have heard enough
            self.wfile.write(body)


def _sibling(path: str, content: bytes) -> dict[str, Any]:
    sibling: dict[str, Any] = {"rfilename": path, "size": len(content)}
    if not path.endswith(_LARGE):
        return {**sibling, "blobId": git_blob(content)}
    sha256 = hashlib.sha256(content).hexdigest()
    lfs = {"sha256": sha256, "size": len(content), "pointerSize": 130}
    return {**sibling, "blobId": git_blob(sha256.encode()), "lfs": lfs}


def git_blob(content: bytes) -> str:
    """The git blob id of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def authors_files() -> dict[str, dict[str, bytes]]:
    """Corpus -> path -> content: real paths of the authors' repositories, tables of our own."""
    names = [line.split(" ", 2)[2] for line in _shipped_pins("OTT-QA")]
    ids = [Path(name).stem for name in names if "traindev_tables_tok" in name][:20]
    ottqa = {
        f"data/traindev_tables_tok/{table_id}.json": json.dumps(ottqa_table(table_id)).encode()
        for table_id in ids
    }
    questions = [ottqa_question(f"q{n}", table_id) for n, table_id in enumerate(ids)]
    ottqa["released_data/dev.json"] = json.dumps(questions).encode()
    lists = json.dumps({"train": [], "dev": ids, "test": []})
    ottqa["released_data/train_dev_test_table_ids.json"] = lists.encode()

    names = [line.split(" ", 2)[2] for line in _shipped_pins("Table-Fact-Checking")]
    csvs = [name for name in names if name.endswith(".csv")][:20]
    tabfact = {name: f"year#winner\n{1990 + n}#Ann".encode() for n, name in enumerate(csvs)}
    examples = {Path(name).name: [[f"Ann won in {name}"], [1], "Winners"] for name in csvs}
    tabfact["tokenized_data/test_examples.json"] = json.dumps(examples).encode()

    fetaqa = {
        f"data/fetaQA-v1_{name}.jsonl": json_lines([_fetaqa_record(n)]).encode()
        for n, name in enumerate(("test", "dev", "train"))
    }
    return {"ottqa": ottqa, "tabfact": tabfact, "fetaqa": fetaqa}


def _fetaqa_record(number: int) -> dict[str, Any]:
    return {
        "feta_id": number,
        "table_source_json": f"totto_source/dev_json/example-{number}.json",
        "page_wikipedia_url": "http://en.wikipedia.org/wiki/Moons",
        "table_page_title": "Moons",
        "table_section_title": "Inner planets",
        "table_array": [["planet", "moons"], ["Mars", "2"]],
        "highlighted_cell_ids": [[1, 1]],
        "question": "How many moons has Mars?",
        "answer": "Two.",
    }


def _shipped_pins(repository: str) -> list[str]:
    return (download.PINS / f"{repository}.txt").read_text(encoding="utf-8").splitlines()


@cache
def _copies() -> dict[str, dict[str, bytes]]:
    """Repository of the hub -> path -> content."""
    copies = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in REPOSITORIES:
            home = write_copy(Path(folder) / name, name)
            copies[f"{OWNER}/{name}"] = {
                path.relative_to(home).as_posix(): path.read_bytes()
                for path in sorted(home.rglob("*"))
                if path.is_file()
            } | {".gitattributes": b"*.sqlite filter=lfs", "README.md": b"# Data"}
    return copies


@contextmanager
def server_in_use(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server with everything, a cache of its own, and pins of what it serves."""
    corpora, pins = authors_files(), folder / "pins"
    pins.mkdir()
    with serving(Server()) as server:
        for corpus, files in corpora.items():
            info = loader(corpus).info
            (part,) = info.sources(info.fetched_splits[0])
            assert isinstance(part, GitHub)
            lines = [
                f"{hashlib.sha256(b).hexdigest()} {len(b)} {path}"
                if "train" not in Path(path).name
                else f"{git_blob(b)} - {path}"  # as FeTaQA's train split is pinned
                for path, b in files.items()
            ]
            name = part.repository.rpartition("/")[2]
            (pins / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
            root = f"/{part.repository}/{part.commit}"
            server.files |= {f"{root}/{path}": content for path, content in files.items()}
        server.copies = {name: dict(files) for name, files in _copies().items()}
        patch.setattr(download, "PINS", pins)
        patch.setattr(download, "_BACKOFF", 0.01)
        sleep = time.sleep
        patch.setattr(time, "sleep", lambda seconds: sleep(min(seconds, 0.01)))  # of the clients
        use(server, folder / "cache", patch)
        yield server


def use(server: Server, cache: Path, patch: pytest.MonkeyPatch) -> None:
    """Let downloads ask this server alone."""
    patch.setenv(download.GITHUB_RAW, server.address)
    patch.setenv(download.HUB, server.address)
    patch.setenv("NO_PROXY", "127.0.0.1,localhost")
    patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # whatever it was at import
    patch.setenv("TARGET_BENCH_CACHE", str(cache))
    for name in ("HF_TOKEN", download.OFFLINE, "TARGET_BENCH_DATA"):
        patch.delenv(name, raising=False)
