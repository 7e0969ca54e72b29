"""``target-bench leaderboard build``."""

from pathlib import Path

from tests.cli.inside import Inside
from tests.reporting.leaderboard.site.small import board, write


def test_build(inside: Inside) -> None:
    write(Path("submissions"), board())
    printed = inside.good("leaderboard", "build", "submissions", "-o", "out/site")
    assert printed.startswith(
        "out/site/index.html: 5 entries, 1 rejected and not shown, 8 pages, 0."
    )
    page = Path("out/site/index.html").read_text("utf-8")
    assert '<h1 class="data">target-bench leaderboard</h1>' in page
    inside.good("leaderboard", "build", "submissions", "-o", "out/site", "--title", "Ours & theirs")
    assert '<h1 class="data">Ours &amp; theirs</h1>' in Path("out/site/index.html").read_text(
        "utf-8"
    )


def test_what_cannot_be_built(inside: Inside) -> None:
    assert "no such folder" in inside.bad(2, "leaderboard", "build", "nothing")
    write(Path("submissions"), board())
    assert "no entry that is shown" in inside.bad(
        2, "leaderboard", "build", "submissions", "--baseline", "x"
    )
    Path("site").mkdir()
    Path("site/mine").write_text("")
    assert "is not a site" in inside.bad(2, "leaderboard", "build", "submissions")
    Path("submissions/0.entry.json").write_text("{}")
    said = inside.bad(2, "leaderboard", "build", "submissions", "-o", "other")
    assert "submissions/0.entry.json: holds no entry" in said
    assert not Path("other").exists()


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
    assert "1 entry, 3 pages" in inside.good("leaderboard", "build", "submissions", "-o", "site")
    page = Path("site/index.html").read_text("utf-8")
    assert "Our BM25" in page
    assert '<h1 class="data">Table Retrieval leaderboard</h1>' in page
