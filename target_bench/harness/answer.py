"""Answering: every query is answered once from its tables and written to the run folder."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from target_bench.core import cache_use
from target_bench.core.contract import ask_if_paid
from target_bench.core.errors import PluginError
from target_bench.core.observer import Observer
from target_bench.core.prompt_writer import PromptedRequest, PromptWriter
from target_bench.core.schema import Dataset, Generation, GenerationRequest, Query, Retrieval
from target_bench.core.user_code import restore_process, split_user_line
from target_bench.harness.consent import Confirm, estimate_generator
from target_bench.harness.rank import MOST_FAILURES
from target_bench.harness.run_notes import warn_of_reuse
from target_bench.harness.systems import System
from target_bench.models.generator_calls import iterate_answers
from target_bench.runs.record_log import ANSWERS
from target_bench.runs.run import Run
from target_bench.runs.times import StageTime, add_times

_NOT_RETRIEVED = "retrieval: "
"""First words of the error of a query whose tables could not be retrieved."""


def answer(
    run: Run,
    generator: System,
    prompter: PromptWriter,
    n_tables: int,
    dataset: Dataset,
    rankings: Mapping[str, Retrieval],
    observer: Observer,
    confirm: Confirm | None,
) -> dict[str, Generation]:
    """Return query id -> answer: those of the run, and new ones by the generator.

    A failed answer is recorded and the run goes on: it counts as wrong.
    """
    stored = run.read_log(ANSWERS)
    answers = {
        query.id: stored[query.id]
        for query in dataset.queries
        if query.id in stored and _still_holds(stored[query.id], query, generator, rankings)
    }
    todo = [query for query in dataset.queries if query.id not in answers]
    if todo:

        def write_prompts() -> Iterator[PromptedRequest]:
            for query in todo:
                ranking = rankings[query.id]
                if ranking.error is None:
                    tables = prompter.choose_tables(dataset.corpus, ranking.tables[:n_tables])
                    yield prompter.write_prompt(query, tables)

        requests = (prompted.request for prompted in write_prompts())
        label, plugin = generator.label, generator.plugin
        ask_if_paid(plugin, confirm, lambda: estimate_generator(plugin, label, requests))
        run.mark_running()
        _ask_generator(run, generator, todo, write_prompts, rankings, answers, observer)
    if len(todo) < len(dataset.queries):
        warn_of_reuse(generator, observer)
    return {query.id: answers[query.id] for query in dataset.queries}


def _still_holds(
    stored: Generation, query: Query, generator: System, rankings: Mapping[str, Retrieval]
) -> bool:
    """Return whether an answer is kept: also a failure that would be the same again."""
    if stored.error is None:
        return True
    if generator.look_up is not None:  # the run that is looked up in may have gone on since
        return generator.look_up(query).error is not None
    return stored.error.startswith(_NOT_RETRIEVED) and rankings[query.id].error is not None


def _ask_generator(
    run: Run,
    generator: System,
    todo: Sequence[Query],
    write_prompts: Callable[[], Iterable[PromptedRequest]],
    rankings: Mapping[str, Retrieval],
    answers: dict[str, Generation],
    observer: Observer,
) -> None:
    """Log the answer to each query, and record the time; raise if the first all fail.

    ``answers`` holds those of before, and gets the new ones.
    """
    plugin, label = generator.plugin, generator.label
    observer.stage(f"{label}: generate", total=len(todo))
    any_done = any(each.error is None for each in answers.values())
    n_answers, n_asked, any_cached = 0, 0, False
    start, watch = time.perf_counter(), cache_use.CacheWatch()
    try:
        with restore_process(), run.open_to_append(ANSWERS, answers) as append:
            for generation in _generate_answers(generator, todo, write_prompts, rankings, observer):
                append([generation])
                n_answers += 1
                any_cached = any_cached or bool(generation.cached)
                observer.answered(generation)
                observer.advance(1)
                any_done = any_done or generation.error is None
                # a query without tables is no failure of the generator, which is not asked
                n_asked += rankings[generation.query_id].error is None
                # what is looked up fails for a query that a file lacks, and is no fault
                if generator.look_up is None and not any_done and n_asked == MOST_FAILURES:
                    raise _make_fault(label, generation)
    finally:
        cache_use.note_cached_answers(plugin, any_cached)  # before hits are listed
        took = StageTime(time.perf_counter() - start, watch.take_hits(), n_answers)
        stages = {"generate": took} if plugin is not None else {}
        run.write_manifest(**add_times(run.manifest, stages))


def _generate_answers(
    generator: System,
    todo: Sequence[Query],
    write_prompts: Callable[[], Iterable[PromptedRequest]],
    rankings: Mapping[str, Retrieval],
    observer: Observer,
) -> Iterator[Generation]:
    """Yield the answer to each query, in any order, with the rows that its prompt showed."""
    if generator.look_up is not None:
        yield from map(generator.look_up, todo)
        return
    for query in todo:
        error = rankings[query.id].error
        if error is not None:
            yield Generation(query.id, "", error=f"{_NOT_RETRIEVED}{error}")
    unanswered: dict[str, PromptedRequest] = {}

    def draw_requests() -> Iterator[GenerationRequest]:
        for prompted in write_prompts():
            unanswered[prompted.request.query_id] = prompted
            yield prompted.request

    advice = ". Answers before it are kept; run the same command again to resume."
    for generation in iterate_answers(
        generator.plugin, draw_requests(), observer, generator.label, advice
    ):
        prompted = unanswered.pop(generation.query_id)
        yield replace(generation, shown_rows=prompted.shown_rows, truncated=prompted.truncated)


def _make_fault(label: str, generation: Generation) -> PluginError:
    problem, line_of_user = split_user_line(str(generation.error))
    fault = PluginError(
        f"generator {label} failed on the first {MOST_FAILURES} queries; the error of "
        f"{generation.query_id!r} was: {problem}\nFix the generator and run again.{line_of_user}"
    )
    if generation.traceback:
        fault.add_note(generation.traceback)  # --debug and notebooks show it
    return fault
