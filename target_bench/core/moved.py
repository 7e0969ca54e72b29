"""Modules that the documentation of version 0.1.0 named, importable under their earlier names."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

MOVED = {
    "target_bench.embeddings": ("target_bench.components.embedding_cache.embeddings",),
    "target_bench.interfaces": (
        "target_bench.core.contract",
        "target_bench.core.schema",
        "target_bench.core.release",
        "target_bench.core.metric",
    ),
    "target_bench.placement": ("target_bench.core.placement",),
    "target_bench.report": ("target_bench.reporting.report",),
    "target_bench.retrievers.compat": ("target_bench.retrievers.original_target",),
    "target_bench.sweeps": ("target_bench.evaluation.sweeps",),
    "target_bench.sweeps.ray": ("target_bench.evaluation.sweeps.ray_executor",),
    "target_bench.training": ("target_bench.components.training",),
    "target_bench.training.dense": ("target_bench.components.training.fine_tuning",),
    "target_bench.training.splits": ("target_bench.components.training.training_splits",),
}
"""Earlier name -> the modules that have its names today."""


class MovedModule(ModuleType):
    """A module under its earlier name, which takes what is asked of it from those of today."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by the import system
            raise AttributeError(name)
        for module in map(import_module, MOVED[self.__name__]):
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def register(package: str) -> None:
    """Make the earlier names of modules in a package importable; called when it is imported."""
    for earlier in MOVED:
        parent, _, name = earlier.rpartition(".")
        module = MovedModule(earlier)
        if parent == package:
            setattr(sys.modules[package], name, module)
        if parent == package or (parent in MOVED and parent.startswith(f"{package}.")):
            sys.modules[earlier] = module
