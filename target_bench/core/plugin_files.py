"""Import of a plug-in that is named by its file: ``path/file.py:Class``."""

import importlib.util
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from target_bench.core.errors import ANY_ERROR, ConfigError

FILE_MODULE = "_target_bench_plugin_"
"""How the module of a plug-in named by its file is called, followed by its path."""


def module_of(path: Path, target: str) -> ModuleType:
    """Import a file as a module; ``target`` is what an error message quotes.

    Raises:
        ConfigError: there is no such file, or importing it raised.
    """
    if not path.is_file():
        raise ConfigError(f"{target!r}: there is no file {path}")
    name = FILE_MODULE + re.sub(r"[\W_]+", "", str(path).lower())
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _without_bytecode():
            spec.loader.exec_module(module)
    except ANY_ERROR as error:
        del sys.modules[name]
        raise ConfigError(f"{target!r}: {path} raised {type(error).__name__}: {error}") from error
    return module


@contextmanager
def _without_bytecode() -> Iterator[None]:
    """Leave no compiled file beside a user's: on a full disk Python would leave half of one."""
    earlier = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = earlier
