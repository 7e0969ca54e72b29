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
"""The file that the folder of an adapter has."""

NEW_TOKENS = {"text": 128, "label": 128, "sql": 512, "tables": 1024}
"""Kind of answer -> its tokens at most: a sentence, a label in JSON, a statement, whole tables."""

_BATCHES = 16  # of which the prompts are sorted by length together
_UNLIMITED = 10**9  # a tokenizer with a limit from here on has none
_LONGEST = 500  # characters of an error's message


@dataclass(eq=False, repr=False)
class Transformers(Generator):
    """Run a language model on batches of prompts of similar length.

    Needs: extra transformers; a model (download).

    The model is causal, or has encoder and decoder, as T5 and BART do (its configuration says
    which). Prompts are written with the tokenizer's chat template, or without one as the messages
    with an empty line between. Decoding is greedy, regardless of the model's sampling settings. No
    prompt is truncated: one that leaves no room for an answer of ``max_new_tokens`` fails with an
    error that begins with ``context_overflow`` (an encoder reads only the prompt). No code that
    comes with a model is run.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        revision: of a model on the hub: a commit, branch or tag.
        device: as PyTorch names it; ``auto`` is the GPU if there is one.
        dtype: of the weights; ``auto`` is that of the model's file.
        batch_size: how many prompts are answered at once; halved where memory does not suffice.
        max_new_tokens: of an answer at most; default: 128, of SQL 512, of tables 1,024.
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
        self._device = choose_device(None if self.device == "auto" else self.device)

    def config(self) -> Mapping[str, Any]:
        """Return the settings, with the model's content in place of its path, and kind of device.

        The batch size is one of them: padding changes the last bits of a probability.

        Raises:
            ConfigError: there is no such model or adapter.
        """
        kind = self._device.partition(":")[0]
        settings = {**get_constructor_arguments(self), "device": kind, **self._content}
        del settings["adapter"]
        if self.adapter is None:
            return settings
        folder = Path(self.adapter)
        if not (folder / ADAPTER).is_file():
            raise ConfigError(f"adapter={folder}: expected a folder with {ADAPTER}")
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
        while drawn := list(islice(source, _BATCHES * self.batch_size)):
            prompts: list[_Prompt] = []
            for request in drawn:
                prompt = self._loaded.make_prompt(request)
                if isinstance(prompt, Generation):
                    yield prompt
                else:
                    prompts.append(prompt)
            prompts.sort(key=lambda prompt: len(prompt.ids), reverse=True)
            for start in range(0, len(prompts), self.batch_size):
                yield from self._answer(prompts[start : start + self.batch_size])

    def _answer(self, batch: Sequence["_Prompt"]) -> Iterator[Generation]:
        """Answer a batch, or each half of it if the whole fails, as when memory runs out."""
        answers: Sequence[Generation] = ()
        try:
            answers = self._loaded.generate(batch)
        except Exception as error:
            if len(batch) == 1:
                answers = [_make_failure(batch[0].query_id, error)]
        if answers:
            yield from answers
            return
        middle = len(batch) // 2  # outside of except, so that the error keeps no memory
        yield from self._answer(batch[:middle])
        yield from self._answer(batch[middle:])

    @cached_property
    def _loaded(self) -> "_Loaded":
        return _Loaded(self, self._device)

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


class _Prompt(NamedTuple):
    """The tokens of a prompt."""

    query_id: str
    ids: Sequence[int]
    max_new_tokens: int


class _Loaded:
    """The tokenizer and the model, loaded.

    Raises:
        ConfigError: they cannot be loaded, or the model cannot write ``max_new_tokens``.
    """

    def __init__(self, settings: Transformers, device: str) -> None:
        from transformers import (
            AutoConfig,
            AutoModelForCausalLM,
            AutoModelForSeq2SeqLM,
            AutoTokenizer,
        )

        name, revision = settings.model, settings.revision
        self._device, self._settings = device, settings
        config = _from_hub(AutoConfig, name, revision=revision)
        self._has_encoder: bool = config.is_encoder_decoder
        loader = AutoModelForSeq2SeqLM if self._has_encoder else AutoModelForCausalLM
        self._tokenizer: Any = _from_hub(AutoTokenizer, name, revision=revision)
        self._model: Any = _from_hub(loader, name, revision=revision, dtype=settings.dtype)
        if settings.adapter is not None:
            self._model = _load_adapter(self._model, Path(settings.adapter))
        self._model.to(device).eval()
        self._context = settings.context_tokens or self._read_context()
        self._max_output = self._read_max_output()
        wanted = settings.max_new_tokens
        if self._max_output is not None and wanted is not None and wanted > self._max_output:
            room = "" if self._has_encoder else ", prompt included; leave room for prompts"
            raise ConfigError(
                f"max_new_tokens={wanted}: {name} writes at most {self._max_output} tokens{room}"
            )
        self._set_greedy_decoding()

    def _read_context(self) -> int | None:
        """Return how many tokens the model can read, as it declares; None if it does not."""
        limits = (
            getattr(self._model.config.get_text_config(), "max_position_embeddings", None),
            self._tokenizer.model_max_length,
        )
        known = [n for n in limits if isinstance(n, int) and 0 < n < _UNLIMITED]
        return min(known, default=None)

    def _read_max_output(self) -> int | None:
        """Return how many tokens an answer can have: those of the decoder, or beside a prompt."""
        if not self._has_encoder:
            return None if self._context is None else self._context - 1
        config = self._model.config
        names = ("max_decoder_position_embeddings", "max_position_embeddings")
        return next(filter(None, (getattr(config, name, None) for name in names)), None)

    def _set_greedy_decoding(self) -> None:
        """Set greedy decoding, and the tokens that end an answer; chat models have several."""
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

    def make_prompt(self, request: GenerationRequest) -> _Prompt | Generation:
        """Return the prompt of a request, or a failure where it cannot be answered."""
        n_new = self._settings.max_new_tokens or NEW_TOKENS[request.answer]
        if self._has_encoder and self._max_output is not None:
            n_new = min(n_new, self._max_output)
        try:
            ids = token_ids(self._tokenizer, request.messages, self._settings.template)
        except Exception as error:  # of a template, which is somebody else's program
            return _make_failure(request.query_id, error)
        n, problem = len(ids), ""
        n_read = n if self._has_encoder else n + n_new
        if n == 0:
            problem = "bad_request: the prompt is empty"
        elif self._context is not None and n_read > self._context:
            tokens = (
                f"{n} tokens" if self._has_encoder else f"{n} tokens and an answer up to {n_new}"
            )
            reader = "encoder" if self._has_encoder else "model"
            problem = (
                f"context_overflow: the prompt has {tokens}, more than the {self._context} that "
                f"the {reader} reads"
            )
        if problem:
            return Generation(request.query_id, "", error=problem)
        return _Prompt(request.query_id, ids, n_new)

    def generate(self, batch: Sequence[_Prompt]) -> list[Generation]:
        """Return the answers to prompts that fit, in order, each with its share of the time."""
        import torch

        width = max(len(prompt.ids) for prompt in batch)
        ids, mask = [], []
        for prompt in batch:
            padding = [self._pad] * (width - len(prompt.ids))
            # An answer follows a causal model's prompt; an encoder counts positions from the left.
            before, after = ([], padding) if self._has_encoder else (padding, [])
            ids.append([*before, *prompt.ids, *after])
            mask.append([0] * len(before) + [1] * len(prompt.ids) + [0] * len(after))
        start = time.perf_counter()
        with torch.inference_mode():
            whole = self._model.generate(
                input_ids=torch.tensor(ids, device=self._device),
                attention_mask=torch.tensor(mask, device=self._device),
                max_new_tokens=max(prompt.max_new_tokens for prompt in batch),  # equal in a task
            )
        # A decoder's output begins with its start token, a causal model's with the prompt.
        new = whole[:, 1 if self._has_encoder else width :].tolist()
        seconds = round((time.perf_counter() - start) / len(batch), 6)
        return [self._decode(p, tokens, seconds) for p, tokens in zip(batch, new, strict=True)]

    def _decode(self, prompt: _Prompt, tokens: Sequence[int], seconds: float) -> Generation:
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
    """Load an object of Transformers from a folder or the hub.

    Raises:
        ConfigError: it cannot be loaded.
    """
    if name.startswith((".", "/", "~")) and not Path(name).is_dir():
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
