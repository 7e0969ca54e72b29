"""A run that was stopped, by whatever it was, goes on to the scores of an undisturbed one."""

import json
import random
import resource
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.schema import Dataset, TableId
from target_bench.data.load import load
from target_bench.data.selection import sample_queries, select_queries
from target_bench.runs.result import Result
from tests.builders import Counting, Record, Recorder, only, rewrite, same_scores, unfinish
from tests.runs.processes import (
    N_QUERIES,
    ended,
    finish,
    rankings,
    run_slow,
    scores,
    start,
    start_unforked,
    write_slow,
)
from tests.target import TARGET

pytestmark = pytest.mark.slow

MINI = load("mini")


class Failing(Counting):
    """Fails on the queries whose texts the world holds."""

    bad: frozenset[str] = frozenset()

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        self.calls.append((query, top_k))
        if query in Failing.bad:
            raise RuntimeError("the index is gone")
        ids = self.embedded[-1].ids
        return list(ids[len(query) % len(ids) :][:top_k])

    @property
    def queries(self) -> list[str]:
        """The queries that were ranked; some are asked at the smaller cutoffs, too."""
        return [query for query, top_k in self.calls if top_k == 10]


def _run(out: Path, retriever: Failing, dataset: Dataset | None = None, **options: Any) -> Result:
    target = TARGET(("retrieval", dataset or "mini"), out=out, observer=Recorder())
    return only(target.run(retriever, **options))


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Three kills of the command in a row; the run then ends as if there had been none."""
    write_slow(tmp_path)
    assert finish(run_slow("whole"), tmp_path)[0] == 0
    chance, answered = random.Random(20240229), [0]
    for n in sorted(chance.sample(range(1, N_QUERIES - 32), 3)):
        process = start(run_slow(), tmp_path, SLOW_SECONDS="0.002")
        while process.poll() is None and answered[-1] <= n:
            time.sleep(chance.uniform(0, 0.05))
            answered.append(len(rankings(tmp_path / "runs")))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode in (-signal.SIGKILL, 0)  # 0: it was quicker than we looked
    assert any(0 < n < N_QUERIES for n in answered)
    code, _, err = finish(run_slow(), tmp_path)
    assert code == 0, err
    lines = rankings(tmp_path / "runs")
    assert scores(tmp_path / "runs") == scores(tmp_path / "whole")
    assert dict(lines) == dict(rankings(tmp_path / "whole"))
    assert len(lines) == N_QUERIES


@pytest.mark.parametrize("kind", ["kill", "full"])
def test_a_fault_at_every_call_of_the_system(tmp_path: Path, kind: str) -> None:
    """Killed, or without room on the disk, at each write (half done), sync, rename and open."""
    write_slow(tmp_path)
    code, out, err = finish([sys.executable, "-m", "tests.runs.faults", kind], tmp_path)
    assert code == 0, err
    faults = json.loads(out)
    assert faults["calls"] > 10
    assert faults["wrong"] == []


@pytest.mark.parametrize("share", [0.02, 0.9])
def test_no_room_for_a_file(tmp_path: Path, share: float) -> None:
    """The system limits the size of a file, as quotas do."""
    write_slow(tmp_path)
    assert finish(run_slow("whole"), tmp_path)[0] == 0
    (path,) = tmp_path.glob("whole/*/retrieval.jsonl")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    room = int(path.stat().st_size * share)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        code, out, err = ended(start_unforked(run_slow(), tmp_path))  # it inherits the limit
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (code, out) == (4, "")
    assert "cannot be written: File too large. Make room and run the same command again" in err
    assert "Traceback" not in err
    kept = rankings(tmp_path / "runs")
    assert bool(kept) == (share > 0.1)
    code, _, err = finish(run_slow(), tmp_path, SLOW_ASKED="asked")
    assert (code, err) == (0, "")
    assert len((tmp_path / "asked").read_text().splitlines()) == N_QUERIES - len(kept)
    assert scores(tmp_path / "runs") == scores(tmp_path / "whole")
    assert sorted(rankings(tmp_path / "runs")) == sorted(rankings(tmp_path / "whole"))


def test_killed_after_the_last_query(tmp_path: Path) -> None:
    """Nothing is indexed again where nothing is left to ask."""
    whole = _run(tmp_path, Failing())

    def change(manifest: Record) -> None:
        del manifest["seconds"], manifest["timed_queries"]

    rewrite(whole.folder / "manifest.json", change)
    expected = (whole.folder / "scores.json").read_bytes()
    (whole.folder / "scores.json").unlink()
    retriever = Failing()
    again = _run(tmp_path, retriever)
    assert (retriever.embedded, retriever.queries) == ([], [])
    assert scores(tmp_path) == expected
    assert again.times.milliseconds == {}
    assert again.run.manifest.seconds.keys() == {"load", "score"}


def test_goes_on_by_query_id(tmp_path: Path) -> None:
    """Queries in another order find their own rankings, never those of their place."""
    whole = _run(tmp_path / "whole", Failing())
    order = random.Random(5).sample(range(N_QUERIES), N_QUERIES)
    shuffled = replace(MINI, queries=tuple(MINI.queries[i] for i in order))
    _run(tmp_path, Failing())
    (path,) = tmp_path.glob("*/retrieval.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = random.Random(6).sample(lines, 100)
    path.write_text("".join(kept), encoding="utf-8")
    unfinish(path.parent)
    retriever = Failing()
    result = _run(tmp_path, retriever, shuffled)
    answered = {json.loads(line)["query_id"] for line in kept}
    assert retriever.queries == [q.text for q in shuffled.queries if q.id not in answered]
    same_scores(result, whole)
    assert scores(tmp_path) == scores(tmp_path / "whole")


def test_a_limited_run_is_a_run_of_a_sample(tmp_path: Path) -> None:
    """The same one whatever the order of the queries."""
    first = _run(tmp_path, Failing(), limit=20)
    retriever = Failing()
    turned = replace(MINI, queries=MINI.queries[::-1])
    again = _run(tmp_path, retriever, turned, limit=20)
    assert (again.folder, retriever.queries) == (first.folder, [])
    assert _run(tmp_path, Failing(), limit=21).folder != first.folder
    same_scores(again, first)


@pytest.mark.parametrize("torn", [b'{"query_id": "', b'{"query_id": "q", "tables": []}', b"\xc3"])
def test_torn_last_line(tmp_path: Path, torn: bytes) -> None:
    """A line without its end is asked again, even if it reads well."""
    whole = _run(tmp_path, Failing(), limit=20)
    path = whole.folder / "retrieval.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + torn)
    unfinish(whole.folder)
    retriever = Failing()
    again = _run(tmp_path, retriever, limit=20)
    assert retriever.queries == [
        sample_queries(select_queries(MINI, "retrieval").queries, 20)[19].text
    ]
    assert path.read_bytes().splitlines(keepends=True) == lines
    same_scores(again, whole)


def test_the_failed_are_asked_again_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = [MINI.queries[i] for i in (0, 7, 100, 279)]
    whole = _run(tmp_path / "whole", Failing(), top_k=10)

    def run(failing: list[Any]) -> tuple[Result, list[str]]:
        monkeypatch.setattr(Failing, "bad", frozenset(query.text for query in failing))
        retriever = Failing()
        return _run(tmp_path, retriever, top_k=10), retriever.queries

    first, _ = run(bad)
    assert list(first.errors) == [query.id for query in bad]
    second, queries = run([bad[1]])
    assert queries == [query.text for query in bad]
    assert list(second.errors) == [bad[1].id]
    written = [query_id for query_id, _ in rankings(tmp_path)]
    assert written[N_QUERIES:] == [query.id for query in bad]

    third, queries = run([])
    assert queries == [bad[1].text]
    assert (third.stored.counts.failed, dict(third.errors)) == (0, {})
    same_scores(third, whole)
    last, queries = run([])
    assert (last.run.reused, queries) == (True, [])


def test_failed_queries_from_the_command_line(tmp_path: Path) -> None:
    write_slow(tmp_path)
    bad = [MINI.queries[i].text for i in (3, 50)]
    code, out, err = finish(run_slow(), tmp_path, SLOW_FAILS_ON="|".join(bad))
    assert code == 3
    assert "failed on 2 of 280 questions, which score 0." in out
    assert "failed on 2 of 280 queries of mini (scored 0)" in err

    code, out, err = finish(run_slow(), tmp_path, SLOW_ASKED="asked")
    assert (code, err, "failed on" in out) == (0, "", False)
    assert (tmp_path / "asked").read_text(encoding="utf-8").splitlines() == bad
