"""Forms of labels in a real browser: filled in by mouse and keys, saved, loaded, read back."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Dataset, Query, Table, TableId
from target_bench.data.tables import MemoryCorpus
from target_bench.reporting.labels.label_form import FormOptions, write_form
from target_bench.reporting.labels.pooling import Pool, pooled
from target_bench.reporting.labels.read_labels import read_labels
from target_bench.reporting.report.shown_tables import TableSize
from target_bench.runs.result import Result
from tests.browser import PHONE, OpenPage, Watched
from tests.reporting.report.written import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Page


def _ready(watched: Watched) -> "Page":
    watched.page.wait_for_selector("#items[data-ready]")
    return watched.page


def _saved(page: "Page", path: Path) -> dict[str, Any]:
    with page.expect_download() as waited:
        page.click("#save")
    waited.value.save_as(path)
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _content(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(
        text.partition('<script type="application/json" id="form">')[2].partition("</script>")[0]
    )
    return found


def _shown(page: "Page") -> list[str]:
    """The ids of the tables that are to be judged."""
    return [
        text.partition(" ·")[0]
        for text in page.locator(".item[data-table] p.small.data").all_inner_texts()
    ]


def test_tables_are_judged_with_keys_and_read_back(
    shop: Dataset, shop_runs: list[Result], tmp_path: Path, open_page: OpenPage
) -> None:
    pools = pooled(shop.queries, shop_runs, 3).pools
    path = write_form(tmp_path / "form.html", pools, shop.corpus)
    page = _ready(open_page(path))
    assert page.locator("#progress").inner_text() == f"0 of {len(pools)} questions done"
    assert page.locator(".steps h2").inner_text() == pools[0].query.text
    assert _shown(page) == [table.table_id for table in pools[0].tables]
    assert "Heat" in page.locator(".item mark").all_inner_texts()
    page.fill("#person", "Ann B.")
    page.locator(".steps h2").focus()
    for place, table in enumerate(pools[0].tables):
        page.keyboard.press("1" if table.table_id == "films" else "23"[place % 2])
    assert page.locator("#progress").inner_text() == f"1 of {len(pools)} questions done"
    page.keyboard.press("n")
    assert page.locator(".steps h2").inner_text() == pools[1].query.text
    page.keyboard.press("r")
    page.keyboard.press("n")
    page.locator(".item[data-table] >> nth=0").get_by_label("cannot say").check()
    saved = tmp_path / "labels.json"
    _saved(page, saved)
    found = read_labels(saved, shop.queries, shop.corpus)
    assert found.annotator == "Ann B."
    first, second, third = (found.by_query[pool.query.id] for pool in pools[:3])
    assert first.tables[TableId("0", "films")] == "relevant"
    assert list(first.tables) == list(pools[0].tables)
    assert None not in first.tables.values()
    assert second.verdict == "rejected"
    assert next(iter(third.tables.values())) == "cannot say"
    assert set(found.by_query) == {pool.query.id for pool in pools[:3]}


def test_a_form_keeps_a_draft_and_loads_a_file(
    shop: Dataset, shop_runs: list[Result], tmp_path: Path, open_page: OpenPage
) -> None:
    pools = pooled(shop.queries, shop_runs, 2).pools
    page = _ready(open_page(write_form(tmp_path / "form.html", pools, shop.corpus)))
    for _ in pools[0].tables:
        page.keyboard.press("2")
    before = _saved(page, tmp_path / "labels.json")
    page.reload()
    _ready(Watched(page))
    assert page.locator(".steps h2").inner_text() == pools[1].query.text  # the first open one
    page.click("#previous")
    assert page.locator(".item input:checked").count() == len(pools[0].tables)
    page.keyboard.press("1")
    page.set_input_files("#load", tmp_path / "labels.json")
    page.locator("#announcer", has_text="loaded").wait_for()
    assert _saved(page, tmp_path / "again.json") == before


def _with_gold(shop: Dataset) -> list[Pool]:
    gold = {"q1": "films", "q2": "prices"}
    return [
        Pool(replace(query, gold=(TableId("0", gold[query.id]),), answer="as it is"), ())
        for query in shop.queries[:2]
    ]


def test_questions_are_reviewed(shop: Dataset, tmp_path: Path, open_page: OpenPage) -> None:
    path = write_form(tmp_path / "f.html", _with_gold(shop), shop.corpus, FormOptions(review=True))
    page = _ready(open_page(path, viewport=PHONE))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator(".item.gold .badge").inner_text() == "gold table"
    assert "as it is" in page.locator(".question").inner_text()
    page.fill("textarea", "who made the film Heat")
    page.get_by_label("accept").check()
    page.click("#next")
    page.get_by_label("reject").check()
    assert page.locator("#progress").inner_text() == "2 of 2 questions done"
    assert page.locator("#next-open").is_disabled()
    keys = page.locator("p.keys").text_content()
    assert keys == "N next open question, P previous question"
    saved = tmp_path / "labels.json"
    _saved(page, saved)
    found = read_labels(saved, shop.queries, shop.corpus).by_query
    assert (found["q1"].verdict, found["q1"].text) == ("accepted", "who made the film Heat")
    assert (found["q2"].verdict, found["q2"].text) == ("rejected", None)


def _large(n: int) -> Table:
    rows = [[f"row {i}", "Zanzibar" if i in (40, 90) else "x"] for i in range(n)]
    return Table(TableId("0", "large"), ["number", "place"], rows, {"title": "Many"})


def test_of_a_large_table_the_rows_with_words_of_the_question_are_shown(
    tmp_path: Path, open_page: OpenPage
) -> None:
    table = _large(100)
    pool = Pool(Query("q", "what is in ZANZIBAR's row", ()), (table.id,))
    size = FormOptions(size=TableSize(rows=12))
    path = write_form(tmp_path / "form.html", [pool], MemoryCorpus([table]), size)
    (shown,) = _content(path)["items"][0]["tables"]
    assert shown["n_rows"] == 100
    assert {40, 90} <= set(shown["places"])
    assert set(range(12)) < set(shown["places"])
    assert shown["words"] == ["row", "zanzibar"]
    page = _ready(open_page(path))
    assert page.locator(".item mark", has_text="Zanzibar").count() == 2
    assert page.locator("td.gap").all_inner_texts()[-1] == "9 rows not shown"


def test_cells_that_a_synthetic_question_is_from_are_marked(
    tmp_path: Path, open_page: OpenPage
) -> None:
    table = _large(100)
    cells: list[object] = [
        {"row": 78, "column": "number", "value": "row 77"},
        {"row": 3, "column": "number", "value": "another value"},
        {"row": 300, "column": "number", "value": "row 299"},
        {"row": 1, "column": "nope", "value": "row 0"},
        {"row": 1},
        "not a cell",
    ]
    query = Query("q", "?", (table.id,), metadata={"synthetic": "template", "cells": cells})
    options = FormOptions(review=True, size=TableSize(rows=5))
    path = write_form(tmp_path / "form.html", [Pool(query, ())], MemoryCorpus([table]), options)
    page = _ready(open_page(path))
    assert page.locator("td.marked").all_inner_texts() == ["row 77"]


def test_long_tables_are_folded(tmp_path: Path, open_page: OpenPage) -> None:
    table = _large(30)
    pool = Pool(Query("q", "nothing of it", ()), (table.id,))
    size = FormOptions(size=TableSize(rows=30))
    page = _ready(
        open_page(write_form(tmp_path / "form.html", [pool], MemoryCorpus([table]), size))
    )
    assert page.locator(".item tbody tr").count() == 8 + 1
    page.click("button.more")
    assert page.locator(".item tbody tr").count() == 30
    assert page.locator("button.more").count() == 0


def test_a_form_names_no_retriever(shop: Dataset, shop_runs: list[Result], tmp_path: Path) -> None:
    pools = pooled(shop.queries, shop_runs, 3).pools
    text = write_form(tmp_path / "form.html", pools, shop.corpus).read_text(encoding="utf-8")
    for hidden in ("bm25", "tfidf", *(run.folder.name for run in shop_runs)):
        assert hidden not in text.lower()


def test_hostile_texts_stay_text(tmp_path: Path, open_page: OpenPage) -> None:
    tables = [
        Table(TableId("0", f"t{i}"), [text, "b"], [[text, None]], {"title": text})
        for i, text in enumerate(HOSTILE)
    ]
    ids = tuple(table.id for table in tables)
    queries = [Query(text, text, ids[:1], text) for text in (*HOSTILE, "__proto__")]
    pools = [Pool(query, ids[1:]) for query in queries]
    options = FormOptions(review=True)
    path = write_form(tmp_path / "form.html", pools, MemoryCorpus(tables), options)
    page = _ready(open_page(path))
    assert page.title() == f"Review of {len(pools)} questions"
    for _ in queries[1:]:
        page.keyboard.press("a")
        assert page.locator("#items img, #items a, #items svg, #items script").count() == 0
        page.click("#next")
    page.keyboard.press("r")
    record = _saved(page, tmp_path / "labels.json")
    assert len(record["labels"]) == len(queries)
    assert record["labels"]["__proto__"]["question"] == "rejected"


def test_faults(shop: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no question to ask people about"):
        write_form(tmp_path / "form.html", [], shop.corpus)
    with pytest.raises(ConfigError, match="is a folder"):
        write_form(tmp_path, _with_gold(shop), shop.corpus)
