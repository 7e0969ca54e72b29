"""Static vectors of the library model2vec: the mean of a text's token vectors, fast on a CPU."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.contract import constructor_arguments
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.vectors import TextKind, Vectors
from target_bench.models.encoders.encoder_checks import LimitedEncoder
from target_bench.models.encoders.weights import (
    HubModel,
    LocalModel,
    broken,
    not_found,
    quietly,
)


@dataclass(eq=False, repr=False)
class Model2Vec(LocalModel, LimitedEncoder):
    """A static model (Tulkens & van Dongen 2024): vectors are as ``StaticModel.encode`` gives them.

    Needs: extra model2vec; a model (download).

    A text without any known token has a vector of zeros. Texts longer than the limit are cut,
    counted and reported.

    Args:
        model: a folder, or a name on the Hugging Face hub, such as
            ``minishlab/potion-retrieval-32M``. A folder of this name comes first, then the hub's
            cache on this machine, then the hub.
        max_tokens: of a text at most; model2vec also leaves off what is beyond this many times the
            median length of a token, in characters. Default: the model's own limit.
        commit: of a model on the hub: a commit, branch or tag. Default: what the cache holds as
            ``main``, else the newest.

    Raises:
        MissingExtraError: model2vec is not installed.
        ConfigError: a limit below 1.
    """

    packages = ("model2vec", "tokenizers", "numpy")

    model: str
    max_tokens: int | None = None
    commit: str | None = None

    def __post_init__(self) -> None:
        if importlib.util.find_spec("model2vec") is None:
            raise MissingExtraError("model2vec", "model2vec", "the encoder model2vec")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ConfigError(f"max_tokens={self.max_tokens}: at least 1 is needed")

    def vectors_and_cut(
        self,
        texts: list[str],
        kind: TextKind,  # noqa: ARG002 (queries and tables are treated alike)
    ) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return the (n, d) vectors of readable texts, and (n,) which of them were cut."""
        model = self.loaded
        limit = self.max_tokens or model.max_length
        if not texts:
            return np.zeros((0, model.dim), dtype=np.float32), np.zeros(0, dtype=bool)
        counter = _CountingTokenizer(model.tokenizer)
        model.tokenizer = counter
        try:
            with quietly():
                vectors = model.encode(texts, max_length=limit, use_multiprocessing=False)
        finally:
            model.tokenizer = counter.tokenizer
        longest = len(max(texts, key=len)) if limit is None else limit * model.median_token_length
        cut = [cut or len(text) > longest for cut, text in zip(counter.cut, texts, strict=True)]
        return vectors.astype(np.float32), np.array(cut)

    def config(self) -> Mapping[str, Any]:
        """Return the settings, with the content of a folder in place of its path.

        Raises:
            ConfigError: there is no such model.
        """
        settings = constructor_arguments(self)
        if isinstance(self.weights, Path):
            settings["model"] = f"sha256:{self.revision()}"
        return settings

    @cached_property
    def loaded(self) -> Any:
        """The model, a ``StaticModel``; files that the hub's cache lacks are fetched."""
        weights = self.weights
        folder = weights if isinstance(weights, Path) else _fetched(weights)
        try:
            with quietly():
                from model2vec import StaticModel

                return StaticModel.from_pretrained(folder, force_download=False)
        except Exception as error:  # of files and formats
            raise broken(self.model, folder, error) from error


def _fetched(model: HubModel) -> Path:
    from huggingface_hub import snapshot_download

    try:
        with quietly():
            folder = snapshot_download(
                model.name,
                revision=model.commit,
                cache_dir=model.cache,
                allow_patterns=["*.json", "*.safetensors", "*/*.json", "*/*.safetensors"],
                local_files_only=model.cached,
            )
    except Exception as error:  # of networks, servers and disks
        raise not_found(model.name, model.commit, model.cache, error) from error
    return Path(folder)


class _CountingTokenizer:
    """A tokenizer of ``tokenizers`` that remembers which texts it cut."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.cut: list[bool] = []

    def encode_batch_fast(self, texts: Sequence[str], **settings: Any) -> Any:
        encodings = self.tokenizer.encode_batch_fast(texts, **settings)
        self.cut += [bool(encoding.overflowing) for encoding in encodings]
        return encodings

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tokenizer, name)
