"""What ``run``, ``score`` and ``generate`` print: a verdict, a row a system, where to go on."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any

from target_bench.core.errors import TargetBenchError
from target_bench.core.text_tables import (
    counted,
    has_colours,
    p_text,
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
    """Print results: of each task and corpus the verdict and a table with a row a system.

    Args:
        results: what was run, with its run folders.
        on_data: notes on the tables.
        every: print all metrics and notes, and what the task sums answers up by.
    """
    from target_bench.runs.result import group_tables, same_questions, slice_tables, title_of

    groups = same_questions(results)
    for group in groups:
        if len(groups) > 1:
            say_heading(title_of(group))
        for sentence in verdict(group):
            say_wrapped(sentence)
        say("")
        table, *others = group_tables(group, every)
        print_tables(replace(table, title=""), *others, *slice_tables(group))
        for result in group if every else ():
            for block in result.summary:
                say_wrapped(f"{result.label}: {block}", "  ")
        say("")
    if len(groups) > 1:
        _print_by_corpus(results)
    known = [(result, note) for result in results for note in notes_on(result)]
    for note in on_data if every else ():
        say_wrapped(note, "  ")
    for result, note in known if every else ():
        data = f"{result.corpus} {result.task}, " if len(groups) > 1 else ""
        say_wrapped(f"{data}{result.label}: {note}", "  ")
    if results:
        parts = last_line(results, 0 if every else len(known) + len(on_data), len(groups))
        say_wrapped(" · ".join(parts))


def _print_by_corpus(results: "Sequence[Result]") -> None:
    """Print a table of methods by corpora, of each task that was run on several corpora."""
    from target_bench.reporting import paper_table
    from target_bench.reporting.compare import leading_metric

    for task in dict.fromkeys(result.task for result in results):
        of_task = [result for result in results if result.task == task and result.scores]
        folders = [result.folder for result in of_task]
        corpora = {result.corpus for result in of_task}
        if len(corpora) < 2 or not paper_table.several_corpora(folders):
            continue
        lead, _ = leading_metric(of_task)
        table = replace(paper_table.compare_corpora(folders, [lead]), notes=())
        say_as_it_is(paper_table.text(table, terminal_width(), has_colours()))
        say("")


def records_of(results: "Sequence[Result]") -> list[dict[str, Any]]:
    """Return a record for each score of each run: what was run, the value and its interval."""
    names = ("corpus", "split", "task", "retriever", "generator")
    records = []
    for result in results:
        run = {name: getattr(result, name) for name in names} | {"name": result.label}
        for metric, score in result.all_scores.items():
            numbers = score.to_json()
            value = {name: numbers[name] for name in ("value", "low", "high", "n")}
            records.append({**run, "metric": metric, **value})
    return records


def verdict(results: "Sequence[Result]") -> Iterator[str]:
    """Yield which system is best, and which ones a test does not tell from it.

    The best run by the main metric is tested against all others on
    the same queries (randomisation test, corrected for all tests). Upper and lower bounds have no
    part in it.

    Args:
        results: those of one task on the same queries.
    """
    from target_bench.metrics.scores import spec_of
    from target_bench.reporting.compare import leading_metric
    from target_bench.reporting.comparison import upper_bounds
    from target_bench.runs.result import SYNTHETIC

    systems = [result for result in results if result.scores and not result.is_bound]
    systems = systems or [result for result in results if result.scores]
    if not systems:
        yield "No question has a reference: nothing is scored."
        return
    metric, why = leading_metric(systems)
    scored = [result for result in systems if metric in result.scores]
    known = [result for result in scored if not isnan(result.scores[metric].value)]
    best = max(
        known or systems, key=lambda result: spec_of(metric).merit(result.scores[metric].value)
    )
    yield _what_it_reaches(best, metric)
    if by_database := best.interval_by_database(metric):
        n = len(set(best.databases))
        yield (
            f"For questions about other databases than these {n} the interval of {best.label}'s "
            f"{metric} is [{spec_of(metric).interval(*by_database, ', ')}]."
        )
    golden = [result for result in results if result.reads_gold and metric in result.scores]
    values = {result.label: result.scores[metric].value for result in golden}
    above = upper_bounds(values, best.scores[metric].value, spec_of(metric))
    if above:
        yield above
    for result in systems:
        if result.n_failed:
            failed = f"{result.n_failed} of {counted(result.n_queries, 'question')}"
            yield f"{result.label} failed on {failed}, which score 0."
        if result.answer_counts and result.answer_counts.unparsed:
            unread = f"{result.answer_counts.unparsed:,} of {counted(result.n_queries, 'question')}"
            yield f"{result.label} gave answers that cannot be read to {unread}, which score 0."
        if differing := result.report.get("outcomes", {}).get("translation_differs"):
            counted_sql = counted(differing, "prediction")
            yield (
                f"{result.label}: {counted_sql} gave other rows in DuckDB than in SQLite "
                "(translation_differs), and scored by SQLite's."
            )
    others = [result for result in known if result is not best]
    if others:
        yield from _others(best, others, metric, why)
    if any(result.is_synthetic for result in systems):
        yield SYNTHETIC


def _what_it_reaches(best: "Result", metric: str) -> str:
    """Say in numbers what the best system does."""
    from target_bench.metrics.scores import ranking_metrics
    from target_bench.runs.result import score_cell

    n = counted(best.scores[metric].n, "question")
    recall = [name for name in ranking_metrics(best.scores) if name.startswith("recall@")]
    if best.has_answers or not recall:
        value = score_cell(metric, best.scores[metric]).partition("\n")[0]
        return f"{best.label} has {metric} {value} on {n}."
    deep = "recall@10" if "recall@10" in recall else recall[-1]
    shares = [
        (best.scores[name].value, int(name.partition("@")[2]))
        for name in dict.fromkeys((recall[0], deep))
    ]
    # A question with two right tables has one of them first at most.
    one_each = all(
        best.scores[name].value == best.scores[name.replace("recall", "success")].value
        for name in recall
    )
    if one_each:
        (share, k), *deeper = shares
        more = "".join(f", {_depth(k)} for {_percent(share)}" for share, k in deeper)
        return f"{best.label} finds the right table {_depth(k)} for {_percent(share)} of {n}{more}."
    (share, k), *deeper = shares
    more = "".join(f" and {_percent(share)} {_depth(k)}" for share, k in deeper)
    share_found = f"{best.label} finds {_percent(share)} of the right tables {_depth(k)}{more}"
    return f"On average over {n}, {share_found}."


def _percent(share: float) -> str:
    """Return a share without decimals, which is 0% or 100% only if it is exact."""
    if 0 < share < 0.005:
        return "under 1%"
    return "over 99%" if 0.995 <= share < 1 else f"{share:.0%}"


_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def _depth(k: int) -> str:
    if k == 1:
        return "first"
    return f"among the first {_NUMBERS[k - 2] if k <= 10 else k}"


def _others(
    best: "Result", others: "Sequence[Result]", metric: str, why: str | None
) -> Iterator[str]:
    """Say which of the others are worse than the best, and which cannot be told from it."""
    from target_bench.metrics.stats import ALPHA, FEWEST
    from target_bench.reporting.compare import compare
    from target_bench.reporting.comparison import listed

    try:
        rows = compare([best, *others], [metric], baseline=best).rows[1:]
    except TargetBenchError as error:
        yield f"The others are not tested against it: {error}"
        return
    tests = [(row.run, row.difference) for row in rows if row.difference is not None]
    if tests and all(difference.detectable is None for _, difference in tests):
        yield (
            f"{counted(rows[0].n, 'question')} cannot tell it from the others: ask {FEWEST} at "
            "least."
        )
        return
    p_values = {name: difference.p_corrected or 0.0 for name, difference in tests}
    unclear = [name for name, p in p_values.items() if p >= ALPHA]
    worse = [name for name in p_values if name not in unclear]
    parts = []
    if unclear:
        p = min(p_values[name] for name in unclear)
        sign = "=" if len(unclear) == 1 or round(p, 2) == 1 else "≥"
        parts.append(f"{listed(unclear)} cannot be told from it ({metric}, p {sign} {p_text(p)})")
    if worse:
        how = "" if unclear else f" ({metric}, p < {p_text(ALPHA)})"
        parts.append(f"{listed(worse)} {'is' if len(worse) == 1 else 'are'} worse{how}")
    if why:
        yield f"{why}."
    if parts:
        yield f"{'; '.join(parts)}."


def notes_on(result: "Result") -> Iterator[str]:
    """Yield what is to know about the rankings and answers of a run, beside their scores."""
    counts, answers = result.counts, result.answer_counts
    if result.asked.limit:
        yield f"--limit {result.asked.limit} asks a fixed sample, spread over the databases"
    if answers is None:
        none = f" ({counts.empty} with none)" if counts.empty else ""
        short = 0 if result.is_bound else counts.short
        for n, what in (
            (short, f"have fewer tables than asked for{none}"),
            (counts.cut, "have tables of equal score on both sides of a cutoff"),
            (counts.unlabelled, "have no gold table"),
            (counts.empty_queries, "have no text"),
        ):
            if n:
                yield _share_text(n, counts.asked, what)
        return
    for n, what in (
        (answers.truncated, "were answered from tables cut short"),
        (answers.cut, "have an answer cut at the largest number of tokens"),
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
    return f"{n:,} of {counted(asked, 'question')} {singular[verb] if n == 1 else verb} {what}"


def last_line(results: "Sequence[Result]", n_notes: int, n_groups: int) -> Iterator[str]:
    """Yield where the runs are, how many notes there are, and the next command."""
    store = results[0].folder.parent
    reused = sum(result.reused for result in results)
    reuse = "" if not reused else ", reused" if reused == len(results) else f" ({reused} reused)"
    yield f"{counted(len(results), 'run')} in {store}/{reuse}"
    if n_notes:
        yield f"{counted(n_notes, 'note')}: --verbose shows {'it' if n_notes == 1 else 'them'}"
    place = shlex.quote(str(store))
    if n_groups > 1:
        yield f"next: target-bench runs list --out {place}"
    elif reused and not _are_newest(results):
        yield f"next: target-bench report {' '.join(result.id for result in results)}"
    else:
        yield f"next: target-bench report {place}"


def _are_newest(results: "Sequence[Result]") -> bool:
    """Return whether a report of their folder shows these runs; those used again may be old."""
    from target_bench.runs.newest import REPORTED, newest_runs

    folders, _ = newest_runs(results[0].folder.parent, REPORTED)
    return {result.folder for result in results} <= set(folders)
