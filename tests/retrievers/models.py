"""Tiny models with random weights, saved to folders, and an encoder that needs none."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from target_bench.core.vectors import Encoder, TextKind, Vectors

WORDS = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "of", "which", "river", "rivers"),
    *("france", "length", "fruit", "price", "apple", "pear", "plum", "twin", "king", "longest"),
]


def cross_encoder(folder: Path, n_labels: int = 1, seed: int = 0) -> Path:
    """A BERT of two layers that scores pairs of texts, as sentence-transformers saves it."""
    import torch
    from sentence_transformers import CrossEncoder
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=48)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, num_labels=n_labels,
        initializer_range=0.8,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder / "bare")
    tokenizer.save_pretrained(folder / "bare")
    CrossEncoder(str(folder / "bare"), device="cpu").save_pretrained(str(folder / "model"))
    return folder / "model"


def sentence_encoder(folder: Path, seed: int = 0) -> Path:
    """A BERT of two layers that gives a vector per text, as sentence-transformers saves it."""
    from sentence_transformers import SentenceTransformer

    bare = encoder_of(cross_encoder(folder, seed=seed))
    SentenceTransformer(str(bare), device="cpu").save_pretrained(str(folder / "sentences"))
    return folder / "sentences"


def encoder_of(model: Path) -> Path:
    """The same model without the layer that scores."""
    from transformers import AutoTokenizer, BertModel

    folder = model.parent / "encoder"
    BertModel.from_pretrained(model).save_pretrained(folder)
    AutoTokenizer.from_pretrained(model).save_pretrained(folder)
    return folder


class Hashed(Encoder):
    """A bag of words, each at a place that its hash gives; words have signs.

    Args:
        dims: of a vector.
        prompt: written before each query.
    """

    def __init__(self, dims: int = 64, prompt: str = "") -> None:
        self.dims = dims
        self.prompt = prompt
        self.encoded: list[tuple[str, ...]] = []

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        self.encoded.append(tuple(texts))
        vectors = np.zeros((len(texts), self.dims), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in re.findall(
                r"\w+", (self.prompt + text if kind == "query" else text).lower()
            ):
                digest = hashlib.sha256(word.encode()).digest()
                vector[digest[0] % self.dims] += 1 if digest[1] % 2 else -1
        return vectors

    def notes(self) -> list[str]:
        return ["1 text was cut"]
