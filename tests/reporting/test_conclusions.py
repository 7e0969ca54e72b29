"""Conclusions of runs: what varies, main effects, rankings, words and Markdown."""

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from target_bench.core import text_tables
from target_bench.core.metric import MetricSpec
from target_bench.metrics.scores import make_default_metric
from target_bench.reporting import conclusions
from target_bench.reporting.compare import compare
from target_bench.reporting.conclusions import (
    DEFAULT,
    NONE,
    are_means,
    conclude,
    list_factors,
    main_effects,
    sort_levels,
)
from target_bench.runs.manifest import Identity, Manifest
from target_bench.runs.result import Result
from target_bench.runs.slicing import MetricValues, make_mean, read_metric
from tests.builders import ASKED, only, run_identity
from tests.target import TARGET


@cache
def _runs() -> tuple[Result, ...]:
    """Two settings of a retriever with three fields each, another retriever, an upper bound."""
    target = TARGET(("retrieval", "mini"), out=mkdtemp(prefix="target-bench-test-"))
    specs = [
        f"bm25:k1={k1},fields={fields}"
        for fields in ("[section]", "[header]", "[title, header, rows]")
        for k1 in (0.9, 1.2)
    ]
    return tuple(only(target.run(text, limit=80)) for text in (*specs, "tfidf", "oracle"))


def test_the_ranking_is_that_of_a_comparison() -> None:
    (conclusion,) = conclude(_runs())
    (ranking,) = conclusion.rankings
    assert (conclusion.metric, ranking.corpora) == ("recall@10", ("mini test",))
    assert ranking.rows[0].score.n == 80
    assert "bm25, k1=0.9, fields=[header]" in ranking.systems
    assert "tfidf" in ranking.systems, "without the settings of others"
    assert len(ranking.rows) == 7, "without the upper bound"
    order = [ranking.runs[row.system] for row in ranking.rows]
    rows = compare(order, ["recall@10"]).rows
    scores = [row.score.value for row in ranking.rows]
    assert scores == sorted(scores, reverse=True)
    for own, row in zip(ranking.rows, rows, strict=True):
        assert (own.score, own.difference) == (row.score, row.difference)
    effect = conclusion.effects[0]
    assert (effect.factor, effect.is_significant, effect.combinations) == ("fields", True, 2)
    assert conclusion.notes == (
        "1 upper or lower bound left out.",
        "The queries are a sample (--limit).",
    )
    assert json.loads(json.dumps(conclusion.to_json(), allow_nan=False))["metric"] == "recall@10"


def test_words_and_tables() -> None:
    (conclusion,) = conclude(_runs())
    starts = [
        "mini test, 80 queries: the best of 7 cells by recall@10 are ",
        "Not significantly different: ",
        "The best cell was chosen on these queries",
        "Significant effects on the average, ",
    ]
    for sentence, start in zip(conclusions.describe(conclusion), starts, strict=False):
        assert sentence.startswith(start)
    shown = text_tables.text(conclusions.lay_out(conclusion, 3), 80)
    assert max(map(len, shown.splitlines())) <= 80
    assert "4 more, all in the file" in shown
    page = conclusions.to_markdown("titles", [conclusion])
    assert page.count("\n| bm25, k1=") == 6
    assert "fields=[title, header, rows] |" in page
    assert "| fields | 80 | [title, header, rows] |" in page


def test_queries_and_tables_apart(tmp_path: Path) -> None:
    """Other queries are another conclusion; other tables another ranking, and a factor."""
    (tmp_path / "more" / "tables").mkdir(parents=True)
    (tmp_path / "more" / "tables" / "t.csv").write_text("a,b\nmedal,1\n", encoding="utf-8")
    target = TARGET(("retrieval", "mini"), out=tmp_path)
    runs = [
        only(target.run(name, limit=5, distractors=mixed))
        for name in ("bm25", "tfidf")
        for mixed in ((), str(tmp_path / "more"))
    ]
    few, many = conclude([*runs, *_runs()])
    assert [c.rankings[0].rows[0].score.n for c in (few, many)] == [5, 80]
    assert few.rankings[0].corpora == ("mini test",)
    assert few.rankings[1].corpora == (f"mini test + {tmp_path / 'more'}",)
    assert [len(ranking.rows) for ranking in few.rankings] == [2, 2]
    assert {effect.factor for effect in few.effects} == {"retriever", "distractors"}


def test_a_metric_over_other_queries_in_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """As ``set_size``, which is over the queries for which a table was found."""

    def measure_some(run: Result, metric: str) -> MetricValues:
        whole = read_metric(run, metric)
        values = whole.values.copy()
        values[: 40 if "tfidf" in run.folder.name else 0] = np.nan
        return make_mean(metric, values, whole.spec)

    monkeypatch.setattr(conclusions, "read_metric", measure_some)
    (conclusion,) = conclude([_runs()[0], _runs()[-2]])
    assert conclusion.notes == (
        "The queries are a sample (--limit).",
        "No main effects: recall@10 is no mean over the same queries of all runs.",
        "recall@10 is over 40 to 80 queries, by run.",
    )


def test_nothing_to_conclude() -> None:
    for runs in ((), _runs()[:1], _runs()[-1:]):  # none, one, a bound
        assert conclude(runs) == []


# Main effects

SPEC = MetricSpec("recall", at_k=True)
N = 30


def _make_values(values: Any) -> MetricValues:
    array = np.asarray(values, dtype=float)
    return make_mean("recall@10", array, SPEC)


@given(arrays(float, (6, N), elements=st.sampled_from([0.0, 0.5, 1.0])))
def test_effects_of_a_whole_grid(values: Any) -> None:
    """A level's score is the mean of its cells; a difference is that of two levels."""
    varied = {"x": "112233", "y": "ababab"}
    effects, unclear = main_effects(varied, [_make_values(row) for row in values])
    assert not unclear
    cells = values.mean(axis=1).reshape(3, 2)
    expected = {"x": cells.mean(axis=1), "y": cells.mean(axis=0)}
    for effect in effects:
        scores = [row.score.value for row in effect.rows]
        assert scores == pytest.approx(expected[effect.factor])
        (best,) = [row.score.value for row in effect.rows if row.difference is None]
        assert best == max(scores)
        for row in effect.rows:
            assert row.score.low <= row.score.value <= row.score.high
            if row.difference is not None:
                assert row.difference.value == pytest.approx(row.score.value - best)
                assert row.difference.low <= row.difference.value <= row.difference.high
    ranges = [np.ptp([row.score.value for row in effect.rows]) for effect in effects]
    assert ranges == sorted(ranges, reverse=True)


def test_a_factor_without_effect_beside_one_with_a_large_one() -> None:
    right = np.random.default_rng(0).random((2, 400)) < 0.5
    rows = [_make_values(right[0] * 0.5 + (0.4 if x else 0.0)) for x in (0, 1) for _ in range(2)]
    effects, _ = main_effects({"x": "0011", "y": "abab"}, rows)
    assert [(e.factor, e.is_significant) for e in effects] == [("x", True), ("y", False)]
    worst = effects[0].rows[0].difference
    assert worst is not None
    assert worst.value == pytest.approx(-0.4)
    assert worst.p_corrected == pytest.approx(2 / 10_001)  # the smallest, corrected for two tests


@pytest.mark.parametrize(
    ("varied", "runs", "expected"),
    [
        # of a grid without one cell, only the combinations that all levels have count
        ({"x": "112", "y": "aba"}, [0.2, 0.9, 0.4], {"x": [0.2, 0.4], "y": [0.2, 0.9]}),
        # the settings of one of two retrievers are averaged over
        ({"r": "bbl", "k": f"12{NONE}"}, [0.2, 0.4, 0.9], {"r": [0.3, 0.9], "k": [0.2, 0.4]}),
        # cells that differ in several settings tell no effect
        ({"x": "123", "y": "abb"}, [0.1, 0.2, 0.3], {}),
    ],
)
def test_averages_are_over_what_all_levels_have(
    varied: dict[str, str], runs: list[float], expected: dict[str, list[float]]
) -> None:
    scores = [_make_values(np.broadcast_to(values, N)) for values in runs]
    effects, unclear = main_effects(varied, scores)
    by_name = {effect.factor: [row.score.value for row in effect.rows] for effect in effects}
    assert by_name == {name: pytest.approx(means) for name, means in expected.items()}
    assert unclear == [name for name in varied if name not in expected]


def _pool_shares(*shares: float) -> list[MetricValues]:
    """Runs of pooled recall, which is no mean of the queries."""
    metric = make_default_metric("recall_micro@10")
    assert metric is not None
    generator = np.random.default_rng(1)
    runs = []
    for share in shares:
        gold = generator.integers(1, 9, N).astype(float)
        rows = np.column_stack([np.floor(gold * share), gold])
        runs.append(MetricValues("m", rows[:, 0] / gold, rows, metric, metric.spec))
    return runs


def test_scores_that_are_no_means_have_no_main_effects() -> None:
    """Pooled recalls of two runs are not the recall of all queries pooled; nor are means averaged
    that are over other queries."""
    half = _make_values(np.array([1.0] * (N // 2) + [np.nan] * (N // 2)))
    whole = _make_values(np.array([0.0, 1.0] * (N // 2)))
    assert [are_means([half, half]), are_means([whole, whole])] == [True, True]
    assert not are_means([half, whole])
    assert not are_means(_pool_shares(0.3, 0.6))


# What varies


def _asked(commands: list[Any]) -> list[Result]:
    """Runs that were asked for with these retrievers, or entries of the command."""
    runs = []
    for words in commands:
        run = Result(Path("runs") / "retrieval-mini-test-0123456789ab")
        more = {"retriever": words} if isinstance(words, str) else words
        identity = Identity.model_validate(run_identity(top_k=[10]))
        run.run._manifest = Manifest(identity=identity, command=ASKED.model_copy(update=more))
        runs.append(run)
    return runs


@pytest.mark.parametrize(
    ("commands", "varied"),
    [
        (
            ["bm25:k1=0.9,b=0.4", "bm25:k1=1.2,b=0.4", "bm25:k1=1.2,b=0.5"],
            {"k1": ("0.9", "1.2", "1.2"), "b": ("0.4", "0.4", "0.5")},
        ),
        (  # a setting at its default, and one that there is not
            ["bm25", "bm25:k1=1.2", "lsa"],
            {"retriever": ("bm25", "bm25", "lsa"), "k1": (DEFAULT, "1.2", NONE)},
        ),
        # what all runs of a retriever share belongs to it
        (["bm25:k1=0.9", "lsa:dims=20"], {"retriever": ("bm25", "lsa")}),
        (  # equal names of two plug-ins keep their kind
            [
                {"retriever": f"lsa:seed={a}", "generator": f"mine.py:Mine:seed={b}"}
                for a in (1, 2)
                for b in (3, 4)
            ],
            {"retriever.seed": ("1", "1", "2", "2"), "generator.seed": ("3", "4", "3", "4")},
        ),
        (
            [
                {"prompting": {"tables": n}, "distractors": mixed}
                for n in (1, 5)
                for mixed in ((), ("ottqa:n=9",))
            ],
            {"distractors": ("none", "ottqa:n=9") * 2, "tables": ("1", "1", "5", "5")},
        ),
    ],
)
def test_what_varies(commands: list[Any], varied: dict[str, tuple[str, ...]]) -> None:
    assert list_factors(_asked(commands)) == varied


def test_levels_are_in_their_natural_order() -> None:
    (column,) = list_factors(_asked([f"bm25:k1={k1}" for k1 in ("10", "9", "1e1")])).values()
    assert sort_levels(column) == ["9", "10", "1e1"]
