"""How cost grows with the corpus: 1,000 tables to 1,000,000.

The tables are those of OTT-QA, FeTaQA, TabFact and of Wikipedia in 2019, 115,286 together: first
the 789 of OTT-QA's validation split, whose 2,214 questions are asked. Larger corpora go on with
copies under new ids, their rows shuffled. Every step runs in a process of its own, after a warm-up
on a small corpus:

* first load (from JSON lines in TARGET's layout, which fills the Arrow cache) and second load, both
  with a walk over all tables; up to 100,000 tables;
* BM25: index, then all questions in batches of 128, k = 10; of 100 questions the ranking is
  compared with that of the full product;
* the saved index of BM25: opened, asked one question at a time, and in batches;
* plain bm25s with its numpy backend, and tantivy, on the same tokens of the same text as one field,
  with as many threads as there are processors.

The searches take turns; the best of each counts.

Memory is RssAnon, the process's own; the peak of RSS counts mapped files as well. Processes beside
the one that indexes are not part of it.

    TARGET_BENCH_DATA=... python benchmarks/growth.py [--sizes 1000,10000] [--repeat 3] [--work DIR]
        [--steps bm25,saved,bm25s,tantivy]
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as TextTable

from target_bench import corpora
from target_bench.core.index_store import load_index, save_index
from target_bench.core.processors import count_processors
from target_bench.core.ranking import top_k_positive
from target_bench.core.schema import Corpus, Table, TableId
from target_bench.data.cache import TABLES
from target_bench.data.folders import folder_of
from target_bench.data.load import loader
from target_bench.data.reading import choose_reader, read_part
from target_bench.data.table_text import Analyzer, Serializer, deduplicate
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.bm25 import BM25

K = 10
BATCH = 128
SEED = 7
MB = 2**20
LOADS = ("first load", "second load")
SEARCHES = ("bm25", "saved", "bm25s", "tantivy")
LARGEST_FILES = 100_000
COMPARED = 100
SOURCES = (
    ("ottqa", "validation"),
    ("ottqa", "train"),
    ("fetaqa", "test"),
    ("fetaqa", "validation"),
    ("tabfact", "test"),
    ("tabfact", "validation"),
    ("wikitables2019", "test"),
)
Figures = dict[str, float]


def main() -> None:
    arguments = _arguments()
    if arguments.step:
        print(json.dumps(_step(arguments.step, arguments.size, arguments.folder)))
        return
    sizes = [int(size) for size in arguments.sizes.split(",")]
    searches = [step for step in SEARCHES if step in arguments.steps.split(",")]
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        figures = {size: _figures(Path(work), size, searches, arguments.repeat) for size in sizes}
    console = Console(width=120)
    console.print(_load_table(figures))
    console.print(_search_table(figures))
    console.print(_saved_table(figures))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--steps", default=",".join(SEARCHES), help="the searches")
    parser.add_argument("--repeat", type=int, default=3, help="searches; the best one counts")
    parser.add_argument("--work", type=Path, help="where to write; default: the system's choice")
    parser.add_argument("--step", choices=(*LOADS, *SEARCHES), help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _figures(work: Path, size: int, searches: list[str], repeat: int) -> dict[str, Figures]:
    """The figures of every step over one corpus."""
    folder = work / f"tables-{size}"
    folder.mkdir()
    environment = dict(os.environ)

    def run(step: str) -> Figures:
        place = ("--size", str(size), "--folder", str(folder))
        command = [sys.executable, __file__, "--step", step, *place]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        figures: Figures = json.loads(done.stdout)
        print(f"{size} tables, {step}: {figures}", file=sys.stderr, flush=True)
        return figures

    turns = [{step: run(step) for step in searches} for _ in range(repeat)]
    best = {step: _best([turn[step] for turn in turns]) for step in searches}
    if size <= LARGEST_FILES:
        _write_corpus(folder, size)
        environment["TARGET_BENCH_CACHE"] = str(work / "cache")
        best |= {step: run(step) for step in LOADS}
    shutil.rmtree(folder)
    return best


def _best(runs: list[Figures]) -> Figures:
    """The least seconds and the most of everything else."""
    return {name: (min if name.endswith("_s") else max)(r[name] for r in runs) for name in runs[0]}


class Grown(MemoryCorpus):
    """The first tables of all sources, and copies of them with shuffled rows."""

    def __init__(self, n: int) -> None:
        super().__init__([])
        self._parts = [_tables(*source) for source in SOURCES]
        self._n = n
        own = [table_id for part in self._parts for table_id in part.ids]
        self._ids = tuple(_named(own[i % len(own)], i // len(own), i) for i in range(n))

    def __iter__(self) -> Iterator[Table]:
        every = (table for _ in count() for part in self._parts for table in part)
        n_real = sum(map(len, self._parts))
        shuffle = random.Random(SEED).shuffle
        for i, (table_id, table) in enumerate(zip(self._ids, every, strict=False)):
            rows = list(table.rows)
            if i >= n_real:
                shuffle(rows)
            yield replace(table, id=table_id, rows=rows)

    def at(self, place: int) -> Table:
        """Return the original of a table, by which its language is told."""
        place %= sum(map(len, self._parts))
        for part in self._parts:
            if place < len(part):
                return part.at(place)
            place -= len(part)
        raise IndexError(place)

    @property
    def fingerprint(self) -> str:
        """Tells the corpora of this script apart."""
        return f"grown-{self._n}"


def _tables(name: str, split: str) -> Corpus:
    plugin = loader(name)
    folder = folder_of(plugin, None)
    tables: Corpus = read_part(choose_reader(plugin, folder), folder, split, TABLES).value
    return tables


def _named(own: TableId, copy: int, place: int) -> TableId:
    return own if place < 789 else TableId("0", f"{place}-{copy}-{own.table_id}")


def _write_corpus(folder: Path, size: int) -> None:
    queries = (
        {
            "query_id": query.id,
            "query": query.text,
            "answer": query.answer,
            "table_id": query.gold[0].table_id,
            "database_id": query.gold[0].database_id,
        }
        for query in corpora.load("ottqa", "validation").queries
    )
    tables = (
        {
            "database_id": table.id.database_id,
            "table_id": table.id.table_id,
            "table": [list(table.header), *table.rows],
            "context": dict(table.context),
        }
        for table in Grown(size)
    )
    _write_lines(folder / "queries" / "test.jsonl", queries)
    _write_lines(folder / "corpus" / "test.jsonl", tables)


def _write_lines(path: Path, records: Iterator[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


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


def _step(step: str, size: int, folder: Path) -> Figures:
    if step in SEARCHES:
        with tempfile.TemporaryDirectory() as small:  # imports and first-use costs, apart
            _SEARCH["bm25" if step == "saved" else step](Grown(20), _questions()[:5], Path(small))
        corpus: Corpus = Grown(size)
    memory = Memory()
    memory.start()
    figures = _load(folder) if step in LOADS else _SEARCH[step](corpus, _questions(), folder)
    return {**figures, "anon_mb": memory.peak, "peak_mb": _memory("VmHWM")}


def _questions() -> list[str]:
    return [query.text for query in corpora.load("ottqa", "validation").queries]


def _load(folder: Path) -> Figures:
    start = time.perf_counter()
    corpus = corpora.load(str(folder)).corpus
    loaded = time.perf_counter()
    n = sum(1 for _ in corpus)
    assert n == len(corpus)
    return {"load_s": loaded - start, "walk_s": time.perf_counter() - loaded}


def _bm25(corpus: Corpus, questions: list[str], folder: Path) -> Figures:
    return _indexed(BM25(), corpus, questions, folder)


def _indexed(retriever: BM25, corpus: Corpus, questions: list[str], folder: Path | None) -> Figures:
    start = time.perf_counter()
    retriever.embed_corpus(corpus)
    index = time.perf_counter() - start
    figures = {"index_s": index, "batches_s": _batches(retriever, questions)}
    if folder is None:
        return figures
    start = time.perf_counter()
    save_index(retriever, corpus, folder / "index")
    return {**figures, "save_s": time.perf_counter() - start}


def _saved(corpus: Corpus, questions: list[str], folder: Path) -> Figures:
    retriever = BM25()
    start = time.perf_counter()
    load_index(retriever, corpus, folder / "index")
    opened = time.perf_counter() - start
    batches = _batches(retriever, questions)
    seconds = []
    for question in questions:
        start = time.perf_counter()
        retriever.retrieve_batch([question], K)
        seconds.append(time.perf_counter() - start)
    p50, p95, p99 = np.percentile(seconds, [50, 95, 99]) * 1000
    times = {"p50_ms_s": float(p50), "p95_ms_s": float(p95), "p99_ms_s": float(p99)}
    differing = _differing(retriever, questions[:COMPARED])
    return {"open_s": opened, "batches_s": batches, **times, "differing": differing}


def _batches(retriever: BM25, questions: list[str]) -> float:
    start = time.perf_counter()
    for first in range(0, len(questions), BATCH):
        retriever.retrieve_batch(questions[first : first + BATCH], K)
    return time.perf_counter() - start


def _differing(retriever: BM25, questions: list[str]) -> int:
    """How many rankings, scores included, are not those of the full product."""
    postings = retriever._postings
    rankings = retriever.retrieve_batch(questions, K)
    differing = 0
    for question, ranking in zip(questions, rankings, strict=True):
        terms = postings.build_query_matrix([deduplicate(retriever._analyzer(question))])
        scores = np.hstack([(terms @ shard).toarray() for shard in postings.shards])
        places, values = top_k_positive(scores, K)
        expected = zip(places[0].tolist(), values[0].tolist(), strict=True)
        differing += list(ranking) != [(retriever._ids[i], v) for i, v in expected if i >= 0]
    return differing


def _tokens() -> Callable[[str], list[str]]:
    settings = BM25()
    return Analyzer(settings.tokens, settings.fold, settings.stopwords, settings.stemmer)


def _plain(corpus: Corpus, questions: list[str], _: Path) -> Figures:
    import bm25s

    settings, tokens, write = BM25(), _tokens(), Serializer()
    start = time.perf_counter()
    model = bm25s.BM25(k1=settings.k1, b=settings.b, backend="numpy")
    model.index([tokens(write(table)) for table in corpus], show_progress=False)
    indexed = time.perf_counter()
    for first in range(0, len(questions), BATCH):
        queries = [deduplicate(tokens(text)) for text in questions[first : first + BATCH]]
        model.retrieve(queries, k=K, show_progress=False, n_threads=count_processors())
    return {"index_s": indexed - start, "batches_s": time.perf_counter() - indexed}


def _tantivy(corpus: Corpus, questions: list[str], _: Path) -> Figures:
    import tantivy

    tokens, write = _tokens(), Serializer()
    start = time.perf_counter()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
    builder.add_unsigned_field("place", stored=True)
    schema = builder.build()
    index = tantivy.Index(schema)
    writer = index.writer(heap_size=1_000_000_000, num_threads=count_processors())
    for place, table in enumerate(corpus):
        writer.add_document(tantivy.Document(text=" ".join(tokens(write(table))), place=place))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    indexed = time.perf_counter()
    searcher = index.searcher()
    should = tantivy.Occur.Should

    def ask(question: str) -> list[Any]:
        terms = deduplicate(tokens(question))
        clauses = [(should, tantivy.Query.term_query(schema, "text", term)) for term in terms]
        hits = searcher.search(tantivy.Query.boolean_query(clauses), K, count=False).hits
        return [searcher.doc(address) for *_, address in hits]

    with ThreadPoolExecutor(count_processors()) as threads:
        list(threads.map(ask, questions))
    return {"index_s": indexed - start, "batches_s": time.perf_counter() - indexed}


_SEARCH: dict[str, Callable[[Corpus, list[str], Path], Figures]] = {
    "bm25": _bm25,
    "saved": _saved,
    "bm25s": _plain,
    "tantivy": _tantivy,
}


def _table(title: str, columns: tuple[str, ...]) -> TextTable:
    table = TextTable(title=title)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 1 else "right")
    return table


def _load_table(figures: dict[int, dict[str, Figures]]) -> TextTable:
    columns = ("tables", "what", "load s", "walk s", "RssAnon MB", "peak RSS MB")
    table = _table("Loading, and walking over all tables", columns)
    for size, steps in figures.items():
        for step in (step for step in LOADS if step in steps):
            f = steps[step]
            seconds = (f"{f['load_s']:.2f}", f"{f['walk_s']:.2f}")
            table.add_row(f"{size:,}", step, *seconds, *_megabytes(f))
    return table


def _search_table(figures: dict[int, dict[str, Figures]]) -> TextTable:
    columns = ("tables", "what", "index s", "tables/s", "questions/s", "RssAnon MB", "peak RSS MB")
    table = _table(f"BM25, 2,214 questions, k = {K}", columns)
    for size, steps in figures.items():
        for step in (step for step in SEARCHES if "index_s" in steps.get(step, {})):
            f = steps[step]
            index = (f"{f['index_s']:.2f}", f"{size / f['index_s']:,.0f}")
            table.add_row(
                f"{size:,}", step, *index, f"{2214 / f['batches_s']:,.0f}", *_megabytes(f)
            )
    return table


def _saved_table(figures: dict[int, dict[str, Figures]]) -> TextTable:
    columns = ("tables", "what", "open s", "questions/s", "p50 ms", "p95 ms", "p99 ms", "differing")
    table = _table("BM25, the saved index", columns)
    for size, steps in figures.items():
        if "saved" in steps:
            f = steps["saved"]
            times = (f"{f[name]:.2f}" for name in ("p50_ms_s", "p95_ms_s", "p99_ms_s"))
            a_second = f"{2214 / f['batches_s']:,.0f}"
            differing = f"{f['differing']:.0f} of {COMPARED}"
            table.add_row(f"{size:,}", "saved", f"{f['open_s']:.2f}", a_second, *times, differing)
    return table


def _megabytes(figures: Figures) -> tuple[str, str]:
    return f"{figures['anon_mb']:.0f}", f"{figures['peak_mb']:.0f}"


if __name__ == "__main__":
    main()
