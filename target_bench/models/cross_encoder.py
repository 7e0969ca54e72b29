"""Pairs of query and table text -> scores, by a CrossEncoder of sentence-transformers."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.models.local_models import (
    LocalModel,
    is_out_of_memory,
    replace_surrogates,
    silence_libraries,
)

DType = Literal["auto", "float32", "float16", "bfloat16"]
Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class Scorer(LocalModel):
    """A model that is loaded when it is first needed."""

    model: str  # a folder, or a name on the Hugging Face hub
    commit: str | None = None
    max_tokens: int | None = None  # of a pair at most; None for the model's limit
    batch_size: int = 32  # pairs that are scored at once; halved where memory does not suffice
    device: str | None = None  # as PyTorch names it; None for the GPU if there is one
    dtype: DType = "auto"

    def __post_init__(self) -> None:
        self._size = self.batch_size
        self._n_pairs = self._n_cut = 0

    def load(self) -> None:
        """Load the model, and start the count of pairs again."""
        _ = self.loaded  # read here, to raise here
        self._n_pairs = self._n_cut = 0

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Return the model's (n,) scores before any sigmoid, which would make ties of the best.

        Equal pairs are scored once: their scores are equal to the last bit.
        """
        if not pairs:
            return np.zeros(0)
        distinct: dict[tuple[str, str], int] = {}
        order = [distinct.setdefault(pair, len(distinct)) for pair in pairs]
        texts = [(replace_surrogates(query), replace_surrogates(text)) for query, text in distinct]
        with silence_libraries():
            self._n_cut += self._count_cut(texts)
            scores = self._predict(texts)
        self._n_pairs += len(texts)
        if not np.isfinite(scores).all():
            query, text = texts[int(np.argmin(np.isfinite(scores)))]
            raise ConfigError(
                f"model={self.model}: the score of {query[:60]!r} with {text[:60]!r} is not "
                "a number. The weights are broken, or too large for float16: try dtype=float32"
            )
        return scores[order]

    def _predict(self, pairs: list[tuple[str, str]]) -> Floats:
        from torch.nn import Identity

        while True:
            try:
                scores = self.loaded.predict(
                    pairs,
                    batch_size=self._size,
                    show_progress_bar=False,
                    activation_fn=Identity(),
                )
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                if self._size == 1:
                    raise ConfigError(
                        f"model={self.model}: out of memory with a single pair; set max_tokens "
                        "lower, dtype=bfloat16 or device=cpu"
                    ) from error
                self._size //= 2
            else:
                return np.asarray(scores, dtype=np.float64)

    def _count_cut(self, pairs: Sequence[tuple[str, str]]) -> int:
        """Return how many of the pairs lose tokens."""
        limit = self.loaded.max_seq_length
        if limit is None:
            return 0
        long = [pair for pair in pairs if _bound_tokens(*pair) > limit - 8]
        if not long:
            return 0
        queries, texts = map(list, zip(*long, strict=True))
        tokens = self.loaded.tokenizer(queries, texts, truncation=False)["input_ids"]
        return sum(len(ids) > limit for ids in tokens)

    def notes(self) -> list[str]:
        """Return the pairs that were cut, and memory that did not suffice."""
        notes = []
        if self._n_cut:
            notes.append(
                f"{self._n_cut:,} of {self._n_pairs:,} pairs of query and table are longer than "
                f"the limit of {self.loaded.max_seq_length:,} tokens and were cut"
            )
        if self._size < self.batch_size:
            notes.append(
                f"out of memory with batches of {self.batch_size} pairs; went on with {self._size}"
            )
        return notes

    def read_model(self, source: str, **settings: Any) -> Any:
        """Read the model, a ``CrossEncoder``."""
        import torch
        from sentence_transformers import CrossEncoder

        kind = self.dtype if self.dtype == "auto" else getattr(torch, self.dtype)
        model = CrossEncoder(
            source,
            device=self.chosen_device,
            max_length=self.max_tokens,
            model_kwargs={"dtype": kind},
            **settings,
        )
        model.eval()
        return model

    def check_model(self, model: Any) -> None:
        """Check that the model gives one score for a pair."""
        if model.num_labels != 1:
            raise ConfigError(
                f"model={self.model}: it gives {model.num_labels} scores per pair; name a model "
                "that gives one"
            )
        network = getattr(model, "model", None)
        saved = getattr(getattr(network, "config", None), "architectures", None)
        if saved and type(network).__name__ not in saved:  # its last layer is of random numbers
            raise ConfigError(
                f"model={self.model}: its weights are of {saved[0]}, which gives no score for a "
                "pair. Name a cross-encoder; for an encoder use the retriever dense"
            )


def _bound_tokens(*texts: str) -> int:
    """Return a number of tokens that texts do not exceed, special tokens aside."""
    # No tokenizer makes more than a token of a byte; some decompose characters first, such as the
    # syllables of Korean.
    forms = ((text, unicodedata.normalize("NFKD", text)) for text in texts)
    return sum(max(len(form.encode()) for form in pair) for pair in forms)
