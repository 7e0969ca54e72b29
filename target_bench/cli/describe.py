"""``target-bench describe``: one corpus, retriever or metric in full."""

from enum import StrEnum
from typing import Annotated

import typer

from target_bench.cli.options import DataDir, Debug, Split

HELP = """Describe a corpus (size, licence, sample rows), a retriever (settings) or a metric.

`target-bench describe metric recall@10` prints definition, range, tasks and what it needs.
"""


class Kind(StrEnum):
    """What can be described."""

    corpus = "corpus"
    retriever = "retriever"
    metric = "metric"


def describe(
    kind: Annotated[Kind, typer.Argument(show_default=False)],
    name: Annotated[str, typer.Argument(show_default=False)],
    split: Split = None,
    data_dir: DataDir = None,
    debug: Debug = False,
) -> None:
    """Print what a corpus holds, the settings of a retriever, or what a metric means."""
    from target_bench.cli import descriptions

    if kind is Kind.retriever:
        descriptions.print_retriever(name)
    elif kind is Kind.metric:
        descriptions.print_metric(name)
    else:
        descriptions.print_corpus(name, split, data_dir)
