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


RUN = ("runs", 0)
FORGED: list[tuple[tuple[str | int, ...], object, str]] = [
    (("format",), 99, "format: input should be 4"),
    (("card",), None, "card: input should be"),
    (("card", "code"), "javascript:x", "card.code: should be"),
    (("evil",), 1, "evil: there is no such field"),
    (("id",), "a\u202eb", r"holds U\+202E"),
    (("runs",), [], "runs: list should have"),
    ((*RUN, "retriever"), "a\u0000b", r"runs\.0\.retriever: holds U\+0000"),
    ((*RUN, "query_ids"), ["a"], r"runs\.0: per_query\.recall@1: 60 values of 1 queries"),
    ((*RUN, "seconds"), {"retrieve": 1e308}, r"runs\.0\.seconds\.retrieve: input should"),
    ((*RUN, "scores", "recall@10", "value"), "high", r"runs\.0\.scores\.recall@10.*valid number"),
    ((*RUN, "per_query"), {"mrr": "%%%"}, "is not packed as verify packs"),
    ((*RUN, "per_query"), {"mrr": _packed(bytes(10**8))}, r"or more than 67,108,864 bytes"),
    ((*RUN, "query_ids"), _packed(b"[" * 200_000), "query_ids: is nested too deep"),
]


@pytest.mark.parametrize(("place", "value", "message"), FORGED)
def test_forged(path: Path, place: tuple[str | int, ...], value: object, message: str) -> None:
    record: Any = json.loads(path.read_bytes())
    parent = record
    for name in place[:-1]:
        parent = parent[name]
    parent[place[-1]] = value
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match=message) as refused:
        read(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("raw", [b"", b'{"format": 1, "id"', b"[]", bytes(range(256))])
def test_no_document(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    with pytest.raises(DataError, match="holds no entry"):
        read(path)


def test_an_id_twice(tmp_path: Path) -> None:
    write(tmp_path, [entry("same", retrieval(0.5)), entry("Same", retrieval(0.6))])
    message = r"1\.entry\.json: id: 'Same' is the id of .*0\.entry\.json"
    with pytest.raises(DataError, match=message):
        list(entries(tmp_path))
