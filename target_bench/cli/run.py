"""``target-bench run``: retrievers × corpora, as a table or as JSON."""

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench import registry
from target_bench.cli.options import DataDir, Debug, Split, cutoffs
from target_bench.errors import ConfigError, PluginError
from target_bench.schema import OnError

if TYPE_CHECKING:
    from target_bench.results import Result, Results

INTERRUPTED = 130

HELP = """Run retrievers on corpora and print their scores.

`target-bench run mini` compares every offline retriever on the embedded corpus.
"""


def run(
    corpus: Annotated[
        str | None, typer.Argument(help="A corpus; the same as --corpus.", show_default=False)
    ] = None,
    task: Annotated[str, typer.Option(help="The task, by short or full name.")] = "retrieval",
    corpora: Annotated[
        list[str] | None, typer.Option("--corpus", help="A corpus; may be repeated.")
    ] = None,
    split: Split = None,
    retrievers: Annotated[
        list[str] | None,
        typer.Option(
            "--retriever",
            help="name, name:key=value,..., module:Class, file.py:Class, oracle or no-context; "
            "may be repeated. Default: every offline retriever.",
        ),
    ] = None,
    top_k: Annotated[str, typer.Option(help="Cutoffs, as in 1,5,10,50.")] = "1,5,10",
    limit: Annotated[int | None, typer.Option(help="Only the first queries.")] = None,
    on_error: Annotated[
        OnError, typer.Option(help="At a failed query: stop, or record it with score 0.")
    ] = "stop",
    latency: Annotated[
        int, typer.Option(help="Time so many single queries (at most 500) after the batches.")
    ] = 0,
    data_dir: DataDir = None,
    out: Annotated[Path, typer.Option(help="Where run folders go.")] = Path("runs"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on standard output.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Run every retriever on every corpus."""
    from target_bench.cli.progress import TerminalObserver
    from target_bench.evaluator import TARGET
    from target_bench.results import Results

    wanted = [*([corpus] if corpus else []), *(corpora or [])]
    if not wanted:
        known = ", ".join(registry.names("corpus"))
        raise ConfigError(f"name a corpus, as in: target-bench run mini (known: {known})")
    ks = cutoffs(top_k)
    try:
        with TerminalObserver() as observer, redirect_stdout(sys.stderr):
            target = TARGET((task, wanted), data_dir=data_dir, out=out, observer=observer)
            results = [
                result
                for retriever in retrievers or registry.BUILT_IN["retriever"]
                for result in target.run(
                    retriever, split, ks, limit=limit, on_error=on_error, latency=latency
                )
            ]
    except KeyboardInterrupt:
        typer.echo("Interrupted. Answered queries are kept; the same command goes on.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    results.sort(key=lambda result: _order(wanted, result))
    if as_json:
        json.dump(Results(results).to_json(), sys.stdout, ensure_ascii=False, indent=2)
        sys.stdout.write("\n")
    else:
        _print(Results(results))
    _fail_if_queries_failed(results)


def _order(wanted: list[str], result: "Result") -> int:
    """The place of a result's corpus on the command line."""
    names = [registry.canonical("corpus", name) for name in wanted]
    return names.index(result.corpus) if result.corpus in names else len(names)


def _print(results: "Results") -> None:
    from rich.console import Console

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
