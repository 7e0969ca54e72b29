"""Methods × corpora: which runs are of one method, the best, and tests over all corpora."""

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.metrics import stats
from target_bench.reporting import paper_table
from target_bench.reporting.compare import compare
from target_bench.reporting.paper_table import PaperTable, compare_corpora, several_corpora
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


def _table(*metrics: str) -> PaperTable:
    return compare_corpora(list(_folders().values()), metrics, resamples=500)


def test_cells_are_those_of_a_comparison_on_each_corpus() -> None:
    table = _table("recall@1", "mrr")
    assert table.methods == ("ours", "tfidf", "random:seed=1")
    assert table.corpora == ("mini test, limit 40", VALIDATION)
    assert (table.baseline, table.n_tests, len(table.cells)) == ("ours", 8, 12)
    p, corrected = [], []
    for split, corpus in zip(SPLITS, table.corpora, strict=True):
        own = [_folders()[split, method] for method in METHODS]
        for row in compare(own, ["recall@1", "mrr"], resamples=500).rows:
            cell = table.cells[row.metric, corpus, row.run]
            assert (cell.score, cell.low, cell.high) == (row.score, row.low, row.high)
            if row.difference is not None and cell.difference is not None:
                assert cell.difference.value == row.difference.value
                p.append(row.difference.p)
                corrected.append(cell.difference.p_corrected)
        scores = [table.cells["mrr", corpus, method].score for method in table.methods]
        best = [table.is_best("mrr", corpus, method) for method in table.methods]
        assert best == [score == max(scores) for score in scores]
        assert np.argmax(scores) == 0
    assert corrected == stats.holm(p)
    json.dumps(table.to_json(), allow_nan=False)


def test_runs_of_other_cutoffs_are_tested_by_what_they_share(tmp_path: Path) -> None:
    target = TARGET(("retrieval", "mini"), out=tmp_path)
    folders = [
        only(target.run(method, split, limit=10, top_k=top_k)).folder
        for split, top_k in (("test", [1, 10]), ("validation", [1, 5]))
        for method in ("bm25", "tfidf")
    ]
    table = compare_corpora(folders, resamples=100)
    assert set(table.family) <= set(table.metrics)
    assert table.n_tests == 2


def test_forms() -> None:
    table = _table("recall@1", "mrr")
    forms = text, page, tex = (
        paper_table.text(table),
        paper_table.markdown(table),
        paper_table.latex(table),
    )
    for form in forms:
        assert "recall@1: 40 queries are likely to show differences from ." in " ".join(
            form.split()
        )
        for row in table.cells.values():
            interval = table.specs[row.metric].interval(row.low, row.high)
            assert interval.replace("–", "--" if form is tex else "–") in form
    assert text.count(">") == 2 * 2 + 1
    header, rule, *rows = [line for line in page.splitlines() if line.startswith("|")]
    assert {line.count(" | ") for line in (header, rule, *rows)} == {2}
    assert rows[0].startswith("| ours | **")
    assert "\\*" in rows[2]
    body = [line for line in tex.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") for line in body} == {2}
    assert tex.count(r"\textbf{") == 4
    assert r"\rlap{$^{*" in tex
    shown = paper_table.text(_table(), 80)
    assert max(map(len, shown.splitlines())) <= 80
    assert "recall@1 · retrieval · descriptive, not tested" in shown


def test_a_method_that_was_not_run_everywhere_and_a_corpus_of_one_run() -> None:
    runs = [folder for key, folder in _folders().items() if key != ("validation", "tfidf")]
    table = compare_corpora(runs, ["mrr"], resamples=50)
    assert f"tfidf was not run on {VALIDATION}." in table.notes
    assert " – " in paper_table.markdown(table)
    assert "& --" in paper_table.latex(table)
    alone = [folder for (split, m), folder in _folders().items() if split == "test" or "ours" in m]
    table = compare_corpora(alone, ["mrr"], resamples=50)
    assert table.cells["mrr", VALIDATION, "ours"].difference is None
    assert not table.is_best("mrr", VALIDATION, "ours")


def test_what_cannot_be_compared(runs: Runs, tmp_path: Path) -> None:
    folders = _folders()
    few = [*(folders["test", method] for method in METHODS), folders["validation", "tfidf"]]
    with pytest.raises(ConfigError, match="no run of ours, the baseline, is on mini validation"):
        compare_corpora(few)
    assert compare_corpora(few, ["mrr"], folders["test", "tfidf"], resamples=50).baseline == "tfidf"
    every = list(folders.values())
    with pytest.raises(DataError, match="of different tasks"):
        compare_corpora([*every, runs.answers])
    with pytest.raises(ConfigError, match="no metric 'f1'"):
        compare_corpora(every, ["f1"])
    again = TARGET(("retrieval", "mini"), out=tmp_path).run("tfidf", limit=40, top_k=[1, 5, 10])
    with pytest.raises(ConfigError, match="are both runs of tfidf on mini test"):
        compare_corpora([*every, only(again).folder])
    assert several_corpora(every)
    assert not several_corpora([folders["test", method] for method in METHODS])
    assert not several_corpora([folders[split, "tfidf"] for split in SPLITS])


def test_what_is_not_tested_has_no_corrected_p() -> None:
    table = _table()
    (lead,) = table.family
    corrected = {
        (metric == lead, row.difference.p_corrected is not None)
        for (metric, _, _), row in table.cells.items()
        if row.difference is not None
    }
    assert corrected == {(True, True), (False, False)}
