"""Contributed plug-ins: the files of the folders retrievers/, generators/ and corpora/.

The folders lie at the top of the repository, and in this folder where target-bench was installed
from a wheel. In both, ``retrievers/qdrant.py`` is the retriever ``qdrant``, and the module
``target_bench.contrib.retrievers.qdrant``.
"""

import sys
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path

_HERE = Path(__file__).parent
_REPOSITORY = _HERE.parents[1]

FOLDERS = {
    name: (_REPOSITORY if (_REPOSITORY / "pyproject.toml").is_file() else _HERE) / name
    for name in ("retrievers", "generators", "corpora")
}
"""Name of a folder -> where it is."""

for _name, _folder in FOLDERS.items():
    _spec = ModuleSpec(f"{__name__}.{_name}", None, is_package=True)
    _spec.submodule_search_locations = [str(_folder)]
    sys.modules[_spec.name] = module_from_spec(_spec)


@cache
def modules(folder: str) -> dict[str, str]:
    """Return name of a plug-in -> its module, in the order of the names; nothing is imported.

    ``table_summaries.py`` has the name ``table-summaries``. Files that begin with an underscore are
    no plug-ins.
    """
    files = sorted(FOLDERS[folder].glob("[!_]*.py")) if folder in FOLDERS else ()
    return {file.stem.replace("_", "-"): f"{__name__}.{folder}.{file.stem}" for file in files}


def is_contributed(thing: object) -> bool:
    """Return whether a class or function is of a contributed plug-in."""
    return str(getattr(thing, "__module__", "")).startswith(f"{__name__}.")
