"""How cost grows with the corpus: 1,000, 10,000 and 100,000 tables.

The tables are OTT-QA's: the 789 of its validation split under their own ids, then the same tables
again and again under new ids with their cells shuffled, for its 2,214 questions. They lie in
TARGET's layout. Every step runs in a process of its own, after a warm-up on a small corpus:

* first load (from JSON lines, which fills the Arrow cache) and second load, both with a walk over
  all tables;
* BM25, and BM25 within 256 MB: index, then all questions, k = 10;
* plain bm25s with its numpy backend on the same text and tokens.

The searches take turns; the best of each counts.

Memory is RssAnon, the process's own; the peak of RSS counts mapped files as well.

    TARGET_BENCH_DATA=... python benchmarks/growth.py [--sizes 1000,10000] [--repeat 3] [--work DIR]
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from target_bench import corpora
from target_bench.components.table_text import Analyzer, Serializer, distinct
from target_bench.core.schema import Dataset
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.bm25 import BM25

K = 10
BATCH = 128
LIMIT = 256 * 2**20
SEED = 7
MB = 2**20
STEPS = ("first load", "second load", "bm25", "bm25 in 256 MB", "plain bm25s")
Figures = dict[str, float]


def main() -> None:
    arguments = _arguments()
    if arguments.step:
        print(json.dumps(_step(arguments.step, arguments.folder)))
        return
    sizes = [int(size) for size in arguments.sizes.split(",")]
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        figures = {size: _figures(Path(work), size, arguments.repeat) for size in sizes}
    console = Console(width=110)
    console.print(_load_table(figures))
    console.print(_search_table(figures))
    _print_ratios(console, figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--repeat", type=int, default=3, help="searches; the best one counts")
    parser.add_argument("--work", type=Path, help="where to write; default: the system's choice")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _figures(work: Path, size: int, repeat: int) -> dict[str, Figures]:
    """The figures of every step over one corpus."""
    folder = work / f"tables-{size}"
    _write_corpus(folder, size)
    environment = {**os.environ, "TARGET_BENCH_CACHE": str(work / "cache")}

    def run(step: str) -> Figures:
        command = [sys.executable, __file__, "--step", step, "--folder", str(folder)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        figures: Figures = json.loads(done.stdout)
        print(f"{size} tables, {step}: {figures}", file=sys.stderr)
        return figures

    loads = {step: run(step) for step in STEPS[:2]}
    turns = [{step: run(step) for step in STEPS[2:]} for _ in range(repeat)]
    return loads | {step: _best([turn[step] for turn in turns]) for step in STEPS[2:]}


def _best(runs: list[Figures]) -> Figures:
    """The least seconds and the most memory."""
    return {name: (max if name.endswith("_mb") else min)(r[name] for r in runs) for name in runs[0]}


def _write_corpus(folder: Path, size: int) -> None:
    dataset = corpora.load("ottqa", "validation")
    queries = (
        {
            "query_id": query.id,
            "query": query.text,
            "answer": query.answer,
            "table_id": query.gold[0].table_id,
            "database_id": query.gold[0].database_id,
        }
        for query in dataset.queries
    )
    _write_lines(folder / "queries" / "test.jsonl", queries)
    _write_lines(folder / "corpus" / "test.jsonl", islice(_tables(dataset), size))


def _write_lines(path: Path, records: Iterator[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def _tables(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """The tables as they are, then copies with shuffled cells without end."""
    shuffle = random.Random(SEED).shuffle
    for round_ in count():
        for table in dataset.corpus:
            cells = [cell for row in table.rows for cell in row]
            name = table.id.table_id
            if round_:
                shuffle(cells)
                name = f"{name}-{round_}"
            width = len(table.header)
            rows = [cells[i : i + width] for i in range(0, len(cells), width)]
            yield {
                "database_id": table.id.database_id,
                "table_id": name,
                "table": [list(table.header), *rows],
                "context": {key: table.context[key] for key in ("title", "section_title")},
            }


class Memory(threading.Thread):
    """Watches the most memory this process has had to itself, in MB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0.0

    def run(self) -> None:
        while True:
            self.peak = max(self.peak, _memory("RssAnon"))
            time.sleep(0.01)


def _memory(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / MB for line in lines if line.startswith(f"{name}:"))


def _step(step: str, folder: Path) -> Figures:
    if step != "first load" and step != "second load":
        _warm_up(step)
    memory = Memory()
    memory.start()
    start = time.perf_counter()
    dataset = corpora.load(str(folder))
    load = time.perf_counter() - start
    if step in ("first load", "second load"):
        figures = {"load": load, "walk": _walk_seconds(dataset)}
    else:
        figures = _search(step, dataset)
    return {**figures, "anon_mb": memory.peak, "peak_mb": _memory("VmHWM")}


def _walk_seconds(dataset: Dataset) -> float:
    start = time.perf_counter()
    n = sum(1 for _ in dataset.corpus)
    assert n == len(dataset.corpus)
    return time.perf_counter() - start


def _warm_up(step: str) -> None:
    """Imports and first-use costs, apart."""
    mini = corpora.load("mini")
    small = MemoryCorpus(islice(mini.corpus, 20))
    _search(step, Dataset(mini.info, mini.split, small, mini.queries[:5]))


def _search(step: str, dataset: Dataset) -> Figures:
    texts = [query.text for query in dataset.queries]
    search = _plain if step == "plain bm25s" else _ours
    return search(dataset, texts, LIMIT if step == "bm25 in 256 MB" else None)


def _ours(dataset: Dataset, texts: list[str], limit: int | None) -> Figures:
    retriever = BM25()
    if limit is not None:
        retriever.limit_memory(limit)
    start = time.perf_counter()
    retriever.embed_corpus(dataset.corpus)
    indexed = time.perf_counter()
    for first in range(0, len(texts), BATCH):
        retriever.retrieve_batch(texts[first : first + BATCH], K)
    return {"index": indexed - start, "queries": time.perf_counter() - indexed}


def _plain(dataset: Dataset, texts: list[str], limit: int | None) -> Figures:
    import bm25s

    assert limit is None
    settings = BM25()
    tokens = Analyzer(settings.tokens, settings.fold, settings.stopwords, settings.stemmer)
    write = Serializer()
    start = time.perf_counter()
    model = bm25s.BM25(k1=settings.k1, b=settings.b, backend="numpy")
    model.index([tokens(write(table)) for table in dataset.corpus], show_progress=False)
    indexed = time.perf_counter()
    for first in range(0, len(texts), BATCH):
        asked = [distinct(tokens(text)) for text in texts[first : first + BATCH]]
        model.retrieve(asked, k=K, show_progress=False)
    return {"index": indexed - start, "queries": time.perf_counter() - indexed}


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 1 else "right")
    return table


def _load_table(figures: dict[int, dict[str, Figures]]) -> Table:
    columns = ("tables", "what", "load s", "walk s", "RssAnon MB", "peak RSS MB")
    table = _table("Loading, and walking over all tables", columns)
    for size, steps in figures.items():
        for step in STEPS[:2]:
            f = steps[step]
            seconds = (f"{f['load']:.2f}", f"{f['walk']:.2f}")
            table.add_row(f"{size:,}", step, *seconds, *_megabytes(f))
    return table


def _search_table(figures: dict[int, dict[str, Figures]]) -> Table:
    columns = ("tables", "what", "index s", "tables/s", "queries s", "queries/s")
    table = _table(f"BM25, 2,214 questions, k = {K}", (*columns, "RssAnon MB", "peak RSS MB"))
    for size, steps in figures.items():
        for step in STEPS[2:]:
            f = steps[step]
            index = (f"{f['index']:.2f}", f"{size / f['index']:,.0f}")
            queries = (f"{f['queries']:.2f}", f"{2214 / f['queries']:,.0f}")
            table.add_row(f"{size:,}", step, *index, *queries, *_megabytes(f))
    return table


def _megabytes(figures: Figures) -> tuple[str, str]:
    return f"{figures['anon_mb']:.0f}", f"{figures['peak_mb']:.0f}"


def _print_ratios(console: Console, figures: dict[int, dict[str, Figures]]) -> None:
    largest = max(figures)
    steps = figures[largest]
    first, second, ours, limited, plain = (steps[step] for step in STEPS)
    console.print(f"Over {largest:,} tables:")
    console.print(
        f"  first load and walk {first['anon_mb']:.0f} MB to itself (must stay under 300); "
        f"second load / first {second['load'] / first['load']:.2f} (under 0.33)"
    )
    for size in sorted(figures):
        if size != largest:
            ratio = ours["index"] / largest / (figures[size]["bm25"]["index"] / size)
            console.print(
                f"  index seconds per table / those over {size:,} tables: {ratio:.2f} (under 1.20)"
            )
    console.print(
        f"  queries/s / plain bm25s: {plain['queries'] / ours['queries']:.2f} (at least 0.50); "
        f"in 256 MB {plain['queries'] / limited['queries']:.2f}"
    )
    console.print(f"  index seconds / plain bm25s: {ours['index'] / plain['index']:.2f}")


if __name__ == "__main__":
    main()
