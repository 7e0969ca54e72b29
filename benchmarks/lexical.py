"""How much the harness costs: all TabFact test statements, from files to scores, in one run.

Compared, on the same tokens and with imports apart:

* target-bench: ``evaluate("bm25", "tabfact")``, run folder and all metrics with
  intervals included; the tables come from the cache, which the first run of all fills;
* the same fielded BM25 written straight on bm25s and scipy, with recall@10 alone;
* a loop over rank-bm25, one index per field, one query at a time.

The first two take turns; the best of each counts. A run with an empty cache is measured apart.

    TARGET_BENCH_DATA=... python benchmarks/lexical.py [--rank-bm25-queries 1000] [--repeat 7]
"""

import argparse
import gc
import gzip
import json
import os
import re
import tempfile
import time
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

import bm25s
import numpy as np
import rank_bm25
import Stemmer
from bm25s.stopwords import STOPWORDS_EN_PLUS
from rich.console import Console
from rich.table import Table
from scipy.sparse import csr_matrix

from target_bench import evaluate
from target_bench.runs.result import Result

T = TypeVar("T")

FIELD_WEIGHTS = (0.4, 0.6)
K = 10


def main() -> None:
    arguments = _arguments()
    folder = Path(os.environ["TARGET_BENCH_DATA"]) / "tabfact"
    _ours("mini")  # imports and first-use costs, apart
    turns = [
        (*_timed(lambda: _ours("tabfact")), *_timed(lambda: _straight_on_bm25s(folder)))
        for _ in range(arguments.repeat)
    ]
    first = _with_an_empty_cache()
    ours, result = min((turn[:2] for turn in turns), key=lambda timed: timed[0])
    plain, plain_recall = min((turn[2:] for turn in turns), key=lambda timed: timed[0])
    loop, loop_recall, n_loop = _rank_bm25_loop(folder, arguments.rank_bm25_queries)
    latency = _ours("tabfact", latency=500).times.latency
    assert latency is not None

    recall = result.scores[f"recall@{K}"].value
    table = Table(title="TabFact test, 12,779 statements × 1,695 tables, fielded BM25, k = 10")
    for column in ("what", "seconds", "ratio", f"recall@{K}"):
        table.add_column(column, justify="right" if column != "what" else "left")
    table.add_row("target-bench, load to scores", f"{ours:.2f}", "1.00", f"{recall:.4f}")
    table.add_row("with an empty cache", f"{first:.2f}", f"{first / ours:.2f}", f"{recall:.4f}")
    table.add_row(
        "straight on bm25s/scipy", f"{plain:.2f}", f"{plain / ours:.2f}", f"{plain_recall:.4f}"
    )
    scaled = "" if n_loop == 12779 else f" (scaled from {n_loop:,} statements)"
    table.add_row(
        f"rank-bm25 loop{scaled}", f"{loop:.2f}", f"{loop / ours:.1f}", f"{loop_recall:.4f}"
    )
    console = Console(width=110)
    console.print(table)
    console.print(f"target-bench is {ours / plain:.2f} × the plain work (at most 1.1)")
    console.print(
        f"target-bench is {loop / ours:.1f} × faster than the rank-bm25 loop (at least 10)"
    )
    console.print(f"seconds by stage: {dict(result.times.seconds)}")
    console.print(f"single queries, warm, milliseconds: {dict(latency)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank-bm25-queries", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=7)
    return parser.parse_args()


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    gc.collect()  # neither side pays for the garbage of the other
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value


def _ours(corpus: str, latency: int = 0) -> Result:
    with tempfile.TemporaryDirectory() as out:
        return evaluate("bm25", corpus, top_k=K, latency=latency, out=out)[0]


def _with_an_empty_cache() -> float:
    with tempfile.TemporaryDirectory() as cache, patch.dict(os.environ, TARGET_BENCH_CACHE=cache):
        return _timed(lambda: _ours("tabfact"))[0]


TOKEN = re.compile(r"[^\W_]+")
STOP = frozenset(STOPWORDS_EN_PLUS)
STEM = Stemmer.Stemmer("english").stemWord


class Tokens:
    def __init__(self) -> None:
        self.known: dict[str, str | None] = {}

    def __call__(self, text: str) -> list[str]:
        tokens = []
        for raw in TOKEN.findall(text.lower()):
            if raw not in self.known:
                self.known[raw] = self._normal(raw)
            token = self.known[raw]
            if token is not None:
                tokens.append(token)
        return tokens

    def _normal(self, raw: str) -> str | None:
        decomposed = unicodedata.normalize("NFKD", raw)
        folded = "".join(c for c in decomposed if not unicodedata.combining(c))
        return None if folded in STOP else STEM(folded)


Loaded = tuple[list[list[list[str]]], list[list[str]], list[int]]


def _load(folder: Path) -> Loaded:
    """Tokens of both fields of every table, tokens of every statement, its table's number."""
    tokens = Tokens()
    examples = json.loads(gzip.decompress((folder / "test_examples.json.gz").read_bytes()))
    title_fields, all_fields, queries, gold = [], [], [], []
    with zipfile.ZipFile(folder / "test_csv.zip") as archive:
        for number, (name, (statements, _, caption)) in enumerate(examples.items()):
            text = archive.read(f"all_csv/{name}").decode()
            header, *rows = [line.split("#") for line in text.splitlines()]
            title_fields.append(tokens(" ".join([caption, *header])))
            all_fields.append(title_fields[-1] + tokens(" ".join(" ".join(row) for row in rows)))
            queries += [list(dict.fromkeys(tokens(s))) for s in statements]
            gold += [number] * len(statements)
    return [title_fields, all_fields], queries, gold


def _straight_on_bm25s(folder: Path) -> float:
    fields, queries, gold = _load(folder)
    vocabulary: dict[str, int] = {}
    encoded = [
        [[vocabulary.setdefault(t, len(vocabulary)) for t in doc] for doc in field]
        for field in fields
    ]
    shape = (len(vocabulary), len(fields[0]))
    weights = csr_matrix(shape)
    for weight, field in zip(FIELD_WEIGHTS, encoded, strict=True):
        model = bm25s.BM25(k1=0.5, b=0.75, dtype="float64")
        model.index((field, vocabulary), create_empty_token=False, show_progress=False)
        s = model.scores
        weights += weight * csr_matrix((s["data"], s["indices"], s["indptr"]), shape=shape)
    terms = [[vocabulary[t] for t in query if t in vocabulary] for query in queries]
    indptr = np.cumsum([0, *map(len, terms)])
    indices = np.concatenate([np.array(t, dtype=np.int32) for t in terms])
    matrix = csr_matrix((np.ones(len(indices)), indices, indptr), shape=(len(queries), shape[0]))
    hits = 0
    for start in range(0, len(queries), 512):
        scores = (matrix[start : start + 512] @ weights).toarray()
        best = np.argpartition(scores, shape[1] - K, axis=1)[:, -K:]
        hits += int((best == np.array(gold[start : start + 512])[:, None]).sum())
    return hits / len(queries)


def _rank_bm25_loop(folder: Path, n: int) -> tuple[float, float, int]:
    """(seconds for all statements, recall, statements run); the loop is scaled, loading is not."""
    start = time.perf_counter()
    fields, queries, gold = _load(folder)
    models = [rank_bm25.BM25Okapi(field, k1=0.5, b=0.75) for field in fields]
    prepared = time.perf_counter() - start
    step = max(1, len(queries) // n)
    sample = range(0, len(queries), step)
    start, hits = time.perf_counter(), 0
    for i in sample:
        pairs = zip(FIELD_WEIGHTS, models, strict=True)
        scores = sum(weight * model.get_scores(queries[i]) for weight, model in pairs)
        hits += gold[i] in np.argsort(-scores)[:K]
    loop = (time.perf_counter() - start) * len(queries) / len(sample)
    return prepared + loop, hits / len(sample), len(sample)


if __name__ == "__main__":
    main()
