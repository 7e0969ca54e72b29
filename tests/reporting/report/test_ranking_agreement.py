"""Reports without gold tables: how far rankings agree, and where they differ most."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import StoreError
from target_bench.core.schema import TableId
from target_bench.harness.target import TARGET
from target_bench.reporting.compare import compare
from target_bench.reporting.report import write_report
from target_bench.reporting.report.ranking_agreement import RankingAgreement, extrapolated_overlap
from tests.browser import OpenPage
from tests.builders import Recorder, only
from tests.reporting.report.driving import ready
from tests.reporting.report.written import blocks


def _tables(names: str) -> list[TableId]:
    return [TableId("0", name) for name in names]


rankings = st.permutations("abcdefg").flatmap(
    lambda order: st.integers(0, 7).map(lambda n: _tables("".join(order[:n])))
)


@given(rankings, rankings)
def test_overlap_by_its_definition(one: list[TableId], other: list[TableId]) -> None:
    """Equation 23 of Webber et al. 2010, written as it stands there."""
    p, k = 0.9, max(len(one), len(other))
    if not k:
        assert extrapolated_overlap(one, other) == 1
        return
    common = [len(set(one[:d]) & set(other[:d])) for d in range(1, k + 1)]
    wanted = common[-1] / k * p**k
    wanted += (1 - p) / p * sum(x / d * p**d for d, x in enumerate(common, start=1))
    assert extrapolated_overlap(one, other) == pytest.approx(wanted)
    assert extrapolated_overlap(other, one) == pytest.approx(wanted)
    assert 0 <= wanted <= 1 + 1e-12
    assert extrapolated_overlap(one, one) == pytest.approx(1)


def test_agreement_of_three_runs() -> None:
    found = RankingAgreement(["x", "y", "z"], [1, 2], depth=2)
    found.add([_tables("abc"), _tables("abd"), _tables("ba")])
    found.add([_tables("a"), _tables("c"), _tables("b")])
    assert [pair.labels for pair in found.pairs] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert found.cutoffs == [2]
    assert found.pairs[0].means == pytest.approx([0.5, 0.5, 0.5])
    assert found.same_first == [False, False]
    assert found.overlaps[1] == 0
    many = RankingAgreement("abcdefg", [1], depth=1)
    many.add([_tables("a")] * 7)
    assert [pair.labels for pair in many.pairs] == [("a", other) for other in "bcdefg"]
    alone = RankingAgreement(["x"], [1], depth=2)
    alone.add([_tables("a")])
    assert (alone.pairs, alone.overlaps) == ([], [])


def test_short_rankings() -> None:
    """Equal rankings of one table agree wholly; two empty ones say nothing."""
    found = RankingAgreement(["x", "y"], [1, 5], depth=5)
    (pair,) = found.pairs
    found.add([[], []])
    assert np.isnan(pair.means).all()
    found.add([_tables("a"), _tables("a")])
    assert pair.means == pytest.approx([1, 1, 1])
    found.add([_tables("a"), []])
    assert pair.means == pytest.approx([0.5, 0.5, 0.5])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tables, three questions, the last with a gold table in ``labelled``."""
    folder = tmp_path_factory.mktemp("unlabelled")
    for name, gold in (("own", None), ("labelled", "t3")):
        (folder / name).mkdir()
        for i, words in enumerate(("red apple", "green pear", "red and green plum"), start=1):
            (folder / name / f"t{i}.csv").write_text(f"fruit,n\n{words},{i}\n")
        questions = ("which apple is red", "the green fruit", "plum")
        with (folder / name / "queries.jsonl").open("w") as file:
            for i, text in enumerate(questions, start=1):
                record = {"query_id": f"q{i}", "query": text, "table_id": gold if i == 3 else None}
                file.write(json.dumps(record) + "\n")
    return folder


def _report(folder: Path, name: str) -> Path:
    target = TARGET(("retrieval", folder / name), out=folder / "runs", observer=Recorder())
    runs = [only(target.run(one, top_k=[1, 2])).folder for one in ("bm25", "random:seed=3")]
    return write_report(runs, folder / f"{name}.html")


def test_a_comparison_says_where_to_look_instead(folder: Path) -> None:
    target = TARGET(("retrieval", folder / "own"), out=folder / "runs", observer=Recorder())
    runs = [only(target.run(name, top_k=1)).folder for name in ("bm25", "random")]
    with pytest.raises(StoreError, match="no scores; target-bench report shows runs side by side"):
        compare(runs)


def test_a_report_without_gold_tables(folder: Path, open_page: OpenPage) -> None:
    path = _report(folder, "own")
    page = ready(open_page(path))
    assert "No query has a gold table" in page.locator("#unlabelled").inner_text()
    assert page.locator("#scores, #charts, #all-metrics").count() == 0
    heads = page.locator("#agreement thead th").all_inner_texts()
    assert [head.split(" ↕")[0].strip() for head in heads] == [
        "runs",
        "same first",
        "common at 2",
        "RBO",
    ]
    assert page.locator("#agreement tbody td").count() == 3
    for hidden in ("#field-outcome", "#field-measure", "#duel"):
        assert page.locator(hidden).is_hidden()
    index = blocks(path)["index"]
    order = sorted(range(3), key=lambda i: index["overlaps"][i])
    ids = page.locator("#list .id").all_inner_texts()
    assert ids == [index["ids"][i] for i in order]
    assert page.locator("#list .badge").first.inner_text().startswith("RBO ")
    assert "gold" not in page.locator("#list").inner_text()
    page.select_option("#show", "firsts")
    differing = index["same_first"].count(False)
    assert 0 < differing < 3
    page.wait_for_function("n => document.querySelectorAll('#list li').length === n", arg=differing)
    page.locator("#list button").first.click()
    page.locator("#detail [data-run]").first.wait_for()
    assert page.locator("#detail [aria-label=Reference]").count() == 0
    assert page.locator("#detail .badge", has_text="only here").count() > 0


def test_queries_without_gold_tables_among_others(folder: Path, open_page: OpenPage) -> None:
    path = _report(folder, "labelled")
    page = ready(open_page(path))
    assert page.locator("#scores").count() == 1
    assert page.locator("#agreement").count() == 1
    found = blocks(path)
    outcomes = found["overview"]["outcomes"]
    assert [outcomes[i] for i in found["index"]["runs"][0]["outcome"][:2]] == ["unlabelled"] * 2
    assert page.locator("#list .id").all_inner_texts()[0] == "q3"  # the others come last
    wins = page.locator("#duel b").all_inner_texts()
    assert sum(map(int, wins)) == 1
    assert page.locator("#list .badge", has_text="no gold table").count() == 4
    page.select_option("#show", "missed")
    page.wait_for_function("() => document.getElementById('found').textContent !== '3 queries'")
    assert "q1" not in page.locator("#list").inner_text()
