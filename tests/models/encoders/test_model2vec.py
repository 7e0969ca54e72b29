"""Static vectors, on a tiny model of our own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.errors import ConfigError
from target_bench.models.encoders.model2vec import Model2Vec

pytest.importorskip("model2vec")

WORDS = ["[UNK]", *(f"w{i}" for i in range(30))]
TEXTS = ["w1 w2 w3", "", "unknown", "w4 w4 é", "w29"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 30 words that reads 10 tokens."""
    return _write(tmp_path_factory.mktemp("models") / "tiny")


def _write(folder: Path, seed: int = 0, **settings: Any) -> Path:
    _model(np.random.default_rng(seed).normal(size=(31, 8)), **settings).save_pretrained(folder)
    return folder


def _model(vectors: Any, **settings: Any) -> Any:
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, pre_tokenizers

    numbers = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    settings = {"max_length": 10, **settings}
    return StaticModel(vectors.astype(np.float32), tokenizer, **settings)


def test_a_vector_is_the_mean_of_the_tokens(folder: Path) -> None:
    weights = np.random.default_rng(0).normal(size=(31, 8)).astype(np.float32)
    vectors = Model2Vec(str(folder)).encode(TEXTS, "table")
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[0], weights[2:5].mean(axis=0), atol=1e-6)
    assert not vectors[1:3].any()
    np.testing.assert_allclose(vectors[3:], weights[[5, 30]], atol=1e-6)


@pytest.mark.parametrize("settings", [{"normalize": True}, {"max_length": None}])
def test_vectors_are_those_of_the_library(tmp_path: Path, settings: dict[str, Any]) -> None:
    from model2vec import StaticModel

    library = StaticModel.from_pretrained(_write(tmp_path / "m", **settings))
    texts = [*TEXTS, "w5 " * 200, " ".join(WORDS)]
    encoder = Model2Vec(str(tmp_path / "m"))
    assert np.array_equal(encoder.encode(texts, "query"), library.encode(texts))


def test_cut_texts_are_counted(folder: Path) -> None:
    encoder = Model2Vec(str(folder))
    _, cut = encoder.vectors_and_cut(["w1 " * 10, "w1 " * 11, "w10 " * 500], "table")
    assert cut.tolist() == [False, True, True]
    lower = Model2Vec(str(folder), max_tokens=2)
    vectors, cut = lower.vectors_and_cut(["w1 w2 w3", "w1 w2"], "query")
    assert np.array_equal(vectors[0], vectors[1])
    assert cut.tolist() == [True, False]


def test_a_broken_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"loaded from {tmp_path}.*Could not find"):
        Model2Vec(str(tmp_path)).encode(["a"], "query")
    _write(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"nothing of use")
    with pytest.raises(ConfigError, match=f"model={tmp_path}: it cannot be loaded"):
        Model2Vec(str(tmp_path)).encode(["a"], "query")


def test_a_model_in_the_hubs_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = "c" * 40
    repository = tmp_path / "models--own--tiny"
    folder = _write(repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    encoder = Model2Vec("own/tiny")
    assert encoder.revision() == commit
    vectors = encoder.encode(TEXTS, "query")
    assert np.array_equal(vectors, Model2Vec(str(folder)).encode(TEXTS, "query"))
