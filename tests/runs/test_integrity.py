"""Is a store whole, and what may go: damage is found, and nothing else is ever removed."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import portalocker
import pytest

from target_bench.runs.find import run_folders
from target_bench.runs.integrity import check, removable, remove
from target_bench.runs.manifest import FORMAT
from target_bench.runs.result import read_run
from tests.builders import Record, rewrite
from tests.runs.stored import Runs, copied


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return copied(tmp_path)


def _edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def _unfinished(folder: Path, lines: int) -> Path:
    """As a killed process leaves a run."""
    for name in ("scores.json", "per_query.parquet", "statistics.parquet"):
        (folder / name).unlink()
    _edit(folder / "retrieval.jsonl", lambda text: "".join(text.splitlines(True)[:lines]) + '{"qu')
    return folder


def test_whole_store(runs: Runs) -> None:
    checks = [check(folder) for folder in run_folders(runs.root)]
    assert {(c.state, c.problems, c.notes) for c in checks} == {("finished", (), ())}
    assert {(c.answered, c.n_queries) for c in checks} == {(n, n) for n in (280, 20, 144, 79)}
    assert removable(runs.root) == {}


def test_unfinished_run(runs: Runs) -> None:
    checked = check(_unfinished(runs.bm25, 100))
    assert (checked.state, checked.answered, checked.n_queries) == ("unfinished", 100, 280)
    assert checked.notes == (
        "retrieval.jsonl: the last line is incomplete; it is removed when the run continues",
    )


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("manifest.json", lambda text: text[:-40], "cannot be read"),
        (
            "manifest.json",
            lambda text: text.replace('"mini"', '"maxi"'),
            r"cannot be read \(it is not what was written",
        ),
        ("retrieval.jsonl", lambda text: text.replace("\n", "\n{\n", 1), "line 2: damaged"),
        ("retrieval.jsonl", lambda text: text.split("\n", 1)[1], "1 of 280 scored queries have no"),
        (
            "retrieval.jsonl",
            lambda text: text.replace("]]", ']], "error": "x"', 1),
            r"retrieval.jsonl, line 1: damaged \(it is not what was written\)",
        ),
        ("scores.json", lambda text: text[:-40], "scores.json: cannot be read"),
        (
            "scores.json",
            lambda text: re.sub(r'"value": [\d.]+', '"value": "x"', text, count=1),
            r"scores.json: cannot be read \(it is not what was written\)",
        ),
        ("per_query.parquet", lambda _: "x", "per_query.parquet: damaged, or not of these scores"),
        ("statistics.parquet", lambda _: "x", "statistics.parquet: damaged, or not of these"),
    ],
)
def test_damage_is_found(runs: Runs, name: str, change: Callable[[str], str], message: str) -> None:
    path = runs.bm25 / name
    path.write_text(change(path.read_text("utf-8", errors="replace")), encoding="utf-8")
    checked = check(runs.bm25)
    assert checked.state == "damaged"
    (problem,) = checked.problems
    assert re.search(message, problem), problem


def test_a_sealed_score_that_the_values_do_not_give_is_found(runs: Runs) -> None:
    def change(scored: Record) -> None:
        scored["scores"]["recall@1"]["value"] = 0.89

    rewrite(runs.bm25 / "scores.json", change)
    (problem,) = check(runs.bm25).problems
    assert re.search(r"recall@1 is 0.89.* in scores.json, but .* gives 0.80", problem), problem


def test_every_damaged_line_is_found(runs: Runs) -> None:
    """The first are named, the others counted; the queries of the whole lines are there."""
    _unfinished(runs.bm25, 100)
    _edit(runs.bm25 / "retrieval.jsonl", lambda text: re.sub(r"(?m)^.", "x", text, count=22))
    checked = check(runs.bm25)
    assert (checked.state, checked.answered) == ("damaged", 78)
    lines = [int(n) for n in re.findall(r"line (\d+): damaged", "".join(checked.problems))]
    assert lines == list(range(1, 21))
    assert checked.problems[-1].endswith("retrieval.jsonl: 2 more lines are damaged")
    assert removable(runs.root) == {}  # 78 answers can be kept


def test_damage_of_answers(runs: Runs) -> None:
    shutil.rmtree(read_run(runs.answers).retrieval.folder)
    _edit(runs.answers / "generations.jsonl", lambda text: text.replace('"text"', '"txet"', 1))
    missing, damaged = check(runs.answers).problems
    assert missing.startswith("the run of its rankings is missing")
    assert "generations.jsonl, line 1: damaged" in damaged


def test_manifest_lost(runs: Runs) -> None:
    (runs.bm25 / "manifest.json").unlink()
    assert "manifest.json is missing" in check(runs.bm25).problems[0]
    assert removable(runs.root) == {}


def test_what_may_go(runs: Runs) -> None:
    """An unfinished run, and one that was never begun."""
    _unfinished(runs.first, 5)
    (runs.first / "scores.77.tmp").write_text("half", encoding="utf-8")
    begun = runs.root / "retrieval-mini-test-x-0123456789ab"
    begun.mkdir()
    (begun / "lock").touch()
    unfinished = removable(runs.root)
    assert unfinished == {
        runs.first: "unfinished, 5 of 20 queries answered",
        begun: "never begun",
    }
    before = set(runs.root.iterdir())
    assert all(map(remove, unfinished))
    assert before - set(runs.root.iterdir()) == {runs.first, begun}


def test_what_never_goes(runs: Runs, tmp_path: Path) -> None:
    """Foreign folders and files, links, other formats, and what other runs are built on."""
    foreign = runs.root / "my-notes-0123456789ab"
    foreign.mkdir()
    (foreign / "thesis.md").write_text("all of it", encoding="utf-8")
    (runs.root / "results").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (runs.root / "link-0123456789ab").symlink_to(tmp_path / "elsewhere")
    _unfinished(runs.first, 5)
    (runs.first / "mine.txt").write_text("kept", encoding="utf-8")
    _edit(
        _unfinished(runs.mixed, 5) / "manifest.json",
        lambda text: text.replace(f'"format": {FORMAT}', '"format": 99'),
    )
    _unfinished(read_run(runs.answers).retrieval.folder, 5)
    assert removable(runs.root) == {}


def test_a_run_in_use_stays(runs: Runs) -> None:
    _unfinished(runs.first, 5)
    (leftover,) = removable(runs.root)
    with (runs.first / "lock").open("rb+") as file:
        portalocker.lock(file, portalocker.LOCK_EX)
        assert removable(runs.root) == {}
        assert not remove(leftover)
    for name in ("mine.txt", "scores.json"):  # of somebody, or of a process that has finished it
        (runs.first / name).touch()
        assert not remove(leftover)
        (runs.first / name).unlink()
    assert (runs.first / "retrieval.jsonl").exists()
