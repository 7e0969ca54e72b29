"""Methods × corpora: which runs are of one method, the best, and tests over all corpora."""

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from target_bench import TARGET
from target_bench.core.errors import ConfigError, DataError
from target_bench.metrics import stats
from target_bench.metrics.scores import spec_of
from target_bench.reporting import paper_table
from target_bench.reporting.compare import compare
from target_bench.reporting.paper_table import PaperTable, compare_corpora, several_corpora
from tests.builders import only
from tests.runs.stored import copied

SPLITS = ("test", "validation")
METHODS = ("ours=bm25", "tfidf", "random:seed=1")


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
    assert table.corpora == ("mini test, limit 40", "mini validation, limit 40")
    assert (table.baseline, table.n_tests, len(table.cells)) == ("ours", 8, 12)
    p_values = []
    for split, corpus in zip(SPLITS, table.corpora, strict=True):
        own = [_folders()[split, method] for method in METHODS]
        for row in compare(own, ["recall@1", "mrr"], resamples=500).rows:
            cell = table.cells[row.metric, corpus, row.run]
            assert (cell.score, cell.low, cell.high) == (row.score, row.low, row.high)
            if row.difference is not None and cell.difference is not None:
                assert cell.difference.value == row.difference.value
                p_values.append((row.difference.p, cell.difference.p_corrected))
    assert [found for _, found in p_values] == stats.holm([p for p, _ in p_values])
    json.dumps(table.to_json(), allow_nan=False)


def test_the_best_of_each_column() -> None:
    table = _table("mrr")
    for corpus in table.corpora:
        scores = [table.cells["mrr", corpus, method].score for method in table.methods]
        best = [table.is_best("mrr", corpus, method) for method in table.methods]
        assert best == [score == max(scores) for score in scores]
        assert np.argmax(scores) == 0


def test_runs_of_other_cutoffs_are_tested_by_what_they_share() -> None:
    target = TARGET(("retrieval", "mini"), out=mkdtemp(prefix="target-bench-test-"))
    folders = [
        only(target.run(method, split, limit=10, top_k=top_k)).folder
        for split, top_k in (("test", [1, 10]), ("validation", [1, 5]))
        for method in ("bm25", "tfidf")
    ]
    table = compare_corpora(folders, resamples=100)
    assert set(table.family) <= set(table.metrics)
    assert table.n_tests == 2


def test_text_fits_the_terminal_and_has_every_interval() -> None:
    shown = paper_table.text(_table(), 80)
    assert max(map(len, shown.splitlines())) <= 80
    assert "recall@1 · retrieval · descriptive, not tested" in shown
    assert shown.count(">") == 3 * 2 + 1
    table = _table("mrr")
    for row in table.cells.values():
        assert spec_of("mrr").interval(row.low, row.high) in paper_table.text(table, 80)


def test_the_differences_that_the_queries_are_likely_to_show() -> None:
    table = _table("recall@10")
    for shown in (paper_table.text(table), paper_table.markdown(table), paper_table.latex(table)):
        assert "recall@10: 40 queries are likely to show differences from ." in " ".join(
            shown.split()
        )


def test_markdown_and_latex() -> None:
    table = _table("recall@1", "mrr")
    page = paper_table.markdown(table)
    header, rule, *rows = [line for line in page.splitlines() if line.startswith("|")]
    assert header.count("mini test, limit 40") == 2
    assert {line.count(" | ") for line in (header, rule, *rows)} == {4}
    assert rows[0].startswith("| ours | **")
    assert "\\*" in rows[2]
    tex = paper_table.latex(table)
    assert r"\multicolumn{2}{c}{mini test, limit 40}" in tex
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in tex
    body = [line for line in tex.splitlines() if line.endswith(r"\\") and "multi" not in line]
    assert {line.count("&") for line in body} == {4}
    assert tex.count(r"\textbf{") == 4
    assert r"\rlap{$^{*" in tex


def test_a_method_that_was_not_run_everywhere_and_a_corpus_of_one_run() -> None:
    runs = [folder for key, folder in _folders().items() if key != ("validation", "tfidf")]
    table = compare_corpora(runs, ["mrr"], resamples=50)
    assert table.notes == ("tfidf was not run on mini validation, limit 40.",)
    assert " – " in paper_table.markdown(table)
    alone = [folder for (split, m), folder in _folders().items() if split == "test" or "ours" in m]
    table = compare_corpora(alone, ["mrr"], resamples=50)
    assert table.cells["mrr", "mini validation, limit 40", "ours"].difference is None
    assert not table.is_best("mrr", "mini validation, limit 40", "ours")


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    found = _folders()
    runs = [*(found["test", method] for method in METHODS), found["validation", "tfidf"]]
    with pytest.raises(ConfigError, match=r"no run of ours, the baseline, is on mini validation"):
        compare_corpora(runs)
    ok = compare_corpora(runs, ["mrr"], found["test", "tfidf"], resamples=50)
    assert ok.baseline == "tfidf"
    stored = copied(tmp_path)
    with pytest.raises(DataError, match="of different tasks"):
        compare_corpora([*found.values(), stored.answers])
    with pytest.raises(ConfigError, match="no metric 'f1'"):
        compare_corpora(list(found.values()), ["f1"])
    again = only(
        TARGET(("retrieval", "mini"), out=tmp_path).run("tfidf", limit=40, top_k=[1, 5, 10])
    )
    with pytest.raises(ConfigError, match=r"are both runs of tfidf on mini test"):
        compare_corpora([*found.values(), again.folder])


def test_runs_of_one_corpus_are_no_paper_table() -> None:
    found = _folders()
    assert several_corpora(list(found.values()))
    assert not several_corpora([found["test", method] for method in METHODS])
    assert not several_corpora([found[split, "tfidf"] for split in SPLITS])
