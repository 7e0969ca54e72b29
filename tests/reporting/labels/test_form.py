"""The form: filled in in a browser, saved, loaded; and the files that others fill in."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.grid import GridCell
from target_bench.core.schema import Dataset
from target_bench.reporting.labels.form import (
    Criterion,
    Item,
    read_records,
    shown_table,
    write_form,
)
from target_bench.reporting.labels.tables import RELEVANCE, form_items, pooled
from target_bench.runs.result import Result
from tests.browser import PHONE, OpenPage, Watched
from tests.reporting.labels.conftest import write_records
from tests.reporting.report.written import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Page

MARK = Criterion("mark", "How good?", ((0, "bad"), (1, "good")))


def _ready(watched: Watched) -> "Page":
    watched.page.wait_for_selector("#items[data-ready]")
    return watched.page


def _saved(page: "Page", path: Path) -> list[dict[str, Any]]:
    with page.expect_download() as waited:
        page.click("#save")
    waited.value.save_as(path)
    return read_records([path])


def _hostile() -> list[Item]:
    return [
        Item(
            {"query_id": text, "table_id": "t"},
            text,
            (MARK,),
            (("answer", text),),
            (shown_table(text, [[GridCell(text)]] * 3, [0, 2], [(0, 0)]),),
        )
        for text in (*HOSTILE, "__proto__", "=1+1", "-2", "'quoted")
    ]


def test_tables_are_judged_with_keys_kept_saved_and_loaded(
    shop: Dataset, shop_runs: list[Result], tmp_path: Path, open_page: OpenPage
) -> None:
    pools = pooled(shop.queries, shop_runs, 3)
    items = form_items(shop.queries, shop.corpus, pools)
    write_form(tmp_path / "form.html", items, "h", "e")
    page = _ready(open_page(tmp_path / "form.html", viewport=PHONE))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("#progress").inner_text() == f"0 of {len(items)} items done"
    tables = pools[shop.queries[0].id]
    assert page.locator("#asked").inner_text() == shop.queries[0].text
    page.fill("#person", "Ann B.")
    page.locator("#asked").focus()
    for place, table in enumerate(tables):
        page.keyboard.press("1" if table.table_id == "films" else "23"[place % 2])
    assert page.locator("#progress").inner_text() == f"{len(tables)} of {len(items)} items done"
    page.keyboard.press("n")
    assert page.locator("#asked").inner_text() == shop.queries[1].text
    page.locator(".item >> nth=0").get_by_label("cannot say").check()
    before = _saved(page, tmp_path / "saved.json")
    assert {record["annotator"] for record in before} == {"Ann B."}
    assert next(r["label"] for r in before if r["table_id"] == "films") == "relevant"
    assert [record["label"] for record in before[len(tables) :]][:2] == ["cannot say", None]
    assert {record["query_id"] for record in before} == {query.id for query in shop.queries[:2]}
    page.wait_for_timeout(1000)  # Chromium hands a draft to the reloaded page's process late
    page.reload()
    _ready(Watched(page))
    page.click("#previous")
    page.keyboard.press("3")
    page.set_input_files("#load", tmp_path / "saved.json")
    page.locator("#announcer", has_text="loaded").wait_for()
    again = _saved(page, tmp_path / "again.json")
    assert [{**record, "file": 0} for record in again] == [{**r, "file": 0} for r in before]
    for text in ("{", "null", '[{"query_id": "another"}]'):
        page.set_input_files("#load", write_records(tmp_path, text, "other.json"))
        page.locator("#message", has_text="This is not a file that this form saved.").wait_for()


def test_hostile_texts_stay_text(tmp_path: Path, open_page: OpenPage) -> None:
    items = _hostile()
    write_form(tmp_path / "form.html", items, HOSTILE[0], HOSTILE[1])
    page = _ready(open_page(tmp_path / "form.html"))
    assert page.title() == HOSTILE[0]
    for _ in items:
        page.keyboard.press("2")
        assert page.locator("main :is(img, a, svg, script)").count() == 0
        page.keyboard.press("n")
    records = _saved(page, tmp_path / "saved.json")
    assert [record["mark"] for record in records] == [1] * len(items)
    assert records[len(HOSTILE)]["query_id"] == "__proto__"


@pytest.mark.parametrize("name", ["form.jsonl", "form.csv"])
def test_lines_are_filled_in_and_read(name: str, tmp_path: Path) -> None:
    path, items = tmp_path / name, _hostile()
    write_form(path, items, "h", "e")
    if name.endswith(".csv"):
        with path.open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    long = replace(items[0], asked="x" * 200_000)
    write_form(tmp_path / f"long-{name}", [long], "h", "e")
    assert read_records([tmp_path / f"long-{name}"])[0]["asked"] == long.asked
    records = read_records([path])
    assert {record["annotator"] for record in records} == {"form"}, "the file's name for no name"
    ids = [str(item.key["query_id"]) for item in items], [r["query_id"] for r in records]
    written, read = ([text.replace("\ud800", "\\ud800") for text in texts] for texts in ids)
    assert read == written
    assert {record["mark"] for record in records} == {""}
    assert records[0]["tables"].startswith(HOSTILE[0])


def test_label_studio(tmp_path: Path) -> None:
    items = _hostile()[:5]
    write_form(tmp_path / "tasks.json", items, "h", '<"&>', "label-studio")
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert tasks[0]["data"]["query_id"] == HOSTILE[0]
    assert not any("<script" in t["data"]["html"] or "<img" in t["data"]["html"] for t in tasks)
    interface = ElementTree.parse(tmp_path / "tasks.xml")
    (choices,) = interface.iter("Choices")
    assert choices.get("name") == "mark"
    assert [choice.get("alias") for choice in choices] == ["0", "1"]
    exported = [{**task["data"], "mark": "1", "annotator": 7} for task in tasks]
    (first, *_) = read_records([write_records(tmp_path, exported)])
    assert (first["annotator"], MARK.reply(first["mark"])) == ("7", 1)


def test_argilla(tmp_path: Path) -> None:
    write_form(tmp_path / "records.json", _hostile()[:2], "h", "e", "argilla")
    records = json.loads((tmp_path / "records.json").read_text())
    assert list(records[0]["fields"]) == ["item"]
    users = [{"value": "1", "user_id": "u"}, {"value": "0", "user_id": "v"}]
    exported = [{**record, "responses": {"mark": users}} for record in records]
    read = read_records([write_records(tmp_path, exported)])
    assert [(r["annotator"], r["mark"]) for r in read] == [("u", "1"), ("v", "0")] * 2
    assert read[0]["query_id"] == HOSTILE[0]


def test_a_large_table_is_cut() -> None:
    rows = [[GridCell("x" * 400), *[GridCell("y")] * 99] for _ in range(9)]
    table = shown_table("t", rows, [0, 1, 5], [(5, 1), (7, 0)])
    assert [row is None for row in table["rows"]] == [False, False, True, False, True]
    assert table["marked"] == [(3, 1)]
    assert (len(table["rows"][0]), len(table["rows"][0][0].text)) == (60, 301)


def test_files_that_hold_no_records(tmp_path: Path) -> None:
    for text, message in (("{", "is not what a form saves"), ("[1]", "expected records")):
        with pytest.raises(DataError, match=rf"ann\.json: .*{message}"):
            read_records([write_records(tmp_path, text)])


def test_replies_and_an_empty_form(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to ask people about"):
        write_form(tmp_path / "form.html", [], "h", "e")
    assert [MARK.reply(value) for value in ("1", 1, 1.0, "", None)] == [1, 1, 1, None, None]
    for wrong in (True, "yes", 0.5, [1]):
        with pytest.raises(ValueError, match="mark: expected one of 0, 1, found"):
            MARK.reply(wrong)
    assert RELEVANCE.reply("cannot say") == "cannot say"
