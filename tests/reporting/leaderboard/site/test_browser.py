"""The site in a real browser: every control, every page, and nothing leaves it."""

from dataclasses import replace
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from target_bench.core.metric import Score
from target_bench.reporting.leaderboard.entry import RunEntry
from target_bench.reporting.leaderboard.site import build
from tests.browser import PHONE, OpenPage
from tests.reporting.leaderboard.site.driving import copied, ready
from tests.reporting.leaderboard.site.small import (
    answers,
    board,
    card,
    entry,
    retrieval,
    scores,
    write,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leaderboard")
    build(write(folder / "in", board()), folder / "site")
    return folder / "site"


@pytest.fixture
def page(open_page: OpenPage, site: Path) -> "Page":
    return ready(open_page(site / "index.html", root=site).page)


def _names(page: "Page", *wanted: str) -> None:
    """Wait until these are the rows, in this order."""
    page.wait_for_function(
        """wanted => [...document.querySelectorAll("#scores tbody th a")]
                     .map(a => a.textContent).join("|") === wanted""",
        arg="|".join(wanted),
    )


def _cell(page: "Page", name: str, column: str) -> str:
    """The text of a cell as it is seen, without what only screen readers are told."""
    found: str = page.evaluate(
        """([name, column]) => {
             const row = [...document.querySelectorAll("#scores tbody tr")]
               .find((tr) => tr.querySelector("th a").textContent === name);
             const heads = [...document.querySelectorAll("#scores [data-column]")]
               .filter((th) => th.dataset.column !== "name" && th.rowSpan === 1);
             const at = heads.findIndex((th) => th.dataset.column === column);
             const cell = row.cells[2 + at].querySelector(".value").cloneNode(true);
             cell.querySelectorAll(".sr-only").forEach((node) => node.remove());
             return cell.textContent;
           }""",
        [name, column],
    )
    return found


ALL = ("Best, by far", "Plain BM25", "Odd one", "Close", "Untold")


def test_the_overview(page: "Page") -> None:
    """Sorted by the mean; marks say what tests and cards say."""
    _names(page, *ALL)
    page.check("#times")
    assert page.locator("#found").inner_text() == "5 systems"
    assert _cell(page, "Best, by far", "0:recall@{k}") == "0.950▲†"
    assert _cell(page, "Close", "0:recall@{k}") == "0.933≈▲"
    assert _cell(page, "Plain BM25", "0:recall@{k}") == "0.600"
    assert _cell(page, "Odd one", "0:recall@{k}") == "0.300▼"
    assert _cell(page, "Untold", "0:recall@{k}") == "0.550?"
    assert _cell(page, "Close", "0:ms") == "1.0"
    assert _cell(page, "Close", "1:recall@{k}") == "–"
    assert _cell(page, "Best, by far", "0:answers0") == "0.900▲"
    assert page.locator("#scores tbody .badge").all_inner_texts() == ["baseline", "suspicious"]
    assert page.locator("#scores td.best .sr-only", has_text="the best").count() == 4


def test_sort(page: "Page") -> None:
    """By any column; unknown values are last in either order; the head says how."""
    page.check("#times")
    page.click("#scores [data-sort='0:recall@{k}']")
    by_recall = ("Best, by far", "Close", "Plain BM25", "Untold", "Odd one")
    _names(page, *by_recall)
    assert page.locator("#scores th[aria-sort]").count() == 1
    assert page.locator("#scores th[aria-sort=descending]").inner_text().startswith("R@10")
    page.keyboard.press("Enter")  # the button has the focus still
    _names(page, *by_recall[::-1])
    page.click("#scores [data-sort='0:ms']")  # fast ones first, those without a time last
    _names(page, "Close", "Best, by far", "Odd one", "Plain BM25", "Untold")
    page.click("#scores [data-sort='size']")
    _names(page, "Close", "Best, by far", "Untold", "Plain BM25", "Odd one")
    page.click("#scores [data-sort='name']")
    _names(page, "Best, by far", "Close", "Odd one", "Plain BM25", "Untold")
    page.wait_for_function(
        "() => document.getElementById('announcer').textContent === 'sorted by system, ascending'"
    )


def test_search(page: "Page") -> None:
    page.fill("#search", "BM25")
    _names(page, "Plain BM25")
    page.fill("#search", "somebody else")  # an author
    _names(page, "Odd one")
    assert page.locator("#found").inner_text() == "1 of 5 systems"
    page.fill("#search", "nothing like it")
    page.wait_for_selector("#nothing", state="visible")
    assert page.locator("#region").is_hidden()
    page.click("#reset")
    _names(page, *ALL)
    assert page.locator("#nothing").is_hidden()


@pytest.mark.parametrize(
    ("control", "value", "wanted"),
    [
        ("kind", "lexical", ("Plain BM25",)),
        ("size", "none", ("Plain BM25",)),
        ("size", "medium", ("Best, by far", "Untold")),
        ("size", "unknown", ("Odd one",)),
        ("weights", "closed", ("Close",)),
        ("training", "zero", ("Plain BM25", "Odd one", "Close")),
        ("group", "1", ("Best, by far", "Plain BM25", "Odd one")),
    ],
)
def test_filter(page: "Page", control: str, value: str, wanted: tuple[str, ...]) -> None:
    page.select_option(f"#{control}", value)
    _names(page, *wanted)


def test_choose_k(page: "Page") -> None:
    page.select_option("#k", "1")
    page.wait_for_function(
        "() => document.querySelector('#scores [data-sort=\"0:recall@{k}\"]').textContent === 'R@1'"
    )
    assert _cell(page, "Best, by far", "0:recall@{k}").startswith("0.467")
    assert page.locator("#pareto-title").inner_text() == "R@1 over time"
    page.click("#reset")
    page.wait_for_function("() => document.getElementById('k').value === '10'")


def test_copy(page: "Page") -> None:
    """What is shown, in the order it is shown."""
    page.select_option("#group", "0")
    page.fill("#search", "b")  # somebody too
    _names(page, "Best, by far", "Plain BM25", "Odd one")
    markdown = copied(page, "markdown", "| rank").split("\n")
    start = "| rank | system | retriever | alpha test R@10 | alpha test ms/query |"
    assert markdown[0].startswith(start)
    assert markdown[0].endswith("| kind | size | open | zero-shot | date |")
    assert "| **0.950 ▲ †** | 10 |" in markdown[2]
    latex = copied(page, "latex", "% needs \\usepackage{booktabs}\n\\begin{tabular}{rllr").split(
        "\n"
    )[1:]
    assert latex[5].startswith("3 & Plain BM25 & bm25 & 0.600")
    assert "lexical & none & yes & 100\\%" in latex[5]
    assert "\\textbf{0.950 $\\uparrow$ $\\dagger$}" in latex[4]
    assert latex[-2] == "\\end{tabular}"
    csv = copied(page, "csv", "rank,system,").split("\r\n")
    assert "alpha test R@10,alpha test R@10 low,alpha test R@10 high" in csv[0]
    assert csv[1].startswith('1,"Best, by far",dense:model=m,0.95,0.85,1,')
    assert len(csv) == 5


def test_a_score_over_no_query_is_last_and_no_part_of_a_mean(
    open_page: OpenPage, tmp_path: Path
) -> None:
    made = board()[:3]
    nothing = retrieval(0.4, "beta")
    gone = {**nothing.scores, "recall@10": Score(nan, nan, nan, 0, "s")}
    values = {**nothing.per_query, "recall@10": np.full(60, nan)}
    made.append(entry("e", retrieval(0.99), replace(nothing, scores=gone, per_query=values)))
    build(write(tmp_path / "in", made), tmp_path / "site")
    page = ready(open_page(tmp_path / "site" / "index.html", root=tmp_path / "site").page)
    _names(page, "Best, by far", "Plain BM25", "Close", "E")
    page.click("#scores [data-sort='2:recall@{k}']")
    _names(page, "Plain BM25", "Best, by far", "Close", "E")
    assert _cell(page, "E", "1:recall@{k}") == "–"


def test_marks_against_a_baseline_with_several_generators(
    open_page: OpenPage, tmp_path: Path
) -> None:
    """The test is against the answers that stand in its row, and so is the mark."""
    base = retrieval(0.5, retriever="bm25")
    bm25 = entry("bm25", base, answers(0.2, base, 0), answers(0.9, base, 0, generator="strong"))
    between = entry("between", retrieval(0.7), answers(0.5, retrieval(0.7), 0))
    above = entry("above", retrieval(0.6), answers(1.0, retrieval(0.6), 0))
    build(write(tmp_path / "in", [bm25, between, above]), tmp_path / "site")
    page = ready(open_page(tmp_path / "site" / "index.html", root=tmp_path / "site").page)
    assert _cell(page, "Bm25", "0:answers0") == "0.900"
    assert _cell(page, "Between", "0:answers0") == "0.500▼"
    assert _cell(page, "Above", "0:answers0") == "1.000▲"
    page = ready(open_page(tmp_path / "site" / "tasks" / "fact_verification.html").page)
    assert _cell(page, "Between", "0:accuracy") == "0.500▼"


def test_open_an_entry_and_come_back(page: "Page") -> None:
    page.locator("#scores a", has_text="Best, by far").click()
    page.wait_for_selector("#card")
    assert page.url.endswith("/entries/best.html")
    assert page.locator("h1").inner_text() == "Best, by far"
    assert "alpha: yes" in page.locator("#card").inner_text()
    assert page.locator("article.run").count() == 4
    first = page.locator("#run-1")
    assert "0.950" in first.locator("table").first.inner_text()
    slices = first.locator("table", has_text="difficulty").locator("tbody tr").all_inner_texts()
    assert slices == ["easy\t30\t1.000", "hard\t30\t0.900"]
    hardest = first.locator("table", has_text="mean of others").locator("tbody th")
    assert hardest.all_inner_texts() == ["alpha-57", "alpha-58", "alpha-59"]
    page.locator("nav a", has_text="Overview").click()
    _names(ready(page), *ALL)


def test_a_suspicious_entry_says_why(open_page: OpenPage, site: Path) -> None:
    page = open_page(site / "entries" / "odd.html", root=site).page
    assert "timings: faster than light" in page.locator("#findings").inner_text()
    assert page.locator("h1 .badge").inner_text() == "suspicious"


def test_tasks(page: "Page", site: Path) -> None:
    """A page each, about one corpus at a time, with what is measured of that task alone."""
    page.locator("nav a", has_text="Fact Verification").click()
    ready(page)
    _names(page, "Best, by far", "Best, by far", "Plain BM25")
    assert page.locator("nav a[aria-current=page]").inner_text() == "Fact Verification"
    page.select_option("#generator", "other:model=x")
    _names(page, "Best, by far")
    assert _cell(page, "Best, by far", "0:accuracy").startswith("0.700")
    assert page.locator("#pareto").is_hidden()
    page.locator("nav a", has_text="Retrieval").click()
    ready(page)
    assert page.input_value("#group") == "0"
    _names(page, "Best, by far", "Close", "Plain BM25", "Untold", "Odd one")
    heads = [
        text.split(" ")[0] for text in page.locator("#scores tr:last-child th").all_inner_texts()
    ]
    assert heads[:4] == ["R@10", "MRR", "ms/query", "index"]


def test_charts(page: "Page") -> None:
    """They show what the table shows; the front is named."""
    assert page.locator("#recall-chart polyline").count() == 3  # of the mean
    page.select_option("#chart-group", "0")
    page.wait_for_function("() => document.querySelectorAll('#recall-chart polyline').length === 5")
    assert page.locator("#recall-chart circle").count() == 15
    assert page.locator("#pareto-chart circle").count() == 4  # one has no time
    front = "[...document.querySelectorAll('#front li')].map(li => li.textContent).join('|')"
    assert page.evaluate(front) == "Close R@10 0.933, 1.0 ms|Best, by far R@10 0.950, 10 ms"
    assert page.locator("#legend li").all_inner_texts()[0] == "Best, by far"
    page.select_option("#chart-group", "1")
    page.wait_for_function("() => document.querySelectorAll('#recall-chart polyline').length === 3")
    page.select_option("#kind", "lexical")
    page.wait_for_function("() => document.querySelectorAll('#recall-chart polyline').length === 1")


def test_rows_of_the_same_names_are_distinguished(open_page: OpenPage, tmp_path: Path) -> None:
    """In the table, in the legend of the charts, and in what is copied."""
    alike = [entry("a", retrieval(0.9)), entry("b", retrieval(0.5))]
    named = [replace(one, card=card("One name")) for one in alike]
    build(write(tmp_path / "in", named), tmp_path / "site")
    page = ready(open_page(tmp_path / "site" / "index.html", root=tmp_path / "site").page)
    rows = page.locator("#scores tbody th .range").all_inner_texts()
    assert len(set(rows)) == 2
    assert [row.rpartition(", ")[2] for row in rows] == ["entry a", "entry b"]
    legend = page.locator("#legend li").all_inner_texts()
    assert len(set(legend)) == 2
    assert "entry b" in copied(page, "csv", "rank,system,")


def test_no_mean_that_no_one_has(open_page: OpenPage, tmp_path: Path) -> None:
    """No system is on all data: the first score orders the rows."""
    apart = [
        entry("a", retrieval(0.4)),
        entry("b", retrieval(0.5, "beta")),
        entry("c", retrieval(0.6)),
    ]
    build(write(tmp_path / "in", apart), tmp_path / "site")
    page = ready(open_page(tmp_path / "site" / "index.html", root=tmp_path / "site").page)
    assert "Mean" not in page.locator("#scores thead").inner_text()
    rows = page.locator("#scores tbody th a").evaluate_all(
        "all => all.map((a) => a.href.slice(-6))"
    )
    assert rows == ["c.html", "a.html", "b.html"]


def test_theme(page: "Page", open_page: OpenPage, site: Path) -> None:
    """The system's until the user chooses; the choice holds on the other pages."""
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.click("[data-theme-switch]")
    page.wait_for_function(f"light => {paper} !== light", arg=light)
    dark = page.evaluate(paper)
    page.goto((site / "entries" / "best.html").as_uri())
    page.wait_for_function(f"dark => {paper} === dark", arg=dark)
    other = ready(open_page(site / "index.html", root=site, color_scheme="dark").page)
    assert other.evaluate(paper) == dark


def test_keyboard(page: "Page") -> None:
    """The first stop skips to the content; every control can be reached and has a name."""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    unnamed = page.evaluate(
        """[...document.querySelectorAll("button, select, input, [role=region], svg")]
             .filter((node) => !(node.labels?.length || node.getAttribute("aria-label")
                                 || node.getAttribute("aria-labelledby")
                                 || node.textContent.trim()))
             .map((node) => node.outerHTML)"""
    )
    assert unnamed == []
    heads: dict[str, Any] = page.evaluate(
        """({ scopes: [...document.querySelectorAll("#scores th")].every((th) => th.scope),
              caption: document.querySelector("#scores caption").textContent })"""
    )
    assert heads["scopes"]
    assert "a row for each system" in heads["caption"]


@pytest.mark.parametrize("name", ["index.html", "tasks/retrieval.html", "entries/best.html"])
def test_a_phone(open_page: OpenPage, site: Path, name: str) -> None:
    """Nothing but tables in their own boxes is wider than the screen."""
    page = open_page(site / name, root=site, viewport=PHONE).page
    page.wait_for_function("() => document.body.lastElementChild !== null")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_five_corpora_are_seen_at_once(open_page: OpenPage, tmp_path: Path) -> None:
    """Under the names that their authors use, on a screen of 1400 pixels, without scrolling."""
    corpora = ("ottqa", "fetaqa", "tabfact", "spider", "bird")
    made = [
        entry(f"e{i}", *(_with_databases(retrieval(0.3 + i / 10, corpus)) for corpus in corpora))
        for i in range(4)
    ]
    build(write(tmp_path / "in", made), tmp_path / "site")
    wide = {"width": 1400, "height": 900}
    site = tmp_path / "site"
    page = ready(open_page(site / "index.html", root=site, viewport=wide).page)
    heads = page.locator("#scores th.group")
    names = ["BIRD test", "FeTaQA test", "OTT-QA test", "Spider test", "TabFact test"]
    assert heads.locator("span.data").all_inner_texts() == ["Mean of 5 corpora", *names]
    last = heads.last.bounding_box()
    assert last is not None
    assert last["x"] + last["width"] < wide["width"]
    labels = page.locator("#scores thead tr:last-child th").all_inner_texts()
    assert sum(label.startswith("DB@1") for label in labels) == 2


def _with_databases(run: RunEntry) -> RunEntry:
    """The run, where it is of databases with a score of them."""
    if run.corpus not in ("spider", "bird"):
        return run
    of_databases = {"recall[db]@1": run.per_query["recall@1"]}
    return replace(
        run,
        scores={**run.scores, **scores(of_databases)},
        per_query={**run.per_query, **of_databases},
    )


def test_a_phone_shows_scores_first(open_page: OpenPage, site: Path) -> None:
    page = ready(open_page(site / "index.html", root=site, viewport=PHONE).page)
    rank, mean = page.locator("#scores tbody tr").first.locator("td").all_inner_texts()[:2]
    assert rank == "1"
    assert mean.startswith("0.925")
    box = page.locator("#scores tbody tr").first.locator("td").nth(1).bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= PHONE["width"]
