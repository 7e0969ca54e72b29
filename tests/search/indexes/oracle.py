"""What the tests of the indexes share: all of them, and a search by brute force."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from target_bench.core import registry
from target_bench.core.vectors import VectorIndex, Vectors
from target_bench.search.indexes.exact import Exact, Gpu

EXACT = {"exact": "numpy", "faiss-flat": "faiss", "torch": "torch"}
"""``torch`` is what ``exact`` does with a device."""
APPROXIMATE = {"faiss-hnsw": "faiss"}
MODULES = EXACT | APPROXIMATE


def index(spec: str) -> VectorIndex:
    """The index of that name; skipped where its library is missing."""
    pytest.importorskip(MODULES.get(spec) or MODULES[spec.partition(":")[0]])
    if spec == "torch":
        made = Exact()
        made._gpu = Gpu("cpu")
        return made
    created = registry.create("index", spec)
    assert isinstance(created, VectorIndex)
    return created


def built(spec: str, vectors: NDArray[Any]) -> VectorIndex:
    made = index(spec)
    made.build(vectors)
    return made


def clustered(n: int, d: int = 24, seed: int = 0) -> Vectors:
    """Unit vectors around a few centres."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).standard_normal((8, d))
    vectors = centres[random.integers(0, 8, n)] + 0.7 * random.standard_normal((n, d))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


def best_rows(vectors: NDArray[Any], queries: NDArray[Any], k: int) -> list[list[int]]:
    """By brute force: exactly added products, rounded to 1e-6 of both lengths; the earlier row."""
    best = []
    for query in queries.astype(np.float64):
        products = [math.fsum((query * row).tolist()) for row in vectors.astype(np.float64)]
        lengths = np.linalg.norm(query) * np.linalg.norm(vectors.astype(np.float64), axis=1)
        with np.errstate(divide="ignore"):
            steps = 2.0 ** (np.rint(np.log2(lengths)) - 20)
        whole = [s and float(np.rint(p / s) * s) for p, s in zip(products, steps, strict=True)]
        keys = [(-product, i) for i, product in enumerate(whole)]
        best.append([i for _, i in sorted(keys)[:k]])
    return best
