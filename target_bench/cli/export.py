"""``target-bench export``: a finished run as files that other tools read."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from target_bench.cli.options import RUNS, DataDir, Debug
from target_bench.core.errors import ConfigError

HELP = """Write a run for other tools.

`target-bench export runs/retrieval-mini-... --format trec --to trec/` writes run.trec and
qrels.trec, which ir-measures and trec_eval read.
"""


class Format(StrEnum):
    """What can be written."""

    trec = "trec"


def export(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run folder, or its id.", show_default=False)
    ],
    format: Annotated[
        Format, typer.Option(help="Run and judgements as TREC has them.")
    ] = Format.trec,
    to: Annotated[
        Path | None, typer.Option(help="Where the files go. Default: the run folder.")
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(help="The corpus, where it moved since. Default: what the run was of."),
    ] = None,
    data_dir: DataDir = None,
    debug: Debug = False,
) -> None:
    """Load the corpus of a run and write its rankings and judgements."""
    from target_bench.data import sources, splits
    from target_bench.runs import export as exporting
    from target_bench.runs.find import find
    from target_bench.runs.read import read_run

    stored = read_run(find(run, RUNS))
    name = corpus or stored.asked.corpus
    if name is None:
        raise ConfigError(
            f"{stored.folder} is of a corpus that was made in Python; name it with --corpus"
        )
    if sources.is_path(name) and not Path(name).exists():
        raise ConfigError(f"{name}, which the run was of, is not there; name its place: --corpus")
    dataset = splits.load(name, stored.split, data_dir, stored.asked.distractors)
    for path in exporting.export(stored, dataset, to or stored.folder, format.value):
        typer.echo(path)
