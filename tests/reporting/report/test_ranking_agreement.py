"""Reports without gold tables: how far rankings agree, and where they differ most."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from target_bench.core.errors import StoreError
from target_bench.core.schema import Query, TableId
from target_bench.harness.target import TARGET
from target_bench.reporting.compare import compare
from target_bench.reporting.report import write_report
from target_bench.reporting.report.queries import Agreement, agreement
from target_bench.reporting.report.report_runs import shown_tables
from tests.browser import OpenPage
from tests.builders import Recorder, only
from tests.reporting.report.driving import ready
from tests.reporting.report.written import blocks


def _tables(names: str) -> tuple[TableId, ...]:
    return tuple(TableId("0", name) for name in names)


def _agreement(depth: int, cutoffs: list[int], *queries: list[str]) -> Agreement:
    """Of runs that have these rankings, a letter a table."""
    runs = [
        SimpleNamespace(
            label=f"run {i}",
            is_ranked=True,
            cutoffs=cutoffs,
            depth=depth,
            tables={str(n): shown_tables((), _tables(names[i])) for n, names in enumerate(queries)},
        )
        for i in range(len(queries[0]))
    ]
    return agreement(runs, [Query(str(n), "?", ()) for n in range(len(queries))], depth)  # type: ignore[arg-type]


def test_agreement_of_three_runs() -> None:
    found = _agreement(2, [1, 2], ["abc", "abd", "ba"], ["a", "c", "b"])
    assert [pair[:2] for pair in found.pairs] == [
        ("run 0", "run 1"),
        ("run 0", "run 2"),
        ("run 1", "run 2"),
    ]
    assert found.cutoffs == [2]
    assert found.pairs[0][2] == pytest.approx([0.5, 0.5])
    assert found.same_first == [False, False]
    assert found.common == [1, 0]
    many = _agreement(1, [1], ["a"] * 7)
    assert [pair[:2] for pair in many.pairs] == [("run 0", f"run {i}") for i in range(1, 7)]
    alone = _agreement(2, [1], ["a"])
    assert (alone.pairs, alone.common) == ([], [])


def test_short_rankings() -> None:
    """Equal rankings of one table agree wholly; two empty ones say nothing."""
    assert np.isnan(_agreement(5, [1, 5], ["", ""]).pairs[0][2]).all()
    found = _agreement(5, [1, 5], ["", ""], ["a", "a"], ["a", ""])
    assert found.pairs[0][2] == pytest.approx([0.5, 0.5])


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
                record = {
                    "query_id": f"q{i}",
                    "query": text,
                    "table_id": [gold] if gold and i == 3 else [],
                }
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
    ]
    assert page.locator("#agreement tbody td").count() == 2
    for hidden in ("#field-outcome", "#field-measure", "#duel"):
        assert page.locator(hidden).is_hidden()
    index = blocks(path)["index"]
    order = sorted(range(3), key=lambda i: index["common"][i])
    ids = page.locator("#list .id").all_inner_texts()
    assert ids == [index["ids"][i] for i in order]
    assert page.locator("#list .badge").first.inner_text().endswith("% in common")
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
