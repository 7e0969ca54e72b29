"""What is particular to FAISS and PyTorch."""

import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.search.indexes import faiss as faiss_module
from target_bench.search.indexes.exact import Exact, Gpu
from target_bench.search.indexes.faiss import FaissFlat, FaissHNSW
from tests.search.indexes.oracle import built, clustered


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


def test_a_full_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of queries are halved; where not even one fits, it says so."""
    torch = pytest.importorskip("torch")
    vectors, queries = clustered(200), clustered(100, seed=1)
    index = built("torch", vectors)
    expected = [values.tolist() for values in index.search(queries, 5)]
    candidates, fitting = Gpu._find_pairs, 20

    def short(self: Gpu, block: Any, slacks: Any, k: int) -> Any:
        if len(block) > fitting:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return candidates(self, block, slacks, k)

    monkeypatch.setattr(Gpu, "_find_pairs", short)
    assert [values.tolist() for values in index.search(queries, 5)] == expected
    fitting = 0
    with pytest.raises(ConfigError, match="out of memory with one query over 200 vectors"):
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
        built("torch", clustered(30)).search(clustered(3), 2)
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
