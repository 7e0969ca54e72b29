"""Source files: what is known of one, and those of a plug-in that is not of this package."""

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parents[1]
"""The folder of this package."""

_DOCUMENTATION = frozenset(("__doc__", "getdoc", "getsource", "getsourcelines", "getcomments"))

_INSTALLED = {"site-packages", "dist-packages"}

_NO_READERS_OF_DOCSTRINGS = frozenset(
    (
        *("bm25s", "duckdb", "faiss", "hnswlib", "httpx", "joblib", "model2vec", "networkx"),
        *("nltk", "numba", "numpy", "openai", "orjson", "pandas", "polars", "pyarrow", "pytest"),
        *("qdrant_client", "rank_bm25", "rapidfuzz", "regex", "requests", "scipy"),
        *("sentence_transformers", "sklearn", "sqlglot", "Stemmer", "target_bench"),
        *("target_benchmark", "torch", "tqdm", "yaml"),
    )
)
"""Packages that make nothing of docstrings; others may send them to a model, as pydantic does."""


@dataclass(frozen=True, slots=True)
class Import:
    """A name that an import statement binds.

    Attributes:
        module: the module that is named, with dots; empty in ``from . import name``.
        name: what is taken from it; None if the module itself is imported.
        alias: the name that is bound.
        level: the number of dots before the module; 0 if it is named in full.
    """

    module: str
    name: str | None
    alias: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """The significant parts of a source file.

    Attributes:
        code: the hash of its tree without docstrings, in hexadecimal.
        documented: the hash of its tree with docstrings; of a package that was named, without.
        imports: all names that it imports when it runs, inside of functions too.
        files: the files of the package that it imports, if a package was named.
        reads_documentation: whether a docstring may change what its code does: it reads some, or
            imports a package that may.
    """

    code: str
    documented: str
    imports: tuple[Import, ...]
    files: frozenset[Path]
    reads_documentation: bool


def reads_documentation(tree: ast.Module, imports: tuple[Import, ...]) -> bool:
    """Return whether a docstring may change what the code of a file does."""
    roots = {found.module.partition(".")[0] for found in imports if not found.level}
    if not roots <= sys.stdlib_module_names | _NO_READERS_OF_DOCSTRINGS:
        return True
    words = (getattr(node, "attr", getattr(node, "id", None)) for node in ast.walk(tree))
    return any(word in _DOCUMENTATION for word in words)


@dataclass(frozen=True, slots=True)
class PluginSources:
    """Finds and hashes the files of plug-ins that are not of this package.

    Attributes:
        read: reads a source file.
        module_file: (folder, name of a module) -> its file, if it is there.
    """

    read: Callable[[Path], Source]
    module_file: Callable[[Path, str], Path | None]

    def hashes(self, files: Sequence[tuple[Path, ModuleType | None]]) -> list[str]:
        """Hash files with their modules, and what they import from their folder or below.

        The file of the plug-in itself comes first, then those of its bases. Where it lies in a
        package, all imports from that package count.
        """
        found: set[Path] = set()
        at_once = replace(self, read=cache(self.read), module_file=cache(self.module_file))
        packages = [module.__name__.partition(".")[0] if module else "" for _, module in files]
        for (file, module), package in zip(files, packages, strict=True):
            folder = _top(file, module) if module and package == packages[0] else file.parent
            at_once._add_with_imports(file, module, folder, found)
        sources = [at_once.read(file) for file in found]
        if any(source.reads_documentation for source in sources):
            return [source.documented for source in sources]
        return [source.code for source in sources]

    def _add_with_imports(
        self, file: Path, module: ModuleType | None, folder: Path, files: set[Path]
    ) -> None:
        if file in files:
            return
        files.add(file)
        for value in list(vars(module).values()) if module else ():
            name = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
            imported = sys.modules.get(name)
            found = Path(getattr(imported, "__file__", None) or "")
            if found not in files and _counts(found, folder):
                self._add_with_imports(found, imported, folder, files)
        for found in self._beside(file, folder):
            if found not in files and _counts(found, folder):
                self._add_with_imports(found, None, folder, files)

    def _beside(self, file: Path, folder: Path) -> Iterator[Path]:
        """Yield the files that import statements name.

        Those from which only constants are taken are among them.
        """
        for one in self.read(file).imports:
            places = [file.parents[one.level - 1]] if one.level else [folder, folder.parent]
            names = [*one.module.split("."), one.name or ""]
            ends = [".".join(names[:end]).strip(".") for end in range(1, len(names) + 1)]
            found = (self.module_file(place, end) for place in places for end in ends)
            yield from filter(None, found)


def _top(file: Path, module: ModuleType) -> Path:
    """Return the folder of the top-level package of a module; of a module in none, its folder."""
    packages = module.__name__.split(".")
    if file.name != "__init__.py":
        packages.pop()
    depth = len(packages)
    if depth < 2 or file.parts[-depth - 1 : -1] != tuple(packages):
        return file.parent
    return file.parents[depth - 1]


def _counts(file: Path, folder: Path) -> bool:
    """Return whether an imported file is part of the code of a plug-in in this folder.

    Other packages are not, whether the folder holds an environment or is where all are installed.
    """
    if file.suffix != ".py" or not file.is_relative_to(folder) or file.is_relative_to(PACKAGE):
        return False
    return not _INSTALLED & {folder.name, *file.relative_to(folder).parts}


def is_installed(module: str, file: Path) -> bool:
    """Return whether a module belongs to Python, to this package or to an installed package."""
    standard = module.partition(".")[0] in sys.stdlib_module_names
    return standard or file.is_relative_to(PACKAGE) or bool(_INSTALLED & set(file.parts))


def _module_of(value: object) -> str:
    name = getattr(value, "__module__", None)
    return name if isinstance(name, str) else ""
