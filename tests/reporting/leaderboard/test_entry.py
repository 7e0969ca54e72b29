"""Entry files: read as they were written, and refused by file and field where they are none."""

import base64
import json
import zlib
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.errors import DataError
from target_bench.core.metric import Score
from target_bench.reporting.leaderboard.entry import entries, read
from tests.reporting.leaderboard.small import answers, entry, retrieval, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    run = retrieval(0.5)
    empty = np.full(len(run.query_ids), nan)
    run.scores["over_none"], run.per_query["over_none"] = Score(nan, nan, nan, 0, "s"), empty
    return write(tmp_path, [entry("one", run, answers(0.5, run))]) / "0.entry.json"


def test_what_is_written_is_read(path: Path) -> None:
    runs = read(path).runs
    assert [run.task for run in runs] == ["retrieval", "fact_verification"]
    assert runs[0].scores["recall@10"].value == 0.5
    assert runs[0].per_query["recall@10"].sum() == 30
    assert runs[0].scores["over_none"] == Score(nan, nan, nan, 0, "s")


def _packed(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw)).decode()


RUN, SCORE = ("runs", 0), ("runs", 0, "scores", "recall@10")
DELETED = object()
FORGED: list[tuple[tuple[str | int, ...], object, str]] = [
    (("format",), 99, "format: input should be 4"),
    (("card",), DELETED, "card: is missing"),
    (("card", "code"), "javascript:x", "card.code: should be"),
    (("card", "name"), "<b>x</b>", "card.name: holds < or >"),
    (("evil",), 1, "evil: there is no such field"),
    (("verdict",), "best", "verdict: input should be"),
    (("id",), "a\u202eb", r"holds U\+202E"),
    (("runs",), [], "runs: list should have"),
    ((*RUN, "counts"), DELETED, r"runs\.0\.counts: is missing"),
    ((*RUN, "retriever"), "a\u0000b", r"runs\.0\.retriever: holds U\+0000"),
    ((*RUN, "query_ids"), ["a"] * 60, r"runs\.0: query_ids: names a query twice"),
    ((*RUN, "query_ids"), _packed(b"[" * 200_000), "query_ids: is nested too deep"),
    ((*RUN, "query_ids"), ["a"], r"runs\.0: per_query\.recall@1: 60 values of 1 queries"),
    ((*RUN, "corpus_fingerprint"), "x", r"runs\.0\.corpus_fingerprint: string should"),
    ((*RUN, "seconds"), {"retrieve": 1e308}, r"runs\.0\.seconds\.retrieve: input should"),
    ((*SCORE, "value"), "high", r"runs\.0\.scores\.recall@10.*valid number"),
    ((*SCORE, "value"), None, "recall@10: nan, but its queries have 0.5"),
    ((*SCORE, "value"), 0.99, "recall@10: 0.99, but its queries have 0.5"),
    ((*RUN, "per_query"), {"mrr": "%%%"}, r"runs\.0\.per_query\.mrr"),
    ((*RUN, "per_query"), {"mrr": "AAAA"}, "is not packed as verify packs"),
    ((*RUN, "per_query"), {"mrr": _packed(bytes(9))}, "holds no whole number of values"),
    ((*RUN, "per_query"), {"mrr": _packed(bytes(10**8))}, "or more than 8,000,000 bytes"),
]


@pytest.mark.parametrize(("place", "value", "message"), FORGED)
def test_forged(path: Path, place: tuple[str | int, ...], value: object, message: str) -> None:
    record: Any = json.loads(path.read_bytes())
    parent = record
    for name in place[:-1]:
        parent = parent[name]
    if value is DELETED:
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match=message) as refused:
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


def test_large_files_links_and_folders(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, folder = path.with_name("link.entry.json"), path.with_name("folder.entry.json")
    link.symlink_to(path)
    folder.mkdir()
    for no_file in (link, folder):
        with pytest.raises(DataError, match="is a link or no file"):
            read(no_file)
    monkeypatch.setattr("target_bench.reporting.leaderboard.entry.MOST_BYTES", 1000)
    with pytest.raises(DataError, match="bytes; an entry has at most 1,000"):
        read(path)


def test_an_id_twice(tmp_path: Path) -> None:
    write(tmp_path, [entry("same", retrieval(0.5)), entry("Same", retrieval(0.6))])
    message = r"1\.entry\.json: id: 'Same' is the id of .*0\.entry\.json"
    with pytest.raises(DataError, match=message):
        list(entries(tmp_path))
