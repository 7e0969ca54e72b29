"""Encoders and rerankers learn with the trainers of sentence-transformers."""

import json
from pathlib import Path

import numpy as np
import pytest

from examples.training import train
from examples.training.pairs import training_pairs
from target_bench import ConfigError, Serializer, evaluate
from tests.examples.shops import FRUITS, shops
from tests.retrievers.models import cross_encoder, sentence_encoder


def test_pairs_have_hard_negatives_and_nothing_that_will_be_scored(tmp_path: Path) -> None:
    shop = str(shops(tmp_path / "shops", copies=True))
    write = Serializer()
    pairs = training_pairs([shop], "train", [f"{shop}:test"], write, n_negatives=3)
    assert pairs.left_out == 2, "about a copy of a gold table of test"
    assert len(pairs.rows) == 2 * len(FRUITS) - 2
    for row in pairs.rows:
        texts = [row["positive"], *(row[f"negative_{i}"] for i in (1, 2, 3))]
        assert len(set(texts)) == 4
        assert not any("coal" in text for text in texts)
    again = training_pairs([shop], "train", [f"{shop}:test"], write, n_negatives=3)
    assert again == pairs
    shared = training_pairs([shop], "train", [f"{shop}:test"], write, shared_tables=True, limit=5)
    assert len(shared.rows) == 5
    with pytest.raises(ConfigError, match="is kept out, because it will be scored"):
        training_pairs([shop], "test", [f"{shop}:test"], write)
    with pytest.raises(ConfigError, match="no question is left: 24 overlap"):
        training_pairs([shop], "train", [f"{shop}:validation"], write)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["dense", "reranker"])
def test_a_model_is_trained_and_used(
    kind: str, trainers: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from safetensors.numpy import load_file

    shop = shops(tmp_path / "shops")
    base = cross_encoder if kind == "reranker" else sentence_encoder
    out = tmp_path / "model"
    words = [kind, "--corpus", str(shop), "--keep-out", f"{shop}:test", "--shared-tables"]
    started = _in_16_bits(base(tmp_path / "base"))
    words += ["--base", str(started), "--batch-size", "8", "-o", str(out)]
    if kind != "reranker":
        words += ["--validation-split", "validation"]
    train.main(words)
    before, after = load_file(started / "model.safetensors"), load_file(out / "model.safetensors")
    for name, weights in after.items():
        assert weights.dtype == np.float32
        assert np.allclose(weights, before.get(name, weights), atol=0.01), name
    printed = capsys.readouterr().out
    assert "24 pairs; 0 questions are left out" in printed
    assert not (out / "checkpoints").exists()
    spec = printed.rpartition('--retriever "')[2].strip().removesuffix('"')
    (run,) = evaluate(spec, str(shop), split="train", top_k=[1, 5])
    assert run.rankings_result.stored.counts.asked == 24
    with pytest.raises(ConfigError, match="holds something already"):
        train.main(words)


def _in_16_bits(model: Path) -> Path:
    """Store the weights of a model as many hubs do: AdamW makes noise of them in this form."""
    from safetensors.numpy import load_file, save_file

    file = model / "model.safetensors"
    halved = {name: w.astype(np.float16) for name, w in load_file(file).items()}
    save_file(halved, file, {"format": "pt"})
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "dtype": "float16"}))
    return model
