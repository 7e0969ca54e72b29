"""What the encoders on this machine share: readable texts, and which of them were cut."""

import unicodedata
from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from target_bench.core.vectors import Encoder, TextKind, Vectors

_AT_ONCE = 1024


class LimitedEncoder(Encoder):
    """An encoder whose model has a limit, and that tells which texts were cut there."""

    @abstractmethod
    def vectors_and_cut(
        self, texts: list[str], kind: TextKind
    ) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return the (n, d) vectors of readable texts, and (n,) which of them were cut."""

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return the (n, d) vectors of the texts, in their order, as the model gives them.

        Raises:
            ConfigError: there is no such model, it cannot be loaded, or not even one text fits into
                memory.
        """
        return self.vectors_and_cut([readable(text) for text in texts], kind)[0]

    def encode_parts(
        self, texts: Sequence[str], kind: TextKind
    ) -> Iterator[tuple[Sequence[int], Vectors, list[bool]]]:
        """Yield places of some texts, their vectors, and which were cut; errors as ``encode``."""
        for start in range(0, len(texts), _AT_ONCE):
            some = [readable(text) for text in texts[start : start + _AT_ONCE]]
            vectors, cut = self.vectors_and_cut(some, kind)
            yield range(start, start + len(some)), vectors, cut.tolist()


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
