"""``target-bench describe``: one corpus or retriever in full."""

from enum import StrEnum
from typing import Annotated

import typer

from target_bench.cli.options import DataDir, Debug, Split

HELP = "Describe a corpus (sizes, licence, citation, sample rows) or a retriever (settings)."


class Kind(StrEnum):
    """What can be described."""

    corpus = "corpus"
    retriever = "retriever"


def describe(
    kind: Annotated[Kind, typer.Argument(show_default=False)],
    name: Annotated[str, typer.Argument(show_default=False)],
    split: Split = None,
    data_dir: DataDir = None,
    debug: Debug = False,
) -> None:
    """Print what a corpus holds, or what a retriever can be told."""
    from target_bench.cli import descriptions

    if kind is Kind.retriever:
        descriptions.print_retriever(name)
    else:
        descriptions.print_corpus(name, split, data_dir)
