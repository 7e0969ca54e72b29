"""What a report of all TabFact queries and three runs costs to write, to open and to use.

Runs of bm25, tfidf and lsa over $TARGET_BENCH_DATA are made if they are not in ``--runs``; the
report is written by a process of its own, whose peak memory counts. A headless chromium opens the
file and times: until the list stands, until the longest task of the page was over, then turning
pages, searching, filtering by another metric, and opening queries, each until the page shows it.

    python -m benchmarks.report [--runs runs] [--corpus tabfact] [--generator extractive]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

from target_bench.harness.target import TARGET
from tests.browser import ARGUMENTS, CHROMIUM, WIDE

RETRIEVERS = ("bm25", "tfidf", "lsa")
BUILD = """
import json, sys, time
from pathlib import Path
from target_bench.reporting.report import write_report
start = time.perf_counter(), time.process_time()
write_report([Path(name) for name in sys.argv[2:]], Path(sys.argv[1]))
used = time.perf_counter() - start[0], time.process_time() - start[1]
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps([*used, int(status["VmHWM"].split()[0]) / 1024]))
"""
LONG_TASKS = """
window.longest = 0;
new PerformanceObserver((found) => {
  for (const entry of found.getEntries()) longest = Math.max(longest, entry.duration);
}).observe({ type: "longtask", buffered: true });
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--corpus", default="tabfact")
    parser.add_argument("--generator", help="report answers too, by this generator")
    given = parser.parse_args()
    task = "fact_verification" if given.generator else "retrieval"
    target = TARGET((task, given.corpus), out=given.runs)
    more = {"generator": given.generator} if given.generator else {}
    results = [target.run(name, top_k=[1, 5, 10, 50], **more)[0] for name in RETRIEVERS]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        command = [sys.executable, "-c", BUILD, str(report), *(str(r.folder) for r in results)]
        seconds, processor, peak = json.loads(
            subprocess.run(command, capture_output=True, check=True).stdout
        )
        table = Table(title=f"{given.corpus}: {results[0].counts.asked:,} queries x {len(results)}")
        table.add_column("what")
        table.add_column("figure", justify="right")
        table.add_row("written in", f"{seconds:.1f} s")
        table.add_row("of one processor", f"{processor:.1f} s")
        table.add_row("peak memory", f"{peak:,.0f} MB")
        table.add_row("size", f"{report.stat().st_size / 1e6:.1f} MB")
        for name, milliseconds in _used(report).items():
            table.add_row(name, f"{milliseconds:,.0f} ms")
    Console().print(table)


def _used(report: Path) -> dict[str, float]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        page = browser.new_page(viewport=WIDE)  # type: ignore[arg-type]  # a plain dict will do
        page.add_init_script(LONG_TASKS)
        milliseconds = {"opened": _timed(lambda: _open(page, report))}
        page.wait_for_timeout(500)
        milliseconds["longest task while opening"] = page.evaluate("longest")
        page.evaluate("longest = 0")
        milliseconds |= {
            "a page of the list": _each(20, lambda _: _turn(page)),
            "a search": _each(6, lambda i: _search(page, "won the game"[: 2 + 2 * i])),
            "all queries again": _timed(lambda: _reset(page)),
            "another metric": _each(3, lambda i: _measure(page, ("mrr", "ndcg@10", "map")[i])),
            "a query": _each(30, lambda i: _query(page, i)),
        }
        milliseconds["longest task in use"] = page.evaluate("longest")
        browser.close()
    return milliseconds


def _timed(act: Callable[[], Any]) -> float:
    start = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - start)


def _each(n: int, act: Callable[[int], Any]) -> float:
    return median(_timed(lambda i=i: act(i)) for i in range(n))  # type: ignore[misc]  # binds the number of its turn


def _open(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    page.wait_for_selector("#browser[data-ready]")


def _turn(page: Page) -> None:
    before = page.locator("#list").get_attribute("start")
    page.evaluate("document.getElementById('page-on').click()")
    page.wait_for_function("b => document.getElementById('list').start !== Number(b)", arg=before)


def _search(page: Page, text: str) -> None:
    before = page.inner_text("#found")
    page.fill("#search", text)
    page.wait_for_function("b => document.getElementById('found').innerText !== b", arg=before)


def _reset(page: Page) -> None:
    before = page.inner_text("#found")
    page.click("#reset")
    page.wait_for_function("b => document.getElementById('found').innerText !== b", arg=before)


def _measure(page: Page, metric: str) -> None:
    page.select_option("#run-b", index=1)
    page.evaluate("document.getElementById('duel').replaceChildren()")
    page.select_option("#measure", metric)
    page.wait_for_selector("#duel b")


def _query(page: Page, place: int) -> None:
    page.evaluate("document.getElementById('detail').replaceChildren()")
    page.evaluate("i => document.querySelectorAll('#list button')[i].click()", place)
    page.wait_for_selector("#detail .column[data-run] table.cells")


if __name__ == "__main__":
    main()
