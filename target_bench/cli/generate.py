"""``target-bench generate``: answers to the rankings of a stored run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from target_bench.cli import payment
from target_bench.cli.options import (
    RUNS,
    AsJson,
    DataDir,
    Debug,
    PromptFile,
    PromptTokens,
    RetryFailed,
    SchemaScopeName,
    Structured,
    TableFormat,
    Yes,
    unread,
)
from target_bench.cli.output import printed

HELP = """Have the rankings of a stored run answered.

`target-bench generate runs/retrieval-... --task qa --generator extractive` retrieves nothing again;
the run may also be one of answers, by another generator.
"""


def generate(
    context: typer.Context,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run folder, or its id.", show_default=False)
    ],
    task: Annotated[
        str | None,
        typer.Option(
            help="qa, fact_verification or text_to_sql, perhaps with settings, as in "
            "fact_verification:labels=target. Default: as the run was asked for."
        ),
    ] = None,
    generators: Annotated[
        list[str] | None,
        typer.Option("--generator", help="What answers; may be repeated. Default: extractive."),
    ] = None,
    retry_failed: RetryFailed = False,
    prompt: PromptFile = None,
    prompt_tokens: PromptTokens = 8000,
    table_format: TableFormat = "markdown",
    schema_scope: SchemaScopeName = "database",
    structured: Structured = True,
    yes: Yes = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder of all runs. Default: where the run lies.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Answer, score and print."""
    from target_bench.evaluation.inputs import Answering
    from target_bench.evaluation.resume import ResumedRun
    from target_bench.runs.find import find
    from target_bench.runs.read import read_run

    with printed(as_json) as (observer, results):
        stored = ResumedRun(read_run(find(run, out or RUNS)), data_dir, observer, out)
        for note in unread(context, [task or stored.task_text]):
            observer.warning(note)
        for generator in generators or ["extractive"]:
            confirm = payment.announced if yes else payment.agreed
            answering = Answering(
                generator,
                prompt,
                prompt_tokens,
                table_format,
                confirm=confirm,
                schema_scope=schema_scope,
                structured=structured,
            )
            results += stored.generate(answering, task, retry_failed)


def score_stored(
    folder: Path,
    task: str | None,
    data_dir: Path | None,
    as_json: bool,
    by: Sequence[str] = (),
) -> None:
    """Score a run folder again and print."""
    from target_bench.evaluation import slices
    from target_bench.evaluation.resume import ResumedRun
    from target_bench.runs.read import read_run

    with printed(as_json) as (observer, results):
        stored = ResumedRun(read_run(folder), data_dir, observer)
        results += [slices.added(result, by) for result in stored.score(task)]
