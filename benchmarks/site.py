"""The leaderboard site of many submissions: seconds to build, size and seconds to load.

    python -m benchmarks.site [--submissions 200] [--keep FOLDER]

Each synthetic submission has a retrieval and answers on the five corpora of the paper, with as many
queries as they have; entries are made by the real classes. Needs playwright and a chromium.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.table import Table

from target_bench.core.metric import AnswerCounts, Counts, Score
from target_bench.reporting.leaderboard import entry
from target_bench.reporting.leaderboard.card import Card, Kind
from target_bench.reporting.leaderboard.entry import SUFFIX, Entry, RunEntry
from tests.browser import ARGUMENTS, CHROMIUM, WIDE

CORPORA: dict[str, tuple[str, int, str, tuple[str, ...]]] = {
    "ottqa": ("validation", 2214, "question_answering", ("sacrebleu", "exact_match", "token_f1")),
    "fetaqa": ("test", 2003, "question_answering", ("sacrebleu", "rougeL", "token_f1")),
    "tabfact": ("test", 12779, "fact_verification", ("accuracy", "f1_weighted", "f1_macro")),
    "spider": ("validation", 1034, "text_to_sql", ("ex[bird]", "ex[spider]", "soft_f1")),
    "bird": ("validation", 1534, "text_to_sql", ("ex[bird]", "ex[spider]", "soft_f1")),
}
CUTOFFS = (1, 5, 10, 50)
KINDS: tuple[Kind, ...] = ("lexical", "sparse", "dense", "late-interaction", "hybrid", "reranker")
LIKE_RECALL = ("recall", "recall[dup]", "capped_recall", "full_recall", "success", "ndcg")
SIGNATURE = "synthetic"
READY = "() => document.documentElement.dataset.ready === 'true'"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="a folder for entries and site, kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        entries, site = folder / "submissions", folder / "site"
        entries.mkdir(parents=True, exist_ok=True)
        missing = [i for i in range(given.submissions) if not _path(entries, i).exists()]
        with ProcessPoolExecutor() as pool:
            list(pool.map(_write, missing, [entries] * len(missing)))
        command = [sys.executable, "-m", "target_bench", "leaderboard", "build", entries]
        before = _processor_seconds()
        start = time.perf_counter()
        subprocess.run([*map(str, command), "-o", str(site)], check=True)
        seconds = time.perf_counter() - start, _processor_seconds() - before
        _print(given.submissions, *seconds, site)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _print(n: int, seconds: float, processor: float, site: Path) -> None:
    loads = _loads(site / "index.html")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    table = Table(title=f"{n} submissions x {len(CORPORA)} corpora")
    table.add_column("what")
    table.add_column("figure", justify="right")
    table.add_row("built in", f"{seconds:.1f} s")
    table.add_row("of one processor", f"{processor:.1f} s")
    table.add_row("peak memory", f"{peak:,.0f} MB")
    table.add_row("overview", f"{(site / 'index.html').stat().st_size:,} bytes")
    table.add_row("site", f"{sum(p.stat().st_size for p in site.rglob('*')) / 1e6:.1f} MB")
    for name, found in loads.items():
        table.add_row(name, f"{found:.2f} s")
    Console().print(table)


def _loads(page_file: Path) -> dict[str, float]:
    """Medians of five: until the table is drawn, and until another k is."""
    opened, processor, changed = [], [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        for _ in range(5):
            page = browser.new_page(viewport=WIDE)  # type: ignore[arg-type]  # a plain dict will do
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            start = time.perf_counter()
            page.goto(page_file.as_uri())
            page.wait_for_function(READY)
            opened.append(time.perf_counter() - start)
            metrics = session.send("Performance.getMetrics")["metrics"]
            processor += [m["value"] for m in metrics if m["name"] == "TaskDuration"]
            start = time.perf_counter()
            page.select_option("#k", "1")
            page.wait_for_function(
                "() => document.querySelector('#scores').innerText.includes('R@1')"
            )
            changed.append(time.perf_counter() - start)
            page.close()
        browser.close()
    return {
        "overview loaded in": median(opened),
        "of its processor": median(processor),
        "another k in": median(changed),
    }


def _path(folder: Path, number: int) -> Path:
    return folder / f"system-{number:03d}{SUFFIX}"


def _write(number: int, folder: Path) -> None:
    packed = lru_cache(100)(lambda raw: pack(np.frombuffer(raw)))
    pack = entry._packed  # slow, and here many metrics are equal
    with patch.object(entry, "_packed", lambda values: packed(values.tobytes())):
        synthetic(number).write(_path(folder, number))


def synthetic(number: int) -> Entry:
    """A submission whose systems differ in skill; queries are hard for all alike."""
    generator = np.random.default_rng(number)
    size = [0, 33_000_000, 110_000_000, 335_000_000, 7_000_000_000, None][number % 6]
    card = Card(
        name=_name(number),
        authors=(f"Author {number}", "Bo Example"),
        retriever_kind=KINDS[number % len(KINDS)],
        parameters=size,
        training_data={
            corpus: ("no", "no", "yes", "unknown")[int(generator.integers(4))] for corpus in CORPORA
        },
        hardware="one accelerator",
        licence="Apache-2.0",
        open_weights=number % 3 > 0,
        code="https://example.org/code",
    )  # fmt: skip
    runs = tuple(_runs(number, generator))
    id_ = "bm25" if number == 0 else f"system-{number:03d}"
    return Entry(id_, card, runs, "accepted", (), _hash("entry", number), "target-bench")


def _name(number: int) -> str:
    if number == 0:
        return "BM25"
    return f"System {number}" + (" with a much longer name than others" if number % 7 == 3 else "")


def _runs(number: int, generator: np.random.Generator) -> Iterator[RunEntry]:
    skill = 0.3 * generator.random()
    for place, (corpus, (split, n, task, metrics)) in enumerate(CORPORA.items()):
        hard = np.random.default_rng(place).random(n)
        gold = np.random.default_rng(place).integers(1, 2 if place < 3 else 5, size=n)
        values: dict[str, Any] = {}
        for k in CUTOFFS:
            share = np.clip(1.2 - hard * (1.3 - skill) + 0.1 * np.log10(k), 0, 1)
            found = np.minimum(generator.binomial(gold, share), k) / gold
            values |= {f"{name}@{k}": found for name in LIKE_RECALL}
        values |= dict.fromkeys(("mrr", "map", "r_precision"), found)
        yield _run(corpus, split, n, values, number, basis=True, seconds={"retrieve": n / 100})
        answers = {name: (generator.random(n) > hard).astype(float) for name in metrics}
        if "token_f1" in answers:
            answers["token_f1"] = np.round(generator.random(n) * (1 - hard), 3)
        yield _run(
            corpus, split, n, values | answers, number,
            task=task, generator="openai:model=a-small-one", retrieval=2 * place,
            seconds={"generate": 0.4 * n},
            answers=AnswerCounts(n, n, 0, 3, 0, 0, 900 * n, 40 * n, 1.0),
        )  # fmt: skip


def _run(
    corpus: str, split: str, n: int, values: dict[str, Any], number: int, task: str = "retrieval",
    seconds: dict[str, float] | None = None, **more: Any,
) -> RunEntry:  # fmt: skip
    scores = {name: _score(name, vector) for name, vector in values.items()}
    slices: dict[str, list[Any]] = {"gold_tables": [1 + i % 3 for i in range(n)]}
    if task == "text_to_sql" or corpus in ("spider", "bird"):
        slices["db_id"] = [f"database_{i % 20}" for i in range(n)]
        slices["difficulty"] = [("simple", "moderate", "challenging")[i % 3] for i in range(n)]
    return RunEntry(
        corpus=corpus, split=split, task=task,
        retriever="bm25" if number == 0 else f"dense:model=s{number}",
        cutoffs=CUTOFFS, scores=scores, query_ids=[f"{corpus}-{i:05d}" for i in range(n)],
        per_query=values, counts=Counts(n, n, 0, 0, 0, 0, 0),
        corpus_fingerprint=_hash(corpus), queries_fingerprint=_hash(corpus, task),
        predictions_sha256=_hash(corpus, task, number), slices=slices,
        seconds={name: x * (1 + number % 17) for name, x in (seconds or {}).items()},
        timed_queries=n, cold=True, date="2026-01-31",
        retriever_identity={"class": "benchmarks.site:System"},
        generator_identity={"class": "benchmarks.site:Generator"},
        **{"generator": None, **more},
    )  # fmt: skip


def _score(name: str, values: Any) -> Score:
    value = float(values.mean())
    half = 1.96 * float(values.std()) / len(values) ** 0.5
    scale = 100 if name == "sacrebleu" else 1
    low, high = max(0.0, value - half), min(1.0, value + half)
    bounds = round(scale * low, 6), round(scale * high, 6)
    return Score(scale * value, *bounds, n=len(values), signature=SIGNATURE)


def _hash(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()


if __name__ == "__main__":
    main()
