"""Pictures: the right numbers, the same bytes twice, and messages for what cannot be drawn."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from target_bench.core.errors import ConfigError, DataError, MissingExtraError
from target_bench.core.metric import of_mean
from target_bench.core.observer import Observer
from target_bench.harness.target import TARGET
from target_bench.reporting import plots
from target_bench.runs.result import Result, read_run
from target_bench.runs.slicing import Measured
from tests.builders import rewrite
from tests.runs.stored import Runs, copied

Draw = Callable[[Runs, Path], None]
PICTURES: dict[str, Draw] = {
    "recall": lambda runs, path: plots.recall_at_k([runs.bm25, runs.tfidf], path),
    "distractors": lambda runs, path: plots.over_distractors([runs.bm25, runs.mixed], path),
    "pareto": lambda runs, path: plots.pareto([runs.bm25, runs.tfidf], path, "mrr"),
    "slices": lambda runs, path: plots.by_slice([runs.bm25, runs.tfidf], path, ["task"]),
    "answers": lambda runs, path: plots.by_slice(
        [runs.answers, runs.other], path, ["gold_tables"], "sacrebleu"
    ),
}


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return copied(tmp_path)


@pytest.mark.parametrize("name", PICTURES)
def test_same_bytes_twice(runs: Runs, tmp_path: Path, name: str) -> None:
    for suffix in (".svg", ".pdf", ".png"):
        one, other = tmp_path / f"one{suffix}", tmp_path / "new" / f"other{suffix}"
        PICTURES[name](runs, one)
        PICTURES[name](runs, other)
        assert one.read_bytes() == other.read_bytes()
        assert not any(word in one.read_bytes() for word in (b"dc:date", b"CreationDate"))
    ElementTree.parse(tmp_path / "one.svg")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF-")
    written = sorted(path.suffix for path in (tmp_path / "new").iterdir())
    assert written == [".pdf", ".png", ".svg"]


def test_radar(runs: Runs, tmp_path: Path) -> None:
    target = TARGET(("text_to_table", "mini"), out=tmp_path, observer=Observer())
    folders = [target.run(generator=name, limit=3)[0].folder for name in ("gold", "empty")]
    found = [read_run(folder) for folder in folders]
    label, (gold, empty) = plots.profiles(found)
    assert label == "abilities"
    assert (gold["coverage"], empty["coverage"]) == (1.0, 0.0)
    assert any("coverage 0.00" in str(block) for block in found[1].summary)
    plots.radar(folders, tmp_path / "radar.svg")
    assert b"hallucination" in (tmp_path / "radar.svg").read_bytes()
    with pytest.raises(ConfigError, match="no shares that a radar shows"):
        plots.radar([runs.answers], tmp_path / "none.svg")


def test_recall_at_every_k_is_that_of_the_run(runs: Runs) -> None:
    run = read_run(runs.bm25)
    recall, low, high = plots.recall_at_every_k(run, None, Observer())
    assert len(recall) == 10
    for k in (1, 10):
        stored = run.scores[f"recall@{k}"]
        found = recall[k - 1], low[k - 1], high[k - 1]
        assert found == pytest.approx((stored.value, stored.low, stored.high))
    assert sorted(recall) == list(recall)


def test_front() -> None:
    points = [(1, 0.5), (2, 0.4), (2, 0.9), (3, 0.9), (0.5, 0.1), (1, 0.5)]
    assert plots.front(points) == [4, 0, 5, 2]
    assert plots.front([]) == []


def test_names_are_distinguished_and_fit() -> None:
    name = "bm25:fields=[[title,section],[header,rows]],k1=0.9,b=0.4,stemmer=none"
    lines = plots.legend_label(name).split("\n")
    assert max(map(len, lines)) <= 34
    assert "".join(lines) == name
    assert all(line.endswith(",") for line in lines[:-1])
    assert plots.legend_label("x" * 80).replace("\n", "") == "x" * 80
    looks = [str(plots.line_style(i)) for i in range(30)]
    assert len(set(looks)) == len(looks)


def test_parts_without_a_judged_query_keep_their_place(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have a label that says so, and no bar; also the first."""
    seen: list[tuple[float, float]] = []
    labels: list[str] = []

    def saved(drawn: Any, *_: Any) -> None:
        (axes,) = drawn.axes
        seen.append(axes.get_ylim())
        labels.extend(text.get_text() for text in axes.get_yticklabels())

    first = "fact_verification"

    def measured(run: Result, metric: str) -> Measured:
        found = whole(run, metric)
        unjudged = np.array([task == first for task in run.slices["task"]])
        values = np.where(unjudged, np.nan, found.values)
        return replace(found, values=values, statistics=of_mean(values))

    whole = Result.measured
    monkeypatch.setattr(Result, "measured", measured)
    monkeypatch.setattr(plots, "save_picture", saved)
    plots.by_slice([runs.bm25, runs.tfidf], tmp_path / "a.svg", ["task"])
    assert seen == [(2.5, -0.5)]
    assert labels[0].replace("\n", "") == f"task={first} (0)"
    assert labels[1].endswith("(144)")


def test_times_from_a_cache_are_not_drawn(runs: Runs, tmp_path: Path) -> None:
    """Neither point nor place on the front; the names stand below the picture."""
    (other,) = plots.read([runs.other], tmp_path / "a.svg")
    for folder in (runs.tfidf, runs.root / str(other.asked.retrieval_run)):
        rewrite(
            folder / "manifest.json",
            lambda manifest: manifest["from_caches"].update(retrieve=["embedding cache"]),
        )
    timed, cached = plots.read([runs.bm25, runs.tfidf], tmp_path / "a.svg")
    assert plots.milliseconds(timed) is not None
    assert plots.milliseconds(cached) is None
    plots.pareto([runs.bm25, runs.tfidf], tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "without a time of its own: tfidf" in text
    with pytest.raises(ConfigError, match="without anything from a cache"):
        plots.pareto([runs.tfidf], tmp_path / "b.svg")
    assert plots.milliseconds(other) is None


def test_faults(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "a.svg"
    with pytest.raises(ConfigError, match=r"ends in .svg, .pdf or .png"):
        plots.pareto([runs.bm25], tmp_path / "a.gif")
    with pytest.raises(
        DataError, match="of different queries: queries 280 and 20, limit none and 20"
    ):
        plots.recall_at_k([runs.bm25, runs.first], out)
    other = copied(tmp_path / "other").tfidf
    another = {"corpus_fingerprint": "0" * 64}
    rewrite(other / "manifest.json", lambda manifest: manifest["identity"].update(another))
    with pytest.raises(DataError, match="of different tables"):
        plots.recall_at_k([runs.bm25, other], out)
    with pytest.raises(DataError, match="different tasks: task retrieval and question_answering"):
        plots.pareto([runs.bm25, runs.answers], out)
    with pytest.raises(ConfigError, match="holds no rankings; name the retrieval run retrieval-"):
        plots.recall_at_k([runs.answers], out)
    with pytest.raises(ConfigError, match="all runs have 0 distractors"):
        plots.over_distractors([runs.bm25, runs.tfidf], out)
    with pytest.raises(ConfigError, match="no metric 'x'"):
        plots.pareto([runs.bm25], out, "x")
    assert not out.exists()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"target-bench\[plots\]"):
        plots.pareto([runs.bm25], out)
