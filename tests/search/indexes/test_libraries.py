"""What is particular to FAISS and PyTorch."""

import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.search.indexes import faiss as faiss_module
from target_bench.search.indexes.exact import Exact
from target_bench.search.indexes.faiss import FaissFlat, FaissHNSW
from target_bench.search.indexes.rescoring import inner_products
from target_bench.search.indexes.torch import Torch
from tests.search.indexes.oracle import clustered


@pytest.fixture
def _faiss() -> None:
    pytest.importorskip("faiss")


@pytest.mark.usefixtures("_faiss")
def test_no_batch_of_queries_is_kept() -> None:
    index = FaissHNSW()
    index.build(clustered(300))
    scores, _ = index.search(clustered(500, seed=1), 10)
    kept = weakref.ref(scores if scores.base is None else scores.base)
    del scores
    assert kept() is None


@pytest.mark.usefixtures("_faiss")
def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    import faiss

    if not hasattr(faiss, "StandardGpuResources"):
        with pytest.raises(MissingExtraError, match=r"target-bench\[gpu\]"):
            FaissFlat(gpu=True).build(clustered(3))
    for setting, used in ((True, None), (None, False), (False, False)):
        library = SimpleNamespace(StandardGpuResources=object, get_num_gpus=lambda: 0)
        if used is None:
            with pytest.raises(ConfigError, match="gpu=true: FAISS sees no GPU"):
                faiss_module._on_gpu(library, setting)
        else:
            assert faiss_module._on_gpu(library, setting) is used


def test_torch_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is met with smaller blocks of queries, then with parts of the vectors, said aloud."""
    torch = pytest.importorskip("torch")
    vectors, queries = clustered(200), clustered(100, seed=1)
    index = Torch(device="cpu")
    index.build(vectors)
    expected = [values.tolist() for values in index.search(queries, 5)]
    assert index.notes() == []
    candidates, fitting = index._candidates, 20 * 200

    def short(part: Any, block: Any, slacks: Any, k: int) -> Any:
        if len(block) * len(part[1]) > fitting:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return candidates(part, block, slacks, k)

    monkeypatch.setattr(index, "_candidates", short)
    assert [values.tolist() for values in index.search(queries, 5)] == expected
    assert index.notes() == ["out of memory on cpu: searched in blocks of 12 queries"]
    fitting = 70
    assert [values.tolist() for values in index.search(queries, 5)] == expected
    assert index.notes() == [
        "out of memory on cpu: vectors are copied to it in 4 parts for each search"
    ]
    fitting = 0
    with pytest.raises(ConfigError, match="out of memory with one query over 50 vectors"):
        index.search(queries, 5)


def test_builds_of_faiss_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    versions = {"faiss-cpu": "1", "faiss-gpu-cu12": "1"}
    monkeypatch.setattr("target_bench.search.indexes.faiss.installed_version", versions.get)
    with pytest.raises(ConfigError, match="pip uninstall faiss-cpu faiss-gpu-cu12; then"):
        FaissFlat()


def test_torch_keeps_its_precision() -> None:
    """A process that allows TF32 does not change an order, and keeps its setting."""
    torch = pytest.importorskip("torch")
    place = torch.backends.cuda.matmul
    name, other = (
        ("fp32_precision", "tf32") if hasattr(place, "fp32_precision") else ("allow_tf32", True)
    )
    before = getattr(place, name)
    setattr(place, name, other)
    try:
        index = Torch(device="cpu")
        index.build(clustered(30))
        index.search(clustered(3), 2)
        assert getattr(place, name) == other
    finally:
        setattr(place, name, before)


def test_torch_devices() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ConfigError, match=r"device='tpu': expected cuda, .* or cpu"):
        Exact(device="tpu")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="device=cuda: PyTorch has no such device"):
            Exact(device="cuda").build(clustered(3))


def test_torch_rounds_as_the_others_do() -> None:
    """On a GPU products are taken by PyTorch, and rounded by the same rule."""
    torch = pytest.importorskip("torch")
    from target_bench.search.indexes.torch import _rounded

    vectors, queries = clustered(50) * np.float32(3.7), clustered(50, seed=1)
    vectors[3] = 0
    numbers = np.arange(50)
    products = _rounded(torch, torch.tensor(queries).double(), torch.tensor(vectors).double())
    assert products.tolist() == inner_products(queries, vectors, numbers, numbers).tolist()
