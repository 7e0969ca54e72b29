"""Texts -> vectors with a loaded SentenceTransformer: tokenised once, in batches by length.

``SentenceTransformer.encode`` sorts by characters and does not report texts that were cut. Here
texts are tokenised by windows of many batches, sorted by tokens within the window, and padded to
the longest of their batch.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.core.local_models import is_out_of_memory
from target_bench.core.vectors import TextKind, Vectors

_WINDOW = 16
"""Number of batches that are tokenised and sorted by their tokens at a time."""

_TASKS: dict[TextKind, str] = {"query": "query", "table": "document"}


class Batches:
    """Runs a model over texts, in smaller batches where memory does not suffice.

    Args:
        model: a loaded SentenceTransformer.
        prompts: what is written before each kind of text.
        size: how many texts at a time.
        name: of the model, for messages.

    Attributes:
        size: how many texts at a time fit, as far as known.
    """

    def __init__(self, model: Any, prompts: Mapping[TextKind, str], size: int, name: str) -> None:
        self.size = size
        self._model = model
        self._prompts = prompts
        self._name = name
        self._in_rows = _are_rows(self._features(["a", "a b c"], "table"), 2)
        self._window = size * (_WINDOW if self._in_rows else 1)

    def vectors(self, texts: Sequence[str], kind: TextKind) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return the (n, d) vectors in the order of the texts, and (n,) which texts were cut.

        A text without any token, where the model adds none of its own, gets zeros.

        Raises:
            ConfigError: not even one text fits into memory, or the model has no place for the
                longest.
        """
        import torch

        order = np.argsort([-len(text) for text in texts], kind="stable")
        found = np.zeros((len(texts), self._dimensions()), dtype=np.float32)
        cut = np.zeros(len(texts), dtype=bool)
        with torch.inference_mode():
            for start in range(0, len(order), self._window):
                places = order[start : start + self._window]
                some = [texts[place] for place in places]
                features = self._features(some, kind)
                cut[places] = self._cut(features, some, kind)
                if self._in_rows:
                    self._run_rows(features, kind, places, found)
                else:
                    self._run_texts(some, kind, features, places, found)
        return found, cut

    def _dimensions(self) -> int:
        known: int | None = self._model.get_embedding_dimension()
        if known is None:
            import torch

            with torch.inference_mode():
                known = self._forward(self._features(["a"], "table"), "table").shape[1]
        return known

    def _features(self, texts: list[str], kind: TextKind) -> Any:
        prompt = self._prompts[kind] or None
        return self._model.preprocess(texts, prompt=prompt, task=_TASKS[kind])

    def _cut(self, features: Any, texts: Sequence[str], kind: TextKind) -> list[bool]:
        """Return which of the texts lost tokens."""
        encodings = getattr(features, "encodings", None)
        if encodings is not None:
            return [bool(encoding.overflowing) for encoding in encodings]
        limit = self._model.max_seq_length
        mask = features.get("attention_mask")
        if limit is None or mask is None or len(mask) != len(texts):
            return [False] * len(texts)
        read, prompt = self._model.tokenizer, self._prompts[kind]
        return [
            bool(n >= limit) and len(read(prompt + text, truncation=False)["input_ids"]) > limit
            for text, n in zip(texts, mask.sum(dim=1), strict=True)
        ]

    def _run_rows(
        self, features: Any, kind: TextKind, places: NDArray[np.intp], found: Vectors
    ) -> None:
        """Run a window that was tokenised into rows of padded tokens."""
        lengths = features["attention_mask"].sum(dim=1)
        order = lengths.argsort(descending=True, stable=True)
        rows = order[lengths[order] > 0].tolist()
        start = 0
        while start < len(rows):
            batch = rows[start : start + self.size]
            vectors = self._tried(_taken(features, batch), kind, len(batch))
            if vectors is not None:
                found[places[batch]] = vectors
                start += len(batch)

    def _run_texts(
        self,
        texts: list[str],
        kind: TextKind,
        features: Any,
        places: NDArray[np.intp],
        found: Vectors,
    ) -> None:
        """Run a batch whose features are not rows, such as tokens end to end; or parts of it."""
        start = 0
        while start < len(texts):
            batch = texts[start : start + self.size]
            if len(batch) < len(texts):
                features = self._features(batch, kind)
            vectors = self._tried(features, kind, len(batch))
            if vectors is not None:
                found[places[start : start + len(batch)]] = vectors
                start += len(batch)

    def _tried(self, features: Any, kind: TextKind, n: int) -> Vectors | None:
        """Return the vectors of a batch; None if memory ran out, and then ``size`` is halved."""
        import torch

        try:
            vectors: Vectors = self._forward(features, kind).float().cpu().numpy()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            if n == 1:
                raise ConfigError(
                    f"{self._name}: out of memory with a single text ({_words(error)}). "
                    "Set max_tokens lower, dtype=bfloat16, or device=cpu"
                ) from error
        except IndexError as error:
            raise ConfigError(
                f"{self._name}: it has no place for a text of {self._model.max_seq_length} tokens; "
                "set max_tokens lower"
            ) from error
        else:
            return vectors
        self.size = n // 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return None

    def _forward(self, features: Any, kind: TextKind) -> Any:
        import torch

        device = self._model.device
        moved = {
            name: value.to(device) if isinstance(value, torch.Tensor) else value
            for name, value in features.items()
        }
        vectors = self._model(moved, task=_TASKS[kind])["sentence_embedding"]
        return vectors[:, : self._model.truncate_dim]


def _are_rows(features: Any, n: int) -> bool:
    """Return whether the features are rows of padded tokens, one a text."""
    import torch

    mask = features.get("attention_mask")
    return (
        isinstance(mask, torch.Tensor)
        and mask.ndim == 2
        and all(len(v) == n for v in features.values() if isinstance(v, torch.Tensor))
    )


def _taken(features: Any, rows: list[int]) -> dict[str, Any]:
    """Return the features of some rows, without columns that are padding in all of them."""
    import torch

    mask = features["attention_mask"]
    used = mask[rows].any(dim=0).nonzero()
    columns = slice(int(used[0]), int(used[-1]) + 1)
    taken: dict[str, Any] = {}
    for name, value in features.items():
        if not isinstance(value, torch.Tensor):
            taken[name] = value
        elif value.ndim > 1 and value.shape[1] == mask.shape[1]:
            taken[name] = value[rows, columns]
        else:
            taken[name] = value[rows]
    return taken


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
