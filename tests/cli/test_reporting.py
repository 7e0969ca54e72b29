"""``target-bench report``."""

from pathlib import Path

from tests.cli.inside import Inside

RUN = ("run", "mini", "--task", "retrieval", "--json")


def _runs() -> list[Path]:
    return sorted(Path("runs").iterdir())


def test_a_report(inside: Inside) -> None:
    inside.good(*RUN, "--retriever", "bm25", "--retriever", "tfidf")
    printed = inside.good("report", *_runs(), "-o", "out/r.html", "--rows", "3")
    assert printed.startswith("out/r.html: 0.")
    text = Path("out/r.html").read_text(encoding="utf-8")
    assert "2 runs" in text
    assert "first 3 rows" in text


def test_runs_that_do_not_belong_together(inside: Inside) -> None:
    inside.good(*RUN, "--retriever", "bm25")
    inside.good(*RUN, "--retriever", "bm25", "--limit", "3")
    said = inside.bad(2, "report", *_runs())
    assert "different queries" in said
    assert not Path("report.html").exists()


def test_no_run_there(inside: Inside) -> None:
    assert "neither a run folder nor the id of a run" in inside.bad(2, "report", "nothing")
    assert "Missing argument" in inside.bad(2, "report")
