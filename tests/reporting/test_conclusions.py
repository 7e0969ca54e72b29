"""Conclusions of runs: what varies, main effects, rankings, words, Markdown and pictures."""

import json
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from target_bench import TARGET
from target_bench.core import text_tables
from target_bench.core.errors import ConfigError
from target_bench.core.metric import MetricSpec, mean, of_mean
from target_bench.metrics import stats
from target_bench.metrics.scores import named
from target_bench.reporting import conclusions
from target_bench.reporting.compare import compare
from target_bench.reporting.conclusions import (
    DEFAULT,
    NONE,
    AveragedMetric,
    Conclusion,
    Factor,
    conclude,
    factors,
    heat_map,
    main_effects,
    matched,
)
from target_bench.runs.manifest import Identity, Manifest
from target_bench.runs.result import Result, read_run
from target_bench.runs.slicing import Measured
from tests.builders import ASKED, Recorder, only, run_identity

FIELDS = ("[header]", "[title, header, rows]")


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


def _concluded() -> Conclusion:
    (found,) = conclude(_runs())
    return found


def test_the_ranking_is_that_of_a_comparison() -> None:
    found = _concluded()
    (ranking,) = found.rankings
    assert (found.metric, found.n, found.corpus) == ("recall@10", 80, "mini test")
    assert ranking.factors == ("retriever", "k1", "fields")
    assert len(ranking.places) == 7, "without the upper bound"
    scores = [place.score for place in ranking.places]
    assert scores == sorted(scores, reverse=True)
    order = [Path(place.folder) for place in ranking.places if place.folder]
    compared = compare(order, ["recall@10"])
    for place, row in zip(ranking.places, compared.rows, strict=True):
        assert place.score == pytest.approx(row.score)
        assert place.low == pytest.approx(row.low, abs=1e-5)
        if row.difference is not None and place.difference is not None:
            assert place.difference.p == row.difference.p_corrected
            assert place.difference.low == pytest.approx(row.difference.low)
    assert found.notes == ("1 upper or lower bound left out.",)


def test_effects_and_grid() -> None:
    found = _concluded()
    assert found.effects[0].factor == "fields"
    assert found.effects[0].is_significant
    assert found.effects[0].combinations == 2
    grid = found.grid
    assert grid is not None
    assert (grid.rows, grid.columns) == ("fields", "k1"), "tfidf has no fields"
    assert all(score is not None for row in grid.scores for score in row)
    (nested,) = conclude(_runs(), crossed=["retriever", "fields"])
    assert nested.grid is not None
    assert not nested.grid.is_crossed
    (chosen,) = conclude(_runs(), "mrr", ["k1", "fields"])
    assert chosen.grid is not None
    assert (chosen.grid.rows, chosen.grid.row_levels) == ("k1", ("0.9", "1.2"))
    assert len(chosen.grid.column_levels) == 3
    assert chosen.metric == "mrr"
    json.dumps(chosen.to_json(), allow_nan=False)


def test_a_setting_of_one_of_two_retrievers_makes_no_table() -> None:
    (found,) = conclude([_runs()[0], _runs()[2], _runs()[-2]])
    assert {effect.factor for effect in found.effects} == {"retriever", "fields"}
    assert found.grid is None


def test_words_and_tables() -> None:
    found = _concluded()
    said = conclusions.sentences(found)
    assert said[0].startswith("mini test, 80 queries: the best of 7 cells by recall@10 is ")
    assert "do not tell it apart from" in said[1]
    assert "confirm it on another split" in said[2]
    assert "fields (" in said[3]
    shown = text_tables.text(conclusions.tables(found, 3), 80)
    assert max(map(len, shown.splitlines())) <= 80
    assert "4 more, all in the file" in shown
    assert "\n fields " in shown
    page = conclusions.markdown("titles", [found])
    assert page.startswith("# What the sweep titles shows\n")
    assert page.count("\n| 7 |") == 1
    assert "| [title, header, rows] |" in page


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
    found, other = conclude([*runs, *_runs()])
    assert (found.n, other.n) == (5, 80)
    assert found.rankings[0].tables == "no distractors"
    assert [len(ranking.places) for ranking in found.rankings] == [2, 2]
    assert {effect.factor for effect in found.effects} == {"retriever", "distractors"}


def test_nothing_to_conclude() -> None:
    assert conclude(_runs()[:1]) == []
    assert conclude([]) == []
    with pytest.raises(ConfigError, match="no run of the sweep has the metric 'f1'"):
        conclude(_runs(), "f1")
    with pytest.raises(
        ConfigError, match=r"'b' is not a setting that varies .* retriever, k1, fields"
    ):
        conclude(_runs(), crossed=["b", "k1"])


def test_a_metric_over_other_queries_in_each_run(tmp_path: Path) -> None:
    """``judged@k`` is over the queries for which a table was found: two with headers alone."""
    (tmp_path / "own" / "tables").mkdir(parents=True)
    for i in range(1, 7):
        text = f"x{i if i < 4 else 9},note\nx{i},{'alpha' if i % 2 else 'beta'}\n"
        (tmp_path / "own" / "tables" / f"t{i}.csv").write_text(text, encoding="utf-8")
    asked = [
        {"query_id": str(i), "query": f"x{i} alpha", "table_id": f"t{i}", "not_relevant": ["t1"]}
        for i in range(2, 7)
    ]
    lines = "".join(json.dumps(one) + "\n" for one in asked)
    (tmp_path / "own" / "queries.jsonl").write_text(lines, encoding="utf-8")
    target = TARGET(("retrieval", tmp_path / "own"), out=tmp_path / "runs", observer=Recorder())
    specs = [f"{name}:fields={fields}" for name in ("bm25", "tfidf") for fields in FIELDS]
    results = [only(target.run(spec, top_k=[5])) for spec in specs]
    (found,) = conclude(results, "judged@5")
    scores = [read_run(result.folder).scores["judged@5"] for result in results]
    assert found.notes == ("judged@5 is over 2 to 5 queries, by run.",)
    (effect,) = [effect for effect in found.effects if effect.factor == "retriever"]
    means = [level.score for level in effect.levels]
    assert means == pytest.approx(
        [sum(s.value for s in two) / 2 for two in (scores[:2], scores[2:])]
    )


def test_a_heat_map_of_the_same_bytes_with_all_levels(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    target = TARGET(("retrieval", "mini"), out=tmp_path)
    runs = [
        only(target.run(f"bm25:k1={k1},fields=[{fields}]", limit=20))
        for k1 in (0.5, 0.9)
        for fields in ("header", "section", "title")
    ]
    one, other = tmp_path / "one.svg", tmp_path / "other.svg"
    heat_map(runs, one, crossed=["k1", "fields"])
    heat_map(runs, other, crossed=["k1", "fields"])
    assert one.read_bytes() == other.read_bytes()
    drawn = one.read_text(encoding="utf-8")
    for word in ("mini test: recall@10", "k1", "fields", "[section]", "0.9"):
        assert f"<!-- {word} -->" in drawn
    with pytest.raises(ConfigError, match="needs two settings"):
        heat_map(runs[:1], one)
    validation = [only(target.run(name, "validation", limit=5)) for name in ("bm25", "tfidf")]
    with pytest.raises(ConfigError, match="several sets of queries: mini test"):
        heat_map([*runs, *validation], one)


# Main effects

SPEC = MetricSpec("recall", at_k=True)
N = 30


def _of(values: Any) -> Measured:
    found = np.asarray(values, dtype=float)
    return Measured("recall@10", found, of_mean(found), mean, None, SPEC)


def _grid(*levels: tuple[str, ...]) -> list[Factor]:
    columns = zip(*product(*levels), strict=True)
    return [Factor("xyz"[i], tuple(column)) for i, column in enumerate(columns)]


@given(arrays(float, (6, N), elements=st.sampled_from([0.0, 0.5, 1.0])))
def test_of_a_whole_grid(values: Any) -> None:
    """A level's score is the mean of its cells; a difference is that of two levels."""
    found, unclear = main_effects(_grid(("1", "2", "3"), ("a", "b")), [_of(row) for row in values])
    assert not unclear
    cells = values.mean(axis=1).reshape(3, 2)
    expected = {"x": cells.mean(axis=1), "y": cells.mean(axis=0)}
    for effect in found:
        scores = [level.score for level in effect.levels]
        assert scores == pytest.approx(expected[effect.factor])
        (best,) = [level for level in effect.levels if level.difference is None]
        assert best.score == max(scores)
        for level in effect.levels:
            assert level.low <= level.score <= level.high
            if level.difference is not None:
                assert level.difference.value == pytest.approx(level.score - best.score)
                assert level.difference.low <= level.difference.value <= level.difference.high
    ranges = [np.ptp([level.score for level in effect.levels]) for effect in found]
    assert ranges == sorted(ranges, reverse=True)


def test_a_factor_without_effect_beside_one_with_a_large_one() -> None:
    generator = np.random.default_rng(0)
    right = generator.random((2, 400)) < 0.5
    rows = [_of(right[0] * 0.5 + (0.4 if x else 0.0)) for x in (0, 1) for _ in range(2)]
    found, _ = main_effects(_grid(("0", "1"), ("a", "b")), rows)
    assert [(effect.factor, effect.is_significant) for effect in found] == [
        ("x", True),
        ("y", False),
    ]
    worst = found[0].levels[0].difference
    assert worst is not None
    assert worst.value == pytest.approx(-0.4)
    assert worst.p == pytest.approx(2 / 10_001)  # the smallest, corrected for two tests


def test_holes_are_not_averaged_over() -> None:
    """Of a grid without one cell, only the combinations that all levels have count."""
    x, y = _grid(("1", "2"), ("a", "b"))
    kept = [0, 1, 2]  # no cell (2, b)
    factors = [Factor(f.name, tuple(f.of_run[i] for i in kept)) for f in (x, y)]
    scores = [_of([value] * N) for value in (0.2, 0.9, 0.4)]
    found, _ = main_effects(factors, scores)
    by_name = {effect.factor: effect for effect in found}
    assert [level.score for level in by_name["x"].levels] == pytest.approx([0.2, 0.4])
    assert by_name["x"].combinations == 1


def test_settings_of_one_of_two_retrievers_are_averaged_over() -> None:
    retriever = Factor("retriever", ("bm25", "bm25", "lsa"))
    k1 = Factor("k1", ("0.9", "1.2", NONE))
    scores = [_of([value] * N) for value in (0.2, 0.4, 0.9)]
    found, _ = main_effects([retriever, k1], scores)
    by_name = {effect.factor: [level.score for level in effect.levels] for effect in found}
    assert by_name["retriever"] == pytest.approx([0.3, 0.9])
    assert by_name["k1"] == pytest.approx([0.2, 0.4])
    assert matched([retriever], [retriever, k1]) == ({("bm25",): [0, 1], ("lsa",): [2, 2]}, 1)


def test_cells_that_differ_in_several_settings_tell_no_effect() -> None:
    x, y = Factor("x", ("1", "2", "3")), Factor("y", ("a", "b", "b"))
    found, unclear = main_effects([x, y], [_of([value] * N) for value in (0.1, 0.2, 0.3)])
    assert (found, unclear) == ([], ["x", "y"])


def _pooled(seed: int, *shares: float) -> list[Measured]:
    metric = named("recall_micro@10")
    assert metric is not None
    generator = np.random.default_rng(seed)
    runs = []
    for share in shares:
        gold = generator.integers(1, 9, N).astype(float)
        rows = np.column_stack([np.floor(gold * share), gold])
        runs.append(Measured("m", rows[:, 0] / gold, rows, metric.value, metric, metric.spec))
    return runs


def test_metrics_that_are_no_means_are_averaged_as_scores() -> None:
    """The average of pooled recalls is not the recall of all queries pooled."""
    runs = _pooled(1, 0.3, 0.6)
    both = AveragedMetric(runs, np.hstack([run.statistics for run in runs]))
    total = both.statistics.sum(axis=0)
    scores = [float(run.value(run.statistics.sum(axis=0))) for run in runs]
    assert float(both.value(total)) == pytest.approx(np.mean(scores))
    assert both.bounds(both.statistics) == (0, 1)
    left = both.without(total, both.statistics)
    brute = [float(both.value(total - row)) for row in both.statistics]
    assert left == pytest.approx(brute)
    assert both.weights(both.statistics).shape == (N,)
    x = Factor("x", ("1", "2"))
    ((effect,), _) = main_effects([x], runs)
    (test,) = [level.difference for level in effect.levels if level.difference is not None]
    plain = stats.compare(runs[0].statistics, runs[1].statistics, runs[0].value)
    assert test.value == pytest.approx(plain.difference)
    assert test.p == plain.p


def test_levels_of_different_numbers_of_runs_by_a_metric_that_is_no_mean() -> None:
    """Two settings of one retriever, and another retriever without it."""
    runs = _pooled(2, 0.3, 0.6, 0.9)
    retriever = Factor("retriever", ("bm25", "bm25", "tfidf"))
    k1 = Factor("k1", ("0.5", "2", NONE))
    found, unclear = main_effects([retriever, k1], runs)
    assert not unclear
    scores = [float(run.value(run.statistics.sum(axis=0))) for run in runs]
    by_name = {effect.factor: effect.levels for effect in found}
    bm25, tfidf = by_name["retriever"]
    assert (bm25.score, tfidf.score) == pytest.approx((np.mean(scores[:2]), scores[2]))
    assert bm25.difference is not None
    assert bm25.difference.value == pytest.approx(np.mean(scores[:2]) - scores[2])


def test_runs_that_a_metric_judges_on_other_queries_keep_their_scores() -> None:
    """Scores of 1.0 over the first half and of 0.5 over all have the average 0.75."""
    half, nan = np.ones(N), np.nan
    half[N // 2 :] = nan
    whole = np.tile([0.0, 1.0], N // 2)
    factors = _grid(("1", "2"), ("a", "b"))
    found, _ = main_effects(factors, [_of(half), _of(whole), _of(whole), _of(whole)])
    first, second = next(one.levels for one in found if one.factor == "x")
    assert (first.score, second.score) == pytest.approx((0.75, 0.5))
    assert second.difference is not None
    assert second.difference.value == pytest.approx(-0.25)


# What varies


def _asked(commands: list[Any]) -> list[Result]:
    """Runs that were asked for with these retrievers, or entries of the command."""
    runs = []
    for words in commands:
        run = Result(Path("runs") / "retrieval-mini-test-0123456789ab")
        more = {"retriever": words} if isinstance(words, str) else words
        identity = Identity.model_validate(run_identity(top_k=[10]))
        run.__dict__["manifest"] = Manifest(identity=identity, asked=ASKED.model_copy(update=more))
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
        # settings that vary together are one
        (["bm25:k1=0.9,b=0.4", "bm25:k1=1.2,b=0.7"], {"k1, b": ("0.9, 0.4", "1.2, 0.7")}),
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
    assert {factor.name: factor.of_run for factor in factors(_asked(commands))} == varied


def test_levels_are_in_their_natural_order() -> None:
    (factor,) = factors(_asked([f"bm25:k1={k1}" for k1 in ("10", "9", "1e1")]))
    assert factor.levels == ["9", "10", "1e1"]
