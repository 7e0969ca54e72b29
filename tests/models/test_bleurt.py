"""BLEURT by a small checkpoint of random weights, against the model itself."""

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from target_bench.core.errors import ConfigError
from target_bench.models.bleurt import BLEURT
from target_bench.tables.descriptions import JudgedDescriptions
from target_bench.tables.totto_text import NULL, TableEvidence, is_padded

pytest.importorskip("sentence_transformers")
transformers: Any = pytest.importorskip("transformers")
torch: Any = pytest.importorskip("torch")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ann", "won", "lost", "the", "game"]


def _checkpoint(folder: Path, outputs: int = 1) -> Path:
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 16,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "initializer_range": 0.5,
    }
    config = transformers.BertConfig(
        vocab_size=len(WORDS), num_hidden_layers=1, num_labels=outputs, **sizes
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_the_mean_of_the_model_over_references(tmp_path: Path) -> None:
    """As ToTTo's script: lower-cased, detokenised, ``<null>`` for a missing reference."""
    folder = str(_checkpoint(tmp_path / "bleurt"))
    tokens = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()

    def score(reference: str, text: str) -> float:
        with torch.no_grad():
            return float(model(**tokens([reference], [text], return_tensors="pt")).logits[0, 0])

    metric = BLEURT(folder, "var")
    texts = ["Ann won", "the  game", None]
    several = [("ann won the game", "Ann lost"), ("won",), ("ann",)]
    single = [("Ann",), ("won",), ("the game",)]
    evidence = [TableEvidence("", "")] * len(texts)
    for references, missing in ((several, [1, 2, 2]), (single, [0, 0, 0])):
        padded = is_padded(references)
        rows = metric.statistics(JudgedDescriptions(texts, references, evidence, padded))
        written = ["ann won", "the game", NULL]
        expected = [
            fmean(score(reference.lower(), text) for reference in (*accepted, *[NULL] * n))
            for text, accepted, n in zip(written, references, missing, strict=True)
        ]
        assert rows[:, 0] == pytest.approx(expected, abs=1e-5)
        assert rows[:, 1].tolist() == [1, 1, 1]
        assert metric.bounds(rows)[0] <= rows[:, 0].min()
    assert "bleurt|mean over references|" in metric.signature


@pytest.mark.parametrize("problem", ["missing", "two outputs"])
def test_a_model_that_cannot_be(
    tmp_path: Path, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tmp_path / "folder"
    if problem == "two outputs":
        _checkpoint(folder, outputs=2)
    with pytest.raises(ConfigError, match=r"bleurt=.*Download a BLEURT checkpoint"):
        BLEURT(str(folder))
