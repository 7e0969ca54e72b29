"""Classes written for the original TARGET package (``target-benchmark`` on PyPI), which run here.

They need that package, if they import it. The contributed plug-ins ``compat`` ask them.
"""

import inspect
from collections.abc import Iterable
from typing import Any, Literal

from target_bench.core import registry
from target_bench.core.errors import PASSED_ON, ConfigError

# Kind -> a method, and the argument that it has only in the original package.
_MARKS = {"retriever": ("embed_corpus", "dataset_name"), "generator": ("generate", "table_str")}


def create_plugin(
    kind: Literal["retriever", "generator"], text: str, other_names: Iterable[str] = ()
) -> Any:
    """Make a plug-in by its name, as ``registry.create``; a class of the original package too."""
    try:
        return adapt_plugin(kind, registry.create(kind, text, other_names=other_names))
    except ConfigError as error:
        if "No module named 'target_benchmark" not in str(error):
            raise
        raise ConfigError(
            f"{error}\nInstall the original package without its requirements, which pin numpy<2: "
            "pip install --no-deps target-benchmark, and the packages that your class imports"
        ) from error


def adapt_plugin(kind: Literal["retriever", "generator"], plugin: Any) -> Any:
    """Return a plug-in as it can be asked here: one of the original package inside ``compat``."""
    method, argument = _MARKS[kind]
    if isinstance(plugin, type):
        return plugin
    try:
        parameters = inspect.signature(getattr(plugin, method)).parameters
    except PASSED_ON:
        raise
    except BaseException:  # of a __getattr__ of its own; the check of its methods names it
        return plugin
    return registry.resolve(kind, "compat")(plugin) if argument in parameters else plugin
