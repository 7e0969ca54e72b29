"""``target-bench run`` and ``score``: retrievers × corpora, as tables or as JSON."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
from target_bench.core.built_in import BOUNDS, RANKING_TASK
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.run_config import (
    EXTRACTIVE,
    OPTIONS,
    READ_BY_SOME,
    RunConfig,
    add_columns,
    options_read,
    spell_flag,
)
from target_bench.core.settings import check_names_differ, split_name
from target_bench.core.text_tables import visible

if TYPE_CHECKING:
    from target_bench.harness.evaluate import Pair
    from target_bench.runs.result import Result

HELP = """Run retrievers on corpora and print their scores.

`target-bench run mini` compares bm25, tfidf, lsa and random on the embedded corpus; with `--task
all` they also find the tables for answers. `target-bench run --config run.yaml` reads these options
from a file.
"""

Shown = tuple[PrintedForm, bool]
"""How results are printed, and whether with all metrics and notes; see ``output.print_at_end``."""

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
    from target_bench.harness.systems import ANSWER_MODES

    options, written = _with_config(given, config)
    names = _corpora([*(corpus or ()), *options.corpora])
    if options.columns:
        names = [*add_columns(names, options.columns)]
    pairs = _pairs(options, names)
    _check_all("retriever", options.retrievers, BOUNDS)
    _check_all("generator", options.generators, ANSWER_MODES)
    shown = ("json" if as_json else printed_as, verbose)
    with _run_and_print(pairs, options, shown, written) as (pairs_to_run, how, results):
        ranked = any(find_task(text).source == "retrieved" for text, _ in pairs)
        chosen = options.retrievers or (registry.BASELINES if ranked else [None])
        for retriever, generator in product(chosen, options.generators or [EXTRACTIVE]):
            answered = evaluate_pairs(
                pairs_to_run,
                retriever,
                generator,
                options,
                confirm=print_cost if yes else ask_to_pay,
                by=by or (),
                **how,
            )
            folders = [result.folder for result in results]  # one retrieval serves all generators
            results += [result for result in answered if result.folder not in folders]


def _with_config(
    given: Mapping[str, Any], config: Path | None
) -> tuple[RunConfig, list[tuple[str, str]]]:
    """Return the options from the command line, else from a file, and their spelling."""
    written = {name: spell_flag(name) for name in given}
    if config is None:
        return RunConfig(**given), list(written.items())
    from target_bench.harness.yaml_file import read_config

    read = read_config(config)
    places = {name: f"{config}: {name}" for name in read} | written
    return RunConfig(**{**read, **given}), list(places.items())


def _check_all(
    kind: Literal["retriever", "generator"], written: Sequence[str], modes: Collection[str]
) -> None:
    """See that the last of several plug-ins can be made before the first one runs."""
    from target_bench.models.original_classes import create_plugin

    check_names_differ(written)
    for text in [split_name(text)[1] for text in written[1:]]:
        if text not in modes:
            create_plugin(kind, text, other_names=modes)


def _pairs(options: RunConfig, wanted: list[str]) -> list[tuple[str, str | list[str]]]:
    """Return the tasks to run, each with its corpora.

    Without a task these are table retrieval, or with a generator the tasks that the corpora have
    answers for; with ``all`` they are both.
    """
    from target_bench.core.registry import find_task
    from target_bench.data.load import is_path, loader

    tasks, answered = options.tasks, bool(options.generators)
    every = list(tasks) == [ALL]
    if tasks and not every:
        names = [find_task(task).name for task in tasks]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(
                    f"--task {name} is given twice; to compare settings of a task, run each by "
                    "itself, or list them in a sweep"
                )
        return [(task, list(wanted)) for task in tasks]
    pairs: list[tuple[str, str | list[str]]] = []
    if every or not answered:
        pairs.append((RANKING_TASK, list(wanted)))
    for name in wanted if every or answered else ():
        served = [task for task in loader(name).info.tasks if task != RANKING_TASK]
        reasons = _why_skipped(name, served, options) if is_path(name) else {}
        pairs += [(task, name) for task in served if task not in reasons]
        if lacking := [task for task, reason in reasons.items() if not reason]:
            typer.echo(visible(f"{name} has no references for {', '.join(lacking)}"), err=True)
        for task, reason in reasons.items():
            if reason:
                typer.echo(visible(f"{name}, {task}: {reason}"), err=True)
    if not pairs:
        raise ConfigError(f"{', '.join(wanted)}: no question has a reference that a task can score")
    return pairs


def _why_skipped(name: str, tasks: Sequence[str], options: RunConfig) -> dict[str, str]:
    """Return task -> why it cannot score a corpus of the user's own; "": it has no references.

    A description of a table is longer than an answer, which any text would be.
    """
    from target_bench.core.registry import make_task
    from target_bench.core.task import has_reference
    from target_bench.data.load import load
    from target_bench.data.selection import select_task
    from target_bench.harness.score import scorable
    from target_bench.metrics.scores import have_short_answers

    dataset = load(name, options.split, data_dir=options.data_dir)
    reasons = {}
    for task in tasks:
        made = make_task(task)
        try:
            answered = scorable(made, select_task(dataset, made)).queries
        except (ConfigError, DataError) as error:
            reasons[task] = str(error)
            continue
        queries = [query for query in answered if has_reference(made, query)]
        described = made.source == "given" and made.answer == "text"
        if not queries or (described and have_short_answers(queries)):
            reasons[task] = ""
    return reasons


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
    shown = ("json" if as_json else printed_as, verbose)
    if corpus and not (run_file or predictions or order):
        plugin = corpus.partition(":")[0]
        if not registry.is_known("corpus", plugin) and not Path(plugin).exists():
            find_run(corpus, options.out)  # a misspelled run is told as one
    if corpus and not registry.is_known("corpus", corpus) and is_run_name(corpus, options.out):
        fitting = {"top_k", "data_dir", "out", "metrics"}
        if run_file or predictions or order or given.keys() - fitting:
            raise ConfigError(
                f"{corpus} is a run folder: it holds rankings or answers, and knows their corpus. "
                "Leave out --run, --predictions, --order, --corpus, --split, --limit and "
                "--distractors."
            )
        from target_bench.harness.resume import ResumedRun
        from target_bench.runs.result import read_run

        with print_at_end(*shown) as (observer, results):
            stored = ResumedRun(read_run(find_run(corpus, options.out)), options.data_dir, observer)
            scored = stored.score(task, confirm, options.metrics)
            for result in scored:
                result.by = tuple(by or ())
            results += scored
        return
    pairs = [(task or RANKING_TASK, _corpora([*([corpus] if corpus else []), *options.corpora]))]
    files = {"run_file": "--run", "predictions": "--predictions", "order": "--order"}
    written = [(name, flag) for name, flag in files.items() if is_on_line(context, name)]
    from target_bench.harness.score_external import score_external

    with _run_and_print(pairs, options, shown, written) as (pairs_to_score, how, results):
        results += score_external(
            pairs_to_score,
            options,
            run_file=run_file,
            predictions=predictions,
            order=order,
            confirm=confirm,
            by=by or (),
            **how,
        )


def _corpora(names: list[str]) -> list[str]:
    """See that a corpus is named on the command line."""
    if not names:
        known = ", ".join(registry.names("corpus"))
        raise ConfigError(f"name a corpus, as in: target-bench run mini (known: {known})")
    return names


@contextmanager
def _run_and_print(
    tasks: "Sequence[tuple[str, str | list[str]]]",
    options: RunConfig,
    shown: Shown,
    written: Iterable[tuple[str, str]],
) -> "Iterator[tuple[Sequence[Pair], dict[str, Any], list[Result]]]":
    """Give pairs of task and corpus, loader and observer, and a list for the results.

    The results are printed at the end.
    """
    from target_bench.data.load import make_loader, once, tasks_and_corpora

    with print_at_end(*shown) as (observer, results):
        pairs = once(pair for task in tasks for pair in tasks_and_corpora(task))
        for note in _warn_of_unused(written, [task for task, _ in tasks]):
            observer.warning(note)
        how = {"load_once": make_loader(options.data_dir, observer), "observer": observer}
        yield pairs, how, results


def _warn_of_unused(given: Iterable[tuple[str, str]], tasks: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each option that was given though none of the tasks reads it."""
    unsure = [(name, written) for name, written in given if name in READ_BY_SOME]
    if not unsure:
        return
    from target_bench.core.registry import find_task

    reads = {task: options_read(find_task(task)) for task in tasks}
    for name, written in unsure:
        if not any(name in read for read in reads.values()):
            yield f"{written} changes nothing here: {' and '.join(sorted(reads))} does not read it"
