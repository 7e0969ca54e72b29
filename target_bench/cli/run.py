"""``target-bench run``: retrievers × corpora, as a table or as JSON."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench import registry
from target_bench.cli.options import (
    AsJson,
    Corpora,
    DataDir,
    Debug,
    DistractorSpecs,
    Limit,
    Out,
    Split,
    TopK,
    cutoffs,
)
from target_bench.errors import ConfigError, PluginError, TargetBenchError
from target_bench.schema import OnError

if TYPE_CHECKING:
    from target_bench.evaluator import TARGET
    from target_bench.results import Result, Results

INTERRUPTED = 130

SCORE_HELP = """Score rankings that were made elsewhere.

`target-bench score ottqa --run my_system.trec` prints the table that `run` prints.
"""

HELP = """Run retrievers on corpora and print their scores.

`target-bench run mini` compares every offline retriever on the embedded corpus.
"""


def run(
    corpus: Annotated[
        str | None, typer.Argument(help="A corpus; the same as --corpus.", show_default=False)
    ] = None,
    task: Annotated[str, typer.Option(help="The task, by short or full name.")] = "retrieval",
    corpora: Corpora = None,
    split: Split = None,
    retrievers: Annotated[
        list[str] | None,
        typer.Option(
            "--retriever",
            help="name, name:key=value,..., module:Class, file.py:Class, oracle or no-context; "
            "may be repeated. Default: every offline retriever.",
        ),
    ] = None,
    top_k: TopK = "1,5,10",
    limit: Limit = None,
    distractors: DistractorSpecs = None,
    on_error: Annotated[
        OnError, typer.Option(help="At a failed query: stop, or record it with score 0.")
    ] = "stop",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask the failed queries of a run again.")
    ] = False,
    latency: Annotated[
        int, typer.Option(help="Time so many single queries (at most 500) after the batches.")
    ] = 0,
    memory: Annotated[
        str | None, typer.Option(help="What a retriever should keep to, as in 500MB.")
    ] = None,
    indexes: Annotated[
        Path | None, typer.Option(help="Folder of saved indexes to read from and write to.")
    ] = None,
    data_dir: DataDir = None,
    out: Out = Path("runs"),
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Run every retriever on every corpus."""
    wanted = wanted_corpora(corpus, corpora)
    ks = cutoffs(top_k)
    with reported(task, wanted, data_dir, out, as_json) as (target, results):
        for retriever in retrievers or registry.BUILT_IN["retriever"]:
            results += target.run(
                retriever,
                split,
                ks,
                limit=limit,
                distractors=distractors or (),
                on_error=on_error,
                retry_failed=retry_failed,
                latency=latency,
                memory=memory,
                indexes=indexes,
            )
    _fail_if_queries_failed(results)


def score(
    corpus: Annotated[
        str | None, typer.Argument(help="A corpus; the same as --corpus.", show_default=False)
    ] = None,
    run_file: Annotated[
        Path, typer.Option("--run", help="A TREC run, or JSON lines as in retrieval.jsonl.")
    ] = ...,  # type: ignore[assignment]  # typer's way to say: required
    task: Annotated[str, typer.Option(help="The task, by short or full name.")] = "retrieval",
    corpora: Corpora = None,
    split: Split = None,
    top_k: TopK = "1,5,10",
    limit: Limit = None,
    distractors: DistractorSpecs = None,
    data_dir: DataDir = None,
    out: Out = Path("runs"),
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Score a run file on a corpus."""
    wanted = wanted_corpora(corpus, corpora)
    ks = cutoffs(top_k)
    with reported(task, wanted, data_dir, out, as_json) as (target, results):
        results += target.score(run_file, split, ks, limit=limit, distractors=distractors or ())


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
    task: str, wanted: list[str], data_dir: Path | None, out: Path, as_json: bool
) -> "Iterator[tuple[TARGET, list[Result]]]":
    """A benchmark, and a list for its results; they are printed at the end, also after an error."""
    from target_bench.cli.progress import TerminalObserver
    from target_bench.evaluator import TARGET

    results: list[Result] = []
    try:
        with TerminalObserver() as observer, redirect_stdout(sys.stderr):
            yield TARGET((task, wanted), data_dir=data_dir, out=out, observer=observer), results
    except KeyboardInterrupt:
        typer.echo("Interrupted. Answered queries are kept; the same command goes on.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except TargetBenchError:
        if results and not as_json:
            _print(wanted, results)
        raise
    if as_json:
        json.dump(_sorted(wanted, results).to_json(), sys.stdout, ensure_ascii=False, indent=2)
        sys.stdout.write("\n")
    else:
        _print(wanted, results)


def _sorted(wanted: list[str], results: "list[Result]") -> "Results":
    from target_bench.results import Results

    return Results(sorted(results, key=lambda result: _order(wanted, result)))


def _order(wanted: list[str], result: "Result") -> int:
    """The place of a result's corpus on the command line."""
    names = [registry.canonical("corpus", name) for name in wanted]
    return names.index(result.corpus) if result.corpus in names else len(names)


def _print(wanted: list[str], found: "list[Result]") -> None:
    from rich.console import Console

    results = _sorted(wanted, found)
    console = Console(emoji=False) if sys.stdout.isatty() else Console(width=120, emoji=False)
    console.print(results.table())
    for result in results:
        console.print(_counts(result), highlight=False, soft_wrap=True, markup=False)


def _counts(result: "Result") -> str:
    from target_bench.stages.retrieve import MODES

    counts = result.counts
    parts = [f"{counts.answered} of {counts.asked} answered"]
    if counts.failed:
        parts.append(f"{counts.failed} failed")
    if counts.empty and result.retriever not in MODES:
        parts.append(f"{counts.empty} without any table")
    if counts.short > counts.empty and result.retriever not in MODES:
        parts.append(f"{counts.short - counts.empty} with fewer tables than asked for")
    if counts.empty_queries:
        parts.append(f"{counts.empty_queries} empty queries")
    if result.reused:
        parts.append("reused")
    return f"{result.folder}: {', '.join(parts)}"


def _fail_if_queries_failed(results: list["Result"]) -> None:
    failed = [result for result in results if result.counts.failed]
    if failed:
        lines = []
        for result in failed:
            query_id, error = next(iter(result.errors.items()))
            lines.append(
                f"retriever {result.retriever} failed on {result.counts.failed} of "
                f"{result.counts.asked} queries of {result.corpus} (scored 0); the first is "
                f"{query_id!r}: {error}"
            )
        raise PluginError("\n".join(lines))
