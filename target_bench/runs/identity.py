"""What makes two runs the same run."""

import hashlib
import inspect
import json
import sys
import uuid
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import target_bench
from target_bench.interfaces import constructor_arguments

_PACKAGE = Path(target_bench.__file__).parent
_SHARED = ("schema.py", "interfaces.py", "ranking.py", "serialization.py", "contract.py")


def run_key(identity: Mapping[str, Any]) -> str:
    """The hash that names a run: equal for equal identities, on every machine."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def plugin_identity(plugin: object) -> tuple[dict[str, Any], str | None]:
    """Class, settings, code hash and package versions of a plug-in.

    Returns:
        The identity, and a warning if the plug-in cannot be identified: then the identity is
        unique, so its results are kept but never reused.
    """
    cls = type(plugin)
    identity: dict[str, Any] = {
        "class": f"{cls.__module__}:{cls.__qualname__}",
        "packages": {name: installed_version(name) for name in getattr(cls, "packages", ())},
    }
    try:
        identity["config"] = _config(plugin)
        identity["code"] = code_hash(cls)
    except Exception as error:
        identity["unique"] = uuid.uuid4().hex
        return identity, (
            f"{cls.__name__} cannot be identified ({error}), so this run will never be reused. "
            "Keep constructor arguments as attributes of the same names with JSON values, or "
            "define config(); define the class in a file."
        )
    return identity, None


def _config(plugin: object) -> Any:
    own = getattr(plugin, "config", None)
    config = own() if callable(own) else constructor_arguments(plugin)
    try:
        return json.loads(json.dumps(dict(config), sort_keys=True))
    except TypeError as error:
        raise TypeError(f"its settings are no JSON: {error}") from error


def code_hash(cls: type) -> str:
    """The hash of the source files a class is defined in, its bases' included.

    Classes of this package are hashed with the modules they are built on.

    Raises:
        OSError: a class has no source file (it was typed into an interpreter).
    """
    files: set[Path] = set()
    for base in cls.__mro__:
        if base.__module__.split(".")[0] in sys.stdlib_module_names:
            continue
        if base.__module__.startswith("target_bench."):
            files.update(_PACKAGE / name for name in _SHARED)
            folder = _source_file(base).parent
            files.update(folder.glob("*.py") if folder != _PACKAGE else ())
        else:
            files.add(_source_file(base))
    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(file.read_bytes() + b"\0")
    return whole.hexdigest()


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
