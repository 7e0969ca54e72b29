"""The report in a real browser: every control, with keyboard and mouse, and nothing leaves it."""

import csv
import json
import shutil
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from target_bench import compare, read_run
from target_bench.core.errors import StoreError
from target_bench.core.text_tables import score_text
from target_bench.reporting.report import write_report
from tests.browser import PHONE, WIDE, OpenPage
from tests.builders import Record, Recorder, only, rewrite_lines
from tests.reporting.report.driving import open_query, ready
from tests.reporting.report.written import HOSTILE, hostile_runs, read_data
from tests.target import TARGET

if TYPE_CHECKING:
    from playwright.sync_api import Page

RANK = "rank of the first gold table"


@pytest.fixture
def page(open_page: OpenPage, mini_report: Path) -> "Page":
    """The report of three retrievals."""
    return ready(open_page(mini_report))


def _one_run(page: "Page") -> None:
    """Show one run alone, with its queries in the order of the split."""
    page.select_option("#order", "")
    page.select_option("#run-b", "")
    page.wait_for_function("() => document.getElementById('duel').hidden")


def _listed(page: "Page") -> list[str]:
    return page.locator("#list .question").all_inner_texts()


def _wait_for(page: "Page", n: int, total: int = 280) -> None:
    """Wait until so many queries are listed."""
    text = f"{n} of {total} queries" if n != total else f"{total} queries"
    page.wait_for_function("t => document.getElementById('found').textContent === t", arg=text)


def _wait_for_duel(page: "Page", *wins: int, total: int = 280) -> None:
    """Wait until each run is the best on so many queries, and none alone on the others."""
    page.wait_for_function(
        """counts => [...document.querySelectorAll("#duel b")].map(b => b.textContent).join()
                  === counts""",
        arg=",".join(map(str, [*wins, total - sum(wins)])),
    )


def _firsts(stored: dict[str, Any]) -> list[list[int]]:
    """The rank of the first gold table of each query in each run; 0 without one."""
    return [run["first"] for run in stored["runs"]]


def _texts(stored: dict[str, Any]) -> list[str]:
    return [query["text"] for query in stored["queries"]]


# The list


def test_runs_beside_each_other_from_the_start(page: "Page", mini_data: dict[str, Any]) -> None:
    """Failures by the main metric come first; the run that alone is best of a query is counted."""
    texts, firsts = _texts(mini_data), _firsts(mini_data)
    scores = [[1 / rank if rank else 0 for rank in run] for run in firsts]
    at_10 = mini_data["runs"][0]["values"]["recall@10"]
    order = sorted(range(280), key=lambda i: (at_10[i], scores[0][i]))
    assert _listed(page) == [texts[i] for i in order][:50]
    for k in (10, 1):
        page.select_option("#show", f"fail@{k}")
        _wait_for(page, sum(value < 1 for value in mini_data["runs"][0]["values"][f"recall@{k}"]))
    assert page.locator("#outcome option[value='r:failed']").count() == 1
    page.select_option("#measure", RANK)
    best = [max(of_query) for of_query in zip(*scores, strict=True)]
    alone = [[run[i] for run in scores].count(best[i]) == 1 for i in range(280)]
    wins = [sum(run[i] == best[i] and alone[i] for i in range(280)) for run in scores]
    _wait_for_duel(page, *wins)
    page.locator("#duel button", has_text="no single best").click()
    _wait_for(page, 280 - sum(wins))
    page.select_option("#show", "differ")
    _wait_for(page, sum(len({run[i] for run in scores}) > 1 for i in range(280)))
    open_query(page, 0)
    heads = page.locator("#detail .column h4").all_inner_texts()
    assert heads == ["Reference", "bm25", "tfidf", "random"]
    assert page.locator("#list li").first.locator(".of-run").count() == 3


def test_search_filters_order_and_pages(page: "Page", mini_data: dict[str, Any]) -> None:
    """All words have to be there, in question, answer or id; upper case is lower case."""
    _one_run(page)
    queries, slices = mini_data["queries"], mini_data["slices"]
    run, firsts = mini_data["runs"][0], list(zip(*_firsts(mini_data), strict=True))
    texts = ["\n".join([q["id"], q["text"], *q["answers"]]).lower() for q in queries]
    page.fill("#search", "GOLD 1976")
    _wait_for(page, sum("gold" in text and "1976" in text for text in texts))
    page.fill("#search", "no such words anywhere")
    _wait_for(page, 0)
    assert page.locator("#nothing").is_visible()
    for several, badge in ((False, "gold found @{}"), (True, "gold found, first @{}")):
        outcomes = zip(queries, run["outcome"], strict=True)
        i = next(
            i
            for i, (query, outcome) in enumerate(outcomes)
            if (len(query["gold"]) > 1) == several and outcome == "found"
        )
        page.fill("#search", queries[i]["id"])
        _wait_for(page, 1)
        assert page.locator("#list .badge").first.inner_text() == badge.format(run["first"][i])
        page.fill("#search", "")
        _wait_for(page, 280)
    for show, fits in (
        ("missed", lambda ranks: not any(ranks)),
        ("found", all),
        ("split", lambda ranks: any(ranks) and not all(ranks)),
    ):
        page.select_option("#show", show)
        _wait_for(page, sum(map(fits, firsts)))
    page.select_option("#show", "")
    page.select_option("#outcome", label="partly found")
    _wait_for(page, run["outcome"].count("partly"))
    page.select_option("#outcome", "")
    difficulty = next(s for s in slices if s["name"] == "difficulty")
    page.select_option("#slice", label="difficulty")
    for i, value in enumerate(difficulty["values"]):
        page.select_option("#value", label=value)
        _wait_for(page, difficulty["codes"].count(i))
    page.click("#reset")
    _wait_for(page, 280)
    page.select_option("#measure", RANK)
    page.select_option("#run-b", "")
    page.select_option("#order", "worst")
    worst = min(range(280), key=lambda i: 1 / (firsts[i][0] or 99))
    page.wait_for_function(
        "t => document.querySelector('#list .question').textContent === t",
        arg=queries[worst]["text"],
    )
    assert page.locator("#list button").count() == 50
    assert page.locator("#page-back").is_disabled()
    page.click("#page-last")
    assert page.locator("#list button").count() == 30
    assert page.locator("#page-now").inner_text() == "page 6 of 6"
    assert page.locator("#page-on").is_disabled()


# One query


def test_a_query_has_its_tables(page: "Page", mini_data: dict[str, Any]) -> None:
    """Gold and retrieved tables stand there as tables, the gold marked, with ranks and scores."""
    _one_run(page)
    query, tables = mini_data["queries"][4], mini_data["tables"]
    open_query(page, 4)
    assert page.locator("#detail h3").inner_text() == query["text"]
    assert page.url.endswith("#query-5")
    reference = page.locator("#detail .column").first
    assert reference.locator("details.gold").count() == len(query["gold"])
    gold = tables[query["gold"][0]]
    assert reference.locator("table.cells thead th").all_inner_texts() == gold["header"]
    assert reference.locator("table.cells tbody tr").count() == gold["n_rows"]
    entries = page.locator("#detail .column[data-run='0'] details.table")
    assert entries.count() == 10
    marked = [i for i in range(10) if "gold" in (entries.nth(i).get_attribute("class") or "")]
    assert marked == [i for i, n in enumerate(query["runs"][0]["tables"]) if n in query["gold"]]
    entries.nth(3).locator("summary").click()
    entries.nth(3).locator("table.cells").wait_for()
    fourth = tables[query["runs"][0]["tables"][3]]
    assert entries.nth(3).locator("tbody tr").count() == fourth["n_rows"]


def test_words_of_the_question_are_marked(page: "Page", mini_data: dict[str, Any]) -> None:
    """In titles, headers and cells, whatever their case; stop words are not."""
    texts = _texts(mini_data)
    i = next(i for i, text in enumerate(texts) if "Hamilton crowned" in text)
    page.goto(f"{page.url}#query-{i + 1}")
    page.wait_for_selector(".detail-bar")
    gold = page.locator("#detail .column").first.locator("details.gold").first
    marked = set(gold.locator("mark").all_inner_texts())
    assert {"Hamilton", "2010", "2019"} <= marked
    assert not {"was", "and", "the", "The"} & marked
    assert gold.locator("summary mark").inner_text() == "2010s"


def test_next_and_previous_by_keyboard(page: "Page", mini_data: dict[str, Any]) -> None:
    _one_run(page)

    def reads(i: int) -> None:
        page.wait_for_function(
            "t => document.querySelector('#detail h3').textContent === t",
            arg=_texts(mini_data)[i],
        )

    page.locator("#list button").nth(48).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".detail-bar")
    for key, i in (("j", 49), ("ArrowRight", 50), ("k", 49), ("j", 50)):
        page.keyboard.press(key)
        reads(i)
    page.click("#next")  # on the second page of the list
    reads(51)
    assert page.locator("#page-now").inner_text() == "page 2 of 6"
    assert page.locator("#list [aria-current]").get_attribute("data-query") == "51"
    page.keyboard.press("/")
    page.keyboard.type("jk")
    assert page.input_value("#search") == "jk"
    reads(51)


def test_answer_and_sql(open_page: OpenPage, sql_run: Path, tmp_path: Path) -> None:
    report = write_report([sql_run], tmp_path / "r.html")
    queries = read_data(report)["queries"]
    judged = [query["runs"][0]["judged"] for query in queries]
    i = next(i for i, record in enumerate(judged) if record["rows"] and record["gold_rows"])
    page = ready(open_page(report))
    page.fill("#search", queries[i]["id"])
    _wait_for(page, 1, 57)
    open_query(page, 0)
    column = page.locator("#detail .column[data-run='0']")
    assert column.locator("pre").first.inner_text() == judged[i]["sql"]
    assert judged[i]["verdict"].replace("_", " ") in column.inner_text()
    for place, result in enumerate((judged[i]["result"], judged[i]["gold_result"])):
        shown = column.locator(".results table").nth(place)
        assert shown.locator("th").all_inner_texts() == result["columns"]
        cells = [text or "NULL" for row in result["rows"] for text in row]
        assert shown.locator("td").all_inner_texts() == cells
    column.locator("text=Copy SQL").click()
    page.wait_for_function(
        "async t => (await navigator.clipboard.readText()) === t", arg=judged[i]["sql"]
    )
    page.click("#reset")
    _wait_for(page, 57, 57)
    verdicts = [record["verdict"] for record in judged]
    page.select_option("#outcome", "a:correct")
    _wait_for(page, verdicts.count("correct"), 57)
    page.select_option("#outcome", "")
    page.select_option("#show", "wrong")
    _wait_for(page, sum(v != "correct" and not v.startswith("not") for v in verdicts), 57)


# The summary


def test_the_summary(page: "Page", mini_runs: list[Path]) -> None:
    """A sentence, differences with their p-values, and scores to sort and copy."""
    sentence = page.locator("#summary .finding").inner_text()
    assert sentence == "bm25 is best by recall@10: .982; worse: tfidf and random (p < .05)."
    rows = page.locator("#summary .differences tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == ["tfidf", "random"]
    assert all("< .001" in row for row in rows)
    names = page.locator("#scores tbody th")
    for column, order in (
        ("mrr", ["bm25", "tfidf", "random"]),
        ("mrr", ["random", "tfidf", "bm25"]),
        ("run", ["bm25", "random", "tfidf"]),
    ):
        page.locator("#scores button.sort", has_text=column).click()
        assert names.all_inner_texts() == order
    assert page.locator("#scores th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.click("[data-copy-as=markdown]")
    page.locator("button", has_text="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert copied[0].startswith("| run | recall@10 | recall@1 |")
    mrr = read_run(mini_runs[0]).scores["mrr"]
    value, low, high = map(score_text, (mrr.value, mrr.low, mrr.high))
    assert any(f"{value} [{low}, {high}]" in line for line in copied if "| bm25 |" in line)
    page.click("[data-copy-as=csv]")
    page.wait_for_function(
        """async () => (await navigator.clipboard.readText())
            .startsWith('run,recall@10,recall@10 low')"""
    )
    records = csv.DictReader(page.evaluate("navigator.clipboard.readText()").splitlines())
    bm25 = next(record for record in records if record["run"] == "bm25")
    bounds = [float(bm25[f"mrr{part}"]) for part in ("", " low", " high")]
    assert bounds == [mrr.value, mrr.low, mrr.high]


# How it looks


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


def test_phone(open_page: OpenPage, mini_report: Path) -> None:
    """No view is wider than a phone; a query takes the place of the list, and gives it back."""
    page = ready(open_page(mini_report, viewport=PHONE))
    hint = page.locator(".hint:has(+ [aria-label='Scores of the runs'])")
    assert hint.inner_text() == "more columns →"
    assert hint.is_visible()
    scores = page.locator("[aria-label='Scores of the runs']")
    scores.evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    page.wait_for_selector(".hint.end", state="attached")
    assert hint.is_hidden(), "the last column is in sight"
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) == PHONE["width"]
    page.select_option("#order", "")
    open_query(page, 2)
    assert page.evaluate(width) == PHONE["width"]
    assert page.locator("#list").is_hidden()
    page.click("#to-list")
    assert page.locator("#list").is_visible()
    assert page.locator("#detail").is_hidden()
    assert page.evaluate("document.activeElement.dataset.query") == "2"


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
    assert page.locator(".hint:visible").count() == 0, "every table fits"
    # whether a table made from a text is right is not said by its being readable
    kinds = page.evaluate("['readable', 'not judged', 'correct', 'wrong result'].map(filters.kind)")
    assert kinds == ["", "", "good", "bad"]


# Without gold tables


@pytest.fixture(scope="module")
def fruit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tables, three questions, the last with a gold table in ``labelled``."""
    folder = tmp_path_factory.mktemp("unlabelled")
    questions = ("which apple is red", "the green fruit", "plum")
    for name, gold in (("own", []), ("labelled", ["t3"])):
        (folder / name).mkdir()
        for i, words in enumerate(("red apple", "green pear", "red and green plum"), start=1):
            (folder / name / f"t{i}.csv").write_text(f"fruit,n\n{words},{i}\n")
        records = [
            {"query_id": f"q{i}", "query": text, "table_id": gold if i == 3 else []}
            for i, text in enumerate(questions, start=1)
        ]
        (folder / name / "queries.jsonl").write_text("\n".join(map(json.dumps, records)))
    return folder


def _fruit_report(folder: Path, name: str) -> tuple[Path, list[Path]]:
    target = TARGET(("retrieval", folder / name), out=folder / "runs", observer=Recorder())
    runs = [only(target.run(each, top_k=[1, 2])).folder for each in ("bm25", "random:seed=3")]
    return write_report(runs, folder / f"{name}.html"), runs


def test_a_report_without_gold_tables(fruit: Path, open_page: OpenPage) -> None:
    """It shows where rankings differ most; a comparison says to look there."""
    path, runs = _fruit_report(fruit, "own")
    with pytest.raises(StoreError, match="no scores; target-bench report shows runs side by side"):
        compare(runs)
    page = ready(open_page(path))
    assert "No query has a gold table" in page.locator("#unlabelled").inner_text()
    assert page.locator("#scores, #charts, #all-metrics").count() == 0
    for hidden in ("#field-outcome", "#field-measure", "#duel"):
        assert page.locator(hidden).is_hidden()
    stored = read_data(path)
    order = sorted(range(3), key=lambda i: stored["common"][i])
    ids = [stored["queries"][i]["id"] for i in order]
    assert page.locator("#list .id").all_inner_texts() == ids
    assert page.locator("#list .badge").first.inner_text().endswith("% in common")
    assert "gold" not in page.locator("#list").inner_text()
    open_query(page, 0)
    assert page.locator("#detail [aria-label=Reference]").count() == 0
    assert page.locator("#detail .badge", has_text="only here").count() > 0


def test_queries_without_gold_tables_among_others(fruit: Path, open_page: OpenPage) -> None:
    path, _ = _fruit_report(fruit, "labelled")
    page = ready(open_page(path))
    assert page.locator("#scores").count() == 1
    assert page.locator("#list .id").all_inner_texts()[0] == "q3"  # the others come last
    assert sum(map(int, page.locator("#duel b").all_inner_texts())) == 1
    assert page.locator("#list .badge", has_text="no gold table").count() == 4
    page.select_option("#show", "missed")
    page.wait_for_function("() => document.getElementById('found').textContent !== '3 queries'")
    assert "q1" not in page.locator("#list").inner_text()


# Hostile data


MARKUP = "#detail script, #detail img, #detail a, #detail svg, #scores script, #scores img"


def _hostile(
    page: "Page", selector: str, form: str = "{}", texts: Sequence[str] = HOSTILE
) -> Iterator[str]:
    """Open each query; yield its text once an element of it shows this."""
    page.select_option("#order", "")
    for i, text in enumerate(texts):
        open_query(page, i)
        written = text.replace("\ud800", "\ufffd")
        page.wait_for_function(
            "([s, t]) => document.querySelector(s)?.textContent.toWellFormed() === t",
            arg=[selector, form.replace("{i}", str(i)).replace("{}", written)],
        )
        yield written


def test_hostile_data_shows_as_text(open_page: OpenPage, tmp_path: Path) -> None:
    """Titles, cells, questions, answers, ids, labels: nothing runs, all of it can be read."""
    page = ready(open_page(write_report(hostile_runs(tmp_path), tmp_path / "r.html")))
    title = page.title()
    composed = [unicodedata.normalize("NFC", text) for text in HOSTILE]  # as tables are read
    for text in _hostile(page, "#detail h3", "row {i} {}", composed):
        page.evaluate(
            "document.querySelectorAll('#detail details').forEach((e) => (e.open = true))"
        )
        page.locator("#detail .column").first.locator("table.cells").first.wait_for()
        whole = page.evaluate("document.getElementById('detail').textContent.toWellFormed()")
        assert whole.count(text) >= 3  # question, reference, title
    assert page.title() == title
    assert page.locator(f"{MARKUP}, #filters img").count() == 0
    assert page.locator("#scores tbody th").first.inner_text() == f"bm25 + {HOSTILE[0]}"
    assert "</script>" in page.locator("#run-a").inner_text()


def test_hostile_sql_and_results_show_as_text(
    open_page: OpenPage, sql_run: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(sql_run.parent, tmp_path / "runs")) / sql_run.name

    def make_hostile(records: list[Record]) -> None:
        for record, text in zip(records, HOSTILE, strict=False):
            result = {"columns": [text, "x"], "rows": [[text, None]], "n_columns": 2}
            record |= {"sql": text, "reason": text, "rows": 1, "gold_rows": 1}
            record |= {"result": result, "gold_result": result}

    rewrite_lines(run / "judgements.jsonl", make_hostile)
    page = ready(open_page(write_report([run], tmp_path / "r.html")))
    for text in _hostile(page, "#detail [data-run='0'] pre"):
        grids = page.locator("#detail .results table").all()
        shown = [grid.evaluate("e => e.textContent.toWellFormed()") for grid in grids]
        assert [content.count(text) for content in shown] == [2, 2]
    assert page.title() != "owned"
    assert page.locator(MARKUP).count() == 0


def test_injected_scripts_do_not_run(
    open_page: OpenPage, mini_report: Path, tmp_path: Path
) -> None:
    """Even markup that had come into the file could neither run nor ask for anything."""
    text = mini_report.read_text(encoding="utf-8")
    attack = (
        "<script>document.title='owned'</script><img src='https://example.org/x.png' "
        "onerror=\"document.title='owned'\"><link rel=stylesheet href='https://example.org/x.css'>"
    )
    forged = tmp_path / "forged.html"
    forged.write_text(text.replace('<main id="main"', f'{attack}<main id="main"', 1), "utf-8")
    watched = open_page(forged)
    page = ready(watched)
    page.wait_for_timeout(200)
    assert page.title() != "owned"
    assert any("Content Security Policy" in complaint for complaint in watched.complaints)
    loaded = page.evaluate("performance.getEntriesByType('resource').map(e => e.transferSize)")
    assert not any(loaded)
    watched.complaints.clear()
    watched.requests.clear()
