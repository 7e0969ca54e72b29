"""The size of sets, learned: the share of the first score that gives the best sets of a split."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.contract import is_paid
from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Query
from target_bench.core.version import __version__
from target_bench.models.set_sizes import KIND, shares
from target_bench.models.training import model_folder, training_record
from target_bench.models.training.held_out import contents_of
from target_bench.models.training.pairs import used
from target_bench.models.training.training_record import Used
from target_bench.models.training.training_splits import Data, Splits, load
from target_bench.search.nested import InnerRetriever

Floats = NDArray[np.float64]

SHARES = np.arange(0, 101) / 100
"""The shares that are tried."""


@dataclass(frozen=True, slots=True)
class SizeSettings:
    """What is learned.

    Args:
        retriever: whose scores are cut: a name with settings.
        beta: how many times as much recall counts as precision; 1 for F1.
        depth: how many tables are looked at, and the largest size of a set.

    Raises:
        ConfigError: ``beta`` is not above 0, or ``depth`` below 1.
    """

    retriever: str = "bm25"
    beta: float = 1.0
    depth: int = 50

    def __post_init__(self) -> None:
        if not 0 < self.beta < float("inf"):
            raise ConfigError(f"beta={self.beta}: expected a number above 0")
        if self.depth < 1:
            raise ConfigError(f"depth={self.depth}: at least 1 is needed")


@dataclass(frozen=True, slots=True)
class TrainedSize:
    """A size that was learned.

    Attributes:
        folder: where it lies.
        share: the least share of the first score.
        f_beta: the mean F score of the sets of the questions that it was learned on.
        size: the mean size of these sets.
        questions: how many questions these are.
        left_out: which questions were left out, in a sentence for each split.
    """

    folder: Path
    share: float
    f_beta: float
    size: float
    questions: int
    left_out: tuple[str, ...]


def train_size(
    data: Data,
    folder: str | Path,
    settings: SizeSettings | None = None,
    observer: Observer | None = None,
) -> TrainedSize:
    """Learn the share of the first score that gives the best sets, and save it.

    All shares in steps of 0.01 are tried; of equally good ones the smallest sets win.

    Args:
        data: what is learned from, and what is kept out of it.
        folder: where the model goes; it must not be there, or be empty.
        settings: what is learned.
        observer: is notified of progress and of what was left out.

    Raises:
        ConfigError: an invalid corpus, split, retriever or setting, no question that is left, or
            overlap in mode ``strict``.
        DataError: files are missing or broken.
        StoreError: the folder cannot be written.
    """
    settings, observer = settings or SizeSettings(), observer or Observer()
    with model_folder.whole(Path(folder)) as half:
        inner = InnerRetriever(settings.retriever)
        if is_paid(inner.retriever):
            raise ConfigError(f"retriever={settings.retriever}: it may cost money; name another")
        splits = load(data, observer)
        observer.stage(f"rank with {settings.retriever}")
        parts = [_judged(inner, dataset, settings.depth) for dataset in splits.train]
        share, f_beta, size = _best(parts, settings)
        about = {
            "kind": KIND,
            "share": share,
            "depth": settings.depth,
            "beta": settings.beta,
            "retriever": inner.label,
            "retriever_identity": plugin_identity(inner.retriever)[0],
            "data": _data(data, splits),
            "target_bench": __version__,
        }
        try:
            training_record.write(half, about, _uses(splits.train))
        except OSError as error:
            raise StoreError(f"{folder}: the model cannot be written ({error})") from error
    place = Path(folder).expanduser().absolute()
    n_questions = sum(len(part.gold) for part in parts)
    return TrainedSize(place, share, f_beta, size, n_questions, splits.left_out)


@dataclass(frozen=True, slots=True)
class _Judged:
    """Rankings of questions: (n, depth) shares and hits, (n,) numbers of gold tables."""

    shares: Floats
    hits: Floats
    gold: Floats


def _judged(inner: InnerRetriever, dataset: Dataset, depth: int) -> _Judged:
    asked = [query for query in dataset.queries if query.gold]
    inner.embed_corpus(dataset.corpus)
    found = inner.candidates([query.text for query in asked], depth)
    if found.scores is None:
        raise ConfigError(f"{inner.label} ranks without scores; name a retriever that gives scores")
    filled = found.rows >= 0
    wide = np.zeros((3, len(asked), depth))
    wide[0, :, : filled.shape[1]] = shares(found.scores, filled)
    wide[1, :, : filled.shape[1]] = filled
    place = dataset.corpus.positions
    for i, query in enumerate(asked):
        gold = [place[table] for table in query.gold]
        wide[2, i, : filled.shape[1]] = np.isin(found.rows[i], gold)
    known = np.where(wide[1] > 0, wide[0], -1.0)  # below all shares where there is no table
    return _Judged(known, wide[2], np.array([len(query.gold) for query in asked], dtype=float))


def _best(parts: Sequence[_Judged], settings: SizeSettings) -> tuple[float, float, float]:
    """Return the share of the best sets, their mean F score and their mean size."""
    shared = np.concatenate([part.shares for part in parts])
    hits = np.concatenate([part.hits for part in parts])
    gold = np.concatenate([part.gold for part in parts])
    if not len(gold):
        raise ConfigError("no question has gold tables: name another corpus or split")
    recall_weight = settings.beta**2
    tried: list[tuple[float, float, float]] = []
    for share in SHARES.tolist():
        kept = shared >= share
        sizes, found = kept.sum(axis=1), (hits * kept).sum(axis=1)
        f_beta = (1 + recall_weight) * found / (sizes + recall_weight * gold)
        tried.append((round(float(f_beta.mean()), 9), -float(sizes.mean()), share))
    best, size, share = max(tried)
    return share, best, -size


def _uses(datasets: Sequence[Dataset]) -> list[Used]:
    found: list[Used] = []
    for dataset in datasets:
        contents = contents_of(dataset)
        pairs: list[tuple[Query, Any]] = [(q, table) for q in dataset.queries for table in q.gold]
        found += [used(dataset, query, table, contents) for query, table in pairs]
    return found


def _data(data: Data, splits: Splits) -> dict[str, Any]:
    return {
        "train": [
            {
                "corpus": dataset.info.name,
                "split": dataset.split,
                "corpus_fingerprint": dataset.corpus.fingerprint,
                "queries": len(dataset.queries),
            }
            for dataset in splits.train
        ],
        "kept_out": list(splits.kept_out.names),
        "left_out": list(splits.left_out),
        "shared_tables": data.shared_tables,
        "limit": data.limit,
    }
