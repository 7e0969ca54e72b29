"""The report in a real browser: every control, with keyboard and mouse, and nothing leaves it."""

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from target_bench.core.text_tables import score_text
from target_bench.harness.target import TARGET
from target_bench.reporting.report import write_report
from tests.browser import PHONE, WIDE, OpenPage
from tests.builders import Record, Recorder, only, rewrite_lines
from tests.reporting.report.driving import in_order_of_the_split, open_query, ready
from tests.reporting.report.written import blocks, listed

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def page(open_page: OpenPage, mini_report: Path) -> "Page":
    """The report of three retrievals, ready."""
    return in_order_of_the_split(ready(open_page(mini_report)))


def _listed(page: "Page") -> list[str]:
    return page.locator("#list .question").all_inner_texts()


def _found(page: "Page", n: int, of: int = 280) -> None:
    """Wait until so many queries are found."""
    text = f"{n} of {of} queries" if n != of else f"{of} queries"
    page.wait_for_function("t => document.getElementById('found').textContent === t", arg=text)


def _duel(page: "Page", *wins: int, of: int = 280) -> None:
    """Wait until each run is the best on so many queries, and none alone on the others."""
    page.wait_for_function(
        """wanted => [...document.querySelectorAll("#duel b")].map(b => b.textContent).join()
                  === wanted""",
        arg=",".join(map(str, [*wins, of - sum(wins)])),
    )


def _firsts(report: Path) -> list[list[int]]:
    return [run["first"] for run in blocks(report)["index"]["runs"]]


def test_badges(page: "Page", mini_report: Path) -> None:
    """With the rank of the gold table, or of the first of several."""
    index = blocks(mini_report)["index"]
    run = index["runs"][0]
    for several, said in ((False, "gold found @{}"), (True, "gold found, first @{}")):
        i = next(
            i
            for i, (n, outcome) in enumerate(zip(index["n_gold"], run["outcome"], strict=True))
            if (n > 1) == several and outcome == 1
        )
        page.fill("#search", index["ids"][i])
        _found(page, 1)
        assert page.locator("#list .badge").first.inner_text() == said.format(run["first"][i])
        page.click("#reset")
        _found(page, 280)


def test_search(page: "Page", mini_report: Path) -> None:
    """All words have to be there, in question, answer or id; upper case is lower case."""
    index = blocks(mini_report)["index"]
    answers = [text[0] if isinstance(text, list) else text for text in index["answers"]]
    rows = zip(index["texts"], answers, index["ids"], strict=True)
    fits = ["\n".join(row).lower() for row in rows]
    page.fill("#search", "GOLD 1976")
    _found(page, sum("gold" in text and "1976" in text for text in fits))
    page.fill("#search", "qa-0005")
    _found(page, 1)
    page.fill("#search", "no such words anywhere")
    _found(page, 0)
    assert page.locator("#nothing").is_visible()
    measure = page.locator("#measure").input_value()
    page.select_option("#measure", "recall@1")
    page.click("#reset")
    _found(page, 280)
    assert page.locator("#nothing").is_hidden()
    page.wait_for_function("m => document.getElementById('measure').value === m", arg=measure)


def test_missed_and_found(page: "Page", mini_report: Path) -> None:
    firsts = list(zip(*_firsts(mini_report), strict=True))
    page.select_option("#show", "missed")
    _found(page, sum(not any(ranks) for ranks in firsts))
    page.select_option("#show", "found")
    _found(page, sum(all(ranks) for ranks in firsts))
    page.select_option("#show", "split")
    _found(page, sum(any(ranks) and not all(ranks) for ranks in firsts))


def test_compare_two_runs(page: "Page", mini_report: Path) -> None:
    """Who wins each query, by a measure that can be chosen; both stand beside each other."""
    a, b, _ = _firsts(mini_report)
    assert page.locator("#duel").is_hidden()
    page.select_option("#run-b", label="tfidf")
    page.select_option("#measure", "rank of the first gold table")
    won = [i for i in range(280) if (a[i] or 99) < (b[i] or 99)]
    lost = [i for i in range(280) if (a[i] or 99) > (b[i] or 99)]
    _duel(page, len(won), len(lost))
    page.locator("#duel button", has_text="bm25 better").click()
    _found(page, len(won))
    assert page.input_value("#show") == "won:0"
    page.select_option("#show", "won:1")
    _found(page, len(lost))
    questions = blocks(mini_report)["index"]["texts"]
    assert _listed(page) == [questions[i] for i in lost][:50]
    open_query(page, 0)
    assert page.locator("#detail .column h4").all_inner_texts() == ["Reference", "bm25", "tfidf"]
    page.set_viewport_size({"width": 1500, "height": 900})
    edges = "els => els.map(el => el.getBoundingClientRect()).map(box => [box.left, box.right])"
    whole, left, right = page.locator("#detail .column").evaluate_all(edges)
    assert [left[0], right[1]] == pytest.approx(whole, abs=3)  # both fill the width
    page.select_option("#measure", "recall@1")
    stored = blocks(mini_report)
    place = stored["overview"]["runs"][0]["metrics"].index("recall@1")
    pairs = list(zip(*(stored[f"values-{run}-{place}"] for run in (0, 1)), strict=True))
    _duel(page, sum(x > y for x, y in pairs), sum(x < y for x, y in pairs))


def test_a_few_runs_are_beside_each_other_from_the_start(
    open_page: OpenPage, mini_report: Path
) -> None:
    """Three runs: each has its column, and the one that alone is best of a query is counted."""
    page = ready(open_page(mini_report))
    firsts = [[1 / rank if rank else 0 for rank in run] for run in _firsts(mini_report)]
    page.select_option("#measure", "rank of the first gold table")
    best = [max(of_query) for of_query in zip(*firsts, strict=True)]
    alone = [[run[i] for run in firsts].count(best[i]) == 1 for i in range(280)]
    wins = [sum(run[i] == best[i] and alone[i] for i in range(280)) for run in firsts]
    _duel(page, *wins)
    page.locator("#duel button", has_text="no single best").click()
    _found(page, 280 - sum(wins))
    page.select_option("#show", "differ")
    _found(page, sum(len({run[i] for run in firsts}) > 1 for i in range(280)))
    open_query(page, 0)
    heads = page.locator("#detail .column h4").all_inner_texts()
    assert heads == ["Reference", "bm25", "tfidf", "random"]
    assert page.locator("#list li").first.locator(".of-run").count() == 3


def test_failures_come_first(open_page: OpenPage, mini_report: Path) -> None:
    """By the main metric, then by the first gold table; and they can be shown alone."""
    page = ready(open_page(mini_report))
    found = blocks(mini_report)
    run = found["overview"]["runs"][0]
    values = found[f"values-0-{run['metrics'].index('recall@10')}"]
    ranks = [1 / rank if rank else 0 for rank in found["index"]["runs"][0]["first"]]
    order = sorted(range(280), key=lambda i: (values[i], ranks[i]))
    texts = found["index"]["texts"]
    assert _listed(page) == [texts[i] for i in order][:50]
    page.select_option("#show", "fail@10")
    _found(page, sum(value < 1 for value in values))
    page.select_option("#show", "fail@1")
    at_1 = found[f"values-0-{run['metrics'].index('recall@1')}"]
    _found(page, sum(value < 1 for value in at_1))
    assert page.locator("#outcome option[value='r:failed']").count() == 1


def test_words_of_the_question_are_marked(page: "Page", mini_report: Path) -> None:
    """In titles, headers and cells, whatever their case; stop words are not."""
    texts = blocks(mini_report)["index"]["texts"]
    open_query(page, next(i for i, text in enumerate(texts) if "Hamilton crowned" in text))
    gold = page.locator("#detail .column").first.locator("details.gold").first
    marked = gold.locator("mark").all_inner_texts()
    assert {"Hamilton", "2010", "2019"} <= set(marked)
    assert not {"was", "and", "the", "The"} & set(marked)
    assert gold.locator("summary mark").inner_text() == "2010s"
    contrast = page.evaluate(
        "getComputedStyle(document.querySelector('mark')).color === "
        "getComputedStyle(document.body).color"
    )
    assert contrast, "a mark changes the ground, not the ink"


def test_significance_in_the_summary(page: "Page") -> None:
    """A sentence, a mark in the table, and the differences with their p-values."""
    said = page.locator("#summary .finding").inner_text()
    assert said.startswith("bm25 has the best recall@10, .988; the difference from every other is")
    rows = page.locator("#summary .differences tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == ["tfidf", "random"]
    assert all("< .001" in row for row in rows)


def test_outcome_slice_and_order(page: "Page", mini_report: Path) -> None:
    found = blocks(mini_report)
    outcomes = found["index"]["runs"][0]["outcome"]
    page.select_option("#outcome", label="partly found")
    _found(page, outcomes.count(2))
    page.select_option("#outcome", "")
    slices = {one["name"]: one for one in found["index"]["slices"]}
    assert page.locator("#field-value").is_hidden()
    page.select_option("#slice", label="difficulty")
    for i, value in enumerate(slices["difficulty"]["values"]):
        page.select_option("#value", label=value)
        _found(page, slices["difficulty"]["codes"].count(i))
    page.click("#reset")
    _found(page, 280)
    page.select_option("#measure", "rank of the first gold table")
    page.select_option("#run-b", "")
    page.select_option("#order", "worst")
    worst = min(range(280), key=lambda i: 1 / (found["index"]["runs"][0]["first"][i] or 99))
    page.wait_for_function(
        "t => document.querySelector('#list .question').textContent === t",
        arg=found["index"]["texts"][worst],
    )


def test_pages(page: "Page") -> None:
    assert page.locator("#list button").count() == 50
    assert page.locator("#page-back").is_disabled()
    page.click("#page-last")
    assert page.locator("#list button").count() == 30
    assert page.locator("#page-now").inner_text() == "page 6 of 6"
    assert page.locator("#page-on").is_disabled()
    page.click("#page-first")
    assert page.locator("#page-now").inner_text() == "page 1 of 6"


def test_open_a_query(page: "Page", mini_report: Path) -> None:
    """Gold and retrieved tables stand there as tables, the gold marked, with ranks and scores."""
    found = blocks(mini_report)
    query, tables = listed(found, "queries")[4], listed(found, "tables")
    open_query(page, 4)
    assert page.locator("#detail h3").inner_text() == query["text"]
    reference = page.locator("#detail .column").first
    assert reference.locator("details.gold").count() == len(query["gold"])
    gold = tables[query["gold"][0]]
    header = reference.locator("table.cells thead th").all_inner_texts()
    assert header == gold["header"]
    assert reference.locator("table.cells tbody tr").count() == gold["n_rows"]
    run = page.locator("#detail .column[data-run='0']")
    entries = run.locator("details.table")
    assert entries.count() == 10
    marked = [i for i in range(10) if "gold" in (entries.nth(i).get_attribute("class") or "")]
    assert marked == [i for i, n in enumerate(query["runs"][0]["tables"]) if n in query["gold"]]
    assert [e.strip() for e in run.locator(".rank").all_inner_texts()][-1].endswith("10")
    entries.nth(3).locator("summary").click()
    entries.nth(3).locator("table.cells").wait_for()
    fourth = tables[query["runs"][0]["tables"][3]]
    assert entries.nth(3).locator("tbody tr").count() == fourth["n_rows"]
    assert page.url.endswith("#query-5")


def test_next_and_previous_by_keyboard(page: "Page", mini_report: Path) -> None:
    questions = blocks(mini_report)["index"]["texts"]

    def reads(i: int) -> None:
        page.wait_for_function(
            "t => document.querySelector('#detail h3').textContent === t", arg=questions[i]
        )

    page.locator("#list button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".detail-bar")
    reads(0)
    assert page.locator("#previous").is_disabled()
    page.keyboard.press("j")
    reads(1)
    page.keyboard.press("ArrowRight")
    reads(2)
    page.keyboard.press("k")
    reads(1)
    page.click("#next")
    reads(2)
    for i in range(3, 52):  # to the second page of the list
        page.keyboard.press("j")
        reads(i)
    assert page.locator("#page-now").inner_text() == "page 2 of 6"
    assert page.locator("#list [aria-current]").get_attribute("data-query") == "51"
    page.keyboard.press("/")
    page.keyboard.type("jk")
    assert page.input_value("#search") == "jk"
    reads(51)


def test_address_of_a_query(page: "Page", mini_report: Path) -> None:
    page.goto(f"{mini_report.as_uri()}#query-123")
    page.wait_for_selector(".detail-bar")
    question = blocks(mini_report)["index"]["texts"][122]
    assert page.locator("#detail h3").inner_text() == question


def test_theme(page: "Page", open_page: OpenPage, mini_report: Path) -> None:
    """The system's until the user chooses; the choice stays."""
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.click("[data-theme-switch]")
    dark = page.evaluate(paper)
    assert light != dark
    assert page.locator("[data-theme-switch]").inner_text() == "Light theme"
    page.reload()
    assert page.evaluate(paper) == dark
    other = ready(open_page(mini_report, color_scheme="dark"))
    assert other.evaluate(paper) == dark
    other.click("[data-theme-switch]")
    assert other.evaluate(paper) == light


def test_sort_and_copy_the_scores(page: "Page", mini_runs: list[Path]) -> None:
    scores = json.loads((mini_runs[0] / "scores.json").read_bytes())["scores"]
    names = page.locator("#scores tbody th")
    page.locator("#scores button.sort", has_text="mrr").click()
    assert names.all_inner_texts() == ["bm25", "tfidf", "random"]
    page.locator("#scores button.sort", has_text="mrr").click()
    assert names.all_inner_texts() == ["random", "tfidf", "bm25"]
    assert page.locator("#scores th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.locator("#scores button.sort", has_text="run").click()
    assert names.all_inner_texts() == ["bm25", "random", "tfidf"]
    page.click("[data-copy-as=markdown]")
    page.locator("button", has_text="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert copied[0].startswith("| run | recall@10 | recall@1 |")
    mrr = scores["mrr"]
    value, low, high = (score_text(mrr[part]) for part in ("value", "low", "high"))
    said = f"{value} [{low}, {high}]"
    assert any(line.startswith("| bm25 |") and said in line for line in copied)
    page.click("[data-copy-as=csv]")
    page.wait_for_function(
        """async () => (await navigator.clipboard.readText())
            .startsWith('run,recall@10,recall@10 low')"""
    )
    rows = list(csv.DictReader(page.evaluate("navigator.clipboard.readText()").splitlines()))
    (bm25,) = (row for row in rows if row["run"] == "bm25")
    assert [float(bm25[f"mrr{part}"]) for part in ("", " low", " high")] == [
        mrr["value"],
        mrr["low"],
        mrr["high"],
    ]


def test_answer_and_sql(open_page: OpenPage, tmp_path: Path) -> None:
    target = TARGET(("text_to_sql", "mini"), out=tmp_path, observer=Recorder())
    run = only(target.run("bm25", generator="extractive")).folder
    report = write_report([run], tmp_path / "r.html")
    query = next(
        query
        for query in listed(blocks(report), "queries")
        if query["runs"][0]["judged"]["rows"] and query["runs"][0]["judged"]["gold_rows"]
    )
    judged = query["runs"][0]["judged"]
    page = ready(open_page(report))
    page.fill("#search", query["id"])
    _found(page, 1, 57)
    open_query(page, 0)
    column = page.locator("#detail .column[data-run='0']")
    assert column.locator("pre").first.inner_text() == judged["sql"]
    assert judged["verdict"].replace("_", " ") in column.inner_text()
    ours, gold = (column.locator(".results table").nth(i) for i in (0, 1))
    for shown, result in ((ours, judged["result"]), (gold, judged["gold_result"])):
        assert shown.locator("th").all_inner_texts() == result["columns"]
        cells = [text or "NULL" for row in result["rows"] for text in row]
        assert shown.locator("td").all_inner_texts() == cells
    column.locator("text=Copy SQL").click()
    page.wait_for_function(
        "async t => (await navigator.clipboard.readText()) === t", arg=judged["sql"]
    )
    page.click("#reset")
    _found(page, 57, 57)
    page.select_option("#outcome", "a:correct")
    verdicts = [q["runs"][0]["judged"]["verdict"] for q in listed(blocks(report), "queries")]
    _found(page, verdicts.count("correct"), 57)
    page.select_option("#outcome", "")
    page.select_option("#show", "wrong")
    judged_wrong = [v for v in verdicts if v != "correct" and not v.startswith("not")]
    _found(page, len(judged_wrong), 57)


def test_judgements_without_results(open_page: OpenPage, tmp_path: Path) -> None:
    """As runs of earlier versions have them: the report says what to do."""
    target = TARGET(("text_to_sql", "mini"), out=tmp_path, observer=Recorder())
    run = only(target.run("bm25", generator="extractive")).folder

    def change(lines: list[Record]) -> None:
        for line in lines:
            del line["result"], line["gold_result"]

    rewrite_lines(run / "judgements.jsonl", change)
    page = ready(open_page(write_report([run], tmp_path / "r.html")))
    open_query(page, 0)
    assert page.locator(".results").count() == 0
    assert "`target-bench score` on its folder" in page.locator("#detail").inner_text()


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_phone(open_page: OpenPage, mini_report: Path, color_scheme: str) -> None:
    """No view is wider than a phone; a query takes the place of the list, and gives it back."""
    page = ready(open_page(mini_report, viewport=PHONE, color_scheme=color_scheme))
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) == PHONE["width"]
    in_order_of_the_split(page)
    page.select_option("#run-b", "all")
    open_query(page, 2)
    assert page.evaluate(width) == PHONE["width"]
    assert page.locator("#list").is_hidden()
    page.click("#to-list")
    assert page.locator("#list").is_visible()
    assert page.locator("#detail").is_hidden()
    focused = page.evaluate("document.activeElement.dataset.query")
    assert focused == "2"


def test_a_wide_table_says_that_there_is_more(open_page: OpenPage, mini_report: Path) -> None:
    """Until its last column is in sight; a table that fits says nothing."""
    page = ready(open_page(mini_report, viewport=PHONE))
    hint = page.locator(".hint:has(+ [aria-label='Scores of the runs'])")
    assert hint.inner_text() == "more columns →"
    assert hint.is_visible()
    scores = page.locator("[aria-label='Scores of the runs']")
    scores.evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    page.wait_for_selector(".hint.end", state="attached")
    assert hint.is_hidden()
    wide = ready(open_page(mini_report))
    assert wide.locator(".hint:visible").count() == 0


@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_nothing_is_below_the_page_or_cut(
    open_page: OpenPage, mini_report: Path, viewport: dict[str, int]
) -> None:
    """The page ends with its footer; names of charts lie inside them and are whole."""
    page = ready(open_page(mini_report, viewport=viewport))
    below = """() => document.documentElement.scrollHeight - scrollY
        - document.querySelector("footer").getBoundingClientRect().bottom"""
    assert page.evaluate(below) < 60
    outside = """() => [...document.querySelectorAll("svg.chart")].flatMap((chart) => {
        const box = chart.getBoundingClientRect();
        return [...chart.querySelectorAll("text")].filter((text) => {
            const own = text.getBoundingClientRect();
            return own.left < box.left - 1 || own.right > box.right + 1 ||
                own.top < box.top - 1 || own.bottom > box.bottom + 1;
        }).map((text) => text.textContent);
    })"""
    assert page.evaluate(outside) == []
    assert page.locator("svg.chart text", has_text="…").count() == 0


def test_an_answer_that_was_read_is_neither_good_nor_bad(page: "Page") -> None:
    """As of tables made from texts: whether one is right is not said by its being readable."""
    kinds = page.evaluate(
        "['read', 'readable', 'not judged', 'correct', 'wrong result'].map(filters.kind)"
    )
    assert kinds == ["", "", "", "good", "bad"]


def test_every_control_has_a_name(page: "Page") -> None:
    """Screen readers: controls are labelled, tables headed, one main heading."""
    open_query(page, 1)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, [role=region], svg")]
            .filter((e) => !(e.ariaHidden || e.textContent.trim() || e.ariaLabel ||
                e.labels?.length || document.getElementById(e.getAttribute("aria-labelledby"))))
            .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    assert page.locator("h1").count() == 1
    assert page.locator("table:not(:has(thead th[scope=col]))").count() == 0
