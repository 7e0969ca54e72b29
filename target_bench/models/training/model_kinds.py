"""The kinds of trained models: where each begins, what it learns by, how it is validated."""

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from target_bench.core import registry
from target_bench.core.errors import MissingExtraError
from target_bench.core.local_models import no_loading_bar
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models.cross_encoder import Scorer
from target_bench.models.encoders.sentence_transformers import minilm_model
from target_bench.models.encoders.token_vectors import MINILM, TokenEncoder
from target_bench.models.training import losses
from target_bench.models.training.training_loop import Loss

Kind = Literal["dense", "late-interaction", "reranker"]

_BATCH = 64
_RERANKED = 10
"""How many candidates are read again in validation, as many as count there."""


@dataclass(frozen=True, slots=True)
class ModelKind:
    """One kind of model.

    Attributes:
        retriever: the name of the retriever that uses it.
        base: a setting -> what has ``trainable()``, ``weights_folder()`` and ``config()``.
        loss: what training makes smaller.
        in_use: model in training, retriever of candidates, and how tables are written -> the
            retriever as users run it, for as long as the block lasts.
        reads_pairs: whether question and table are one text for it.
        negatives: how many hard negatives a question gets by default.
    """

    retriever: str
    base: Callable[[str], Any]
    loss: Loss
    in_use: Callable[[Any, str, Mapping[str, Any]], AbstractContextManager[Any]]
    reads_pairs: bool = False
    negatives: int = 1


def save(model: Any, folder: Path) -> None:
    """Write a model of sentence-transformers into a folder.

    Raises:
        OSError: it cannot be written.
    """
    with no_loading_bar():
        model.save(str(folder), create_model_card=False)


def _encoder(base: str) -> Any:
    return registry.part("encoder", base)


def _token_encoder(base: str) -> Any:
    _check_package("training of late interaction")
    return TokenEncoder(base, None, None, _BATCH, None, "float32")


def _scorer(base: str) -> Any:
    _check_package("training of rerankers")
    model = minilm_model() if base == MINILM else base
    return Scorer(model, None, None, _BATCH, None, "float32")


def _check_package(needed_by: str) -> None:
    if importlib.util.find_spec("sentence_transformers") is None:
        raise MissingExtraError("sentence-transformers", "dense", needed_by)


@contextmanager
def _dense(model: Any, _: str, writing: Mapping[str, Any]) -> Iterator[Any]:
    made = registry.resolve("retriever", "dense")
    yield made(encoder=_InTraining(model), cache=False, **writing)


@contextmanager
def _late(model: Any, candidates: str, writing: Mapping[str, Any]) -> Iterator[Any]:
    made = registry.resolve("retriever", "late-interaction")
    with _saved(model) as folder:
        yield made(model=folder, retriever=candidates, **writing)


@contextmanager
def _reranking(model: Any, candidates: str, writing: Mapping[str, Any]) -> Iterator[Any]:
    made = registry.resolve("retriever", "rerank")
    with _saved(model) as folder:
        yield made(model=folder, retriever=candidates, depth=_RERANKED, **writing)


@contextmanager
def _saved(model: Any) -> Iterator[str]:
    with TemporaryDirectory(prefix="target-bench-") as folder:
        save(model, Path(folder))
        yield folder


class _InTraining(Encoder):
    """The vectors of a model that changes."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        prompt = self._model.prompts["query" if kind == "query" else "document"]
        vectors: Vectors = self._model.encode(
            list(texts), prompt=prompt or None, batch_size=_BATCH, show_progress_bar=False
        )
        return vectors.astype(np.float32)


KINDS: Mapping[Kind, ModelKind] = {
    "dense": ModelKind("dense", _encoder, losses.among_batch(losses.cosines), _dense),
    "late-interaction": ModelKind(
        "late-interaction", _token_encoder, losses.among_batch(losses.max_sims), _late
    ),
    "reranker": ModelKind(
        "rerank", _scorer, losses.among_own, _reranking, reads_pairs=True, negatives=4
    ),
}
