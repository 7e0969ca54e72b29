"""A report of hostile data in a real browser: all of it shows as text, and nothing runs."""

from pathlib import Path

from target_bench.harness.target import TARGET
from target_bench.reporting.report import write_report
from tests.browser import OpenPage
from tests.builders import Record, Recorder, only, rewrite_lines
from tests.reporting.report.driving import open_query, ready
from tests.reporting.report.written import HOSTILE, hostile_runs


def test_hostile_data_shows_as_text(open_page: OpenPage, tmp_path: Path) -> None:
    """Titles, cells, questions, answers, ids, labels: nothing runs, all of it can be read."""
    report = write_report(hostile_runs(tmp_path), tmp_path / "r.html")
    watched = open_page(report)
    page = ready(watched)
    page.select_option("#order", "")
    title = page.title()
    for i, text in enumerate(HOSTILE):
        open_query(page, i)
        written = text.replace("\ud800", "\ufffd")
        page.wait_for_function(
            "t => document.querySelector('#detail h3')?.textContent.toWellFormed() === t",
            arg=f"row {i} {written}",
        )
        page.evaluate(
            "document.querySelectorAll('#detail details').forEach((e) => (e.open = true))"
        )
        page.locator("#detail .column").first.locator("table.cells").first.wait_for()
        whole = page.evaluate("document.getElementById('detail').textContent.toWellFormed()")
        assert whole.count(written) >= 3  # question, reference, title
    assert page.title() == title
    assert page.locator("#detail script, #detail img, #detail a, #detail svg").count() == 0
    assert page.locator("#scores script, #scores img, #filters img").count() == 0
    label = page.locator("#scores tbody th").first.inner_text()
    assert label == f"bm25 + {HOSTILE[0]}"
    assert "</script>" in page.locator("#run-a").inner_text()


def test_hostile_sql_and_results_show_as_text(open_page: OpenPage, tmp_path: Path) -> None:
    target = TARGET(("text_to_sql", "mini"), out=tmp_path, observer=Recorder())
    run = only(target.run("bm25", generator="extractive", limit=len(HOSTILE))).folder

    def make_hostile(records: list[Record]) -> None:
        for record, text in zip(records, HOSTILE, strict=True):
            result = {"columns": [text, "x"], "rows": [[text, None]], "n_columns": 2}
            record |= {"sql": text, "reason": text, "rows": 1, "gold_rows": 1}
            record |= {"result": result, "gold_result": result}

    rewrite_lines(run / "judgements.jsonl", make_hostile)
    page = ready(open_page(write_report([run], tmp_path / "r.html")))
    page.select_option("#order", "")
    for i, text in enumerate(HOSTILE):
        open_query(page, i)
        written = text.replace("\ud800", "\ufffd")
        page.wait_for_function(
            """t => document.querySelector("#detail [data-run='0'] pre")
                   ?.textContent.toWellFormed() === t""",
            arg=written,
        )
        grids = page.locator("#detail .results table").all()
        assert len(grids) == 2
        for grid in grids:
            assert grid.evaluate("e => e.textContent.toWellFormed()").count(written) == 2
    assert page.title() != "owned"
    assert page.locator("#detail script, #detail img, #detail a, #detail svg").count() == 0


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
    assert any("Content Security Policy" in said for said in watched.complaints)
    loaded = page.evaluate("performance.getEntriesByType('resource').map(e => e.transferSize)")
    assert not any(loaded)
    watched.complaints.clear()
    watched.requests.clear()
