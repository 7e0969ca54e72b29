"""A sweep ends with what it shows, also where its cells were done before."""

import json
from pathlib import Path

from tests.cli.inside import Inside


def test_the_same_conclusions_after_a_sweep_and_when_all_was_done(inside: Inside) -> None:
    Path("s.yaml").write_text(
        "corpora: {name: mini, limit: 40}\n"
        "retrievers: {name: bm25, k1: [0.9, 1.2], fields: [[header], [title, header, rows]]}\n"
    )
    sweep = ("sweep", "s.yaml")
    first = inside(*sweep).out
    file = Path("runs/s.conclusions.md")
    written = file.read_text(encoding="utf-8")
    file.unlink()
    shown, shown_again = (
        out.partition("mini test, 40 queries: ")[2].partition("scores and their")[0]
        for out in (first, inside(*sweep).out)
    )
    assert shown.startswith("the best of 4 cells by recall@10 are k1=")
    assert "The effect of each setting on recall@10" in shown
    assert shown_again == shown
    assert file.read_text(encoding="utf-8") == written
    (conclusion,) = json.loads(inside(*sweep, "--json").out)["conclusions"]
    assert len(conclusion["rankings"][0]["rows"]) == 4
    assert {effect["factor"] for effect in conclusion["effects"]} == {"k1", "fields"}


def test_the_settings_of_a_cell_that_was_there_before(inside: Inside) -> None:
    """The run of the defaults was asked for as ``bm25``, without the settings of the cell."""
    Path("s.yaml").write_text(
        "corpora: {name: mini, limit: 40}\n"
        "retrievers: {name: bm25, k1: [0.9, 1.5], stemmer: [english, none]}\n"
    )
    sweep = ("sweep", "s.yaml", "--json")
    inside(*sweep, "--out", "fresh")
    run = ("run", "mini", "--task", "retrieval", "--limit", "40", "--json")
    inside.good(*run, "--retriever", "bm25:k1=0.9")
    inside(*sweep)
    fresh, after = (Path(f"{folder}/s.conclusions.md").read_text() for folder in ("fresh", "runs"))
    assert after == fresh
    assert "no cells differ in it alone" not in after
