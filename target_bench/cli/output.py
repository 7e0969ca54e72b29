"""What commands print: results as tables or JSON, and questions before paying."""

import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from target_bench.cli import options
from target_bench.cli.progress import TerminalObserver, pause_bars
from target_bench.cli.results import make_records, print_results
from target_bench.core.errors import ConfigError, PluginError, StoreError, TargetBenchError
from target_bench.core.observer import Observer
from target_bench.core.schema import LEFT_OUT
from target_bench.core.text_tables import (
    TextTable,
    csv_text,
    markdown,
    print_tables,
    say_as_it_is,
    visible,
)

if TYPE_CHECKING:
    from target_bench.harness.consent import Estimate
    from target_bench.reporting.gate import Gate
    from target_bench.reporting.rows import Comparison
    from target_bench.runs.result import Result, Results

INTERRUPTED = 130
INCOMPLETE = 3

Noted = TypeVar("Noted", bound="Comparison | Gate")


@contextmanager
def redirect_prints() -> Iterator[None]:
    """Send to standard error what anything prints meanwhile, so that results stand alone.

    Also what goes past ``sys.stdout``, as ``os.write(1, ...)`` and ``sys.__stdout__`` do.
    """
    with redirect_stdout(sys.stderr):
        try:
            kept = os.dup(1)
        except OSError:  # it is closed
            yield
            return
        _flush()
        try:
            os.dup2(2, 1)
            yield
        finally:
            _flush()
            os.dup2(kept, 1)
            os.close(kept)


def _flush() -> None:
    with suppress(AttributeError, OSError, ValueError):  # there is none, or it is closed
        sys.__stdout__.flush()  # type: ignore[union-attr]


@contextmanager
def print_at_end(
    printed_as: options.PrintedForm = "text", every: bool = False
) -> "Iterator[tuple[Observer, list[Result]]]":
    """Give an observer, and a list for results, which are printed at the end.

    Results of one corpus stand together, corpora in the order of their first results.
    """
    results: list[Result] = []
    on_data: list[str] = []
    try:
        with TerminalObserver() as observer, redirect_prints():
            yield observer, results
            if printed_as == "text" and results:
                on_data, observer.notes = list(observer.notes), {}
    except KeyboardInterrupt:
        typer.echo(
            "Interrupted. Answered queries are kept; run the same command again to resume.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None
    except TargetBenchError:
        if results and printed_as == "text":
            print_results(_sort_by_corpus(results), [], every)
        raise
    ordered = _sort_by_corpus(results)
    if printed_as == "text":
        print_results(ordered, on_data, every)
    else:
        from target_bench.runs.score_tables import make_score_tables, to_document

        document = {"results": [to_document(result) for result in ordered]}
        print_as(printed_as, document, make_records(ordered), make_score_tables(ordered, every))
    _fail_if_queries_failed(ordered)
    exit_if_incomplete(observer.warned)


def print_notes(notes: Sequence[str], every: bool, corpus: str) -> None:
    """Print notes on data to standard error: all, or those on files left out and a count."""
    important = [note for note in notes if every or LEFT_OUT in note]
    others = [note for note in notes if note not in important]
    shown = [f"Note: {note}" for note in (important if len(others) > 1 else notes)]
    if len(others) > 1:
        command = f"target-bench describe corpus {shlex.quote(corpus)}"
        shown.append(f"{len(others)} notes on these tables: {command}")
    for line in shown:
        typer.echo(visible(line), err=True)


def exit_if_incomplete(notes: Iterable[str]) -> None:
    """Exit with 3 if notes on data name files that could not be read."""
    if any(LEFT_OUT in note for note in notes):
        raise typer.Exit(INCOMPLETE)


def fold_notes(result: Noted, every: bool) -> tuple[Noted, str]:
    """Return a result without its notes if they are several, and the line that counts them."""
    n = len(result.notes)
    if every or n < 2:
        return result, ""
    return replace(result, notes=()), f"{n} notes: --verbose shows them"


def print_as(
    form: options.PrintedForm,
    document: object,
    records: Sequence[Mapping[str, Any]],
    tables: Iterable[TextTable],
) -> None:
    """Print the results of a command as text, Markdown, CSV or JSON."""
    if form == "json":
        print_json(document)
    elif form == "csv":
        say_as_it_is(csv_text(records).rstrip("\n"))
    elif form == "markdown":
        say_as_it_is(markdown(tables))
    else:
        print_tables(*tables)


def print_json(document: object) -> None:
    """Print a document on standard output; a lone surrogate as the escape that JSON has for it."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode() + "\n")


def check_output(path: Path, option: str, example: str) -> None:
    """Check that a file can be written, before the work whose result it is to hold."""
    if path.is_dir():
        raise ConfigError(f"{option} {path}: is a folder; name a file, as in {example}")
    folder = path.absolute().parent
    if not os.path.lexists(folder):
        raise ConfigError(
            f"{option} {path}: there is no folder {path.parent}; make it first, or name another"
        )
    why = "cannot be written to" if folder.is_dir() else "is not a folder"
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise StoreError(
            f"{path} cannot be written: {folder} {why}. Choose another place with {option}."
        )


def expand_pattern(run: str) -> list[str]:
    """Return a name, or what a pattern matches: of ``runs/*`` the runs, unless none is one."""
    if os.path.lexists(run):  # a name may have brackets
        return [run]
    from target_bench.runs.manifest import read_key

    matches = sorted(glob(run))  # noqa: PTH207 (/abs/*)
    folders = [name for name in matches if read_key(Path(name)) and Path(name).is_dir()]
    return folders or matches or [run]


def find_finished_runs(runs: Sequence[str]) -> list[str]:
    """Return the runs that are named; of a pattern those that are finished, if any is."""
    from target_bench.runs.run import Run

    named: list[str] = []
    left_out: list[str] = []
    for run in runs:
        matches = expand_pattern(run)
        finished = [name for name in matches if Run(name).is_scored]
        named += finished or matches
        left_out += [name for name in matches if finished and name not in finished]
    if left_out:
        warning = (
            f"Warning: left out, as not finished: {', '.join(left_out)}; the command that began a "
            f"run finishes it (its options: target-bench runs show {left_out[0]})"
        )
        typer.echo(visible(warning), err=True)
    return named


def _sort_by_corpus(results: "list[Result]") -> "Results":
    from target_bench.runs.result import Results

    corpora = list(dict.fromkeys(result.identity.corpus for result in results))
    return Results(sorted(results, key=lambda result: corpora.index(result.identity.corpus)))


def _fail_if_queries_failed(results: "Results") -> None:
    from target_bench.runs.score_tables import describe_failures, find_failures

    lines = [line for result in results for line in describe_failures(result)]
    traces = [
        record.traceback
        for result in results
        for record in find_failures(result)[:1]
        if record.traceback is not None
    ]
    if lines:
        fault = PluginError("\n".join(lines))
        for trace in traces:
            fault.add_note(trace)  # --debug shows it
        raise fault


def ask_for_consent(plugin: object, estimate: "Estimate", yes: bool) -> None:
    """Ask before requests to a plug-in that may cost money."""
    from target_bench.core.contract import ask_if_paid

    ask_if_paid(plugin, print_cost if yes else ask_to_pay, lambda: estimate)


def print_cost(estimate: "Estimate") -> bool:
    """Print the number and cost of the requests, to which the user agreed with ``--yes``."""
    with pause_bars():
        typer.echo(visible(f"{estimate.plugin}: {describe_cost(estimate)}"), err=True)
    return True


def ask_to_pay(*estimates: "Estimate") -> bool:
    """Print the number and cost of the requests, and ask once."""
    for estimate in estimates:
        print_cost(estimate)
    if not sys.stdin.isatty():
        raise ConfigError(
            "standard input is not a terminal, so you cannot confirm these requests; pass --yes to "
            "send them"
        )
    with pause_bars():
        try:
            return typer.confirm("Send them?", err=True)
        except typer.Abort:
            raise KeyboardInterrupt from None


def describe_cost(estimate: "Estimate") -> str:
    """Say how much is about to be sent, and its cost."""
    if estimate.input_tokens is None:
        most = f"up to {estimate.requests:,} {estimate.unit}"
        return f"{most} may be sent to a service that is paid for"
    unknown = "unknown (no prices or no max_tokens given)"
    cost = unknown if estimate.cost is None else f"about {estimate.cost:.4f}"
    return (
        f"{estimate.requests:,} requests with about {estimate.input_tokens:,} tokens; cost {cost}"
    )
