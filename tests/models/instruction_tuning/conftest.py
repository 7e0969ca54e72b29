"""Tuning is tested offline, on one thread, on a LLaMA of random weights."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.models.instruction_tuning.tiny_llama import write_llama


@pytest.fixture(scope="package", autouse=True)
def _offline() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.fixture(scope="package")
def one_thread() -> Iterator[None]:
    """PyTorch on one thread, without network; skipped where an adapter cannot be trained."""
    for package in ("torch", "transformers", "peft"):
        pytest.importorskip(package)
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="package")
def llama(one_thread: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 60,000 random weights that reads and writes characters."""
    return write_llama(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def inside(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Inside:
    """Commands in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Inside(capsys, monkeypatch)
