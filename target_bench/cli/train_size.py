"""``target-bench train set-size``: how many tables a retriever returns."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli.command_line import AsJson, Corpora, DataDir, Debug, Offline

if TYPE_CHECKING:
    from target_bench.models.training.threshold import SizeSettings, TrainedSize

HELP = """Learn how many tables of a ranking are a question's set.

`target-bench train set-size --corpus bird --keep-out spider:validation -o models/size` tries all
shares of the first score on a validation split, and saves the one with the best mean F1 of the sets
for the retriever `adaptive`.
"""


def add_to(app: typer.Typer) -> None:
    """Add the command to those of ``train``."""
    app.command("set-size", help=HELP)(set_size)


def set_size(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the model goes: a new or empty folder.")
    ],
    corpora: Corpora = None,
    split: Annotated[str, typer.Option("--split", help="The split to learn from.")] = "validation",
    keep_out: Annotated[
        list[str] | None,
        typer.Option(
            "--keep-out",
            help="A split that will be scored, as in test, or ottqa:validation of another corpus; "
            "may be repeated. Default: the corpus's default split and its validation.",
            show_default=False,
        ),
    ] = None,
    shared_tables: Annotated[
        bool,
        typer.Option(
            "--shared-tables",
            help="Learn from tables that kept-out splits ask about too; only questions are kept "
            "out.",
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse to learn where questions overlap.")
    ] = False,
    retriever: Annotated[str, typer.Option(help="The retriever whose rankings are cut.")] = "bm25",
    beta: Annotated[
        float, typer.Option(help="How many times as much recall counts as precision.")
    ] = 1.0,
    depth: Annotated[
        int, typer.Option(help="How many tables are looked at; the largest size of a set.")
    ] = 50,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Only the first questions of each split.")
    ] = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Learn, save, and print how to use the model."""
    from target_bench.cli.command_line import TerminalObserver
    from target_bench.models.training.threshold import SizeSettings, train_size
    from target_bench.models.training.training_splits import Data

    settings = SizeSettings(retriever, beta, depth)
    data = Data(corpora or (), split, None, keep_out, shared_tables, strict, limit, data_dir)
    with TerminalObserver() as observer:
        trained = train_size(data, output, settings, observer)
    if as_json:
        json.dump(asdict(trained), sys.stdout, ensure_ascii=False, indent=2, default=str)
        sys.stdout.write("\n")
    else:
        typer.echo(_report(trained, output, settings))


def _report(trained: "TrainedSize", output: Path, settings: "SizeSettings") -> str:
    quoted = json.dumps(settings.retriever)
    return "\n".join(
        [
            f"{trained.questions:,} questions: tables with at least {trained.share:.2f} of the "
            "first score",
            f"mean F{settings.beta:g} of the sets {trained.f_beta:.3f}, mean size "
            f"{trained.size:.1f}",
            "use it as:",
            f"  --retriever 'adaptive:retriever={quoted},rule=trained,model={output}'",
        ]
    )
