"""Stored runs side by side."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import target_bench
from target_bench import TARGET
from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.metrics import stats
from target_bench.reporting import comparison as tables
from target_bench.reporting.compare import compare
from target_bench.reporting.comparison import Comparison, Row
from target_bench.runs.result import read_run
from tests.builders import Record, only, rewrite
from tests.runs.stored import Runs, copied


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return copied(tmp_path)


def _values(folder: Path, metric: str) -> np.ndarray:
    table = parquet.read_table(folder / "per_query.parquet").sort_by("query_id")
    values: np.ndarray = table[metric].to_numpy()
    return values


def _row(found: Comparison, metric: str) -> Row:
    (row,) = [r for r in found.rows if r.metric == metric and r.run != found.baseline]
    return row


def test_mean_as_from_per_query_values(runs: Runs) -> None:
    found = target_bench.compare([runs.bm25, runs.tfidf], ["recall@1", "mrr"], resamples=500)
    assert found.baseline == "bm25"
    assert [(row.metric, row.run) for row in found.rows] == [
        ("recall@1", "bm25"),
        ("recall@1", "tfidf"),
        ("mrr", "bm25"),
        ("mrr", "tfidf"),
    ]
    mine, theirs = _values(runs.tfidf, "recall@1"), _values(runs.bm25, "recall@1")
    row = _row(found, "recall@1")
    stored = json.loads((runs.tfidf / "scores.json").read_bytes())["scores"]["recall@1"]
    assert (row.score, row.low, row.high) == (stored["value"], stored["low"], stored["high"])
    assert row.difference is not None
    assert row.difference.value == pytest.approx(mine.mean() - theirs.mean())
    assert row.difference.p == stats.compare(mine, theirs, resamples=500).p
    assert row.difference.p_corrected == pytest.approx(2 * row.difference.p)
    assert row.difference.effect == pytest.approx(stats.effect_size(mine, theirs, 500).value)
    counts = row.difference.wins, row.difference.ties, row.difference.losses
    assert counts == ((mine > theirs).sum(), (mine == theirs).sum(), (mine < theirs).sum())
    assert found.n_tests == 2


@pytest.mark.parametrize(
    ("one", "other", "metric"),
    [
        ("answers", "other", "sacrebleu"),
        ("answers", "other", "chrf"),
        ("labels", "other_labels", "f1_macro"),
        ("labels", "other_labels", "accuracy[answered]"),
        ("bm25", "tfidf", "recall_micro@1"),
        ("bm25", "tfidf", "capped_recall[target]@10"),
    ],
)
def test_metrics_that_are_more_than_a_mean(runs: Runs, one: str, other: str, metric: str) -> None:
    """The statistics of each query are stored, so the difference is that of the scores."""
    folders = [getattr(runs, one), getattr(runs, other)]
    scores = [read_run(folder).scores[metric].value for folder in folders]
    found = compare(folders, [metric], resamples=50)
    row = _row(found, metric)
    assert row.difference is not None
    assert row.difference.value == pytest.approx(scores[1] - scores[0])
    assert row.difference.low <= row.difference.value <= row.difference.high
    assert (row.difference.effect is None) == (metric != "accuracy[answered]")


def test_default_family_is_the_headline_metric(runs: Runs) -> None:
    """Of all pairs of runs; the others that are printed have no corrected p and no marker."""
    found = compare([runs.bm25, runs.tfidf], resamples=2000)
    assert (found.family, found.n_tests) == (("recall@10",), 1)
    assert {row.metric for row in found.rows} == {"recall@1", "recall@10", "mrr"}
    for metric in ("recall@1", "mrr"):
        difference = _row(found, metric).difference
        assert difference is not None
        assert (difference.p_corrected, difference.marker) == (None, "")
        assert difference.p < 0.05
        assert difference.high < 0
    tested = _row(found, "recall@10").difference
    assert tested is not None
    assert tested.p_corrected == tested.p
    assert len(tested.marker) > 0
    text, markdown, latex = (
        str(found),
        tables.markdown(found),
        tables.latex(found),
    )
    for form in (markdown, latex):
        assert form.count("not tested · retrieval, mini test") == 1
        assert "recall@10 is tested. Name metrics" in form
    assert "| run | R@1 [95%] | mrr [95%] |" in markdown
    assert r"run & R@1 [95\%] & mrr [95\%] \\" in latex
    tested_table, others = text.split("not tested · retrieval, mini test")
    assert "R@1" not in tested_table
    assert others.split()[:5] == ["run", "R@1", "[95%]", "mrr", "[95%]"]
    assert " tfidf  .721 [.670, .768]  " in others
    assert json.loads(json.dumps(found.to_json()))["family"] == ["recall@10"]
    assert found.to_arrow()["p_corrected"].null_count == 5


def test_several_runs_and_slices_are_one_family(runs: Runs) -> None:
    found = compare([runs.bm25, runs.tfidf], ["recall@1", "mrr"], slices=["task"], resamples=50)
    assert found.family == ("recall@1", "mrr")
    assert found.n_tests == 6


def test_parts_of_the_queries(runs: Runs) -> None:
    found = compare(
        [runs.bm25, runs.tfidf], ["recall@1"], slices=["task", "gold_tables>=1"], resamples=20
    )
    own = [row for row in found.rows if row.run == "bm25"]
    assert [row.slice.split(",")[0] for row in own] == [
        "task=fact_verification",
        "task=question_answering",
        "task=text_to_sql",
    ]
    assert sum(row.n for row in own) == 280
    whole = sum(row.score * row.n for row in own) / 280
    assert whole == pytest.approx(read_run(runs.bm25).scores["recall@1"].value)
    with pytest.raises(ConfigError, match="unknown slice 'colour'; the queries have: gold_tables"):
        compare([runs.bm25, runs.tfidf], slices=["colour=red"])


def test_baseline_and_what_a_run_may_be(runs: Runs) -> None:
    """A folder, a name under out, a hash; the baseline may be one of the others or not."""
    key = runs.bm25.name[-12:]
    ways: list[str | Path] = [runs.bm25, str(runs.bm25), runs.bm25.name, key]
    for way in ways:
        found = compare([runs.tfidf, way], ["mrr"], resamples=10, out=runs.root)
        assert list(found.runs) == ["tfidf", "bm25"]
    found = compare([runs.tfidf], ["mrr"], runs.bm25, resamples=10)
    assert (found.baseline, list(found.runs)) == ("bm25", ["tfidf", "bm25"])


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ("bm25", "answers", "different tasks: task retrieval and question_answering"),
        ("bm25", "mixed", "different tables: distractors none and .*more"),
        ("bm25", "first", "different queries: queries 280 and 20, limit none and 20"),
    ],
)
def test_runs_of_different_things_are_refused(
    runs: Runs, one: str, other: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        compare([getattr(runs, one), getattr(runs, other)])


def _unjudged(folder: Path, task: str) -> None:
    """As if nothing about a task could be judged: null in every file."""
    path = folder / "per_query.parquet"
    table = parquet.read_table(path).sort_by("query_id")
    kept = [value != task for value in table["slice.task"].to_pylist()]
    column = table.column_names.index("recall@1")
    values = [
        v if keep else None for v, keep in zip(table["recall@1"].to_pylist(), kept, strict=True)
    ]
    parquet.write_table(table.set_column(column, "recall@1", pa.array(values, pa.float64())), path)
    known = [value for value in values if value is not None]

    def change(stored: Record) -> None:
        stored["scores"]["recall@1"] |= {"value": float(np.mean(known)), "n": len(known)}

    rewrite(folder / "scores.json", change)
    rewrite(folder / "manifest.json", lambda manifest: manifest.update(tables={}))


def test_parts_without_a_judged_query(runs: Runs) -> None:
    """They have no score, and are no test that others are corrected for."""
    for folder in (runs.bm25, runs.tfidf):
        _unjudged(folder, "text_to_sql")
    found = compare([runs.bm25, runs.tfidf], ["recall@1"], slices=["task"], resamples=50)
    *judged, one, other = found.rows
    assert [row.difference is not None for row in judged] == [False, True] * 2
    assert (one.n, other.n, one.difference, other.difference) == (0, 0, None, None)
    assert np.isnan([one.score, one.low, other.high]).all()
    assert found.n_tests == 2
    rows = json.loads(json.dumps(found.to_json(), allow_nan=False))["rows"]
    assert (rows[-1]["score"], rows[-1]["low"], rows[-1]["difference"]) == (None, None, None)
    assert found.to_arrow()["score"].to_pylist()[-1] is None
    assert "| task=text_to_sql | 0 | tfidf | – |" in tables.markdown(found)


def test_faults(runs: Runs) -> None:
    with pytest.raises(ConfigError, match="two runs at least"):
        compare([runs.bm25, runs.bm25])
    with pytest.raises(ConfigError, match="neither a run folder nor the name or id of a run"):
        compare([runs.bm25, "no-such-run"], out=runs.root)
    with pytest.raises(
        ConfigError, match=r"no metric 'recall@7'\. Did you mean .* recall@1, recall@10"
    ):
        compare([runs.bm25, runs.tfidf], ["recall@7"])
    with pytest.raises(
        ConfigError,
        match=r"rankings were scored in retrieval-for-question-answering-mini-test-bm25",
    ):
        compare([runs.answers, runs.other], ["recall@1"])
    with pytest.raises(ConfigError, match="resamples=0"):
        compare([runs.bm25, runs.tfidf], resamples=0)
    (runs.tfidf / "scores.json").unlink()
    with pytest.raises(StoreError, match=r"not finished \(no scores.json\)"):
        compare([runs.bm25, runs.tfidf])


def test_metric_computed_in_another_way(runs: Runs) -> None:
    """Named it is refused; among the main ones it is left out, and said."""
    rewrite(
        runs.tfidf / "scores.json",
        lambda stored: json.loads(json.dumps(stored).replace("|depth:10|", "|depth:50|")),
    )
    with pytest.raises(ConfigError, match=r"mrr is not computed in one way: .*depth:10.*depth:50"):
        compare([runs.bm25, runs.tfidf], ["mrr"])
    found = compare([runs.bm25, runs.tfidf], resamples=10)
    assert {row.metric for row in found.rows} == {"recall@1", "recall@10"}
    assert "mrr is not computed in one way" in found.notes[0]


def test_a_metric_that_one_run_lacks(runs: Runs) -> None:
    """The note names the metric and the run, not every metric that the run has."""

    def without_mrr(stored: Record) -> None:
        del stored["scores"]["mrr"]

    rewrite(runs.tfidf / "scores.json", without_mrr)
    found = compare([runs.bm25, runs.tfidf], resamples=10)
    assert found.notes == (f"mrr is left out: {runs.tfidf.name} does not have it",)


def test_intervals_of_score_and_difference_have_columns_of_their_own(runs: Runs) -> None:
    found = compare([runs.bm25, runs.tfidf], ["recall@1", "mrr"], resamples=200)
    for row, record in zip(found.rows, found.to_arrow().to_pylist(), strict=True):
        assert (record["score"], record["low"], record["high"]) == (row.score, row.low, row.high)
        names = ("difference", "difference_low", "difference_high")
        other = row.difference
        expected = (None, None, None) if other is None else (other.value, other.low, other.high)
        assert tuple(record[name] for name in names) == expected


def test_forms(runs: Runs) -> None:
    pytest.importorskip("pandas")
    found = compare([runs.bm25, runs.tfidf], ["recall@1"], resamples=200)
    text = str(found)
    assert ".797" in text
    assert "-.076*" in text
    assert "Holm" in text
    latex = tables.latex(found)
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 1
    assert r"95\% of the score & difference & 95\% of the difference & p & d\_z" in latex
    assert "& $-$.076*" in latex
    assert "| bm25 | .797 |" in tables.markdown(found)
    frame = found.to_pandas()
    assert list(frame["run"]) == ["bm25", "tfidf"]
    assert found.to_arrow()["difference"].to_pylist()[0] is None
    assert json.loads(json.dumps(found.to_json()))["rows"][1]["difference"]["p"] > 0


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("table-summaries", "table-summaries"),
        ("a--b---c", "a-{}-b-{}-{}-c"),
        ("-0.5 to -.25", "$-$0.5 to $-$.25"),
        ("bm25:k1=-1|x_y", r"bm25:k1=-1\textbar{}x\_y"),
        ("0.1–0.2", "0.1--0.2"),
        ("\\x{}", r"\textbackslash{}x\{\}"),
    ],
)
def test_names_and_numbers_in_latex(text: str, written: str) -> None:
    assert tables.escaped_latex(text) == written


def test_five_queries_are_too_few(tmp_path: Path) -> None:
    """All five differ in one direction, and p is 0.0625."""
    mini = TARGET(("retrieval", "mini"), out=tmp_path)
    runs = [only(mini.run(name, limit=5)).folder for name in ("bm25", "random")]
    found = compare(runs, ["recall@10"])
    difference = found.rows[1].difference
    assert difference is not None
    assert (difference.p, difference.detectable) == (0.0625, None)
    assert "recall@10: 5 queries are too few to show any difference at p < .05" in str(found)


def test_lines_below_the_table_fit_the_terminal(runs: Runs) -> None:
    found = compare([runs.bm25, runs.tfidf], ["recall@10"])
    below = tables.text(found, 80).split("\n\n")[-1].splitlines()
    assert " ".join(below) == " ".join(tables.legend(found))
    assert max(map(len, below)) <= 80
