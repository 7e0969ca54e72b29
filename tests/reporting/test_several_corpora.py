"""Methods × corpora: which runs are of one method, the best, and tests over all corpora."""

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.metrics import stats
from target_bench.reporting import layouts
from target_bench.reporting.compare import compare
from target_bench.reporting.rows import Comparison, Row
from tests.builders import only
from tests.runs.stored import Runs
from tests.target import TARGET

SPLITS = ("test", "validation")
METHODS = ("ours=bm25", "tfidf", "random:seed=1")
VALIDATION = "mini validation, limit 40"


@cache
def _folders() -> dict[tuple[str, str], Path]:
    """Three methods on two splits."""
    target = TARGET(("retrieval", "mini"), out=mkdtemp(prefix="target-bench-test-"))
    return {
        (split, method): only(target.run(method, split, limit=40, top_k=[1, 10])).folder
        for split in SPLITS
        for method in METHODS
    }


def _compare(*metrics: str) -> Comparison:
    return compare(list(_folders().values()), metrics)


def _row(comparison: Comparison, metric: str, corpus: str, system: str) -> Row:
    key = (metric, corpus, system)
    return next(row for row in comparison.rows if (row.metric, row.corpus, row.system) == key)


def test_rows_are_those_of_a_comparison_on_each_corpus() -> None:
    """But for the correction, which is for the tests on all of them."""
    table = _compare("recall@1", "mrr")
    assert table.systems == ("ours", "tfidf", "random:seed=1")
    assert table.corpora == ("mini test, limit 40", VALIDATION)
    assert (table.baseline, table.n_tests, len(table.rows)) == ("ours", 8, 12)
    p = []
    for split, corpus in zip(SPLITS, table.corpora, strict=True):
        alone = [_folders()[split, method] for method in METHODS]
        for row in compare(alone, ["recall@1", "mrr"]).rows:
            own = _row(table, row.metric, corpus, row.system)
            assert own.score == row.score
            if row.difference is not None and own.difference is not None:
                assert own.difference.value == row.difference.value
                p.append((row.metric, row.difference.p))
    p.sort(key=lambda test: test[0] != "recall@1")  # rows are by metric, then corpus
    corrected = [row.difference.p_corrected for row in table.rows if row.difference]
    assert corrected == stats.holm([value for _, value in p])
    json.dumps(table.to_json(), allow_nan=False)


def test_runs_of_other_cutoffs_are_tested_by_what_they_share(tmp_path: Path) -> None:
    target = TARGET(("retrieval", "mini"), out=tmp_path)
    folders = [
        only(target.run(method, split, limit=10, top_k=top_k)).folder
        for split, top_k in (("test", [1, 10]), ("validation", [1, 5]))
        for method in ("bm25", "tfidf")
    ]
    table = compare(folders)
    assert set(table.tested) <= set(table.specs)
    assert table.n_tests == 2


def test_forms() -> None:
    table = _compare("recall@1", "mrr")
    text, page, tex = layouts.to_text(table), layouts.to_markdown(table), layouts.to_latex(table)
    for form in (text, page, tex):
        assert "recall@1: smallest difference that 40 queries can detect: ." in form
        for row in table.rows:
            assert f"[{row.spec.interval(row.score.low, row.score.high, ', ')}]" in form
    assert text.count(">") == 2 * 2 + 1
    header, rule, *rows = [line for line in page.splitlines() if line.startswith("|")]
    assert {line.count(" | ") for line in (header, rule, *rows)} == {2}
    assert rows[0].startswith("| ours | **")
    assert "\\*" in rows[2]
    body = [line for line in tex.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") for line in body} == {2}
    assert tex.count(r"\textbf{") == 4
    assert r"\rlap{$^{*" in tex
    shown = layouts.to_text(_compare(), 80)
    assert max(map(len, shown.splitlines())) <= 80
    assert "recall@1 · retrieval · descriptive, not tested" in shown


def test_a_method_that_was_not_run_everywhere_and_a_corpus_of_one_run() -> None:
    runs = [folder for key, folder in _folders().items() if key != ("validation", "tfidf")]
    table = compare(runs, ["mrr"])
    assert f"tfidf was not run on {VALIDATION}" in table.notes
    assert "| – |" in layouts.to_markdown(table)
    assert "& --" in layouts.to_latex(table)
    alone = [folder for (split, m), folder in _folders().items() if split == "test" or "ours" in m]
    table = compare(alone, ["mrr"])
    row = _row(table, "mrr", VALIDATION, "ours")
    assert row.difference is None
    assert not layouts.is_best(row, table.rows)


def test_what_cannot_be_compared(runs: Runs, tmp_path: Path) -> None:
    folders = _folders()
    few = [*(folders["test", method] for method in METHODS), folders["validation", "tfidf"]]
    with pytest.raises(ConfigError, match="no run of ours, the baseline, is on mini validation"):
        compare(few)
    assert compare(few, ["mrr"], folders["test", "tfidf"]).baseline == "tfidf"
    every = list(folders.values())
    with pytest.raises(DataError, match="of different tasks"):
        compare([*every, runs.answers])
    with pytest.raises(ConfigError, match="unknown metric 'f1'"):
        compare(every, ["f1"])
    again = TARGET(("retrieval", "mini"), out=tmp_path).run("tfidf", limit=40, top_k=[1, 5, 10])
    with pytest.raises(ConfigError, match="are both runs of tfidf on mini test"):
        compare([*every, only(again).folder])
    with pytest.raises(DataError, match="are of different "):
        compare([folders[split, "tfidf"] for split in SPLITS])


def test_what_is_not_tested_has_no_corrected_p() -> None:
    table = _compare()
    (lead,) = table.tested
    corrected = {
        (row.metric == lead, row.difference.p_corrected is not None)
        for row in table.rows
        if row.difference is not None
    }
    assert corrected == {(True, True), (False, False)}
