"""Forms in a real browser: filled in, saved, loaded, read back."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from target_bench.core.errors import ConfigError
from target_bench.reporting.ratings.rating_form import write_form
from target_bench.reporting.ratings.read_ratings import read_ratings
from target_bench.runs.result import Result
from tests.browser import OpenPage, Watched
from tests.reporting.report.written import HOSTILE, ranked

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


def _form(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(
        text.partition('<script type="application/json" id="form">')[2].partition("</script>")[0]
    )
    return found


def test_a_form_is_filled_in_and_read_back(
    described: Result, tmp_path: Path, open_page: OpenPage
) -> None:
    path = write_form(described.folder, tmp_path / "form.html", sample=4)
    page = _ready(open_page(path))
    page.fill("#person", "Ada L.")
    items = page.locator(".item")
    assert items.count() == 4
    assert page.locator("#progress").inner_text() == "0 of 4 rated"
    assert page.locator(".item .marked").count() >= 4
    first = items.nth(0)
    first.get_by_label("mostly fluent", exact=True).check()
    first.get_by_label("yes", exact=True).check()
    first.locator("[data-criterion=coverage] input").last.check()
    items.nth(1).get_by_label("not fluent", exact=True).check()
    assert page.locator("#progress").inner_text() == "1 of 4 rated"
    saved = tmp_path / "ratings.json"
    record = _saved(page, saved)
    ids = [items.nth(i).get_attribute("data-id") for i in range(2)]
    assert record["ratings"] == {
        ids[0]: {"fluency": 1, "faithfulness": 1, "coverage": 1},
        ids[1]: {"fluency": 0},
    }
    found = read_ratings(saved, described)
    assert found.rater == "Ada L."
    assert found.by_query == record["ratings"]


def test_a_form_keeps_a_draft_and_loads_a_file(
    described: Result, tmp_path: Path, open_page: OpenPage
) -> None:
    path = write_form(described.folder, tmp_path / "form.html", sample=3)
    page = _ready(open_page(path))
    page.locator(".item").nth(0).get_by_label("fluent", exact=True).check()
    before = _saved(page, tmp_path / "ratings.json")
    page.reload()
    _ready(Watched(page))
    page.locator("input[value='2']:checked").wait_for()
    assert page.locator("input:checked").count() == 1
    page.locator(".item").nth(0).get_by_label("not fluent", exact=True).check()
    page.set_input_files("#load", tmp_path / "ratings.json")
    page.locator("input[value='2']:checked").wait_for()
    assert _saved(page, tmp_path / "again.json") == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "This is not a file of ratings."),
        ("null", "This is not a file of ratings."),
        ('{"format": "target-bench ratings", "version": 2}', "This file is of another version."),
        (
            '{"format": "target-bench ratings", "version": 1, "run": "x"}',
            "This file is of another form.",
        ),
    ],
)
def test_a_form_refuses_other_files(
    text: str, said: str, described: Result, tmp_path: Path, open_page: OpenPage
) -> None:
    page = _ready(open_page(write_form(described.folder, tmp_path / "form.html", sample=1)))
    other = tmp_path / "other.json"
    other.write_text(text, encoding="utf-8")
    page.set_input_files("#load", other)
    page.locator("#message", has_text=said).wait_for()


def test_tables_are_rated_from_one_to_ten(
    tabled: Result, tmp_path: Path, open_page: OpenPage
) -> None:
    path = write_form(tabled.folder, tmp_path / "form.html", sample=2)
    page = _ready(open_page(path, viewport={"width": 390, "height": 844}))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.locator("[data-criterion=content]").nth(0).get_by_label("10", exact=True).check()
    page.locator("[data-criterion=format]").nth(1).get_by_label("3", exact=True).check()
    saved = tmp_path / "ratings.json"
    _saved(page, saved)
    found = read_ratings(saved, tabled)
    assert found.criteria == "struc-bench"
    assert sorted(map(tuple, (one.items() for one in found.by_query.values()))) == [
        (("content", 10.0),),
        (("format", 3.0),),
    ]


def test_hostile_answers_stay_text(
    described: Result, tmp_path: Path, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from target_bench.reporting.ratings import rating_form

    own = rating_form._item

    def hostile(*arguments: Any) -> dict[str, Any]:
        item = own(*arguments)
        table = {"title": HOSTILE[0], "marked": [], "left_out": 3}
        table["rows"] = [[[text, 1, 1, False] for text in HOSTILE]]
        return {**item, "answer": "\n".join(HOSTILE), "text": HOSTILE[1], "tables": [table]}

    monkeypatch.setattr(rating_form, "_item", hostile)
    page = _ready(open_page(write_form(described.folder, tmp_path / "form.html", sample=2)))
    assert page.title() == "Rating 2 answers"
    assert HOSTILE[2] in page.locator(".answer").nth(0).inner_text()
    assert page.locator(".item img, .item a, .item svg").count() == 0


def test_a_form_names_no_system_and_no_score(described: Result, tmp_path: Path) -> None:
    form = _form(write_form(described.folder, tmp_path / "form.html"))
    assert len(form["items"]) == len(described.query_ids)
    said = json.dumps({**form, "items": [{**one, "tables": []} for one in form["items"]]}).lower()
    for hidden in ("template", described.folder.name, *described.scores):
        assert f'"{hidden}"' not in said
    assert form["saved"]["same"]["run"] == described.identity.key


def test_the_draw_is_that_of_the_seed(described: Result, tmp_path: Path) -> None:
    def drawn(seed: int) -> list[str]:
        path = write_form(described.folder, tmp_path / "form.html", sample=5, seed=seed)
        return [item["id"] for item in _form(path)["items"]]

    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)
    assert set(drawn(2)) < set(described.query_ids)


def test_faults(described: Result, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="sample=0"):
        write_form(described.folder, tmp_path / "form.html", sample=0)
    with pytest.raises(ConfigError, match="is a folder"):
        write_form(described.folder, tmp_path)
    (rankings,) = ranked(tmp_path / "runs", "bm25", top_k=1)
    with pytest.raises(ConfigError, match="people rate answers"):
        write_form(rankings, tmp_path / "form.html")
