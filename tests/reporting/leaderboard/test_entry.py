"""Entry files that are none: every one is refused, by file and field."""

import base64
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import DataError
from target_bench.reporting.leaderboard.entry import entries, read
from tests.reporting.leaderboard.small import answers, entry, retrieval, write

Record = dict[str, Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    run = retrieval(0.5)
    return write(tmp_path, [entry("one", run, answers(0.5, run))]) / "0.entry.json"


def _run(name: str, value: object, place: int = 0) -> Callable[[Record], object]:
    return lambda record: record["runs"][place].__setitem__(name, value)


def _score(name: str, value: object) -> Callable[[Record], object]:
    return lambda record: record["runs"][0]["scores"]["recall@10"].__setitem__(name, value)


FORGED: dict[str, tuple[Callable[[Record], object], str]] = {
    "format": (lambda r: r.__setitem__("format", 99), "format: input should be 4"),
    "no card": (lambda r: r.pop("card"), "card: is missing"),
    "card": (lambda r: r["card"].__setitem__("code", "javascript:x"), "card.code: should be"),
    "html": (lambda r: r["card"].__setitem__("name", "<b>x</b>"), "card.name: holds < or >"),
    "more": (lambda r: r.__setitem__("evil", 1), "evil: there is no such field"),
    "verdict": (lambda r: r.__setitem__("verdict", "best"), "verdict: input should be"),
    "turned": (lambda r: r.__setitem__("id", "a\u202eb"), "holds U\\+202E"),
    "no runs": (lambda r: r.__setitem__("runs", []), "runs: list should have"),
    "field": (lambda r: r["runs"][0].pop("counts"), r"runs\.0\.counts: is missing"),
    "label": (_run("retriever", "a\u0000b"), r"runs\.0\.retriever: holds U\+0000"),
    "ids": (_run("query_ids", ["a"] * 60), r"runs\.0: query_ids: names a query twice"),
    "deep": (
        _run("query_ids", base64.b64encode(zlib.compress(b"[" * 200_000)).decode()),
        "query_ids: is nested too deep",
    ),
    "fewer": (_run("query_ids", ["a"]), r"runs\.0: per_query\.recall@1: 60 values of 1 queries"),
    "hash": (_run("corpus_fingerprint", "x"), r"runs\.0\.corpus_fingerprint: string should"),
    "seconds": (_run("seconds", {"retrieve": 1e308}), r"runs\.0\.seconds\.retrieve: input should"),
    "text": (_score("value", "high"), r"runs\.0\.scores\.recall@10.*valid number"),
    "missing": (_score("value", None), "recall@10: nan, but its queries have 0.5"),
    "edited": (_score("value", 0.99), "recall@10: 0.99, but its queries have 0.5"),
    "base64": (_run("per_query", {"mrr": "%%%"}), r"runs\.0\.per_query\.mrr"),
    "not packed": (_run("per_query", {"mrr": "AAAA"}), "is not packed as verify packs"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged(path: Path, name: str) -> None:
    change, said = FORGED[name]
    record = json.loads(path.read_bytes())
    change(record)
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match=said) as refused:
        read(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    "raw",
    [b"", b'{"format": 1, "id"', b"[]", b'{"format": NaN}', b"[" * 100_000, bytes(range(256))],
    ids=["empty", "cut", "list", "NaN", "deep", "binary"],
)
def test_no_document(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    with pytest.raises(DataError, match="holds no entry"):
        read(path)


def test_bombs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is unpacked than there may be queries; no larger file is read."""
    record = json.loads(path.read_bytes())
    bomb = base64.b64encode(zlib.compress(bytes(10**8))).decode()
    record["runs"][0]["per_query"]["mrr"] = bomb
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match="or more than 8,000,000 bytes"):
        read(path)
    monkeypatch.setattr("target_bench.reporting.leaderboard.entry.MOST_BYTES", 1000)
    with pytest.raises(DataError, match="bytes; an entry has at most 1,000"):
        read(path)


def test_links_and_folders(path: Path) -> None:
    link = path.with_name("link.entry.json")
    link.symlink_to(path)
    with pytest.raises(DataError, match="is a link or no file"):
        read(link)
    folder = path.with_name("folder.entry.json")
    folder.mkdir()
    with pytest.raises(DataError, match="is a link or no file"):
        read(folder)


def test_one_id_twice(tmp_path: Path) -> None:
    write(tmp_path, [entry("same", retrieval(0.5)), entry("Same", retrieval(0.6))])
    with pytest.raises(
        DataError, match=r"1\.entry\.json: id: 'Same' is the id of .*0\.entry\.json"
    ):
        list(entries(tmp_path))


def test_what_is_written_is_read(path: Path) -> None:
    found = read(path)
    assert [run.task for run in found.runs] == ["retrieval", "fact_verification"]
    assert found.runs[0].scores["recall@10"].value == 0.5
