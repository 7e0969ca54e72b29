"""``target-bench generate``: answers to the rankings of a stored run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli import payment
from target_bench.cli.options import (
    RUNS,
    AsJson,
    BERTScoreModel,
    DataDir,
    Debug,
    Engine,
    Labels,
    PromptFile,
    PromptTokens,
    Repeats,
    RetryFailed,
    RuleName,
    SchemaScopeName,
    Structured,
    TableFormat,
    Timeout,
    Yes,
)
from target_bench.cli.output import printed
from target_bench.cli.unused_options import unread

if TYPE_CHECKING:
    from target_bench.evaluation.scoring_options import Scoring

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
        typer.Option(help="qa, fact_verification or text_to_sql. Default: that of the run."),
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
    labels: Labels = "strict",
    bertscore: BERTScoreModel = None,
    engine: Engine = "sqlite",
    rule: RuleName = "bird",
    timeout: Timeout = 30.0,
    repeats: Repeats = 1,
    yes: Yes = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder of all runs. Default: where the run lies.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Answer, score and print."""
    from target_bench.data.select import task_named
    from target_bench.evaluation.inputs import Answering
    from target_bench.evaluation.resume import ResumedRun
    from target_bench.evaluation.scoring_options import Scoring
    from target_bench.runs.find import find
    from target_bench.runs.read import read_run

    scoring = Scoring(labels, bertscore, engine, rule, timeout, repeats)
    with printed(as_json) as (observer, results):
        stored = ResumedRun(read_run(find(run, out or RUNS)), data_dir, observer, out)
        for note in unread(context, [task_named(task) if task else stored.task]):
            observer.warning(note)
        for generator in generators or ["extractive"]:
            confirm = payment.announced if yes else payment.agreed
            answering = Answering(
                generator,
                prompt,
                prompt_tokens,
                table_format,
                scoring,
                confirm,
                schema_scope=schema_scope,
                structured=structured,
            )
            results += stored.generate(answering, task, retry_failed)


def score_stored(
    context: typer.Context,
    folder: Path,
    scoring: "Scoring",
    data_dir: Path | None,
    as_json: bool,
    by: Sequence[str] = (),
) -> None:
    """Score a run folder again and print."""
    from target_bench.evaluation import result_slices
    from target_bench.evaluation.inputs import Answering
    from target_bench.evaluation.resume import ResumedRun
    from target_bench.runs.read import read_run

    with printed(as_json) as (observer, results):
        answering = Answering("extractive", scoring=scoring)
        stored = ResumedRun(read_run(folder), data_dir, observer)
        for note in unread(context, [stored.task]):
            observer.warning(note)
        results += [result_slices.added(result, by) for result in stored.score(answering)]
