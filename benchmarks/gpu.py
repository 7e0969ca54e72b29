"""Encoding and exact search on a GPU, as shares of what the machine can do.

    python benchmarks/gpu.py                      # on the first CUDA device
    python benchmarks/gpu.py --device cpu --texts 64 --vectors 1000   # a trial

The limits are measured first, by PyTorch alone on the same device: products of large matrices in
the numbers that each part computes in, and a copy in memory. Work is counted in multiplications and
additions (FLOP): 2 per weight outside the embeddings and token for encoding (the
attention's own products are left out, so a share is a little too low), 2 per coordinate and pair of
vectors for search. FAISS takes part where it is built for GPUs. Texts, questions and vectors are
made up: neither data nor a network is needed, only MiniLM's weights (extra ``dense``).
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from target_bench.core import registry
from target_bench.core.vectors import Vectors
from target_bench.models.encoders.sentence_transformers import MiniLM

K = 10
WORDS = [f"{first}{last}" for first in ("north", "river", "gold", "team") for last in range(250)]


@dataclass(frozen=True)
class Row:
    """What was done, how fast, and its share of the limit."""

    what: str
    seconds: float
    rate: str
    flop: float
    limit: float


def main() -> None:
    arguments = _arguments()
    device = torch.device(arguments.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SystemExit("PyTorch sees no CUDA device here; --device cpu is a trial of the script")
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"{name}, PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
    half = torch.bfloat16 if device.type == "cuda" else torch.float32
    limits = {kind: _product_limit(device, kind, arguments.size) for kind in (half, torch.float32)}
    for kind, limit in limits.items():
        print(f"products of {kind}: {limit / 1e12:.2f} TFLOP/s")
    print(f"copies in memory: {_copy_limit(device, arguments.size) / 1e9:.0f} GB/s")
    rows = [
        _encoding(arguments, limits[half]),
        *_search(arguments, limits[torch.float32]),
    ]
    table = Table()
    for column in ("what", "seconds", "rate", "TFLOP/s", "share of products"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for row in rows:
        speed = row.flop / row.seconds
        table.add_row(
            row.what,
            f"{row.seconds:.3f}",
            row.rate,
            f"{speed / 1e12:.3f}",
            f"{speed / row.limit:.1%}",
        )
    Console(width=110).print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--vectors", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=8192, help="of the matrices of the limits")
    return parser.parse_args()


def _product_limit(device: torch.device, kind: torch.dtype, n: int) -> float:
    """FLOP per second of a product of two n × n matrices."""
    left, right = (torch.randn(n, n, device=device).to(kind) for _ in range(2))
    return 2 * float(n) ** 3 / _best(lambda: left @ right, device)


def _copy_limit(device: torch.device, n: int) -> float:
    """Bytes per second, read and written."""
    source = torch.zeros(n * n, device=device)
    target = torch.empty_like(source)
    n_bytes: int = source.nbytes
    return 2 * n_bytes / _best(lambda: target.copy_(source), device)


def _best(work: Callable[[], Any], device: torch.device, turns: int = 3) -> float:
    """Seconds of the fastest turn, after one to warm up."""

    def seconds() -> float:
        start = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - start

    seconds()
    return min(seconds() for _ in range(turns))


def _texts(n: int, words: int) -> Iterator[str]:
    random = np.random.default_rng(0)
    return (" ".join(random.choice(WORDS, words)) for _ in range(n))


def _encoding(arguments: argparse.Namespace, limit: float) -> Row:
    encoder = MiniLM(batch_size=arguments.batch_size, device=arguments.device)
    texts = list(_texts(arguments.texts, 100))
    model = encoder.loaded
    seconds = _best(lambda: encoder.encode(texts, "table"), torch.device(arguments.device), 1)
    tokens = min(_tokens(model, texts), 256) * len(texts)
    flop = 2 * _weights(model) * tokens
    return Row("encode, tables", seconds, f"{tokens / seconds:,.0f} tokens/s", flop, limit)


def _tokens(model: Any, texts: list[str]) -> int:
    """The mean number of tokens of the texts."""
    some = texts[:100]
    counted = model.tokenizer(some, truncation=True, max_length=256)["input_ids"]
    return round(sum(map(len, counted)) / len(some))


def _weights(model: Any) -> int:
    """How many weights a token is multiplied with: all but those of the embeddings."""
    named = model.named_parameters()
    return sum(weight.numel() for name, weight in named if "embeddings" not in name)


def _search(arguments: argparse.Namespace, limit: float) -> Iterator[Row]:
    tables, queries = _unit(arguments.vectors, 1), _unit(arguments.queries, 2)
    flop = 2.0 * tables.size * len(queries)
    for spec in (f"torch:device={arguments.device}", *_faiss(arguments.device)):
        index = registry.create("index", spec)
        index.build(tables)
        on = torch.device(arguments.device)
        seconds = _best(lambda index=index: index.search(queries, K), on)  # type: ignore[misc]  # binds the index of its turn
        what = f"{spec}, {len(tables):,} vectors"
        yield Row(what, seconds, f"{len(queries) / seconds:,.0f} queries/s", flop, limit)


def _faiss(device: str) -> list[str]:
    """FAISS' exact index, on the same kind of device; none where it is not there for it."""
    try:
        import faiss
    except ImportError:
        return []
    if device == "cpu":
        return ["faiss-flat:gpu=false"]
    on_gpus = hasattr(faiss, "StandardGpuResources") and faiss.get_num_gpus() > 0
    return ["faiss-flat:gpu=true"] if on_gpus else []


def _unit(n: int, seed: int) -> Vectors:
    vectors = np.random.default_rng(seed).standard_normal((n, 384), dtype=np.float32)
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


if __name__ == "__main__":
    main()
