"""Checks of local encoders: readable texts, reported cuts, valid vectors."""

import unicodedata
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from target_bench.core.array_files import read_json, write_json
from target_bench.core.errors import ConfigError
from target_bench.core.vectors import Encoder, TextKind, Vectors

_NAMES: dict[TextKind, str] = {"table": "table texts", "query": "queries"}
_SHOWN = 60
_AT_ONCE = 1024
_COUNTS = "cut.json"


class LimitedEncoder(Encoder):
    """An encoder whose model has a limit: texts beyond it are cut, counted and reported.

    What was cut is recorded with the vectors and with saved indexes, so that runs which find them
    there report it too.

    Attributes:
        model: its name.
    """

    model: str

    def __init__(self) -> None:
        self._counts: dict[TextKind, tuple[int, int]] = {"table": (0, 0), "query": (0, 0)}

    def fit(self, texts: Iterable[str]) -> None:  # noqa: ARG002 (the contract's argument)
        """Start the counts again: another corpus begins."""
        self._counts = {"table": (0, 0), "query": (0, 0)}

    @abstractmethod
    def _vectors(self, texts: list[str], kind: TextKind) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return the (n, d) vectors of readable texts, and (n,) which of them were cut."""

    @abstractmethod
    def _limit(self) -> int | None:
        """Return the most tokens of a text, as far as it is known without loading the model."""

    def _checked(self, texts: Sequence[str], kind: TextKind) -> tuple[Vectors, NDArray[np.bool_]]:
        read = [readable(text) for text in texts]
        vectors, cut = self._vectors(read, kind)
        self.add_recorded(kind, len(cut), int(cut.sum()))
        return all_numbers(vectors, read, kind, f"model={self.model}"), cut

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return the (n, d) vectors of the texts, in their order, as the model gives them.

        Raises:
            ConfigError: there is no such model, it cannot be loaded, a vector holds NaN, or not
                even one text fits into memory.
        """
        return self._checked(texts, kind)[0]

    def encode_parts(
        self, texts: Sequence[str], kind: TextKind
    ) -> Iterator[tuple[Sequence[int], Vectors, list[bool]]]:
        """Yield places of some texts, their vectors, and which were cut; errors as ``encode``."""
        for start in range(0, len(texts), _AT_ONCE):
            some = texts[start : start + _AT_ONCE]
            vectors, cut = self._checked(some, kind)
            yield range(start, start + len(some)), vectors, cut.tolist()

    def add_recorded(self, kind: TextKind, n: int, n_cut: int) -> None:
        """Count ``n`` texts, ``n_cut`` of them cut."""
        texts, cut = self._counts[kind]
        self._counts[kind] = texts + n, cut + n_cut

    def notes(self) -> Sequence[str]:
        """Return how many texts were cut."""
        limit = self._limit()
        limit_text = "" if limit is None else f" of {limit:,} tokens"
        return [
            f"{cut:,} of {texts:,} {_NAMES[kind]} {'is' if cut == 1 else 'are'} longer than the "
            f"model's limit{limit_text} and {'was' if cut == 1 else 'were'} cut"
            for kind, (texts, cut) in self._counts.items()
            if cut
        ]

    def save(self, folder: Path) -> None:
        """Write how many tables were cut."""
        write_json(folder / _COUNTS, self._counts["table"])

    def load(self, folder: Path) -> None:
        """Read it."""
        n, cut = read_json(folder / _COUNTS)
        self._counts = {"table": (n, cut), "query": (0, 0)}


def readable(text: str) -> str:
    """Return the text as tokenizers can read it: a ``?`` in place of each lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def most_tokens(*texts: str) -> int:
    """Return a number of tokens that texts do not exceed, special tokens aside.

    No tokenizer makes more than a token of a byte; some decompose characters first, such as the
    syllables of Korean.
    """
    forms = ((text, unicodedata.normalize("NFKD", text)) for text in texts)
    return sum(max(len(form.encode()) for form in pair) for pair in forms)


def all_numbers(vectors: Vectors, texts: Sequence[str], kind: TextKind, model: str) -> Vectors:
    """Return the vectors, each of which holds numbers only.

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
