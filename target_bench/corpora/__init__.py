"""The corpora: one file per data set. ``load`` and its companions are in ``data``.

They are loaded on first use: a corpus by name needs no reader of a user's own files.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from target_bench.data.folders import ENVIRONMENT
    from target_bench.data.load import load, loader
    from target_bench.data.own_data import from_dataframe

__all__ = ["ENVIRONMENT", "from_dataframe", "load", "loader"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = {"load": "load", "loader": "load", "ENVIRONMENT": "folders"}.get(name, "own_data")
    return getattr(import_module(f"target_bench.data.{home}"), name)
