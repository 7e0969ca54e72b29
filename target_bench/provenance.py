"""Where results come from: the source code and the package versions behind a plug-in."""

import hashlib
import inspect
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

_PACKAGE = Path(__file__).parent
_SHARED = (
    "schema.py",
    "interfaces.py",
    "ranking.py",
    "serialization.py",
    "contract.py",
    "release.py",
)


def code_hash(cls: type) -> str:
    """The hash of the source files a class is defined in, its bases' included.

    Classes of this package are hashed with the modules they are built on; others with the modules
    that they import, at the top of the file, from its folder or below.

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
            if folder.name == "generators":  # which have little in common
                _add_with_imports(
                    _source_file(base), sys.modules.get(base.__module__), files, _PACKAGE
                )
            elif folder != _PACKAGE:
                files.update(folder.glob("*.py"))
        else:
            _add_with_imports(_source_file(base), sys.modules.get(base.__module__), files)
    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(file.read_bytes() + b"\0")
    return whole.hexdigest()


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
