"""Encoding and exact search on a GPU, as shares of what the machine can do.

    python benchmarks/gpu.py

The first CUDA device is measured; without one, the processor, at a small size. At the end it says
what did not run there. It has run on processors and on an H100; never with more than one GPU, on
GPUs of other makers, or with FAISS built for GPUs.

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


_SIZES = {
    "texts": (20_000, 64),
    "batch-size": (512, 64),
    "vectors": (1_000_000, 10_000),
    "queries": (10_000, 100),
    "size": (8192, 1024),  # of the matrices of the limits
}
"""Options, and their default on a GPU and on a processor."""


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
        raise SystemExit("PyTorch sees no CUDA device here; leave --device out")
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
    for what, why in _not_run(device).items():
        print(f"did not run here: {what} ({why})")


def _not_run(device: torch.device) -> dict[str, str]:
    """Return what this machine has no device or no package for, and which."""
    missing = {}
    if device.type != "cuda":
        why = "--device" if torch.cuda.is_available() else "PyTorch sees no CUDA device"
        missing["encoding and exact search on a GPU"] = why
    if "faiss-flat:gpu=true" not in _faiss("cuda"):
        missing["faiss-flat:gpu=true"] = "no FAISS that is built for a GPU, or no GPU"
    if torch.cuda.device_count() < 2:
        missing["more than one GPU"] = f"there are {torch.cuda.device_count()}"
    return missing


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, (size, small) in _SIZES.items():
        parser.add_argument(f"--{name}", type=int, help=f"{size:,}; on a processor {small:,}")
    arguments = parser.parse_args()
    on_gpu = torch.device(arguments.device).type == "cuda"
    for name, (size, small) in _SIZES.items():
        place = name.replace("-", "_")
        if getattr(arguments, place) is None:
            setattr(arguments, place, size if on_gpu else small)
    return arguments


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
    for spec in (f"exact:device={arguments.device}", *_faiss(arguments.device)):
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
