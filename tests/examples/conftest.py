"""The example scripts are tested offline, on one thread, on tiny models of random weights."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="package", autouse=True)
def _offline() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="package")
def trainers() -> Iterator[None]:
    """PyTorch on one thread; skipped where a package of the extra ``train`` is missing."""
    for package in ("sentence_transformers", "datasets", "accelerate", "peft", "trl"):
        pytest.importorskip(package)
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        yield
    torch.set_num_threads(threads)
