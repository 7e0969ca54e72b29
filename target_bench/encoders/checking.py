"""What local encoders check: that texts can be read and are not cut in silence, and vectors."""

from collections.abc import Sequence

import numpy as np

from target_bench.errors import ConfigError
from target_bench.vectors import TextKind, Vectors

_NAMES: dict[TextKind, str] = {"table": "table texts", "query": "queries"}
_SHOWN = 60


class CutTexts:
    """How many texts were encoded, and how many of them were cut at the model's limit."""

    def __init__(self) -> None:
        self._counts: dict[TextKind, tuple[int, int]] = {"table": (0, 0), "query": (0, 0)}

    def add(self, kind: TextKind, n: int, n_cut: int) -> None:
        """Count ``n`` texts, ``n_cut`` of them cut."""
        texts, cut = self._counts[kind]
        self._counts[kind] = texts + n, cut + n_cut

    def notes(self, limit: int | None) -> list[str]:
        """A sentence for each kind of text of which some were cut at ``limit`` tokens."""
        return [
            f"{cut:,} of {texts:,} {_NAMES[kind]} {'is' if cut == 1 else 'are'} longer than the "
            f"model's limit of {limit:,} tokens and {'was' if cut == 1 else 'were'} cut"
            for kind, (texts, cut) in self._counts.items()
            if cut and limit is not None
        ]


def readable(text: str) -> str:
    """The text as tokenizers can read it: a ``?`` in place of each lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def all_numbers(vectors: Vectors, texts: Sequence[str], kind: TextKind, model: str) -> Vectors:
    """The vectors, each of which holds numbers only.

    Raises:
        ConfigError: a vector holds NaN or infinity.
    """
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        text = texts[bad[0]]
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise ConfigError(
            f"{model}: {len(bad):,} of {len(texts):,} vectors of {_NAMES[kind]} hold NaN or "
            f"infinity, the first that of {shown!r}. The weights are broken, or their numbers are "
            "too large for float16: try dtype=bfloat16 or dtype=float32"
        )
    return vectors
