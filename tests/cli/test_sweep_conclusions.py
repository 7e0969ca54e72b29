"""A sweep ends with what it shows, also where its cells were done before or one failed."""

import json
from pathlib import Path

from tests.cli.inside import Inside

SWEEP = """
corpora: {name: mini, limit: 40}
retrievers:
  - {name: bm25, k1: [0.9, 1.2], fields: [[header], [title, header, rows]]}
"""


def _sweep(text: str = SWEEP) -> Path:
    path = Path("s.yaml")
    path.write_text(text, encoding="utf-8")
    return path


def test_the_same_conclusions_after_a_sweep_and_when_all_was_done(inside: Inside) -> None:
    first = inside("sweep", _sweep(), "--quiet").out
    file = Path("runs/s.conclusions.md")
    written = file.read_text(encoding="utf-8")
    file.unlink()
    again = inside("sweep", _sweep(), "--quiet").out
    shown, shown_again = (
        out.partition("mini test, 40 queries: ")[2].partition("scores and their")[0]
        for out in (first, again)
    )
    assert shown.startswith("the best of 4 cells by recall@10 is k1=")
    assert shown_again == shown
    assert file.read_text(encoding="utf-8") == written
    assert "the effect of each setting on recall@10" in shown
    document = json.loads(inside.good("sweep", _sweep(), "--quiet", "--json"))
    (concluded,) = document["conclusions"]
    assert len(concluded["rankings"][0]["places"]) == 4
    assert {effect["factor"] for effect in concluded["effects"]} == {"k1", "fields"}
