"""Modules that the documentation of version 0.1.0 named, importable under their earlier names."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "target_bench.embeddings": "target_bench.components.embedding_cache.embeddings",
    "target_bench.interfaces": "target_bench.core.interfaces",
    "target_bench.placement": "target_bench.core.placement",
    "target_bench.report": "target_bench.reporting.report",
    "target_bench.retrievers.compat": "target_bench.retrievers.original_target",
    "target_bench.sweeps": "target_bench.evaluation.sweeps",
    "target_bench.sweeps.ray": "target_bench.evaluation.sweeps.ray_executor",
    "target_bench.training": "target_bench.components.training",
    "target_bench.training.dense": "target_bench.components.training.fine_tuning",
    "target_bench.training.splits": "target_bench.components.training.training_splits",
}
"""Earlier name -> name of today."""


class MovedFinder(MetaPathFinder, Loader):
    """Import a module of today where its earlier name is asked for."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 (the protocol's arguments)
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return a spec for an earlier name; None for every other."""
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the module to ``exec_module``."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of today in the place of the empty one."""
        sys.modules[module.__name__] = import_module(MOVED[module.__name__])
