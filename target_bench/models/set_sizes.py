"""How many of the ranked tables of a question are its set: by gaps, shares or what was learned."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, DataError
from target_bench.models.training import training_record

Floats = NDArray[np.float64]
Sizes = NDArray[np.int64]

_NO_SETTING = re.compile(r"(parts\.[^.]+\.)*(unique|code|version|files\..+|config\.device)")
"""Entries of an identity, and of those of parts, that are of a version or a machine."""

KIND = "set-size"
"""What the record of a learned size says that it is."""


def shares(scores: Floats, filled: NDArray[np.bool_]) -> Floats:
    """Return scores as shares of the first one of their ranking.

    Where the first one is not above 0, tables of the same score have 1 and the others 0.

    Args:
        scores: (n, w) scores, best first.
        filled: (n, w) where there is a table; the rest has 0.
    """
    first = scores[:, :1]
    shared = np.divide(scores, first, out=(scores == first).astype(np.float64), where=first > 0)
    return np.where(filled, shared, 0.0)


def by_gap(scores: Floats, filled: NDArray[np.bool_]) -> Sizes:
    """Return (n,) how many tables stand before the largest drop of the scores, the first of them.

    Of one table or none, that is all; where all scores are equal too.
    """
    there: Sizes = filled.sum(axis=1)
    if scores.shape[1] < 2:
        return there
    gaps = np.where(filled[:, 1:], scores[:, :-1] - scores[:, 1:], 0.0)
    sizes: Sizes = np.where(gaps.max(axis=1) > 0, gaps.argmax(axis=1) + 1, there)
    return sizes


def by_share(scores: Floats, filled: NDArray[np.bool_], least: float) -> Sizes:
    """Return (n,) how many tables have at least this share of the first one's score."""
    sizes: Sizes = ((shares(scores, filled) >= least) & filled).sum(axis=1)
    return sizes


class LearnedSize:
    """The share of the first score that ``target-bench train set-size`` has learned.

    Args:
        folder: where it has saved it.

    Attributes:
        share: the least share of the first score.
        retriever: of which retriever's scores, as it was written.
        identity: of that retriever.
        depth: how many tables were looked at, which is the largest size.

    Raises:
        ConfigError: the folder holds no such model, or a broken one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.share, self.retriever, self.identity, self.depth = _values(folder)

    def config(self) -> Mapping[str, Any]:
        """Return the learned share, and the largest size."""
        return {"share": self.share, "depth": self.depth}

    def weights_folder(self) -> Path:
        """Return the folder, which says what it was learned from."""
        return self._folder

    def sizes(self, scores: Floats, filled: NDArray[np.bool_]) -> Sizes:
        """Return (n,) sizes."""
        return by_share(scores, filled, self.share)

    def check(self, identity: Mapping[str, Any], label: str) -> None:
        """Check that a retriever is the one of whose scores it was learned.

        Args:
            identity: of the retriever (``plugin_identity``).
            label: what it is called.

        Raises:
            ConfigError: it is another one, or has other settings or weights.
        """
        here, there = _flat(identity), _flat(self.identity)
        if "unique" in {**here, **there} and label != self.retriever:  # its settings are not known
            raise ConfigError(
                f"model={self._folder}: it was trained on the scores of {self.retriever}, not of "
                f"{label}; train one on {label} with target-bench train set-size"
            )
        for name in {**there, **here}:
            if _is_setting(name) and here.get(name) != there.get(name):
                raise ConfigError(
                    f"model={self._folder}: it was trained on the scores of {self.retriever}, with "
                    f"{name}={there.get(name)!r}, and {label} has {here.get(name)!r}; train one "
                    f"on {label} with target-bench train set-size"
                )

    def changes(self, identity: Mapping[str, Any], label: str) -> list[str]:
        """Return a note if the code of the retriever, or a file that it reads, has changed."""
        here, there = _flat(identity), _flat(self.identity)
        names = {**there, **here}.keys() - {"unique"}
        changed = sorted(name for name in names if here.get(name) != there.get(name))
        if not changed:
            return []
        return [
            f"{label} has changed since the model in {self._folder} was trained "
            f"({', '.join(changed[:3])}); train it again if its scores are others"
        ]


def _flat(identity: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Return path of an entry -> its value."""
    found: dict[str, Any] = {}
    for name, value in identity.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{path}{name}.")
        else:
            found[path + name] = value
    return found


def _is_setting(name: str) -> bool:
    """Return whether an entry tells retrievers apart, not versions or machines of one."""
    return _NO_SETTING.fullmatch(name) is None


def _values(folder: Path) -> tuple[float, str, Mapping[str, Any], int]:
    if not (folder / training_record.RECORD).is_file():
        raise ConfigError(
            f"model={folder}: not a folder with {training_record.RECORD}; "
            "train a model with target-bench train set-size"
        )
    try:
        record = training_record.read(folder)
        if record["kind"] != KIND:
            raise ValueError(f"its kind is {record['kind']!r}")
        share, depth = float(record["share"]), int(record["depth"])
        if not 0 <= share <= 1 or depth < 1:
            raise ValueError(f"share={share}, depth={depth}")
        return share, str(record["retriever"]), dict(record["retriever_identity"]), depth
    except (DataError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"model={folder}: it holds no learned set size ({type(error).__name__}: {error}); "
            "make one with target-bench train set-size"
        ) from error
