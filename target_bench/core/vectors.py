"""The contracts of dense retrieval: texts become vectors, and vectors are searched."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.core.contract import get_constructor_arguments

TextKind = Literal["query", "table"]
"""Kind of a text: for many models a prompt before it says which."""

Vectors = NDArray[np.float32]
"""(n, d) vectors, one a row."""


class Encoder(ABC):
    """An encoder of texts into vectors. One method makes one; the others have defaults.

    ```python
    import numpy as np

    from target_bench import Encoder

    class Vowels(Encoder):
        def encode(self, texts, kind):
            return np.array([[text.count(x) for x in "aeiou"] for text in texts], np.float32)

    print(Vowels().encode(["Mars"], "query"))  # [[1. 0. 0. 0. 0.]]
    ```

    Keep constructor arguments under their own names, load models when they are first needed, and
    import heavy packages only then.

    Attributes:
        VERSION: of an encoder of this package; raised when a vector can be another one than before,
            so that neither runs nor cached embeddings are reused. Your own is identified by its
            source files.
        packages: distributions whose versions can change a vector; recorded with every run.
        paid: whether encoding may cost money; the command line then asks before it starts.
    """

    VERSION: ClassVar[str] = "1"
    packages: tuple[str, ...] = ()
    paid: bool = False

    @abstractmethod
    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return (n, d) vectors of the texts, in their order; their length is left to the model.

        Raises:
            ConfigError: there is no such model, or it cannot be loaded.
        """

    def begin_corpus(self) -> None:  # noqa: B027 (optional)
        """Start the counts of ``notes`` again for another corpus. Default: nothing."""

    def revision(self) -> str | None:
        """Return a text that distinguishes these weights from others of the same name.

        A commit, or a hash of files. Part of the identity of runs and of the key of cached
        embeddings. Default: None, which is not known, and then nothing is cached.

        Raises:
            ConfigError: there is no such model.
        """
        return None

    def config(self) -> Mapping[str, Any]:
        """Return the settings that determine the vectors, as JSON.

        ``query_prompt`` and ``table_prompt`` are taken to change the vectors of their own kind of
        text alone. Default: constructor arguments.
        """
        return get_constructor_arguments(self)

    def notes(self) -> Sequence[str]:
        """Return notes for the user about the texts encoded so far. Default: nothing."""
        return ()


class VectorIndex(ABC):
    """An index that finds the vectors with the largest inner product.

    ```python
    import numpy as np

    from target_bench.plugin_tools import make_part

    index = make_part("index", "exact")
    index.build(np.eye(3, dtype=np.float32))
    products, rows = index.search(np.array([[0, 2, 1]], dtype=np.float32), k=2)
    print(products, rows)  # [[2. 1.]] [[1 2]]
    ```

    Attributes:
        VERSION: of an index of this package; raised when what is found can be other rows.
        packages: distributions whose versions can change what is found.
        exact: whether the best are always found. Exact indexes give equal rankings for equal
            vectors: scores are rounded to 2^-20 of the product of both lengths (the power of two
            next to it), then the earlier row comes first.
    """

    VERSION: ClassVar[str] = "1"
    packages: tuple[str, ...] = ()
    exact: ClassVar[bool] = True

    @abstractmethod
    def build(self, vectors: Vectors) -> None:
        """Index (m, d) vectors; row numbers are their places."""

    def build_parts(self, parts: Iterable[Vectors]) -> None:
        """Index vectors that come in parts. Default: ``build`` of all of them together."""
        self.build(np.concatenate(list(parts)))

    @abstractmethod
    def search(
        self, vectors: Vectors, k: int
    ) -> tuple[NDArray[np.floating[Any]], NDArray[np.int64]]:
        """Return the best rows for each of (n, d) vectors.

        Returns:
            (n, min(k, m)) rounded inner products, and the rows they are of, best first. An
            approximate index that finds fewer fills up with row -1.
        """

    def config(self) -> Mapping[str, Any]:
        """Return the settings that determine the results, as JSON.

        Default: constructor arguments.
        """
        return get_constructor_arguments(self)

    def notes(self) -> Sequence[str]:
        """Return notes for the user about the searches so far. Default: nothing."""
        return ()

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the index into an existing, empty folder."""

    @abstractmethod
    def load(self, folder: Path) -> None:
        """Read what ``save`` wrote, in place of ``build``."""
