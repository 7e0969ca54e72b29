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
        ("recall-at-k", *two, "--log"),
        ("pareto", *two),
        ("distractors", runs.bm25.name, runs.mixed.name, "--metric", "recall@1"),
        ("slices", *two, "--slice", "task"),
        ("slices", *two, "--by", "task"),
    ):
        assert inside.good("plot", *command, "-o", "p/out.svg").strip() == "p/out.svg"
    assert "--by" in inside.bad(2, "plot", "slices", *two, "-o", "p/out.svg")


def test_what_is_noted_about_tables_is_a_line_of_the_command(
    tmp_path: Path, inside: Inside, recwarn: pytest.WarningsRecorder
) -> None:
    """It is no warning of Python, which would show a line of our code."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/a.csv").write_text("name;city\nAnn;Oslo\n")
    (tmp_path / "shop/queries.csv").write_text("query,table_id\nwhere is Ann,a\n")
    inside("run", "./shop", "--retriever", "bm25", "--top-k", "1")
    drawn = inside("plot", "recall-at-k", *Path("runs").iterdir(), "-o", "a.svg")
    assert "another delimiter" in drawn.err
    assert not [one for one in recwarn if "delimiter" in str(one.message)]
