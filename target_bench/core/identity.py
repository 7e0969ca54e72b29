"""Where results come from: the source code and the package versions behind a plug-in."""

import hashlib
import inspect
import json
import sys
import uuid
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.interfaces import constructor_arguments
from target_bench.core.redaction import is_secret
from target_bench.core.registry import FILE_MODULE

_PACKAGE = Path(__file__).parent
_SHARED = (
    "schema.py",
    "interfaces.py",
    "ranking.py",
    "serialization.py",
    "contract.py",
    "release.py",
)


def plugin_identity(plugin: object) -> tuple[dict[str, Any], str | None]:
    """Class, settings, code hash and package versions of a plug-in, and of those it is made of.

    Returns:
        The identity, and a warning if the plug-in cannot be identified: then the identity is
        unique, so its results are kept but never reused.

    Raises:
        ConfigError: a model that it names is not there.
    """
    cls = type(plugin)
    identity: dict[str, Any] = {
        "class": f"{_module_name(cls)}:{cls.__qualname__}",
        "packages": {name: installed_version(name) for name in getattr(cls, "packages", ())},
    }
    try:
        parts = _parts(plugin)
        identity["config"] = _config(plugin, parts)
        identity["code"] = code_hash(cls)
        revision = getattr(plugin, "revision", None)
        if callable(revision):
            identity["revision"] = revision()
        for name, part in parts.items():
            found, warning = plugin_identity(part)
            if warning:
                raise TypeError(warning)
            identity.setdefault("parts", {})[name] = found
    except ConfigError:
        raise
    except Exception as error:
        identity["unique"] = uuid.uuid4().hex
        return identity, (
            f"{cls.__name__} cannot be identified ({error}), so this run will never be reused. "
            "Keep constructor arguments as attributes of the same names with JSON values, or "
            "define config(); define the class in a file."
        )
    return identity, None


def _module_name(cls: type) -> str:
    """The module, or the file of a plug-in that was named by its file, wherever that lies."""
    if not cls.__module__.startswith(FILE_MODULE):
        return cls.__module__
    return Path(sys.modules[cls.__module__].__file__ or "").name


def _parts(plugin: object) -> Mapping[str, object]:
    own = getattr(plugin, "parts", None)  # optional; users' own may lack it
    return own() if callable(own) else {}


def _config(plugin: object, parts: Mapping[str, object]) -> Any:
    """The settings; one that is a part is described there."""
    own = getattr(plugin, "config", None)
    config = own() if callable(own) else constructor_arguments(plugin)
    own_settings = {name: value for name, value in config.items() if name not in parts}
    try:
        return _masked(json.loads(json.dumps(own_settings, sort_keys=True)))
    except TypeError as error:
        raise TypeError(f"its settings are no JSON: {error}") from error


def _masked(value: Any) -> Any:
    """JSON without the values of settings with the name of a secret, at any depth."""
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: "***" if is_secret(name) else _masked(item) for name, item in value.items()}


def code_hash(cls: type) -> str:
    """The hash of the source files a class is defined in, its bases' included.

    Classes of this package are hashed with the modules of it that they import, at the top of the
    file; others with those from their folder or below. Where the files lie makes no difference.

    Raises:
        OSError: a class has no source file (it was typed into an interpreter).
    """
    files: set[Path] = set()
    for base in cls.__mro__:
        if base.__module__.split(".")[0] in sys.stdlib_module_names:
            continue
        if base.__module__.startswith("target_bench."):
            files.update(_PACKAGE / name for name in _SHARED)
            module = sys.modules.get(base.__module__)
            _add_with_imports(_source_file(base), module, files, _PACKAGE)
        else:
            _add_with_imports(_source_file(base), sys.modules.get(base.__module__), files)
    contents = sorted(hashlib.sha256(file.read_bytes()).digest() for file in files)
    return hashlib.sha256(b"".join(contents)).hexdigest()


def _add_with_imports(
    file: Path, module: ModuleType | None, files: set[Path], folder: Path | None = None
) -> None:
    """Add a file and those that it imports from a folder (default: its own) or below."""
    if file in files:
        return
    folder = folder or file.parent
    files.add(file)
    for value in list(vars(module).values()) if module else ():
        name = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
        imported = sys.modules.get(name)
        found = Path(getattr(imported, "__file__", None) or "")
        if found.suffix == ".py" and found.is_relative_to(folder) and not _installed(found):
            _add_with_imports(found, imported, files, folder)


def _module_of(value: object) -> str:
    name = getattr(value, "__module__", None)
    return name if isinstance(name, str) else ""


def _installed(file: Path) -> bool:
    return bool({"site-packages", "dist-packages"} & set(file.parts))


def _source_file(cls: type) -> Path:
    try:
        name = inspect.getsourcefile(cls)
    except TypeError as error:
        raise OSError(f"no source file for {cls.__name__}: {error}") from error
    if name is None or not Path(name).is_file():
        raise OSError(f"no source file for {cls.__name__}")
    return Path(name)


def installed_version(distribution: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
