"""Models of MTEB as encoders; the model is the one of MTEB's registry that has no weights."""

from typing import Any

import numpy as np
import pytest

from target_bench import ConfigError
from target_bench.models.encoders.mteb import MTEBModel

mteb = pytest.importorskip("mteb")
RANDOM = "mteb/baseline-random-encoder"


def test_vectors_are_those_of_the_model() -> None:
    from datasets import Dataset
    from torch.utils.data import DataLoader

    encoder = MTEBModel(RANDOM)
    texts = ["rivers of france", "", "lakes"]
    vectors = encoder.encode(texts, "table")
    assert vectors.dtype == np.float32
    again = mteb.get_model(RANDOM).encode(
        DataLoader(Dataset.from_dict({"text": texts})),
        task_metadata=None,
        hf_split="test",
        hf_subset="default",
        prompt_type=None,
    )
    np.testing.assert_allclose(vectors, again, rtol=1e-6)
    assert encoder.revision() == mteb.get_model_meta(RANDOM).revision


def test_unusable_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise KeyError("no such model")

    monkeypatch.setattr(mteb, "get_model", unknown)
    with pytest.raises(ConfigError, match=r"nobody/nothing.*no such model"):
        MTEBModel("nobody/nothing").encode(["a"], "query")
    monkeypatch.setattr(mteb, "get_model", lambda *_, **__: object())
    with pytest.raises(ConfigError, match="has no vectors"):
        MTEBModel("some/reranker").encode(["a"], "query")
