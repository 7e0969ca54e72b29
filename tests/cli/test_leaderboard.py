"""``target-bench leaderboard``: from a run to the site."""

from pathlib import Path

from tests.cli.inside import Inside


def test_from_run_to_site(inside: Inside) -> None:
    """What verify writes is what build reads."""
    inside.good("run", "mini", "--task", "retrieval", "--retriever", "bm25", "--json")
    Path("card.yaml").write_text(
        "name: Our BM25\nauthors: [Ann Other]\nretriever_kind: lexical\nparameters: 0\n"
        "training_data: {mini: no}\nhardware: 2 cores\nlicence: Apache-2.0\nopen_weights: yes\n"
    )
    run = next(Path("runs").glob("retrieval-*"))
    Path("submissions").mkdir()
    inside.good(
        "leaderboard", "submit", run, "-o", "submissions/bm25.tbs.zip", "--card", "card.yaml"
    )
    done = inside("leaderboard", "verify", "submissions/bm25.tbs.zip")
    assert (done.code, "SQL" in done.err) == (0, False), "nothing is executed"
    assert "1 entry, 1 page," in inside.good("leaderboard", "build", "submissions", "-o", "site")
    page = Path("site/index.html").read_text("utf-8")
    assert "Our BM25" in page
    assert '<h1 class="data">Table Retrieval leaderboard</h1>' in page
