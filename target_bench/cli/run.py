"""``target-bench run``: retrievers × corpora, as a table or as JSON."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli import generate, payment
from target_bench.cli.options import (
    AsJson,
    By,
    Corpora,
    Database,
    DataDir,
    Debug,
    DistractorSpecs,
    Limit,
    Out,
    PromptFile,
    PromptTokens,
    RetryFailed,
    SchemaScopeName,
    Split,
    Structured,
    TableFormat,
    TopK,
    Yes,
    cutoffs,
    unread,
)
from target_bench.cli.output import printed
from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.schema import OnError

if TYPE_CHECKING:
    from target_bench.evaluation.results import Result
    from target_bench.evaluation.target import TARGET

SCORE_HELP = """Score rankings or answers that were made elsewhere.

`target-bench score ottqa --run my_system.trec` and `target-bench score fetaqa --task qa
--predictions answers.jsonl` print the tables that `run` prints.
"""

HELP = """Run retrievers on corpora and print their scores.

`target-bench run mini` compares every retriever that needs no model on the embedded corpus, from
the rankings to the answers.
"""


def run(
    context: typer.Context,
    corpus: Annotated[
        str | None, typer.Argument(help="A corpus; the same as --corpus.", show_default=False)
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            help="retrieval, qa, fact_verification or text_to_sql, perhaps with settings, as in "
            "text-to-sql:engine=duckdb (target-bench describe task text-to-sql lists them); may be "
            "repeated. Default: retrieval; with --generator what the corpus has answers for; of "
            "mini all.",
            show_default=False,
        ),
    ] = None,
    corpora: Corpora = None,
    split: Split = None,
    retrievers: Annotated[
        list[str] | None,
        typer.Option(
            "--retriever",
            help="name, name:key=value,..., module:Class, file.py:Class, oracle or no-context; "
            "may be repeated. Default: every retriever that needs no model.",
        ),
    ] = None,
    top_k: TopK = "1,5,10",
    limit: Limit = None,
    database: Database = None,
    distractors: DistractorSpecs = None,
    on_error: Annotated[
        OnError, typer.Option(help="At a failed query: stop, or record it with score 0.")
    ] = "stop",
    retry_failed: RetryFailed = False,
    latency: Annotated[
        int, typer.Option(help="Time so many single queries (at most 500) after the batches.")
    ] = 0,
    memory: Annotated[
        str | None, typer.Option(help="What a retriever should keep to, as in 500MB.")
    ] = None,
    indexes: Annotated[
        Path | None, typer.Option(help="Folder of saved indexes to read from and write to.")
    ] = None,
    generators: Annotated[
        list[str] | None,
        typer.Option(
            "--generator",
            help="What answers, for tasks about answers: name:key=value,..., gold or empty; may "
            "be repeated. Default: extractive.",
        ),
    ] = None,
    prompt: PromptFile = None,
    prompt_tokens: PromptTokens = 8000,
    table_format: TableFormat = "markdown",
    schema_scope: SchemaScopeName = "database",
    structured: Structured = True,
    by: By = None,
    yes: Yes = False,
    data_dir: DataDir = None,
    out: Out = Path("runs"),
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Run every retriever, and every generator, on every corpus."""
    from target_bench.data.select import task_class
    from target_bench.evaluation.stages.generate import ANSWER_MODES
    from target_bench.evaluation.stages.retrieve import MODES

    wanted = wanted_corpora(corpus, corpora)
    ks = cutoffs(top_k)
    pairs = _pairs(tasks, wanted, answered=bool(generators))
    _check_all("retriever", retrievers or (), MODES)
    _check_all("generator", generators or (), ANSWER_MODES)
    with reported(context, pairs, data_dir, out, as_json) as (target, results):
        ranked = any(task_class(text).source == "retrieved" for text, _ in pairs)
        named: Sequence[str | None] = retrievers or (registry.BASELINES if ranked else [None])
        for retriever, generator in product(named, generators or ["extractive"]):
            found = target.run(
                retriever,
                split,
                ks,
                limit=limit,
                database=database,
                distractors=distractors or (),
                on_error=on_error,
                retry_failed=retry_failed,
                latency=latency,
                memory=memory,
                indexes=indexes,
                generator=generator,
                prompt=prompt,
                prompt_tokens=prompt_tokens,
                table_format=table_format,
                schema_scope=schema_scope,
                structured=structured,
                confirm=payment.announced if yes else payment.agreed,
                by=by or (),
            )
            folders = [result.folder for result in results]  # one retrieval serves all generators
            results += [result for result in found if result.folder not in folders]


def _check_all(kind: registry.Kind, named: Sequence[str], modes: Collection[str]) -> None:
    """See that the last of several plug-ins can be made before the first one runs.

    Raises:
        ConfigError: nobody knows a name, or a setting cannot be.
    """
    for text in named[1:]:
        if text not in modes:
            registry.create(kind, text, also=modes)


def _pairs(
    tasks: list[str] | None, wanted: list[str], answered: bool
) -> list[tuple[str, str | list[str]]]:
    """The tasks to run, each with its corpora."""
    from target_bench.data import sources

    if tasks:
        _check_names(tasks)
        return [(task, list(wanted)) for task in tasks]
    pairs: list[tuple[str, str | list[str]]] = [] if answered else [("retrieval", list(wanted))]
    for name in wanted:
        own = sources.is_path(name)
        if own and answered:
            raise ConfigError(f"{name}: name the task, --task qa or --task fact_verification")
        plugin = sources.loader(name)
        if answered or (plugin.embedded is not None and not own):
            pairs += [(about, name) for about in plugin.info.tasks if about != "retrieval"]
    return pairs


def _check_names(tasks: Sequence[str]) -> None:
    """See that the rows of no two tasks stand under one name.

    Raises:
        ConfigError: a task is named twice.
    """
    from target_bench.data.select import task_named

    names = [task_named(task) for task in tasks]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(
            f"--task {twice} is given twice; to compare settings of a task, run each by itself, or "
            "list them in a sweep"
        )


def score(
    context: typer.Context,
    corpus: Annotated[
        str | None,
        typer.Argument(
            help="A corpus; the same as --corpus. Or a run folder or its id, to score it again.",
            show_default=False,
        ),
    ] = None,
    run_file: Annotated[
        Path | None, typer.Option("--run", help="A TREC run, or JSON lines as in retrieval.jsonl.")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Answers: JSON, JSON lines, or text with an answer a line."),
    ] = None,
    order: Annotated[
        Path | None, typer.Option(help="A JSON list of query ids, for text with an answer a line.")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="The task, perhaps with settings, as in text-to-sql:timeout=10. Default: "
            "retrieval; of a run folder, what it was run with.",
            show_default=False,
        ),
    ] = None,
    corpora: Corpora = None,
    split: Split = None,
    top_k: TopK = "1,5,10",
    limit: Limit = None,
    database: Database = None,
    distractors: DistractorSpecs = None,
    by: By = None,
    data_dir: DataDir = None,
    out: Out = Path("runs"),
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Score rankings or answers on a corpus, or what a run folder holds."""
    stored = _stored(corpus, out) if corpus else None
    if stored:
        if any((run_file, predictions, order, corpora, split, limit, database, distractors)):
            raise ConfigError(
                f"{corpus} is a run folder: it holds rankings or answers, and knows their corpus. "
                "Leave out --run, --predictions, --order, --corpus, --split, --limit, --database "
                "and --distractors."
            )
        generate.score_stored(stored, task, data_dir, as_json, by or ())
        return
    wanted = wanted_corpora(corpus, corpora)
    ks = cutoffs(top_k)
    with reported(context, [(task or "retrieval", wanted)], data_dir, out, as_json) as (
        target,
        results,
    ):
        results += target.score(
            run_file,
            split,
            ks,
            predictions=predictions,
            order=order,
            limit=limit,
            database=database,
            distractors=distractors or (),
            by=by or (),
        )


def _stored(name: str, out: Path) -> Path | None:
    """The run folder of this name, if it names a run and no corpus."""
    from target_bench.runs.find import find, is_name

    if registry.canonical("corpus", name) in registry.names("corpus"):
        return None
    return find(name, out) if is_name(name, out) else None


def wanted_corpora(corpus: str | None, corpora: list[str] | None) -> list[str]:
    """The corpora of the command line, the argument first.

    Raises:
        ConfigError: there is none.
    """
    wanted = [*([corpus] if corpus else []), *(corpora or [])]
    if not wanted:
        known = ", ".join(registry.names("corpus"))
        raise ConfigError(f"name a corpus, as in: target-bench run mini (known: {known})")
    return wanted


@contextmanager
def reported(
    context: typer.Context,
    pairs: "Sequence[tuple[str, str | list[str]]]",
    data_dir: Path | None,
    out: Path,
    as_json: bool,
) -> "Iterator[tuple[TARGET, list[Result]]]":
    """A benchmark, and a list for its results; they are printed at the end, also after an error."""
    from target_bench.evaluation.target import TARGET

    with printed(as_json) as (observer, results):
        target = TARGET(*pairs, data_dir=data_dir, out=out, observer=observer)
        for note in unread(context, [task for task, _ in pairs]):
            observer.warning(note)
        yield target, results
