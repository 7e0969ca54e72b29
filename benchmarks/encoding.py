"""What our encoders cost beside the library: texts of real corpora into vectors.

The encoder ``minilm`` (tokens counted, cut texts counted, NaN looked for, vectors put back) and
``SentenceTransformer.encode`` alone, on the same texts sorted by length, with the same weights,
device, type of numbers and batch size. They take turns, and begin in turns; a ratio is the median
over the turns, of seconds and of processor seconds (which other work on the machine moves less).
Tables are written by the default serializer. The last column is the largest difference of a
coordinate.

With ``--cached``, the same texts through the embedding cache, twice: into an empty one, and, in
another process, out of it. Seconds are those of embedding alone, hashing the weights included.

    TARGET_BENCH_DATA=... python benchmarks/encoding.py [--tables 256] [--queries 512] [--turns 7]
        [--batch-size 32] [--device cpu] [--dtype float32]
        [--corpora ottqa fetaqa tabfact] [--cached]
"""

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

from target_bench.core.vectors import TextKind, Vectors
from target_bench.data.load import load
from target_bench.data.table_text import Serializer
from target_bench.models.encoders.encoding import Encoding
from target_bench.models.encoders.sentence_transformers import MiniLM

COLUMNS = (
    "texts",
    "number",
    "cut",
    "ours s",
    "library s",
    "ratio",
    "CPU ratio",
    "texts/s",
    "differ",
)
KINDS: tuple[TextKind, TextKind] = ("table", "query")


def main() -> None:
    arguments = _arguments()
    if arguments.cached:
        _twice(arguments)
        return
    encoder = MiniLM(
        batch_size=arguments.batch_size, device=arguments.device, dtype=arguments.dtype
    )
    library = encoder.loaded
    table = Table(
        title=f"MiniLM, {library.device}, {library.dtype}, batches of {encoder.batch_size}"
    )
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "texts" else "right")
    for corpus in arguments.corpora:
        texts = dict(zip(KINDS, _texts(corpus, arguments.tables, arguments.queries), strict=True))
        for kind, some in texts.items():
            table.add_row(f"{corpus} {kind}", *_compared(encoder, some, kind, arguments.turns))
    Console(width=110).print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=256)
    parser.add_argument("--queries", type=int, default=512)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--device")
    parser.add_argument("--dtype", choices=("float32", "float16", "bfloat16"))
    parser.add_argument("--corpora", nargs="+", default=["ottqa", "fetaqa", "tabfact"])
    parser.add_argument("--cached", action="store_true")
    return parser.parse_args()


def _twice(arguments: argparse.Namespace) -> None:
    """The first and the second run of a dense configuration, each in a process of its own."""
    table = Table(title="embedding, seconds: a first run, and a second one")
    for column in ("corpus", "tables", "queries", "first s", "second s", "share"):
        table.add_column(column, justify="left" if column == "corpus" else "right")
    for corpus in arguments.corpora:
        texts = _texts(corpus, arguments.tables, arguments.queries)
        with TemporaryDirectory() as cache:
            os.environ["TARGET_BENCH_CACHE"] = cache
            seconds = []
            for _ in range(2):
                with ProcessPoolExecutor(1, get_context("spawn")) as alone:
                    seconds.append(alone.submit(_embedding, *texts, arguments.batch_size).result())
        table.add_row(
            corpus,
            *(f"{len(some):,}" for some in texts),
            *(f"{value:.2f}" for value in seconds),
            f"{seconds[1] / seconds[0]:.2%}",
        )
    Console(width=110).print(table)


def _embedding(tables: list[str], queries: list[str], batch_size: int) -> float:
    encoding = Encoding(MiniLM(batch_size=batch_size))
    start = time.perf_counter()
    encoding.tables(tables)
    encoding.queries(queries)
    return time.perf_counter() - start


def _texts(corpus: str, n_tables: int, n_queries: int) -> tuple[list[str], list[str]]:
    """Evenly spread over the corpus, longest first."""
    dataset, write = load(corpus), Serializer()
    tables = [write(table) for table in dataset.corpus]
    queries = [query.text for query in dataset.queries]
    return _sample(tables, n_tables), _sample(queries, n_queries)


def _sample(texts: list[str], n: int) -> list[str]:
    return sorted(texts[:: max(1, len(texts) // n)][:n], key=len, reverse=True)


def _compared(encoder: MiniLM, texts: list[str], kind: TextKind, turns: int) -> list[str]:
    def ours() -> Vectors:
        return encoder.encode(texts, kind)

    def alone() -> Vectors:
        vectors: Vectors = encoder.loaded.encode(texts, batch_size=encoder.batch_size)
        return vectors

    difference = float(np.abs(ours() - alone()).max())
    seconds: dict[Callable[[], Vectors], list[tuple[float, float]]] = {ours: [], alone: []}
    for turn in range(turns):
        for work in (ours, alone) if turn % 2 else (alone, ours):
            start = time.perf_counter(), time.process_time()
            work()
            seconds[work].append((time.perf_counter() - start[0], time.process_time() - start[1]))
    ratios = np.median(np.array(seconds[ours]) / np.array(seconds[alone]), axis=0)
    times = [float(np.median(seconds[work], axis=0)[0]) for work in (ours, alone)]
    cut = sum(sum(flags) for _, _, flags in encoder.encode_parts(texts, kind))
    return [
        f"{len(texts):,}",
        f"{cut:,}",
        *(f"{value:.2f}" for value in times),
        *(f"{ratio:.3f}" for ratio in ratios),
        f"{len(texts) / times[0]:,.0f}",
        f"{difference:.0e}",
    ]


if __name__ == "__main__":
    main()
