"""Pictures: the right numbers, the same bytes twice, and messages for what cannot be drawn."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib")

from target_bench.core.errors import ConfigError, DataError, MissingExtraError
from target_bench.core.observer import Observer
from target_bench.reporting import plots
from target_bench.runs.result import read_run
from tests.builders import rewrite
from tests.runs.stored import Runs

PICTURES: dict[str, Callable[[Runs, Path], None]] = {
    "recall": lambda runs, path: plots.recall_at_k([runs.bm25, runs.tfidf], path),
    "distractors": lambda runs, path: plots.over_distractors([runs.bm25, runs.mixed], path),
    "pareto": lambda runs, path: plots.pareto([runs.bm25, runs.tfidf], path, "mrr"),
    "answers": lambda runs, path: plots.pareto([runs.answers, runs.other], path, "sacrebleu"),
}


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("recall", ".pdf"), ("pareto", ".png"), *((name, ".svg") for name in PICTURES)],
)
def test_same_bytes_twice(runs: Runs, tmp_path: Path, name: str, suffix: str) -> None:
    first, second = tmp_path / f"first{suffix}", tmp_path / "new" / f"second{suffix}"
    PICTURES[name](runs, first)
    PICTURES[name](runs, second)
    drawn = first.read_bytes()
    assert drawn == second.read_bytes()
    assert not any(word in drawn for word in (b"dc:date", b"CreationDate"))
    if suffix == ".svg":
        ElementTree.fromstring(drawn)
    assert drawn.startswith({".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF-"}[suffix])
    assert list((tmp_path / "new").iterdir()) == [second]


def test_recall_at_every_k_is_that_of_the_run(runs: Runs) -> None:
    run = read_run(runs.bm25)
    recall, low, high = plots.recall_at_every_k(run, None, Observer())
    assert len(recall) == 10
    assert sorted(recall) == list(recall)
    for k in (1, 10):
        stored = run.scores[f"recall@{k}"]
        drawn = recall[k - 1], low[k - 1], high[k - 1]
        assert drawn == pytest.approx((stored.value, stored.low, stored.high))


def test_front() -> None:
    points = [(1, 0.5), (2, 0.4), (2, 0.9), (3, 0.9), (0.5, 0.1), (1, 0.5)]
    assert plots.find_front(points) == [4, 0, 5, 2]
    assert plots.find_front([]) == []
    points = [(1, 5), (2, 3), (3, 4)]
    assert (plots.find_front(points, higher_is_better=False), plots.find_front(points)) == (
        [0, 1],
        [0],
    )


def test_names_are_distinguished_and_fit() -> None:
    name = "bm25:fields=[[title,section],[header,rows]],k1=0.9,b=0.4,stemmer=none"
    lines = plots.legend_label(name).split("\n")
    assert max(map(len, lines)) <= 34
    assert "".join(lines).replace(" ", "") == name
    assert len({str(plots.line_style(i)) for i in range(30)}) == 30


def test_times_from_a_cache_are_not_drawn(own_runs: Runs, tmp_path: Path) -> None:
    """Neither point nor place on the front; the names stand below the picture."""
    other = read_run(own_runs.other)
    for folder in (own_runs.tfidf, own_runs.root / str(other.command.retrieval_run)):
        rewrite(
            folder / "manifest.json",
            lambda manifest: manifest["from_caches"].update(retrieve=["embedding cache"]),
        )
    assert plots.milliseconds(read_run(own_runs.bm25)) is not None
    assert plots.milliseconds(read_run(own_runs.tfidf)) is None
    assert plots.milliseconds(other) is None
    plots.pareto([own_runs.bm25, own_runs.tfidf], tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "without a time of its own: tfidf" in text
    with pytest.raises(ConfigError, match="times measured without a cache"):
        plots.pareto([own_runs.tfidf], tmp_path / "b.svg")


def test_what_cannot_be_drawn(
    runs: Runs, own_runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    another = {"corpus_fingerprint": "0" * 64}
    rewrite(own_runs.tfidf / "manifest.json", lambda m: m["identity"].update(another))
    out, bm25 = tmp_path / "a.svg", runs.bm25
    refused: list[tuple[Callable[..., None], tuple[Any, ...], type[Exception], str]] = [
        (plots.pareto, ([bm25], tmp_path / "a.gif"), ConfigError, r"ends in .svg, .pdf or .png"),
        (plots.pareto, ([bm25], out, "x"), ConfigError, "unknown metric 'x'"),
        (plots.recall_at_k, ([bm25, own_runs.tfidf], out), DataError, "of different tables"),
        (plots.recall_at_k, ([runs.answers], out), ConfigError, "no rankings; name .* retrieval-"),
        (plots.over_distractors, ([bm25, runs.tfidf], out), ConfigError, "have 0 distractors"),
    ]
    for draw, arguments, error, message in refused:
        with pytest.raises(error, match=message):
            draw(*arguments)
    assert not out.exists()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"target-bench\[plots\]"):
        plots.pareto([bm25], out)
