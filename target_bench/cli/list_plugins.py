"""``target-bench list``: what there is to run."""

from enum import StrEnum
from typing import Annotated

import typer

from target_bench.cli.options import Debug
from target_bench.core import registry

HELP = "List corpora, retrievers, generators, tasks or metrics."


class What(StrEnum):
    """What can be listed."""

    corpora = "corpora"
    retrievers = "retrievers"
    generators = "generators"
    tasks = "tasks"
    metrics = "metrics"


def list_(what: Annotated[What, typer.Argument(show_default=False)], debug: Debug = False) -> None:
    """Print a table of names and one-line descriptions."""
    from target_bench.core.text_tables import Column, TextTable, print_tables, say

    names, rows = _LISTS[what]()
    columns = [Column(name, prose=name != names[0]) for name in names]
    if rows:
        print_tables(TextTable(columns, rows))
    else:
        say(f"No {what} yet.")


Listing = tuple[list[str], list[list[str]]]


def _corpora() -> Listing:
    from target_bench.data import sources

    infos = [sources.loader(name).info for name in registry.names("corpus")]
    rows = [[i.name, i.title, ", ".join(i.splits), ", ".join(i.tasks), i.licence] for i in infos]
    return ["corpus", "title", "splits (default first)", "tasks", "licence"], rows


def _plugins(kind: registry.Kind) -> Listing:
    rows = [[name, _summary(registry.resolve(kind, name))] for name in registry.names(kind)]
    return [kind, "what it is"], rows


def _retrievers() -> Listing:
    from target_bench.evaluation.stages.retrieve import MODES

    columns, rows = _plugins("retriever")
    return columns, rows + [[name, mode.description] for name, mode in MODES.items()]


def _generators() -> Listing:
    from target_bench.evaluation.stages.generate import ANSWER_MODES

    columns, rows = _plugins("generator")
    return columns, rows + [[name, mode.description] for name, mode in ANSWER_MODES.items()]


def _metrics() -> Listing:
    from target_bench.metrics.named import all_specs

    rows = [
        [
            f"{spec.name}@k" if spec.at_k else spec.name,
            spec.of,
            spec.range,
            "higher" if spec.higher_is_better else "lower",
            spec.description,
        ]
        for spec in all_specs()
    ]
    return ["metric", "of", "range", "better", "definition"], rows


def _summary(plugin: type) -> str:
    return (plugin.__doc__ or "").strip().split("\n")[0]


_LISTS = {
    What.corpora: _corpora,
    What.retrievers: _retrievers,
    What.generators: _generators,
    What.tasks: lambda: _plugins("task"),
    What.metrics: _metrics,
}
