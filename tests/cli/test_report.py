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
        "out/r-mini-test-280-queries.html": 2,
        "out/r-mini-test-3-queries.html": 1,
        "out/r-mini-test-fact-verification-79-queries.html": 1,
        "out/r-mini-validation-91-queries.html": 1,
    }
    found = {line.partition(":")[0]: int(line.split()[-2]) for line in lines}
    assert found == names
    assert sorted(map(str, Path("out").iterdir())) == sorted(names)
