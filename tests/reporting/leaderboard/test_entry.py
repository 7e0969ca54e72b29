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
    return write(tmp_path, [entry("one", run, answers(0.5, run, 0))]) / "0.entry.json"


def _run(name: str, value: object, place: int = 0) -> Callable[[Record], object]:
    return lambda record: record["runs"][place].__setitem__(name, value)


def _score(name: str, value: object) -> Callable[[Record], object]:
    return lambda record: record["runs"][0]["scores"]["recall@10"].__setitem__(name, value)


FORGED: dict[str, tuple[Callable[[Record], object], str]] = {
    "format": (lambda r: r.__setitem__("format", 99), "format 99"),
    "no card": (lambda r: r.pop("card"), "card: Field required"),
    "card": (
        lambda r: r["card"].__setitem__("code", "javascript:alert(1)"),
        "card.code: should be",
    ),
    "html": (lambda r: r["card"].__setitem__("name", "<b>x</b>"), "card.name: holds < or >"),
    "more": (lambda r: r.__setitem__("evil", 1), "evil: Extra inputs"),
    "verdict": (lambda r: r.__setitem__("verdict", "best"), "verdict: Input should be"),
    "id": (lambda r: r.__setitem__("id", 7), "id: Input should be"),
    "no id": (lambda r: r.__setitem__("id", ""), "id: String should have"),
    "turned": (lambda r: r.__setitem__("id", "a\u202eb"), "id: holds U\\+202E"),
    "runs": (lambda r: r.__setitem__("runs", {}), "runs: Input should be"),
    "no runs": (lambda r: r.__setitem__("runs", []), "runs: List should have"),
    "run": (lambda r: r["runs"].__setitem__(0, 3), r"runs\.0: Input should be"),
    "field": (lambda r: r["runs"][0].pop("slices"), r"runs\.0\.slices: Field required"),
    "label": (_run("retriever", "a\u0000b"), r"runs\.0\.retriever: holds U\+0000"),
    "long": (_run("corpus", "x" * 101), r"runs\.0\.corpus: String should have"),
    "generator": (_run("generator", "g"), r"runs\.0: a run about retrieval has no generator"),
    "cutoffs": (_run("cutoffs", [5, 1]), r"runs\.0: cutoffs should be ascending"),
    "ids": (_run("query_ids", ["a", "a"]), r"runs\.0\.query_ids: names a query twice"),
    "slice": (_run("slices", {"s": [1]}), r"runs\.0: slices\.'s': 1 values of 60"),
    "nested": (_run("slices", {"s": [[]] * 60}), r"runs\.0\.slices\.s: holds a list"),
    "counts": (_run("counts", {"asked": 1}), r"runs\.0\.counts: expected asked, answered"),
    "hash": (_run("corpus_fingerprint", "x"), r"runs\.0\.corpus_fingerprint: String should"),
    "asked": (
        lambda r: r["runs"][0]["counts"].__setitem__("asked", 1e-300),
        r"runs\.0: counts\.asked: 1e-300, but there are 60",
    ),
    "cost": (
        lambda r: r["runs"][1]["answers"].__setitem__("cost", 1e308),
        r"runs\.1\.answers\.cost: Input should be less",
    ),
    "seconds": (_run("seconds", {"retrieve": 1e308}), r"runs\.0\.seconds\.retrieve: Input should"),
    "timed": (_run("timed_queries", 10**400), r"runs\.0\.timed_queries: Input should"),
    "date": (_run("date", "yesterday"), r"runs\.0\.date: String should match"),
    "basis": (_run("retrieval", 9, 1), r"runs\.1\.retrieval: 9 is not a run"),
    "itself": (_run("retrieval", 1, 1), r"runs\.1\.retrieval: 1 is not a run"),
    "text": (_score("value", "high"), r"runs\.0\.scores\.recall@10\.value: Input should be"),
    "missing": (_score("value", None), "recall@10.value: nan, but its queries have 0.5"),
    "edited": (_score("value", 0.99), "recall@10.value: 0.99, but its queries have 0.5"),
    "base64": (_run("per_query", {"mrr": "%%%"}), "holds no entry"),
    "not packed": (_run("per_query", {"mrr": "AAAA"}), "holds no entry"),
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
    assert "\u202e" not in str(refused.value)


RAW: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "Expecting value"),
    "cut": (b'{"format": 1, "id"', "holds no entry"),
    "list": (b"[]", "holds no entry"),
    "NaN": (b'{"format": NaN}', "NaN is not a number of JSON"),
    "deep": (b"[" * 100_000 + b"]" * 100_000, "recursion"),
    "binary": (bytes(range(256)), "holds no entry"),
    "long number": (b'{"format": ' + b"9" * 5000 + b"}", "holds no entry"),
}


@pytest.mark.parametrize("name", RAW)
def test_no_document(path: Path, name: str) -> None:
    raw, said = RAW[name]
    path.write_bytes(raw)
    with pytest.raises(DataError, match=said):
        read(path)


def test_bombs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is unpacked than there are queries; no larger file is read."""
    record = json.loads(path.read_bytes())
    bomb = base64.b64encode(zlib.compress(bytes(10**8))).decode()
    record["runs"][0]["per_query"]["mrr"] = bomb
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match="60 queries need as many values"):
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
