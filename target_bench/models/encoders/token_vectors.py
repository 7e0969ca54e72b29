"""Texts -> one vector per token, by a MultiVectorEncoder of sentence-transformers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.core.local_models import device_of, is_out_of_memory
from target_bench.core.vectors import TextKind, Vectors
from target_bench.models.encoders.encoder_checks import all_numbers, most_tokens, readable
from target_bench.models.encoders.sentence_transformers import minilm_model
from target_bench.models.encoders.weights import (
    HubModel,
    find,
    loaded,
    module_types,
    quietly,
    revision,
)

DType = Literal["float32", "float16", "bfloat16"]

MINILM = "minilm"
_TASKS: Mapping[TextKind, str] = {"query": "query", "table": "document"}
_NAMES: Mapping[TextKind, str] = {"query": "queries", "table": "table texts"}
_OWN = ("Dense", "MultiVectorMask")


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The vectors of the tokens of several texts, one after the other.

    Attributes:
        vectors: (tokens, d) vectors of length 1, of single or half precision; zeros for a text
            without a token.
        ends: (texts,) the number of vectors up to the end of each text; each has at least one.
    """

    vectors: NDArray[Any]
    ends: NDArray[np.int64]

    @property
    def starts(self) -> NDArray[np.int64]:
        """The place of the first vector of each text."""
        return np.concatenate([np.zeros(1, dtype=np.int64), self.ends[:-1]])


class TokenEncoder:
    """A model of late interaction, loaded when it is first needed.

    A model that was not made for late interaction, such as MiniLM, gives the last hidden states
    of its tokens, brought to length 1; sentence-transformers' projection of random numbers is not
    used.

    Args:
        model: a folder, a name on the Hugging Face hub, or ``minilm``.
        commit: of a model on the hub.
        max_tokens: of a text at most; None for the model's limit.
        batch_size: how many texts are encoded at once; halved where memory does not suffice.
        device: as PyTorch names it; None for the GPU if there is one.
        dtype: of the weights.
    """

    def __init__(
        self,
        model: str,
        commit: str | None,
        max_tokens: int | None,
        batch_size: int,
        device: str | None,
        dtype: DType,
    ) -> None:
        self._model = minilm_model() if model == MINILM else model
        self._commit = commit
        self._max_tokens = max_tokens
        self._asked = self._size = batch_size
        self._device = device
        self._dtype = dtype
        self._counts: dict[TextKind, tuple[int, int]] = {"table": (0, 0), "query": (0, 0)}

    def load(self) -> None:
        """Load the model, and start the counts of cut texts again.

        Raises:
            ConfigError: there is no such model, or it cannot be loaded.
        """
        assert self._loaded
        self._counts = {"table": (0, 0), "query": (0, 0)}

    @property
    def cut(self) -> tuple[int, int]:
        """How many table texts were encoded, and how many of them were cut."""
        return self._counts["table"]

    @cut.setter
    def cut(self, counts: tuple[int, int]) -> None:
        self._counts["table"] = counts

    def encode(self, texts: Sequence[str], kind: TextKind) -> TokenVectors:
        """Return the vectors of the tokens of the texts, in their order.

        Raises:
            ConfigError: as for ``load``; a vector holds NaN, or a text does not fit into memory.
        """
        read = [readable(text) for text in texts]
        with quietly():
            self._count(read, kind)
            found = self._encoded(read, kind)
        empty = np.zeros((1, self._loaded.get_embedding_dimension()), dtype=np.float32)
        parts = [part if len(part) else empty for part in found]
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        vectors = np.concatenate([empty[:0], *parts])
        of_texts = [text for text, part in zip(read, parts, strict=True) for _ in part]
        return TokenVectors(all_numbers(vectors, of_texts, kind, f"model={self._model}"), ends)

    def _encoded(self, texts: list[str], kind: TextKind) -> list[Vectors]:
        task = _TASKS[kind]
        while True:
            try:
                found = self._loaded.encode(
                    texts,
                    prompt=self._loaded.prompts.get(task) or None,
                    task=task,
                    batch_size=self._size,
                    show_progress_bar=False,
                )
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                if self._size == 1:
                    raise ConfigError(
                        f"model={self._model}: out of memory with a single text; set max_tokens "
                        "lower, dtype=bfloat16 or device=cpu"
                    ) from error
                self._size //= 2
            else:
                return [vectors.float().cpu().numpy() for vectors in found]

    def _count(self, texts: Sequence[str], kind: TextKind) -> None:
        """Count the texts, and those of them that lose tokens."""
        n, n_cut = self._counts[kind]
        limit = self._loaded.max_seq_length
        prompt = self._loaded.prompts.get(_TASKS[kind]) or ""
        long = [prompt + text for text in texts if limit and most_tokens(prompt, text) > limit - 8]
        if long:
            tokens = self._loaded.tokenizer(long, truncation=False, verbose=False)["input_ids"]
            n_cut += sum(len(ids) > limit for ids in tokens)
        self._counts[kind] = n + len(texts), n_cut

    def notes(self) -> list[str]:
        """Return the texts that were cut, and memory that did not suffice."""
        found = [
            f"{cut:,} of {n:,} {_NAMES[kind]} are longer than the limit of "
            f"{self._loaded.max_seq_length:,} tokens and were cut"
            for kind, (n, cut) in self._counts.items()
            if cut
        ]
        if self._size < self._asked:
            found.append(
                f"out of memory with batches of {self._asked} texts; went on with {self._size}"
            )
        return found

    def revision(self) -> str:
        """Return the SHA-256 over the files of a folder, or the commit of a model on the hub.

        Raises:
            ConfigError: there is no such model.
        """
        return revision(self._found)

    def config(self) -> Mapping[str, Any]:
        """Return the model's name on the hub; a folder is identified by its ``revision``.

        Raises:
            ConfigError: there is no such model.
        """
        return {"name": self._found.name if isinstance(self._found, HubModel) else None}

    def weights_folder(self) -> Path | None:
        """Return the folder that holds the model, or None for one of the hub.

        Raises:
            ConfigError: there is no such model.
        """
        return self._found if isinstance(self._found, Path) else None

    @cached_property
    def place(self) -> str:
        """The device.

        Raises:
            ConfigError: there is no such device.
        """
        return device_of(self._device)

    @cached_property
    def _found(self) -> Path | HubModel:
        return find(self._model, self._commit)

    @cached_property
    def _loaded(self) -> Any:
        """The model, a ``MultiVectorEncoder``."""
        found, place = self._found, self.place  # errors of these come first
        model = loaded(self._model, found, partial(self._read, place))
        model = _without_random_projection(model, module_types(found))
        limit = model.max_seq_length
        if self._max_tokens is not None:
            most = getattr(model.config, "max_position_embeddings", None)
            if isinstance(most, int) and 0 < most < self._max_tokens:
                raise ConfigError(
                    f"max_tokens={self._max_tokens}: model={self._model} has places for {most} "
                    "tokens"
                )
            limit = self._max_tokens
        model.max_seq_length = limit
        return model

    def _read(self, place: str, source: str, **settings: Any) -> Any:
        import torch
        from sentence_transformers import MultiVectorEncoder

        kind = getattr(torch, self._dtype)
        model = MultiVectorEncoder(source, device=place, model_kwargs={"dtype": kind}, **settings)
        model.to(kind)
        model.eval()
        return model


def _without_random_projection(model: Any, saved: Sequence[str]) -> Any:
    """Return the model without the projection that was not among its saved modules.

    For a model that has only encoded whole texts, the library adds one of random numbers.
    """
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Dense

    architectures = getattr(model.config, "architectures", None) or [""]
    made_for_it = architectures[0] == "HF_ColBERT" or architectures[0].endswith("ForRetrieval")
    if made_for_it or any(name.endswith(_OWN) for name in saved):
        return model
    kept = [module for module in model if not isinstance(module, Dense)]
    found = MultiVectorEncoder(modules=kept, device=str(model.device), prompts=model.prompts)
    found.eval()
    return found
