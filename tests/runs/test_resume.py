"""A run that was stopped, by whatever it was, goes on to the scores of an undisturbed one."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from target_bench.core.schema import Dataset, TableId
from target_bench.data.load import load, of_task
from target_bench.harness.target import TARGET
from target_bench.runs.result import Result
from tests.builders import Record, Recorder, only, rewrite, same_scores
from tests.runs.processes import (
    N_QUERIES,
    ended,
    finish,
    rankings,
    run_slow,
    scores,
    start,
    write_slow,
)

pytestmark = pytest.mark.slow

KILLS = 12
SECONDS = "0.002"


class Failing:
    """Fails on the queries whose texts the world holds; counts what it is asked."""

    bad: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.embedded = 0

    def embed_corpus(self, corpus: Sequence[object]) -> None:
        self.embedded += 1
        self._ids: Sequence[TableId] = corpus.ids  # type: ignore[attr-defined]

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        self.asked.append(query)
        if query in Failing.bad:
            raise RuntimeError("the index is gone")
        start = len(query) % len(self._ids)
        return list(self._ids[start : start + top_k])


@pytest.fixture(autouse=True)
def _sound_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Failing, "bad", frozenset())


def _run(
    out: Path, retriever: Failing, dataset: Dataset | None = None, **options: object
) -> Result:
    target = TARGET(("retrieval", dataset or "mini"), out=out, observer=Recorder())
    return only(target.run(retriever, **options))  # type: ignore[arg-type]  # options of run


def _killed(folder: Path, out: str, seconds: float) -> bool:
    """Run for so long at most; whether it was killed before it ended."""
    process = start(run_slow(out), folder, SLOW_SECONDS=SECONDS)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return process.returncode == -signal.SIGKILL


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Twelve kills of the command, several of one run in a row; every run then ends as if none."""
    write_slow(tmp_path)
    began = time.monotonic()
    assert ended(start(run_slow("whole"), tmp_path, SLOW_SECONDS=SECONDS))[0] == 0
    life = time.monotonic() - began
    whole = scores(tmp_path / "whole"), dict(rankings(tmp_path / "whole"))
    chance = random.Random(20240229)
    kills, answered = 0, []
    for n in range(5 * KILLS):
        out = f"runs{n}"
        for _ in range(5):
            if not _killed(tmp_path, out, chance.uniform(0.05, life)):
                break
            kills += 1
            answered.append(len(rankings(tmp_path / out)))
        code, _, err = finish(run_slow(out), tmp_path)
        assert code == 0, err
        found = rankings(tmp_path / out)
        assert (scores(tmp_path / out), dict(found)) == whole
        assert len(found) == N_QUERIES
        if kills >= KILLS:
            break
    assert kills >= KILLS
    assert any(0 < n < N_QUERIES for n in answered)


def test_killed_at_every_call_of_the_system(tmp_path: Path) -> None:
    """At each write (half done), sync, rename and open of a run."""
    write_slow(tmp_path)
    code, out, err = finish([sys.executable, "-m", "tests.runs.killed"], tmp_path)
    assert code == 0, err
    found = json.loads(out)
    assert found["calls"] > 20
    assert found["bad"] == []


def test_killed_after_the_last_query(tmp_path: Path) -> None:
    """Nothing is indexed again where nothing is left to ask."""
    whole = _run(tmp_path, Failing())
    (path,) = tmp_path.glob("*/manifest.json")

    def change(manifest: Record) -> None:
        del manifest["seconds"], manifest["timed_queries"]

    rewrite(path, change)
    (path.parent / "scores.json").unlink()
    retriever = Failing()
    again = _run(tmp_path, retriever)
    assert (retriever.embedded, retriever.asked) == (0, [])
    same_scores(again, whole)
    assert again.times.timed_queries == 0
    assert (path.parent / "scores.json").exists()


def test_goes_on_by_query_id(tmp_path: Path) -> None:
    """Queries in another order find their own rankings, never those of their place."""
    mini = load("mini")
    whole = _run(tmp_path / "whole", Failing())
    order = random.Random(5).sample(range(N_QUERIES), N_QUERIES)
    shuffled = replace(mini, queries=tuple(mini.queries[i] for i in order))
    _run(tmp_path, Failing())
    (path,) = tmp_path.glob("*/retrieval.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = random.Random(6).sample(lines, 100)
    path.write_text("".join(kept), encoding="utf-8")
    retriever = Failing()
    result = _run(tmp_path, retriever, shuffled)
    answered = {json.loads(line)["query_id"] for line in kept}
    assert retriever.asked == [q.text for q in shuffled.queries if q.id not in answered]
    assert result.query_ids == sorted(q.id for q in shuffled.queries)
    same_scores(result, whole)
    assert scores(tmp_path) == scores(tmp_path / "whole")


def test_limited_runs_are_runs_of_their_own(tmp_path: Path) -> None:
    """The first queries of another order are other queries."""
    mini = load("mini")
    turned = replace(mini, queries=mini.queries[::-1])
    first = _run(tmp_path, Failing(), limit=20)
    last = _run(tmp_path, Failing(), turned, limit=20)
    assert first.folder != last.folder
    assert set(first.query_ids).isdisjoint(last.query_ids)
    both = replace(mini, queries=mini.queries[:20][::-1])
    retriever = Failing()
    again = _run(tmp_path, retriever, both)
    assert (again.folder, retriever.asked) == (first.folder, [])
    same_scores(again, first)


@pytest.mark.parametrize(
    "torn", [b'{"query_id": "', b"{", b'{"query_id": "q", "tables": []}', b"\xc3"]
)
def test_torn_last_line(tmp_path: Path, torn: bytes) -> None:
    """A line without its end is asked again, even if it reads well."""
    whole = _run(tmp_path, Failing())
    (path,) = tmp_path.glob("*/retrieval.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + torn)
    retriever = Failing()
    again = _run(tmp_path, retriever)
    assert retriever.asked == [of_task(load("mini"), "retrieval").queries[-1].text]
    assert path.read_bytes().splitlines(keepends=True) == lines
    same_scores(again, whole)


def test_reading_leaves_a_torn_line_alone(tmp_path: Path) -> None:
    """It may be what another process is writing at this moment."""
    result = _run(tmp_path, Failing(), limit=5)
    path = result.folder / "retrieval.jsonl"
    path.write_bytes(path.read_bytes() + b'{"query_id": "half')
    before = path.read_bytes()
    assert only([_run(tmp_path, Failing(), limit=5)]).reused
    assert path.read_bytes() == before


def test_retry_failed_asks_the_failed_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = load("mini").queries
    bad = [queries[i] for i in (0, 7, 100, 279)]
    monkeypatch.setattr(Failing, "bad", frozenset(query.text for query in bad))
    first = _run(tmp_path, Failing(), on_error="record")
    assert list(first.errors) == [query.id for query in bad]
    quiet = Failing()
    assert _run(tmp_path, quiet, on_error="record").errors == first.errors
    assert quiet.asked == []

    monkeypatch.setattr(Failing, "bad", frozenset([bad[1].text]))
    retriever = Failing()
    second = _run(tmp_path, retriever, on_error="record", retry_failed=True)
    assert retriever.asked == [query.text for query in bad]
    assert list(second.errors) == [bad[1].id]
    (path,) = tmp_path.glob("*/retrieval.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["query_id"] for line in lines[N_QUERIES:]] == [query.id for query in bad]

    monkeypatch.setattr(Failing, "bad", frozenset())
    retriever = Failing()
    third = _run(tmp_path, retriever, on_error="record", retry_failed=True)
    assert retriever.asked == [bad[1].text]
    assert (third.counts.failed, dict(third.errors)) == (0, {})
    same_scores(third, _run(tmp_path / "whole", Failing()))
    retriever = Failing()
    assert _run(tmp_path, retriever, retry_failed=True).reused
    assert (retriever.embedded, retriever.asked) == (0, [])


def test_retry_failed_from_the_command_line(tmp_path: Path) -> None:
    write_slow(tmp_path)
    bad = [load("mini").queries[i].text for i in (3, 50)]
    recording = [*run_slow(), "--on-error", "record"]
    code, out, err = finish(recording, tmp_path, SLOW_FAILS_ON="|".join(bad))
    assert code == 3
    assert "failed on 2 of 280 questions, which score 0." in out
    assert "failed on 2 of 280 queries of mini (scored 0)" in err

    code, out, _ = finish(recording, tmp_path, SLOW_ASKED="quiet")
    assert code == 3
    assert "1 run in runs/, reused" in out
    assert not (tmp_path / "quiet").exists()

    code, out, err = finish([*recording, "--retry-failed"], tmp_path, SLOW_ASKED="asked")
    assert (code, err) == (0, "")
    assert "1 run in runs/ ·" in out
    assert "failed on" not in out
    assert (tmp_path / "asked").read_text(encoding="utf-8").splitlines() == bad
    assert finish(run_slow("whole"), tmp_path)[0] == 0
    assert scores(tmp_path / "runs") == scores(tmp_path / "whole")
