"""The fixture ``target_bench`` in the tests of another project."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.runs.forked import PRELOADED

TEST = """
def test_retriever(target_bench):
    target_bench.assert_not_worse({retriever!r}, "baseline.json", "mini", {fail_on!r}, **{more!r})
"""
UPDATE = "--target-bench-update"


def _pytest(
    folder: Path,
    *options: str,
    retriever: str = "bm25",
    fail_on: tuple[str, ...] = (),
    **more: Any,
) -> str:
    text = TEST.format(retriever=retriever, fail_on=list(fail_on), more=more)
    (folder / "test_mine.py").write_text(text)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(target=_in_fork, args=(folder, options, dict(os.environ)))
    process.start()
    process.join()
    return (folder / "printed").read_text(encoding="utf-8")


def _in_fork(folder: Path, options: Sequence[str], environment: dict[str, str]) -> None:
    """Run pytest in a folder, in a process that has imported the package."""
    with (folder / "printed").open("w", encoding="utf-8") as printed:
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)
    os.environ |= environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"}
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    pytest.main(["-p", "target_bench.reporting.pytest_plugin", *options])


def test_a_baseline_is_written_then_held_against(tmp_path: Path) -> None:
    assert "no such baseline; pytest --target-bench-update writes it" in _pytest(tmp_path)
    assert "unknown retriever 'bm52'" in _pytest(tmp_path, UPDATE, retriever="bm52")
    assert "1 passed" in _pytest(tmp_path, UPDATE)
    assert (tmp_path / "baseline.json").is_file()
    assert "1 passed" in _pytest(tmp_path)
    worse = _pytest(tmp_path, retriever="random", fail_on=("recall@10<-0.01",))
    assert "AssertionError: The gate failed: recall@10<-0.01" in worse
    assert "1 failed" in worse


def test_answers_are_held_against_a_baseline_too(tmp_path: Path) -> None:
    options: dict[str, Any] = {"task": "qa", "limit": 8, "top_k": 1}
    fails = "class Fails:\n    def generate(self, request):\n        raise ValueError\n"
    (tmp_path / "failing.py").write_text(fails)
    refused = _pytest(tmp_path, UPDATE, generator="failing.py:Fails", **options)
    assert "is no baseline: it failed on all of 8 queries" in refused
    assert "1 passed" in _pytest(tmp_path, UPDATE, generator="extractive", **options)
    assert "1 passed" in _pytest(tmp_path, generator="extractive", **options)


@pytest.mark.everywhere
def test_it_costs_other_projects_little() -> None:
    """Whoever has this package installed has the plug-in in every start of pytest."""
    code = (
        "import sys, target_bench.reporting.pytest_plugin\n"
        "print(*sorted(m for m in sys.modules if m.startswith('target_bench')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {
        "target_bench",
        "target_bench.core",
        "target_bench.core.version",
        "target_bench.reporting",
        "target_bench.reporting.pytest_plugin",
    }
