"""What ``run``, ``score`` and ``generate`` print: a verdict, a row a system, where to go on."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from target_bench.core.text_tables import (
    count_noun,
    has_colours,
    print_tables,
    say,
    say_as_it_is,
    say_heading,
    say_wrapped,
    terminal_width,
)

if TYPE_CHECKING:
    from target_bench.runs.result import Result


def print_results(results: "Sequence[Result]", on_data: Sequence[str], every: bool = False) -> None:
    """Print results: of each task and corpus the verdict and a table with a row a system."""
    from target_bench.reporting.sentences import describe_run
    from target_bench.runs.score_tables import (
        group_by_queries_and_cutoffs,
        make_group_tables,
        make_slice_tables,
        summarize_answers,
        write_title,
    )

    groups = group_by_queries_and_cutoffs(results)
    for group in groups:
        if len(groups) > 1:
            say_heading(write_title(group))
        for sentence in describe_run(group):
            say_wrapped(sentence)
        say("")
        tables = make_group_tables(group, every)  # none where no query has gold tables
        first = [replace(table, title="") for table in tables[:1]]
        print_tables(*first, *tables[1:], *make_slice_tables(group))
        for result in group:
            for block in summarize_answers(result):
                if every or block.is_always_shown:
                    say_wrapped(f"{result.command.label}: {block}", "  ")
        say("")
    if len(groups) > 1:
        _print_by_corpus(results)
    known = [(result, note) for result in results for note in list_notes(result)]
    for note in on_data if every else ():
        say_wrapped(note, "  ")
    for result, note in known if every else ():
        data = f"{result.identity.corpus} {result.identity.task}, " if len(groups) > 1 else ""
        say_wrapped(f"{data}{result.command.label}: {note}", "  ")
    for result in results:
        if result.run.new_because:
            label = f"{result.command.label}: " if len(results) > 1 else ""
            say_wrapped(label + result.run.new_because)
    if results:
        parts = describe_next(results, 0 if every else len(known) + len(on_data), len(groups))
        say_wrapped(" · ".join(parts))


def _print_by_corpus(results: "Sequence[Result]") -> None:
    """Print a table of methods by corpora, of each task that was run on several corpora."""
    from target_bench.reporting import layouts
    from target_bench.reporting.compare import compare_results, leading_metric

    for task in dict.fromkeys(result.identity.task for result in results):
        of_run = [
            result for result in results if result.identity.task == task and result.stored.scores
        ]
        n_on_corpus = Counter(result.identity.corpus for result in of_run)
        if len(n_on_corpus) < 2 or max(n_on_corpus.values()) < 2:
            continue
        lead, _ = leading_metric(of_run)
        table = replace(compare_results(of_run, [lead], of_run[0]), notes=())
        say_as_it_is(layouts.to_text(table, terminal_width(), has_colours()))
        say("")


def make_records(results: "Sequence[Result]") -> list[dict[str, Any]]:
    """Return a record for each score of each run: what was run, the value and its interval."""
    from target_bench.runs.score_tables import describe_request

    records = []
    for result in results:
        run = describe_request(result) | {"name": result.command.label}
        for metric, score in result.scores.items():
            numbers = score.to_json()
            value = {name: numbers[name] for name in ("value", "low", "high", "n")}
            records.append({**run, "metric": metric, **value})
    return records


def list_notes(result: "Result") -> Iterator[str]:
    """Yield what is to know about the rankings and answers of a run, beside their scores."""
    counts, answers = result.stored.counts, result.stored.answers
    if result.command.limit:
        yield f"--limit {result.command.limit} asks a fixed sample, spread over the databases"
    if answers is None:
        none = f" ({counts.empty} with none)" if counts.empty else ""
        short = 0 if result.identity.is_bound else counts.short
        for n, what in (
            (short, f"have fewer tables than asked for{none}"),
            (counts.divided_ties, "have tables of equal score on both sides of a cutoff"),
            (counts.unlabelled, "have no gold table"),
            (counts.empty_queries, "have no text"),
        ):
            if n:
                yield _share_text(n, counts.asked, what)
        return
    for n, what in (
        (answers.truncated, "were answered from tables cut short"),
        (answers.at_token_limit, "have an answer cut at the largest number of tokens"),
        (answers.unlabelled, "have no reference"),
    ):
        if n:
            yield _share_text(n, answers.asked, what)
    if answers.input_tokens:
        cost = f", cost {answers.cost:.4f}" if answers.cost else ""
        yield f"{answers.input_tokens:,} tokens in, {answers.output_tokens or 0:,} out{cost}"


def _share_text(n: int, asked: int, have: str) -> str:
    """Return how many questions have something, or were treated so."""
    verb, _, what = have.partition(" ")
    singular = {"have": "has", "were": "was"}
    return f"{n:,} of {count_noun(asked, 'question')} {singular[verb] if n == 1 else verb} {what}"


def describe_next(results: "Sequence[Result]", n_notes: int, n_groups: int) -> Iterator[str]:
    """Yield where the runs are, how many notes there are, and the next command."""
    store = results[0].folder.parent
    reused = sum(result.run.reused for result in results)
    reuse = "" if not reused else ", reused" if reused == len(results) else f" ({reused} reused)"
    yield f"{count_noun(len(results), 'run')} in {store}/{reuse}"
    if n_notes:
        yield f"{count_noun(n_notes, 'note')}: --verbose shows {'it' if n_notes == 1 else 'them'}"
    place = shlex.quote(str(store))
    if n_groups > 1:
        yield f"next: target-bench runs list --out {place}"
    elif reused and not _are_newest(results):
        yield f"next: target-bench report {' '.join(result.run.key for result in results)}"
    else:
        yield f"next: target-bench report {place}"


def _are_newest(results: "Sequence[Result]") -> bool:
    """Return whether a report of their folder shows these runs; those used again may be old."""
    from target_bench.runs.newest import REPORTED, find_newest_runs

    folders, _ = find_newest_runs(results[0].folder.parent, REPORTED)
    return {result.folder for result in results} <= set(folders)
