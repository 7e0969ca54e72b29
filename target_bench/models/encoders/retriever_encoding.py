"""The encoder inside a retriever: its vectors, and notes on cut texts and vectors of zeros."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from target_bench.core import registry
from target_bench.core.array_files import read_json, write_json
from target_bench.core.errors import ConfigError
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models.embedding_cache import encode_texts

_COUNTS = "encoder.json"
_NONE = (0, 0, 0)  # texts, cut ones, vectors of zeros
_NAMES: dict[TextKind, str] = {"table": "table texts", "query": "queries"}


class Encoding:
    """Turns the texts of a retriever into vectors.

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
        plugin = registry.part("encoder", encoder)
        if not isinstance(plugin, Encoder):
            raise ConfigError(
                f"encoder={encoder!r} is not an Encoder: name one, or a class that inherits "
                "target_bench.core.vectors.Encoder"
            )
        self.encoder: Encoder = plugin
        self._cache = cache
        self._unit = unit
        self._counts: dict[TextKind, list[int]] = {}

    def begin_corpus(self) -> None:
        """Start the counts of texts again."""
        self._counts = {}
        self.encoder.begin_corpus()

    def tables(self, texts: Sequence[str]) -> Vectors:
        """Return the (n, d) vectors of table texts; errors as of ``encode_texts``."""
        return self._vectors(texts, "table")

    def queries(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
        """Return the (n, d) vectors of queries; errors as of ``encode_texts``.

        Args:
            texts: the queries.
            dimensions: of the vectors of the tables; None where an index looks itself.

        Raises:
            ConfigError: the encoder gives queries other dimensions.
        """
        vectors = self._vectors(texts, "query")
        if len(vectors) and dimensions is not None and vectors.shape[1] != dimensions:
            raise ConfigError(
                f"the encoder {type(self.encoder).__name__} gives queries {vectors.shape[1]} "
                f"dimensions, and tables {dimensions}: encode both with the same model and settings"
            )
        return vectors

    def _vectors(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        vectors, n_cut = encode_texts(self.encoder, list(texts), kind, cache=self._cache)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        new = (len(set(texts)), n_cut, int((lengths == 0).sum()))
        self._counts[kind] = [
            a + b for a, b in zip(self._counts.get(kind, _NONE), new, strict=True)
        ]
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

    def save(self, folder: Path) -> None:
        """Write the counts of the tables."""
        write_json(folder / _COUNTS, self._counts.get("table", _NONE))

    def load(self, folder: Path) -> None:
        """Read the files that ``save`` wrote."""
        self.begin_corpus()
        self._counts["table"] = read_json(folder / _COUNTS)
