"""Every exact index against brute force, where single precision and ties make it hard."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from target_bench.search.indexes import exact as exact_module
from tests.search.indexes.oracle import EXACT, best_rows, built, clustered

exact = pytest.mark.parametrize("spec", list(EXACT))

whole = st.integers(-3, 3).map(float)
halves = st.sampled_from([0.0, 0.5, -0.5, 0.25, 1.0])
near = st.sampled_from([0.1, 0.10001, 0.100005, 0.1000049, -0.1, 0.0, 1e-4, 3.1622776e-3])
any_size = st.floats(-50, 50, width=32)


@st.composite
def searches(draw: st.DrawFn) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Few dimensions, repeated vectors, and often one common long part that costs precision."""
    cells = draw(st.sampled_from([whole, halves, near, any_size]))
    d, m, n = (draw(st.integers(1, top)) for top in (5, 12, 4))
    vectors = draw(arrays(np.float32, (m, d), elements=cells))
    copies = draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=60))
    queries = draw(arrays(np.float32, (n, d), elements=cells))
    if draw(st.booleans()):
        common = np.float32(draw(st.sampled_from([1.0, 30.0, 300.0])))
        vectors, queries = (np.insert(array, 0, common, axis=1) for array in (vectors, queries))
    return vectors[copies], queries, draw(st.integers(1, 65))


@exact
@settings(deadline=None, max_examples=60)
@given(search=searches())
def test_is_brute_force(spec: str, search: tuple[NDArray[Any], NDArray[Any], int]) -> None:
    vectors, queries, k = search
    _, rows = built(spec, vectors).search(queries, k)
    assert rows.tolist() == best_rows(vectors, queries, min(k, len(vectors)))


def test_groups_and_partition_give_lower_bounds() -> None:
    """Whatever ``k``, that many scores of each row reach the number."""
    scores = np.random.default_rng(0).standard_normal((5, 333)).astype(np.float32)
    scores[1] = 0
    for k in (1, 2, 10, 40, 333):
        least = exact_module._bound_kth_best(scores, k)
        assert ((scores >= least[:, None]).sum(axis=1) >= k).all()


def test_an_inner_product_does_not_depend_on_its_place() -> None:
    """The same pair gives the same bits wherever it stands in a batch."""
    vectors, queries = clustered(7, d=383), clustered(5, d=383, seed=1)
    numbers = np.repeat(np.arange(5), 7 * 40)
    rows = np.tile(np.arange(7), 5 * 40)
    products = exact_module.inner_products(queries, vectors, numbers, rows)
    assert {
        len(set(products[(numbers == i) & (rows == j)])) for i in range(5) for j in range(7)
    } == {1}


SCRIPT = """
import hashlib, sys
import numpy as np
from tests.search.indexes.oracle import clustered, index
made = index(sys.argv[1])
made.build(clustered(1200, d=32))
scores, rows = made.search(clustered(1500, d=32, seed=1), 10)
print(hashlib.sha256(rows.tobytes()).hexdigest(), hashlib.sha256(scores.tobytes()).hexdigest())
"""


@pytest.mark.parametrize("spec", ["exact", "faiss-flat", "torch", "faiss-hnsw"])
def test_threads_change_nothing(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs, lists and rankings alike, to the last bit, in processes of one and more threads."""
    built(spec, clustered(3))
    digests = set()
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        command = [sys.executable, "-W", "error", "-c", SCRIPT, spec]
        digests.add(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert len(digests) == 1
