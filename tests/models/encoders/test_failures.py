"""Memory that does not suffice, vectors that are none, models that are not there or broken."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.errors import ConfigError, PluginError
from target_bench.models.embedding_cache import encode_texts
from target_bench.models.encoders.sentence_transformers import MiniLM, SentenceTransformers
from tests.models.encoders.minilm import FOLDER, library

TEXTS = [f"{'word ' * n}{n}" for n in range(20)]


@pytest.fixture
def encoder() -> MiniLM:
    minilm = MiniLM(device="cpu", batch_size=16)
    vars(minilm)["loaded"] = library()
    return minilm


def _with_forward(patch: pytest.MonkeyPatch, forward: Callable[..., Any]) -> None:
    patch.setattr(library(), "forward", forward)


def _limited(most: int, error: Callable[[], Exception], sizes: list[int]) -> Callable[..., Any]:
    """The model's own forward pass, on a machine with room for so many texts."""
    forward = library().forward

    def run(features: dict[str, Any], **settings: Any) -> Any:
        sizes.append(len(features["input_ids"]))
        if sizes[-1] > most:
            raise error()
        return forward(features, **settings)

    return run


def _cuda_error() -> Exception:
    import torch

    error: Exception = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    return error


def _cpu_error() -> Exception:
    return RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")


def _blas_error() -> Exception:
    return RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate")


@pytest.mark.parametrize("error", [_cuda_error, _cpu_error, _blas_error, MemoryError])
def test_too_little_memory_halves_the_batch_and_is_said(
    encoder: MiniLM, monkeypatch: pytest.MonkeyPatch, error: Callable[[], Exception]
) -> None:
    expected = encoder.encode(TEXTS, "table")
    assert not encoder.notes()
    sizes: list[int] = []
    _with_forward(monkeypatch, _limited(5, error, sizes))
    np.testing.assert_allclose(encoder.encode(TEXTS, "table"), expected, atol=1e-6)
    assert sizes == [16, 8] + [4] * 5
    assert encoder.notes() == ["out of memory with batches of 16 texts; went on with 4"]


def test_no_memory_for_a_single_text(encoder: MiniLM, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder.encode(["a"], "query")
    _with_forward(monkeypatch, _limited(0, _cuda_error, []))
    with pytest.raises(ConfigError, match=r"out of memory with a single text.*CUDA.*max_tokens"):
        encoder.encode(TEXTS, "table")


def test_nan_is_an_error_that_names_encoder_and_text(
    encoder: MiniLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = library().forward

    def run(features: dict[str, Any], **settings: Any) -> Any:
        outputs = forward(features, **settings)
        outputs["sentence_embedding"][0, 3] = float("nan")
        return outputs

    encoder.encode(["a"], "query")
    _with_forward(monkeypatch, run)
    with pytest.raises(PluginError, match=r"MiniLM gave .* 1 of 2 texts.*'longer text'.*float16"):
        encode_texts(encoder, ["short", "longer text"], "query", cache=False)


def _copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "model"))


def test_the_revision_is_of_the_content(tmp_path: Path) -> None:
    folder = _copied(tmp_path)

    def revision() -> str:
        return SentenceTransformers(str(folder)).revision()

    first = revision()
    assert first == MiniLM().revision() == revision()
    (folder / "README.md").write_text("other words")
    (folder / ".lock").write_text("")
    assert revision() == first
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    second = revision()
    assert second != first
    (folder / "1_Pooling" / "config.json").write_text("{}")
    assert revision() not in (first, second)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("model.safetensors", b"nothing of use"),
        ("config.json", b"{"),
        ("tokenizer.json", b"[]"),
        ("modules.json", b"{}"),
    ],
)
def test_a_broken_folder_is_named(tmp_path: Path, file: str, content: bytes) -> None:
    folder = _copied(tmp_path)
    for other in ("vocab.txt", file):
        (folder / other).unlink(missing_ok=True)
    (folder / file).write_bytes(content)
    with pytest.raises(ConfigError, match=f"model={folder}: it cannot be loaded from {folder}: "):
        SentenceTransformers(str(folder)).encode(["a"], "query")


def test_an_empty_folder_holds_no_model(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no model"):
        SentenceTransformers(str(tmp_path)).encode(["a"], "query")


@pytest.mark.parametrize("model", ["no-such/model", "nosuchmodel", "minilm l6!"])
def test_a_name_that_cannot_be_found(tmp_path: Path, model: str) -> None:
    encoder = SentenceTransformers(model)
    for work in (encoder.revision, encoder.config, lambda: encoder.encode(["a"], "query")):
        with pytest.raises(ConfigError) as caught:
            work()
        assert "not in the cache" in str(caught.value)
        assert "model=path/to/folder" in str(caught.value)


def test_a_model_in_the_hubs_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loaded offline by its name; its commit is its revision."""
    commit = "c" * 40
    repository = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2"
    shutil.copytree(FOLDER, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path))
    for named in (commit, "main", None):
        encoder = SentenceTransformers("all-MiniLM-L6-v2", device="cpu", commit=named)
        assert encoder.revision() == commit
    vectors = encoder.encode(["a", "b"], "table")
    np.testing.assert_allclose(vectors, library().encode(["a", "b"]), atol=1e-6)
    assert not encoder.notes()
    with pytest.raises(ConfigError, match="is a folder, not a model on the hub"):
        SentenceTransformers(str(FOLDER), commit="main").config()
    with pytest.raises(ConfigError, match="device=abacus"):
        SentenceTransformers(str(FOLDER), device="abacus").config()
    with pytest.raises(ConfigError, match=rf"commit=other: .*{tmp_path}"):
        SentenceTransformers("all-MiniLM-L6-v2", commit="other").revision()
