"""Stored runs side by side."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from target_bench import Corpus, TableId, evaluate, read_run
from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.metrics import stats
from target_bench.reporting import layouts
from target_bench.reporting.compare import check_comparable, compare
from target_bench.reporting.rows import Comparison, Difference
from target_bench.runs.score_tables import metric_column
from tests.builders import Record, Recorder, only, rewrite
from tests.runs.stored import Runs
from tests.target import TARGET


def _values(folder: Path, metric: str) -> np.ndarray:
    table = parquet.read_table(folder / "per_query.parquet").sort_by("query_id")
    values: np.ndarray = table[metric].to_numpy()
    return values


def _difference(comparison: Comparison, metric: str) -> Difference:
    """The difference of the only run that is not the baseline."""
    (difference,) = [r.difference for r in comparison.rows if r.metric == metric and r.difference]
    return difference


def test_a_mean_is_compared_by_its_per_query_values(runs: Runs) -> None:
    comparison = compare([runs.bm25, runs.tfidf], ["recall@1", "mrr"])
    assert comparison.baseline == "bm25"
    names = [(row.metric, row.system) for row in comparison.rows]
    assert names == [(m, run) for m in ("recall@1", "mrr") for run in ("bm25", "tfidf")]
    mine, theirs = _values(runs.tfidf, "recall@1"), _values(runs.bm25, "recall@1")
    row = comparison.rows[1]
    stored = json.loads((runs.tfidf / "scores.json").read_bytes())["scores"]["recall@1"]
    assert (row.score.value, row.score.low, row.score.high) == (
        stored["value"],
        stored["low"],
        stored["high"],
    )
    difference = _difference(comparison, "recall@1")
    assert difference.value == pytest.approx(mine.mean() - theirs.mean())
    assert difference.p == stats.compare(mine, theirs).p
    assert difference.p_corrected == pytest.approx(2 * difference.p)
    counts = difference.wins, difference.ties, difference.losses
    assert counts == ((mine > theirs).sum(), (mine == theirs).sum(), (mine < theirs).sum())
    assert comparison.n_tests == 2


def test_an_interval_of_another_version_is_computed_again(own_runs: Runs) -> None:
    stored = read_run(own_runs.tfidf).scores["recall@1"]

    def change(scores: Record) -> None:
        score = scores["scores"]["recall@1"]
        score["signature"] = score["signature"].replace("interval:wilson", "interval:other")
        score["low"] = 0.001

    rewrite(own_runs.tfidf / "scores.json", change)
    score = compare([own_runs.bm25, own_runs.tfidf], ["recall@1"]).rows[1].score
    assert (score.value, score.low) == (stored.value, stored.low)


@pytest.mark.parametrize(
    ("baseline", "run", "metric"),
    [
        ("answers", "other", "sacrebleu"),
        ("labels", "other_labels", "f1_macro"),
        ("bm25", "tfidf", "recall_micro@1"),
        ("bm25", "tfidf", "capped_recall[target]@10"),
    ],
)
def test_metrics_that_are_more_than_a_mean(
    runs: Runs, baseline: str, run: str, metric: str
) -> None:
    """The statistics of each query are stored, so the difference is that of the scores."""
    folders = [getattr(runs, baseline), getattr(runs, run)]
    scores = [read_run(folder).scores[metric].value for folder in folders]
    difference = _difference(compare(folders, [metric]), metric)
    assert difference.value == pytest.approx(scores[1] - scores[0])
    assert difference.low <= difference.value <= difference.high


def test_the_headline_metric_alone_is_tested(runs: Runs) -> None:
    """The others that are printed have no corrected p and no marker."""
    comparison = compare([runs.bm25, runs.tfidf])
    assert (comparison.tested, comparison.n_tests) == (("recall@10",), 1)
    assert {row.metric for row in comparison.rows} == {"recall@1", "recall@10", "mrr"}
    for metric in ("recall@1", "mrr"):
        difference = _difference(comparison, metric)
        assert (difference.p_corrected, difference.marker) == (None, "")
        assert difference.p < 0.05
    tested = _difference(comparison, "recall@10")
    assert (tested.p_corrected, tested.marker) == (tested.p, "***")
    text, markdown, latex = (
        str(comparison),
        layouts.to_markdown(comparison),
        layouts.to_latex(comparison),
    )
    for form in (text, markdown, latex):
        assert form.count("not tested · retrieval, mini test") == 1
    headings = [metric_column(name).name.replace("\n", " ") for name in ("recall@1", "mrr")]
    assert f"| {headings[0]} | {headings[1]} |" in markdown
    assert rf"& {headings[0]} & {headings[1]} \\".replace("%", r"\%") in latex
    assert " tfidf  .721 [.670, .768]  " in text.partition("not tested")[2]


def test_forms(runs: Runs) -> None:
    comparison = compare([runs.bm25, runs.tfidf], ["recall@1", "mrr"])
    assert "-.083*" in str(comparison)
    latex = layouts.to_latex(comparison)
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 2
    assert r"run & score [95\%] & difference [95\%] & p & W/T/L \\" in latex
    assert r"& $-$.083\rlap{$^{*" in latex
    assert "| bm25 | .804 [.759, .843] |" in layouts.to_markdown(comparison)
    for row, record in zip(comparison.rows, comparison.to_records(), strict=True):
        score = row.score
        assert (record["score"], record["low"], record["high"]) == (
            score.value,
            score.low,
            score.high,
        )
        d = row.difference
        bounds = (None, None, None) if d is None else (d.value, d.low, d.high)
        names = ("difference", "difference_low", "difference_high")
        assert tuple(record[name] for name in names) == bounds
    assert json.loads(json.dumps(comparison.to_json()))["rows"][1]["difference"]["p"] > 0
    below = layouts.to_text(comparison, 80).split("\n\n")[-1].splitlines()
    assert " ".join(below) == " ".join(layouts.describe_tests(comparison))
    assert max(map(len, below)) <= 80


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("table-summaries", "table-summaries"),
        ("-0.5 to -.25", "$-$0.5 to $-$.25"),
        ("bm25:k1=-1|x_y", r"bm25:k1=-1\textbar{}x\_y"),
        ("0.1–0.2", "0.1--0.2"),
        ("a--b---c", "a-{}-b-{}-{}-c"),
        ("\\x{}", r"\textbackslash{}x\{\}"),
    ],
)
def test_names_and_numbers_in_latex(text: str, latex: str) -> None:
    assert layouts.escape_latex(text) == latex


def test_parts_of_the_queries(runs: Runs) -> None:
    """All metrics and parts are one family."""
    both = [runs.bm25, runs.tfidf]
    comparison = compare(both, ["recall@1", "mrr"], slices=["task", "gold_tables>=1"])
    assert (comparison.tested, comparison.n_tests) == (("recall@1", "mrr"), 6)
    own = [row for row in comparison.rows if (row.system, row.metric) == ("bm25", "recall@1")]
    tasks = ["task=fact_verification", "task=question_answering", "task=text_to_sql"]
    assert [row.subset.split(",")[0] for row in own] == tasks
    assert sum(row.score.n for row in own) == 280
    whole = sum(row.score.value * row.score.n for row in own) / 280
    assert whole == pytest.approx(read_run(runs.bm25).scores["recall@1"].value)


def _leave_unjudged(folder: Path, task: str) -> None:
    """As if nothing about a task could be judged: null in every file."""
    path = folder / "per_query.parquet"
    table = parquet.read_table(path).sort_by("query_id")
    rows = zip(table["slice.task"].to_pylist(), table["recall@1"].to_pylist(), strict=True)
    values = [None if of_query == task else value for of_query, value in rows]
    place = table.column_names.index("recall@1")
    column = pa.array(values, pa.float64())
    parquet.write_table(table.set_column(place, "recall@1", column), path)
    known = [value for value in values if value is not None]
    score = {"value": float(np.mean(known)), "n": len(known)}
    rewrite(folder / "scores.json", lambda stored: stored["scores"]["recall@1"].update(score))
    rewrite(folder / "manifest.json", lambda manifest: manifest.update(value_file_hashes={}))


def test_parts_without_a_judged_query(own_runs: Runs) -> None:
    """They have no score, and are no test that others are corrected for."""
    for folder in (own_runs.bm25, own_runs.tfidf):
        _leave_unjudged(folder, "text_to_sql")
    comparison = compare([own_runs.bm25, own_runs.tfidf], ["recall@1"], slices=["task"])
    *judged, base, run = comparison.rows
    assert [row.difference is not None for row in judged] == [False, True] * 2
    assert (base.score.n, run.score.n, base.difference, run.difference) == (0, 0, None, None)
    assert np.isnan([base.score.value, base.score.low, run.score.high]).all()
    assert comparison.n_tests == 2
    last = json.loads(json.dumps(comparison.to_json(), allow_nan=False))["rows"][-1]
    assert (last["score"], last["low"], last["difference"]) == (None, None, None)
    assert comparison.to_records()[-1]["score"] is None
    assert "| task=text_to_sql | 0 | tfidf | – |" in layouts.to_markdown(comparison)


def test_baseline_and_what_a_run_may_be(runs: Runs) -> None:
    """A folder, a name under out, a hash; the baseline may be one of the others or not."""
    for run in (runs.bm25, str(runs.bm25), runs.bm25.name, runs.bm25.name[-12:]):
        comparison = compare([runs.tfidf, run], ["mrr"], out=runs.root)
        assert list(comparison.runs) == ["tfidf", "bm25"]
    comparison = compare([runs.tfidf], ["mrr"], runs.bm25)
    assert (comparison.baseline, list(comparison.runs)) == ("bm25", ["tfidf", "bm25"])


@pytest.mark.parametrize(
    ("run", "other", "more", "error", "message"),
    [
        ("bm25", "answers", {}, DataError, "different tasks: .* retrieval and question_answering"),
        ("bm25", "mixed", {}, DataError, "different tables: distractors none and .*more"),
        (
            "bm25",
            "first",
            {},
            DataError,
            "different queries: queries 280 and 20, limit none and 20",
        ),
        ("bm25", "bm25", {}, ConfigError, "two runs at least"),
        ("bm25", "tfidf", {"metrics": ["recall@7"]}, ConfigError, r"Did you mean .* recall@10"),
        (
            *("answers", "other", {"metrics": ["recall@1"]}),
            *(ConfigError, "rankings were scored in retrieval-for-question-answering-mini-test-bm"),
        ),
        ("bm25", "tfidf", {"slices": ["colour=red"]}, ConfigError, "they have: gold_tables"),
    ],
)
def test_what_cannot_be_compared(
    runs: Runs, run: str, other: str, more: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        compare([getattr(runs, run), getattr(runs, other)], **more)


def test_runs_that_are_scored_over_other_queries_are_not_paired(runs: Runs) -> None:
    first, second = read_run(runs.bm25), read_run(runs.tfidf)
    check_comparable([first, second])
    second.__dict__["per_query"] = replace(first.per_query, ids=first.per_query.ids[1:])
    with pytest.raises(DataError, match="are scored over different queries, 280 and 279"):
        check_comparable([first, second])


def test_metrics_that_the_runs_do_not_share(own_runs: Runs) -> None:
    """Named they are refused; of the main ones they are left out, and that is said."""
    both, scores = [own_runs.bm25, own_runs.tfidf], own_runs.tfidf / "scores.json"
    rewrite(scores, lambda s: json.loads(json.dumps(s).replace("|depth:10|", "|depth:50|")))
    with pytest.raises(ConfigError, match=r"mrr is not computed in one way: .*depth:10.*depth:50"):
        compare(both, ["mrr"])
    comparison = compare(both)
    assert {row.metric for row in comparison.rows} == {"recall@1", "recall@10"}
    assert "mrr is not computed in one way" in comparison.notes[0]

    def without_mrr(stored: Record) -> None:
        del stored["scores"]["mrr"]

    rewrite(scores, without_mrr)
    notes = compare(both).notes
    assert notes[0] == f"mrr is left out: {own_runs.tfidf.name} does not have it"
    scores.unlink()
    with pytest.raises(StoreError, match=r"not finished \(no scores.json\)"):
        compare(both)


def test_five_queries_are_too_few(tmp_path: Path) -> None:
    """Where all five differ in one direction, p is 0.0625."""
    mini = TARGET(("retrieval", "mini"), out=tmp_path)
    folders = [only(mini.run(name, limit=5)).folder for name in ("oracle", "random")]
    comparison = compare(folders, ["recall@1"])
    difference = _difference(comparison, "recall@1")
    assert (difference.p, difference.detectable) == (0.0625, None)
    assert "recall@1: 5 queries are too few to show any difference at p < .05" in str(comparison)


class Half:
    """Fails on every second query."""

    def embed_corpus(self, corpus: Corpus) -> None:
        self.ids, self.n_asked = list(corpus.ids), 0

    def retrieve(self, query: str, top_k: int) -> Sequence[TableId]:
        self.n_asked += 1
        if self.n_asked % 2:
            raise ValueError("no")
        return self.ids[:top_k]


def test_failures_are_told(tmp_path: Path) -> None:
    observer = Recorder()
    results = evaluate([Half(), "bm25"], "mini", limit=20, out=tmp_path, observer=observer)
    assert "Half failed on 10 of 20 queries, scored 0." in str(compare(results))
