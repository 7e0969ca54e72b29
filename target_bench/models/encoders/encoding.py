"""The encoder inside a retriever: its vectors, and notes on cut texts and vectors of zeros."""

from collections.abc import Sequence

import numpy as np

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models.embedding_cache import encode_texts

_NAMES: dict[TextKind, str] = {"table": "table texts", "query": "queries"}


class Encoding:
    """Turns the texts of a retriever into vectors.

    ```python
    import numpy as np

    from target_bench import Encoder
    from target_bench.plugin_tools import Encoding

    class Vowels(Encoder):
        def encode(self, texts, kind):
            return np.array([[text.count(x) for x in "aeiou"] for text in texts], np.float32)

    print(Encoding(Vowels()).tables(["Mars", "Io"]))
    # [[1. 0. 0. 0. 0.]
    #  [0. 0. 0. 1. 0.]]
    ```

    Args:
        encoder: as written on the command line, or an object.
        cache: whether vectors are recorded on disk, and recorded ones used.
        unit: bring vectors to length 1; those of length 0 stay. None: unless the encoder was made
            for inner products, as its ``similarity_name()`` says (optional).

    Attributes:
        encoder: the encoder itself.

    Raises:
        ConfigError: it cannot be built, or is not an encoder.
    """

    def __init__(self, encoder: object, cache: bool = True, unit: bool | None = True) -> None:
        plugin = registry.make_part("encoder", encoder)
        if not isinstance(plugin, Encoder):
            raise ConfigError(
                f"encoder={encoder!r} is not an Encoder: name one, or a class that inherits "
                "target_bench.core.vectors.Encoder"
            )
        self.encoder: Encoder = plugin
        self._cache = cache
        self._unit = unit
        self._counts: dict[TextKind, list[int]] = {}  # texts, cut ones, vectors of zeros

    def begin_corpus(self) -> None:
        """Start the counts of texts again."""
        self._counts = {}
        self.encoder.begin_corpus()

    def tables(self, texts: Sequence[str]) -> Vectors:
        """Return the (n, d) vectors of table texts; errors as of ``encode_texts``."""
        return self._encode(texts, "table")

    def queries(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
        """Return the (n, d) vectors of queries; errors as of ``encode_texts``.

        Args:
            texts: the queries.
            dimensions: of the vectors of the tables; None where an index looks itself.

        Raises:
            ConfigError: the encoder gives queries other dimensions.
        """
        vectors = self._encode(texts, "query")
        if len(vectors) and dimensions is not None and vectors.shape[1] != dimensions:
            raise ConfigError(
                f"the encoder {type(self.encoder).__name__} gives queries {vectors.shape[1]} "
                f"dimensions, and tables {dimensions}: encode both with the same model and settings"
            )
        return vectors

    def _encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        vectors, n_cut = encode_texts(self.encoder, list(texts), kind, cache=self._cache)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        before = self._counts.get(kind, (0, 0, 0))
        counts = len(set(texts)), n_cut, int((lengths == 0).sum())
        self._counts[kind] = [old + new for old, new in zip(before, counts, strict=True)]
        if not self._is_unit():
            return vectors
        lengths[lengths == 0] = 1
        units: Vectors = vectors / lengths
        return units

    def _is_unit(self) -> bool:
        return self._own_similarity() != "dot" if self._unit is None else self._unit

    def _own_similarity(self) -> str | None:
        own = getattr(self.encoder, "similarity_name", None)  # optional
        return own() if callable(own) else None

    def notes(self) -> list[str]:
        """Return the notes of the encoder, and the numbers of cut texts and of vectors of zeros."""
        notes = list(self.encoder.notes())
        if self._counts:
            used, own = "cosine" if self._is_unit() else "dot", self._own_similarity()
            if own not in (None, used):
                notes.append(
                    f"the model was made for the similarity {own}, which is not used: vectors are "
                    f"compared by {used}"
                )
        for kind, (n, n_cut, n_zeros) in self._counts.items():
            name = _NAMES[kind]
            if n_cut:
                notes.append(
                    f"{n_cut:,} of {n:,} {name} were cut: they are longer than the encoder reads"
                )
            if n_zeros:
                notes.append(f"the encoder gave a vector of zeros for {n_zeros:,} {name}")
        return notes
