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


def test_a_report_of_each_set_of_queries(inside: Inside) -> None:
    """Named after what they are of; which is which is said."""
    inside.good(*RUN, "--retriever", "bm25", "--retriever", "tfidf")
    inside.good(*RUN, "--retriever", "bm25", "--limit", "3")
    inside.good("run", "mini", "--task", "fv", "--retriever", "bm25", "--top-k", "1", "--json")
    inside.good(*RUN, "--retriever", "bm25", "--split", "validation")
    first, *lines = inside.good("report", *_runs(), "-o", "out/r.html").splitlines()
    assert first == "The runs are on 4 sets of queries or tables: a report of each."
    names = {
        "out/r-280-queries.html": 2,
        "out/r-3-queries.html": 1,
        "out/r-fact-verification.html": 1,
        "out/r-mini-validation.html": 1,
    }
    found = {line.partition(":")[0]: int(line.split()[-2]) for line in lines}
    assert found == names
    assert sorted(map(str, Path("out").iterdir())) == sorted(names)


def test_the_rankings_of_all_queries(inside: Inside) -> None:
    """Those that answers are built on have names of their own."""
    inside.good(*RUN, "--retriever", "bm25", "--top-k", "1")
    inside.good("run", "mini", "--task", "qa", "--retriever", "bm25", "--top-k", "1", "--json")
    kinds = [folder.name.partition("-mini-test-bm25")[0] for folder in _runs()]
    assert kinds == ["question-answering", "retrieval-for-question-answering", "retrieval"]
    assert "mini test (question_answering)" in inside.good("runs", "list")


def test_no_run_there(inside: Inside) -> None:
    assert "neither a run folder nor the name or id of a run" in inside.bad(2, "report", "nothing")
    assert "Missing argument" in inside.bad(2, "report")
