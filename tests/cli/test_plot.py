"""``target-bench plot``."""

from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.runs.stored import Runs, copied

pytest.importorskip("matplotlib")


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return copied(tmp_path)


def test_commands(inside: Inside, runs: Runs) -> None:
    two = (runs.bm25.name, runs.tfidf.name)
    for command in (
        ("recall-at-k", *two),
        ("pareto", *two),
        ("distractors", runs.bm25.name, runs.mixed.name, "--metric", "recall@1"),
        ("slices", *two, "--slice", "task"),
        ("slices", *two, "--by", "task"),
    ):
        assert inside.good("plot", *command, "-o", "p/out.svg").strip() == "p/out.svg"
    assert "--by" in inside.bad(2, "plot", "slices", *two, "-o", "p/out.svg")
