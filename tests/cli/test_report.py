"""``target-bench report`` and ``plot``."""

from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.runs.stored import copied


def test_a_report_of_each_set_of_queries(inside: Inside, tmp_path: Path) -> None:
    """Named after what they are of; which is which is said."""
    runs = copied(tmp_path)
    missing = inside.bad(2, "report", runs.bm25, "-o", "out/r.html")
    assert "there is no folder out; make it first" in missing
    assert not Path("out").exists()
    Path("out").mkdir()
    command = ("report", "-o", "out/r.html", runs.bm25, runs.tfidf)
    assert inside.good(*command).startswith("out/r.html: 0.")
    text = Path("out/r.html").read_text(encoding="utf-8")
    assert "2 runs" in text
    assert "first 50 rows" in text
    Path("out/r.html").unlink()
    inside.good("run", "mini", "--task", "retrieval", "--split", "validation", "--json")
    validation = next(Path("runs").glob("*validation-bm25*"))
    first, *lines = inside.good(*command, runs.first, runs.labels, validation).splitlines()
    assert first == "The runs are on 4 sets of queries or tables: a report of each."
    sizes = {
        "out/r-mini-test-280-queries.html": 2,
        "out/r-mini-test-20-queries.html": 1,
        "out/r-mini-test-fact-verification-79-queries.html": 1,
        "out/r-mini-validation-91-queries.html": 1,
    }
    assert {line.partition(":")[0]: int(line.split()[-2]) for line in lines} == sizes
    assert sorted(map(str, Path("out").iterdir())) == sorted(sizes)


def test_plots(inside: Inside, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    runs = copied(tmp_path)
    two = (runs.bm25.name, runs.tfidf.name)
    Path("p").mkdir()
    for command in (
        ("recall-at-k", *two),
        ("pareto", *two),
        ("distractors", runs.bm25.name, runs.mixed.name, "--metric", "recall@1"),
    ):
        assert inside.good("plot", *command, "-o", "p/out.svg").strip() == "p/out.svg"
    assert "there is no folder q" in inside.bad(2, "plot", "pareto", *two, "-o", "q/out.svg")
    assert "--metric is not for" in inside.bad(
        *(2, "plot", "recall-at-k", *two, "-o", "p/out.svg", "--metric", "mrr")
    )
