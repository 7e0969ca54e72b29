"""``target-bench run`` and ``score``: retrievers × corpora, as tables or as JSON."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from target_bench.cli.options import (
    AsJson,
    By,
    Offline,
    PrintedAs,
    PrintedForm,
    Verbose,
    Yes,
    argument,
    is_on_line,
    option,
    takes_config,
)
from target_bench.cli.output import ask_to_pay, print_at_end, print_cost
from target_bench.core import registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.observer import Observer
from target_bench.core.run_config import (
    EXTRACTIVE,
    OPTIONS,
    READ_BY_SOME,
    RunConfig,
    options_read,
    spell_flag,
)
from target_bench.core.text_tables import visible

if TYPE_CHECKING:
    from target_bench.harness.evaluate import Pair

HELP = """Run retrievers on corpora and print their scores.

`target-bench run mini` compares bm25, tfidf, lsa and random on the embedded corpus; with `--task
all` they also find the tables for answers. `target-bench run --config run.yaml` reads these options
from a file.
"""

Spelling = dict[str, str]
"""Option -> how the user wrote it: ``--top-k``, or ``run.yaml: top_k``."""

Named = Annotated[
    list[str] | None, argument("Corpora; the same as --corpus.", metavar="[CORPUS]...")
]


@takes_config(*OPTIONS)
def run(
    context: typer.Context,
    given: Mapping[str, Any],
    corpus: Named = None,
    by: By = None,
    config: Annotated[
        Path | None,
        option(
            "A YAML file with these options, as in corpora: [mini] or top_k: [1, 10]. Options on "
            "the command line override those of the file."
        ),
    ] = None,
    yes: Yes = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
    printed_as: PrintedAs = "text",
    offline: Offline = False,
) -> None:
    """Run every retriever, and every generator, on every corpus."""
    from target_bench.core.registry import find_task
    from target_bench.harness.evaluate import evaluate_pairs

    options, spelling = _read_options(given, config, corpus or ())
    pairs = _choose_pairs(options, _check_corpora(options.corpora))
    is_ranked = any(find_task(task).source == "retrieved" for task, _ in pairs)
    with print_at_end("json" if as_json else printed_as, verbose) as (observer, results):
        _warn_of_unused(spelling, pairs, observer)
        scored = evaluate_pairs(
            pairs,
            options.retrievers or (registry.BASELINES if is_ranked else [None]),
            options.generators or [EXTRACTIVE],
            options,
            observer=observer,
            confirm=print_cost if yes else ask_to_pay,
            by=by or (),
        )
        for result in scored:  # the results before an error are printed, too
            results.append(result)


def _read_options(
    given: Mapping[str, Any], config: Path | None, corpora: Sequence[str]
) -> tuple[RunConfig, Spelling]:
    """Return the options of the command line and of a file, and how the user spelled each.

    ``corpora`` are those that the command line names without ``--corpus``.
    """
    read: dict[str, Any] = {}
    if config is not None:
        from target_bench.harness.yaml_file import read_config

        read = read_config(config)
    spelling = {name: f"{config}: {name}" for name in read}
    spelling |= {name: spell_flag(name) for name in given}
    options = {**read, **given}
    options["corpora"] = [*corpora, *options.get("corpora", ())]  # columns are added to all
    return RunConfig(**options), spelling


def _choose_pairs(options: RunConfig, corpora: Sequence[str]) -> "list[Pair]":
    """Return the tasks to run, each with one of its corpora.

    Without a task these are table retrieval, or with a generator the tasks that the corpora have
    answers for; with ``all`` they are both.
    """
    from target_bench.core.registry import find_task
    from target_bench.data.load import drop_repeated, pair_with_corpora

    has_all = list(options.tasks) == [ALL]
    chosen: list[tuple[str, list[str]]] = []
    if options.tasks and not has_all:
        names = [find_task(task).name for task in options.tasks]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(
                    f"--task {name} is given twice; to compare settings of a task, run each by "
                    "itself, or list them in a sweep"
                )
        chosen = [(task, [*corpora]) for task in options.tasks]
    else:
        if has_all or not options.generators:
            chosen.append((RANKING_TASK, [*corpora]))
        if has_all or options.generators:
            for name in corpora:
                chosen += [(task, [name]) for task in _find_answer_tasks(name, options)]
    if not chosen:
        raise ConfigError(
            f"{', '.join(corpora)}: no question has a reference that a task can score"
        )
    return drop_repeated(pair for each in chosen for pair in pair_with_corpora(*each))


def _find_answer_tasks(corpus: str, options: RunConfig) -> list[str]:
    """Return the tasks that a corpus has answers for; say which are left out of one's own."""
    from target_bench.core.registry import make_task
    from target_bench.core.task import has_reference
    from target_bench.data.load import is_path, load, loader
    from target_bench.data.selection import select_queries
    from target_bench.harness.score import select_scorable
    from target_bench.metrics.scores import have_short_answers

    served = [task for task in loader(corpus).info.tasks if task != RANKING_TASK]
    if not is_path(corpus):
        return served
    dataset = load(corpus, options.split, data_dir=options.data_dir)
    found, lacking = [], []
    for name in served:
        task = make_task(name)
        try:
            scored = select_scorable(task, select_queries(dataset, task)).queries
        except (ConfigError, DataError) as error:
            typer.echo(visible(f"{corpus}, {name}: {error}"), err=True)
            continue
        queries = [query for query in scored if has_reference(task, query)]
        # Any text could be the reference of a description; short ones are answers to questions.
        is_described = task.source == "given" and task.answer == "text"
        if not queries or (is_described and have_short_answers(queries)):
            lacking.append(name)
        else:
            found.append(name)
    if lacking:
        typer.echo(visible(f"{corpus} has no references for {', '.join(lacking)}"), err=True)
    return found


ALL = "all"
"""In place of a task: all that the corpora serve."""


_SCORED = ("corpora", "split", "top_k", "limit", "distractors", "metrics", "data_dir", "out")
"""The options that change how the rankings or answers of another system are scored."""

SCORE_HELP = """Score rankings or answers of another system.

`target-bench score ottqa --run my_system.trec` and `target-bench score fetaqa --task qa
--predictions answers.jsonl` print the tables that `run` prints.
"""


@takes_config(*_SCORED)
def score(
    context: typer.Context,
    given: Mapping[str, Any],
    corpus: Annotated[
        str | None,
        argument("A corpus; the same as --corpus. Or a run folder or its id, to score it again."),
    ] = None,
    run_file: Annotated[
        Path | None, typer.Option("--run", help="A TREC run, or JSON lines as in retrieval.jsonl.")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Answers: JSON, JSON lines, or text with one answer per line."),
    ] = None,
    order: Annotated[
        Path | None,
        typer.Option(help="A JSON list of query ids, for text with one answer per line."),
    ] = None,
    task: Annotated[
        str | None,
        option(
            "A task, with settings as in text-to-sql:timeout=10. Default: retrieval; for a run "
            "folder, the task of the run."
        ),
    ] = None,
    by: By = None,
    yes: Yes = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
    printed_as: PrintedAs = "text",
    offline: Offline = False,
) -> None:
    """Score rankings or answers on a corpus, or what a run folder holds."""
    from target_bench.runs.find import find_run, is_run_name

    options = RunConfig(**given)
    confirm = print_cost if yes else ask_to_pay
    form: PrintedForm = "json" if as_json else printed_as
    if corpus and not (run_file or predictions or order):
        plugin = corpus.partition(":")[0]
        if not registry.is_known("corpus", plugin) and not Path(plugin).exists():
            find_run(corpus, options.out)  # a misspelled run is told as one
    if corpus and not registry.is_known("corpus", corpus) and is_run_name(corpus, options.out):
        fitting = {"data_dir", "out", "metrics"}
        if run_file or predictions or order or given.keys() - fitting:
            raise ConfigError(
                f"{corpus} is a run folder: it holds rankings or answers, and knows their corpus. "
                "Leave out --run, --predictions, --order, --corpus, --split, --top-k, --limit and "
                "--distractors."
            )
        from target_bench.harness.stored import score_again
        from target_bench.runs.result import read_run

        with print_at_end(form, verbose) as (observer, results):
            scored = score_again(
                read_run(find_run(corpus, options.out)),
                task,
                metrics=options.metrics,
                confirm=confirm,
                data_dir=options.data_dir,
                observer=observer,
            )
            scored.by = tuple(by or ())
            results.append(scored)
        return
    from target_bench.data.load import drop_repeated, pair_with_corpora
    from target_bench.harness.score_external import score_external

    corpora = _check_corpora([*([corpus] if corpus else []), *options.corpora])
    pairs = drop_repeated(pair_with_corpora(task or RANKING_TASK, corpora))
    files = {"run_file": "--run", "predictions": "--predictions", "order": "--order"}
    spelling = {name: flag for name, flag in files.items() if is_on_line(context, name)}
    with print_at_end(form, verbose) as (observer, results):
        _warn_of_unused(spelling, pairs, observer)
        results += score_external(
            pairs,
            options,
            run_file=run_file,
            predictions=predictions,
            order=order,
            observer=observer,
            confirm=confirm,
            by=by or (),
        )


def _check_corpora(names: Sequence[str]) -> Sequence[str]:
    """Raise ``ConfigError`` unless the command line names a corpus."""
    if not names:
        known = ", ".join(registry.names("corpus"))
        raise ConfigError(f"name a corpus, as in: target-bench run mini (known: {known})")
    return names


def _warn_of_unused(spelling: Spelling, pairs: "Sequence[Pair]", observer: Observer) -> None:
    """Warn of each option that was given though none of the tasks reads it."""
    unsure = {name: written for name, written in spelling.items() if name in READ_BY_SOME}
    if not unsure:
        return
    from target_bench.core.registry import find_task

    reads = {task: options_read(find_task(task)) for task, _ in pairs}
    for name, written in unsure.items():
        if not any(name in read for read in reads.values()):
            observer.warning(
                f"{written} changes nothing here: {' and '.join(sorted(reads))} does not read it"
            )
