"""The runs that a folder of runs stands for."""

import os
from pathlib import Path
from typing import Any

import pytest

from target_bench import evaluate
from target_bench.core.errors import StoreError
from target_bench.runs.newest import COMPARED, REPORTED, find_newest_runs
from tests.builders import Counting

TINY: dict[str, Any] = {"limit": 20, "top_k": 1}


class Fixed(Counting):
    """The first tables, from a place on."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start

    def retrieve(self, query: str, top_k: int) -> list[Any]:
        return super().retrieve(query, top_k + self.start)[self.start :]


def _run(out: Path, *retrievers: Any, **options: Any) -> list[Path]:
    return [result.folder for result in evaluate(list(retrievers), "mini", out=out, **options)]


def test_the_newest_run_of_each_system(tmp_path: Path) -> None:
    """Settings and arguments make systems; an edited file does not."""
    settings = _run(tmp_path, "bm25", "bm25:k1=0.9", **TINY)
    objects = _run(tmp_path, Fixed(0), **TINY) + _run(tmp_path, Fixed(3), **TINY)
    folders, left_out = find_newest_runs(tmp_path)
    assert (folders, left_out) == ([*settings, *objects], None)
    mine = tmp_path / "mine.py"
    for line in ("", "# faster now"):
        text = f"from target_bench.retrievers.bm25 import BM25\n\nclass Mine(BM25): ... {line}\n"
        mine.write_text(text, encoding="utf-8")
        last = _run(tmp_path, f"{mine}:Mine", **TINY)
    folders, left_out = find_newest_runs(tmp_path)
    assert folders == [*settings, *objects, *last]
    assert left_out == (
        "Left out: 1 run older, of the same system. To choose runs, name them: target-bench runs "
        f"list --out {tmp_path}"
    )


def test_the_time_is_the_recorded_one_and_no_file_s(tmp_path: Path) -> None:
    first, second = _run(tmp_path, "tfidf", **TINY), _run(tmp_path, "tfidf", limit=3, top_k=1)
    for file in first[0].iterdir():
        os.utime(file, (2e9, 2e9))
    assert find_newest_runs(tmp_path)[0] == second
    assert _run(tmp_path, "tfidf", **TINY) == first  # used again, not made again
    assert find_newest_runs(tmp_path)[0] == second


def test_what_is_of_other_data_is_counted(tmp_path: Path) -> None:
    """Rankings below answers are no runs of their own."""
    _run(tmp_path, "bm25", split="validation", top_k=1)
    _run(tmp_path, "bm25", "tfidf", **TINY)
    _run(tmp_path, "bm25", top_k=[1, 5])
    last = _run(tmp_path, "bm25", "lsa", top_k=1)
    folders, left_out = find_newest_runs(tmp_path)
    assert folders == last
    assert str(left_out).startswith(
        "Left out: 2 runs with limit 20, 1 with split validation, 1 with cutoffs 1 + 5. To choose"
    )
    answers = _run(tmp_path, "bm25", task="qa", generator="extractive", top_k=1)
    folders, left_out = find_newest_runs(tmp_path)
    assert folders == answers
    assert "Left out: 6 runs with task retrieval." in str(left_out)


def test_what_runs_must_share_is_for_the_caller_to_say(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more/a.csv").write_text("a,b\nmedal,1\n", encoding="utf-8")
    out = tmp_path / "runs"
    few = _run(out, "bm25", "tfidf", **TINY)
    deep = _run(out, "bm25", limit=20, top_k=[1, 5])
    assert find_newest_runs(out, REPORTED) == ([*few, *deep], None)
    mixed = _run(out, "bm25", distractors=str(tmp_path / "more"), **TINY)
    over_tables = [name for name in COMPARED if name != "tables"]
    assert find_newest_runs(out, over_tables)[0] == [*few, *mixed]
    folders, left_out = find_newest_runs(out)
    assert folders == mixed
    assert "3 runs with distractors none." in str(left_out)


@pytest.mark.parametrize("file", ["manifest.json", "scores.json"])
def test_a_run_that_cannot_be_read_is_left_out(tmp_path: Path, file: str) -> None:
    whole, damaged = _run(tmp_path, "bm25", "tfidf", **TINY)
    (damaged / file).write_text("{", encoding="utf-8")
    folders, left_out = find_newest_runs(tmp_path)
    assert folders == [whole]
    assert "Left out: 1 run that cannot be read (runs list)." in str(left_out)


def test_an_unfinished_run_is_counted(tmp_path: Path) -> None:
    whole, unfinished = _run(tmp_path, "bm25", "tfidf", **TINY)
    (unfinished / "scores.json").unlink()
    folders, left_out = find_newest_runs(tmp_path)
    assert folders == [whole]
    assert "Left out: 1 run not finished (runs list)." in str(left_out)


def test_a_folder_without_a_finished_run(tmp_path: Path) -> None:
    (tmp_path / "retrieval-mini-test-bm25-0123456789ab").mkdir()
    with pytest.raises(StoreError, match="finished run"):
        find_newest_runs(tmp_path)
