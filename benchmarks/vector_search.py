"""Vector search: what an index costs beside its bare library, and when a graph pays.

The vectors are those of the retriever ``dense`` (MiniLM, 384 dimensions, unit length; from the
embedding cache where a run has left them there) of all 12,779 TabFact test statements and the 1,695
tables. Compared, in turns in one process, at k = 10:

* the index ``exact``, and the others that are exact;
* one ``IndexFlatIP.search`` of FAISS;
* one product and one ``argpartition`` of numpy.

With ``--crossover``, exact search against HNSW at 1,000, 10,000 and 100,000 vectors: those of the
tables, repeated with jitter. With ``--gpu``, ``torch`` on CUDA against the device's own products of
the same shapes (its limit), and FAISS on a GPU where ``faiss-gpu`` is installed.

    TARGET_BENCH_DATA=... python benchmarks/vector_search.py [--vectors file.npz] [--repeat 15]
        [--synthetic] [--crossover] [--gpu]

``--vectors`` is where the vectors are kept between calls; ``--synthetic`` takes as many made-up
ones around 200 centres instead, and needs neither data nor model.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from target_bench.core import registry
from target_bench.core.vectors import VectorIndex, Vectors

K = 10
CONSOLE = Console(width=110)
GRAPHS = ("faiss-hnsw",)
JITTER = 0.5  # length of what is added to a vector of length 1


def main() -> None:
    arguments = _arguments()
    synthetic = (_clustered(12_779, 1), _clustered(1695, 2)) if arguments.synthetic else None
    queries, tables = synthetic or _vectors(arguments.vectors)
    if arguments.crossover:
        _crossover(queries, tables, arguments.sizes)
    elif arguments.gpu:
        _gpu(queries, tables, arguments.repeat)
    else:
        _against_libraries(queries, tables, arguments.repeat)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--synthetic", action="store_true")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--crossover", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--gpu", action="store_true")
    return parser.parse_args()


def _vectors(path: Path | None) -> tuple[Vectors, Vectors]:
    """Of statements and tables; computed unless the file is there."""
    if path is not None and path.exists():
        stored = np.load(path, allow_pickle=False)
        return stored["queries"], stored["tables"]
    from target_bench import corpora
    from target_bench.data.table_text import Serializer
    from target_bench.models.encoders.encoding import Encoding

    dataset, write, encoding = corpora.load("tabfact"), Serializer(), Encoding("minilm")
    queries = encoding.queries([query.text for query in dataset.queries])
    tables = encoding.tables([write(table) for table in dataset.corpus])
    if path is not None:
        np.savez(path, queries=queries, tables=tables)
    return queries, tables


def _clustered(n: int, seed: int) -> Vectors:
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((200, 384), dtype=np.float32)
    noise = random.standard_normal((n, 384), dtype=np.float32)
    vectors = centres[random.integers(0, 200, n)] + np.float32(1.5) * noise
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _against_libraries(queries: Vectors, tables: Vectors, repeat: int) -> None:
    import faiss

    flat = faiss.IndexFlatIP(tables.shape[1])
    flat.add(tables)
    ways: dict[str, Callable[[], Any]] = {
        "IndexFlatIP.search of FAISS": lambda: flat.search(queries, K),
        "numpy: product, argpartition": lambda: np.argpartition(-(queries @ tables.T), K)[:, :K],
    }
    for name in ("exact", "faiss-flat"):
        ways[name] = _search(_built(name, tables), queries)
    _print_turns(ways, repeat, f"{len(queries):,} queries × {len(tables):,} tables, k = {K}")


def _print_turns(ways: dict[str, Callable[[], Any]], repeat: int, title: str) -> None:
    """Every way in turn; a ratio is the median of the ratios within a turn."""
    for way in ways.values():
        way()
    turns = [{name: _seconds(way) for name, way in ways.items()} for _ in range(repeat)]
    bases = list(ways)[:2]
    table = Table(title=title)
    for column in ("what", "best s", "median s", *(f"× {base}" for base in bases)):
        table.add_column(column, justify="right" if column != "what" else "left")
    for name in ways:
        times = [turn[name] for turn in turns]
        ratios = [median(turn[name] / turn[base] for turn in turns) for base in bases]
        table.add_row(
            name, f"{min(times):.3f}", f"{median(times):.3f}", *(f"{r:.2f}" for r in ratios)
        )
    CONSOLE.print(table)


def _crossover(queries: Vectors, tables: Vectors, sizes: Sequence[int]) -> None:
    """Build and search, and from how many queries on a graph has paid for its building."""
    some = queries[:: max(1, len(queries) // 2000)][:2000]
    table = Table(title=f"{len(some):,} queries in one batch, k = {K}, default settings")
    columns = ("vectors", "index", "build s", "queries/s", "× exact", "recall@10", "pays from")
    for column in columns:
        table.add_column(column, justify="right" if column != "index" else "left")
    for size in sizes:
        vectors = _jittered(tables, size)
        exact = 0.0
        for name in ("exact", *GRAPHS):
            start = time.perf_counter()
            index = _built(name, vectors)
            build = time.perf_counter() - start
            each = min(_seconds(_search(index, some)) for _ in range(3)) / len(some)
            exact = exact or each
            recall = [note.split(": ")[1][:5] for note in index.notes() if "recall" in note]
            pays = f"{build / (exact - each):,.0f} queries" if each < exact else "never"
            table.add_row(
                f"{size:,}",
                name,
                f"{build:.2f}",
                f"{1 / each:,.0f}",
                f"{exact / each:.2f}",
                *(recall or ["1"]),
                pays if name != "exact" else "",
            )
    CONSOLE.print(table)


def _gpu(queries: Vectors, tables: Vectors, repeat: int) -> None:
    import torch

    if not torch.cuda.is_available():
        raise SystemExit("--gpu: PyTorch sees no CUDA device here")
    CONSOLE.print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    for size in (len(tables), 100_000):
        vectors = tables if size == len(tables) else _jittered(tables, size)
        left = torch.tensor(queries, device="cuda")
        right = torch.tensor(vectors, device="cuda")
        rows = max(1, 256_000_000 // size)

        def products(left: Any = left, right: Any = right, rows: int = rows) -> None:
            for start in range(0, len(left), rows):
                left[start : start + rows] @ right.T
            torch.cuda.synchronize()

        def sorted_products(left: Any = left, right: Any = right, rows: int = rows) -> None:
            for start in range(0, len(left), rows):
                (left[start : start + rows] @ right.T).topk(K)
            torch.cuda.synchronize()

        ways: dict[str, Callable[[], Any]] = {
            "product on the device (limit)": products,
            "product, topk on the device": sorted_products,
            "exact:device=cuda": _search(_built("exact:device=cuda", vectors), queries),
        }
        if importlib.util.find_spec("faiss"):
            import faiss

            if hasattr(faiss, "StandardGpuResources") and faiss.get_num_gpus():
                ways["faiss-flat"] = _search(_built("faiss-flat:gpu=true", vectors), queries)
        flops = 2 * len(queries) * size * queries.shape[1]
        products()
        limit = min(_seconds(products) for _ in range(repeat))
        CONSOLE.print(f"products alone: {flops / limit / 1e12:.1f} TFLOP/s in full fp32")
        _print_turns(ways, repeat, f"{len(queries):,} queries × {size:,} vectors, k = {K}")


def _jittered(vectors: Vectors, n: int) -> Vectors:
    """Unit vectors: each given one in turn, with noise of a fixed length."""
    random = np.random.default_rng(0)
    repeated = np.resize(vectors, (n, vectors.shape[1]))
    noise = random.standard_normal(repeated.shape, dtype=np.float32)
    repeated += JITTER * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    unit: Vectors = repeated / np.linalg.norm(repeated, axis=1, keepdims=True)
    return unit


def _built(name: str, vectors: Vectors) -> VectorIndex:
    index: VectorIndex = registry.create("index", name)
    index.build(vectors)
    return index


def _search(index: VectorIndex, queries: Vectors) -> Callable[[], Any]:
    return lambda: index.search(queries, K)


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
