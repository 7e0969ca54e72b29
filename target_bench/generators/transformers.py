"""Language models of Transformers, run on this machine."""

import importlib.util
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from target_bench.core.contract import Generator, get_constructor_arguments
from target_bench.core.errors import ConfigError, MissingExtraError, check_at_least_one
from target_bench.core.files import hash_file
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.models.chat_prompts import token_ids
from target_bench.models.local_models import choose_device, silence_libraries

ADAPTER = "adapter_config.json"
"""The file by which the folder of an adapter is known."""

NEW_TOKENS = {"text": 128, "label": 128, "sql": 512, "tables": 1024}
"""Tokens of an answer at most, by its kind: sentences, labels in JSON, queries, whole tables."""

_DRAWN = 16
"""Number of batches of requests that are sorted by length at a time."""

_UNLIMITED = 10**9
"""A tokenizer's limit from here on means that it has none."""

_LONGEST = 500  # characters of an error's own words


@dataclass(eq=False, repr=False)
class Transformers(Generator):
    """Loads a language model and runs it on batches of prompts of about the same length.

    Needs: extra transformers; a model (download).

    The model is causal, or an encoder with a decoder, as T5 and BART are (its configuration says
    which). Prompts are written with the tokenizer's chat template, or without one as the messages
    with an empty line between. Answers are the likeliest token each time (greedy), regardless of
    the sampling settings the model comes with. No prompt is ever cut: one that leaves no room for
    an answer of ``max_new_tokens`` fails with an error that begins with ``context_overflow`` (an
    encoder reads the prompt alone). No code that comes with a model is run.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        revision: of a model on the hub: a commit, branch or tag.
        device: as PyTorch names it; ``auto`` is the GPU if there is one.
        dtype: of the weights; ``auto`` is that of the model's file.
        batch_size: how many prompts are answered at once; halved where memory does not suffice.
        max_new_tokens: of an answer at most; default: what its kind needs: 128, of SQL 512, of
            tables 1,024.
        context_tokens: of prompt and answer together at most, or of the prompt of an encoder;
            default: what the model declares.
        template: further variables of the chat template, as in {enable_thinking: false}.
        adapter: a folder with a PEFT adapter for the model, as examples/struc_bench writes it.
    """

    packages = ("transformers", "tokenizers", "torch")
    converses = True

    model: str
    revision: str | None = None
    device: str = "auto"
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = "auto"
    batch_size: int = 8
    max_new_tokens: int | None = None
    context_tokens: int | None = None
    template: Mapping[str, Any] | None = None
    adapter: str | None = None

    def __post_init__(self) -> None:
        for name in ("torch", "transformers"):
            if importlib.util.find_spec(name) is None:
                raise MissingExtraError(name, "transformers", "the generator transformers")
        if self.adapter is not None and importlib.util.find_spec("peft") is None:
            raise MissingExtraError("peft", "train", f"adapter={self.adapter}")
        check_at_least_one(
            batch_size=self.batch_size,
            max_new_tokens=self.max_new_tokens,
            context_tokens=self.context_tokens,
        )
        self._place = choose_device(None if self.device == "auto" else self.device)

    def config(self) -> Mapping[str, Any]:
        """Return the settings, with the model's content in place of its path, and kind of device.

        The batch size is one of them: padding changes the last bits of a probability.

        Raises:
            ConfigError: there is no such model or adapter.
        """
        kind = self._place.partition(":")[0]
        settings = {**get_constructor_arguments(self), "device": kind, **self._content}
        del settings["adapter"]
        if self.adapter is None:
            return settings
        folder = Path(self.adapter)
        if not (folder / ADAPTER).is_file():
            raise ConfigError(f"adapter={folder}: there is no folder with {ADAPTER}")
        return settings | {"adapter": _hashes(folder)}

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the answer to one request. For many, ``generate_many`` is faster."""
        return next(self.generate_many([request], Observer()))

    def generate_many(
        self,
        requests: Iterable[GenerationRequest],
        observer: Observer,  # noqa: ARG002 (nothing is waited for)
    ) -> Iterator[Generation]:
        """Yield the answers, a batch at a time; see ``Generator.generate_many``.

        Raises:
            ConfigError: the model cannot be loaded.
        """
        source = iter(requests)
        while drawn := list(islice(source, _DRAWN * self.batch_size)):
            prompts = [self._loaded.prompt(request) for request in drawn]
            yield from (prompt for prompt in prompts if isinstance(prompt, Generation))
            fitting = [prompt for prompt in prompts if isinstance(prompt, _Tokens)]
            fitting.sort(key=lambda prompt: len(prompt.ids), reverse=True)
            for start in range(0, len(fitting), self.batch_size):
                yield from self._answers(fitting[start : start + self.batch_size])

    def _answers(self, batch: Sequence["_Tokens"]) -> Iterator[Generation]:
        """Yield the answers to a batch; to each half of it if the whole fails."""
        try:
            answers = self._loaded.answers(batch)
        except Exception as error:
            if len(batch) == 1:
                yield _make_failure(batch[0].query_id, error)
                return
            answers = None
        if answers is not None:
            yield from answers
            return
        middle = len(batch) // 2
        yield from self._answers(batch[:middle])
        yield from self._answers(batch[middle:])

    @cached_property
    def _loaded(self) -> "_Loaded":
        return _Loaded(self, self._place)

    @cached_property
    def _content(self) -> dict[str, Any]:
        """The identity of the weights: hashes of the files, or the commit on the hub."""
        if Path(self.model).is_dir():
            if (Path(self.model) / ADAPTER).is_file():
                raise ConfigError(
                    f"model={self.model}: it is an adapter; name its model too, as in "
                    f"model=BASE,adapter={self.model}"
                )
            return {"model": _hashes(Path(self.model))}
        from transformers import AutoConfig

        config = _from_hub(AutoConfig, self.model, revision=self.revision)
        return {"model": self.model, "revision": getattr(config, "_commit_hash", self.revision)}


class _Tokens(NamedTuple):
    """A prompt as the model reads it, and how many tokens its answer may have."""

    query_id: str
    ids: Sequence[int]
    longest: int


class _Loaded:
    """The tokenizer and the model, loaded.

    Raises:
        ConfigError: they cannot be loaded, or no answer of the wanted length can be written.
    """

    def __init__(self, settings: Transformers, place: str) -> None:
        from transformers import (
            AutoConfig,
            AutoModelForCausalLM,
            AutoModelForSeq2SeqLM,
            AutoTokenizer,
        )

        name, revision = settings.model, settings.revision
        self._place, self._settings = place, settings
        config = _from_hub(AutoConfig, name, revision=revision)
        self._has_encoder: bool = config.is_encoder_decoder
        loader = AutoModelForSeq2SeqLM if self._has_encoder else AutoModelForCausalLM
        self._tokenizer: Any = _from_hub(AutoTokenizer, name, revision=revision)
        self._model: Any = _from_hub(loader, name, revision=revision, dtype=settings.dtype)
        if settings.adapter is not None:
            self._model = _load_adapter(self._model, Path(settings.adapter))
        self._model.to(place).eval()
        self._room = settings.context_tokens or self._declared()
        self._most = self._most_written()
        longest = settings.max_new_tokens
        if self._most is not None and longest is not None and longest > self._most:
            room = "" if self._has_encoder else ", if the prompt has one; leave room for prompts"
            raise ConfigError(
                f"max_new_tokens={longest}: {name} writes at most {self._most} tokens{room}"
            )
        self._search_greedily()

    def _declared(self) -> int | None:
        """Return the tokens that the model says it can read, or None."""
        limits = (
            getattr(self._model.config.get_text_config(), "max_position_embeddings", None),
            self._tokenizer.model_max_length,
        )
        known = [n for n in limits if isinstance(n, int) and 0 < n < _UNLIMITED]
        return min(known, default=None)

    def _most_written(self) -> int | None:
        """Return the tokens that an answer can have: beside a prompt of one, or of the decoder."""
        if not self._has_encoder:
            return None if self._room is None else self._room - 1
        config = self._model.config
        names = ("max_decoder_position_embeddings", "max_position_embeddings")
        return next(filter(None, (getattr(config, name, None) for name in names)), None)

    def _search_greedily(self) -> None:
        """Set greedy search and the tokens that end an answer; a chat model has its own."""
        from transformers import GenerationConfig

        own = self._model.generation_config
        ends = own.eos_token_id if isinstance(own.eos_token_id, list) else [own.eos_token_id]
        ends = [n for n in (*ends, self._tokenizer.eos_token_id) if n is not None]
        self._ends: list[int] = list(dict.fromkeys(ends))
        pad = self._tokenizer.pad_token_id
        self._pad = next(iter(self._ends), 0) if pad is None else pad
        self._model.generation_config = GenerationConfig(
            do_sample=False,
            num_beams=1,
            bos_token_id=own.bos_token_id,
            eos_token_id=self._ends or None,
            pad_token_id=self._pad,
            decoder_start_token_id=own.decoder_start_token_id,
            forced_bos_token_id=own.forced_bos_token_id,  # the language that mBART writes
        )

    def prompt(self, request: GenerationRequest) -> _Tokens | Generation:
        """Return the prompt of a request, or why it cannot be answered."""
        longest = self._settings.max_new_tokens or NEW_TOKENS[request.answer]
        if self._has_encoder and self._most is not None:
            longest = min(longest, self._most)
        try:
            ids = token_ids(self._tokenizer, request.messages, self._settings.template)
        except Exception as error:  # of a template, which is somebody else's program
            return _make_failure(request.query_id, error)
        n, problem = len(ids), None
        if n == 0:
            problem = "bad_request: the prompt is empty"
        elif self._room is not None and n + (0 if self._has_encoder else longest) > self._room:
            room = f"more than the {self._room} that the"
            problem = f"context_overflow: the prompt has {n} tokens" + (
                f", {room} encoder reads"
                if self._has_encoder
                else f" and an answer up to {longest}, {room} model reads"
            )
        if problem is not None:
            return Generation(request.query_id, "", error=problem)
        return _Tokens(request.query_id, ids, longest)

    def answers(self, batch: Sequence[_Tokens]) -> list[Generation]:
        """Return the answers to prompts that fit, in order, each with its share of the time."""
        import torch

        width = max(len(prompt.ids) for prompt in batch)
        ids, mask = [], []
        for prompt in batch:
            padding = [self._pad] * (width - len(prompt.ids))
            # An answer follows a causal model's prompt; an encoder counts places from the left.
            before, after = ([], padding) if self._has_encoder else (padding, [])
            ids.append([*before, *prompt.ids, *after])
            mask.append([0] * len(before) + [1] * len(prompt.ids) + [0] * len(after))
        start = time.perf_counter()
        with torch.inference_mode():
            whole = self._model.generate(
                input_ids=torch.tensor(ids, device=self._place),
                attention_mask=torch.tensor(mask, device=self._place),
                max_new_tokens=max(prompt.longest for prompt in batch),  # of one task all the same
            )
        # A decoder's output begins with its start token, a causal model's with the prompt.
        new = whole[:, 1 if self._has_encoder else width :].tolist()
        seconds = round((time.perf_counter() - start) / len(batch), 6)
        return [self._answer(p, tokens, seconds) for p, tokens in zip(batch, new, strict=True)]

    def _answer(self, prompt: _Tokens, tokens: Sequence[int], seconds: float) -> Generation:
        end = next((i for i, token in enumerate(tokens) if token in self._ends), None)
        text = self._tokenizer.decode(tokens[:end], skip_special_tokens=True)
        return Generation(
            prompt.query_id,
            text.strip(),
            input_tokens=len(prompt.ids),
            output_tokens=len(tokens) if end is None else end + 1,
            seconds=seconds,
            finish_reason="length" if end is None else "stop",
        )


def _load_adapter(model: Any, folder: Path) -> Any:
    """Return the model with the weights of a PEFT adapter added to its own.

    Raises:
        ConfigError: the adapter does not fit the model, or cannot be read.
    """
    from peft import PeftModel

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of Transformers, to PEFT
            return PeftModel.from_pretrained(model, str(folder)).merge_and_unload()
    except (OSError, ValueError, RuntimeError, TypeError, KeyError) as error:
        words = " ".join(str(error).split())[:_LONGEST]
        raise ConfigError(f"adapter={folder}: PEFT cannot add it to the model: {words}") from error


def _make_failure(query_id: str, error: Exception) -> Generation:
    words = " ".join(str(error).split())[:_LONGEST]
    return Generation(query_id, "", error=f"raised: {type(error).__name__}: {words}")


def _from_hub(loader: Any, name: str, **settings: Any) -> Any:
    """Return the object that a loader of Transformers reads from a folder or the hub.

    Raises:
        ConfigError: it cannot.
    """
    if name.startswith((".", "/", "~")) and not Path(name).expanduser().is_dir():
        raise ConfigError(f"model={name}: there is no such folder")
    try:
        with silence_libraries():
            return loader.from_pretrained(name, **settings)
    except (OSError, ValueError, ImportError) as error:
        raise ConfigError(
            f"model={name}: Transformers cannot load it as a language model: {error}"
        ) from error


def _hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file that lies directly in a folder, by name."""
    files = (file for file in sorted(folder.iterdir()) if file.is_file())
    return {file.name: hash_file(file) for file in files if not file.name.startswith(".")}
