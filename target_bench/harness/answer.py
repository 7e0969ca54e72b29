"""Answering: every query is answered once from its tables and written to the run folder."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from target_bench.core import cache_use
from target_bench.core.contract import (
    Generator,
    ask_if_paid,
    find_fault,
    iterate_guarded,
    make_failed_generation,
    plugin_errors,
)
from target_bench.core.credentials import mask_answer, without_secrets
from target_bench.core.errors import PASSED_ON, PluginError, TargetBenchError
from target_bench.core.observer import Observer
from target_bench.core.prompt_writer import Prompted, PromptWriter
from target_bench.core.schema import Dataset, Generation, GenerationRequest, Query, Retrieval
from target_bench.core.user_code import process_restored, shown, split_place
from target_bench.harness.consent import Confirm, estimate_generator
from target_bench.harness.rank import MOST_FAILURES
from target_bench.harness.run_notes import begin_work, repeat_notes, warn_of_reuse
from target_bench.harness.systems import GeneratorLike, System
from target_bench.models.prompts.prompting import may_repair
from target_bench.runs.record_log import ANSWERS, Answered
from target_bench.runs.store import Run
from target_bench.runs.times import Took, add_times

_NOT_RETRIEVED = "retrieval: "
"""First words of the error of a query whose tables could not be retrieved."""


def answer(
    run: Run,
    generator: System,
    prompter: PromptWriter,
    depth: int,
    dataset: Dataset,
    rankings: Mapping[str, Retrieval],
    observer: Observer,
    confirm: Confirm | None,
) -> tuple[dict[str, Answered], bool]:
    """Return the answer to every query, and whether all of them were there already.

    A failed answer is recorded and the run goes on: it counts as wrong.
    """
    plugin, label = generator.plugin, generator.label
    repairs = may_repair(prompter, plugin)

    def prompts(queries: Iterable[Query]) -> Iterator[Prompted]:
        for query in queries:
            ranking = rankings[query.id]
            if ranking.error is None:
                tables = prompter.tables(dataset.corpus, ranking.tables[:depth])
                yield prompter.prompted(query, tables)

    def answers(todo: Sequence[Query]) -> Iterator[Answered]:
        """Yield the answers; those that cannot be right are asked for a second time."""
        if generator.records is not None:
            yield from map(generator.records, todo)
            return
        for query in todo:
            error = rankings[query.id].error
            if error is not None:
                yield Answered(Generation(query.id, "", error=f"{_NOT_RETRIEVED}{error}"))
        again: dict[str, tuple[Prompted, Answered]] = {}
        for prompted, answered in ask_generator(plugin, label, prompts(todo), observer):
            second = prompter.repaired(prompted, answered.generation) if repairs else None
            if second is None:
                yield answered
            else:
                again[answered.generation.query_id] = second, answered
        if not again:
            return
        # No estimate counted the second requests whose first answer was recorded.
        unannounced = [p.request for p, first in again.values() if first.generation.cached]
        ask_if_paid(plugin, confirm, lambda: estimate_generator(plugin, label, unannounced))
        seconds = (second for second, _ in again.values())
        for prompted, answered in ask_generator(plugin, label, seconds, observer):
            yield _add_second(again[prompted.request.query_id][1], answered)

    def work(
        todo: Sequence[Query], records: Mapping[str, Answered]
    ) -> Iterator[Sequence[Answered]]:
        begin_work(run, generator, dataset)
        repeat_notes(run, label, observer)
        requests = (prompted.request for prompted in prompts(todo))
        ask_if_paid(plugin, confirm, lambda: estimate_generator(plugin, label, requests, repairs))
        observer.stage(f"{label}: generate", total=len(todo))
        n, n_asked, any_cached = 0, 0, False
        start, watch = time.perf_counter(), cache_use.CacheWatch()
        any_done = any(record.generation.error is None for record in records.values())
        try:
            with process_restored():
                for answered in answers(todo):
                    yield [answered]
                    n += 1
                    any_cached = any_cached or bool(answered.generation.cached)
                    observer.answered(answered.generation)
                    observer.advance(1)
                    any_done = any_done or answered.generation.error is None
                    # a query without tables is no failure of the generator, which is not asked
                    n_asked += rankings[answered.generation.query_id].error is None
                    if not any_done and n_asked == MOST_FAILURES:
                        raise _fault(label, answered.generation)
        finally:
            if any_cached:
                cache_use.record_answers(plugin, any_cached=True)
            took = Took(time.perf_counter() - start, watch.used(), n)
            stages = {"generate": took} if plugin is not None else {}
            run.write_manifest(**add_times(run.manifest, "timed_answers", stages))

    def keep(stored: dict[str, Answered]) -> dict[str, Answered]:
        """Ask failures again, but where the tables of a query are still missing."""
        missing = {query_id for query_id, ranking in rankings.items() if ranking.error is not None}

        def is_asked_again(generation: Generation) -> bool:
            error, query_id = generation.error, generation.query_id
            lacked_tables = error is not None and error.startswith(_NOT_RETRIEVED)
            return error is not None and not (lacked_tables and query_id in missing)

        return {i: each for i, each in stored.items() if not is_asked_again(each.generation)}

    records, n_kept = run.complete(ANSWERS, dataset.queries, work, keep)
    if n_kept:
        warn_of_reuse(run, generator, observer)
    return records, n_kept == len(dataset.queries)


def _fault(label: str, generation: Generation) -> PluginError:
    problem, line_of_user = split_place(str(generation.error))
    fault = PluginError(
        f"generator {label} failed on the first {MOST_FAILURES} queries, of "
        f"{generation.query_id!r}: {problem}\nFix the generator and run again.{line_of_user}"
    )
    if generation.traceback:
        fault.add_note(generation.traceback)  # --debug and notebooks show it
    return fault


def ask_generator(
    generator: GeneratorLike, label: str, prompts: Iterator[Prompted], observer: Observer
) -> Iterator[tuple[Prompted, Answered]]:
    """Yield prompts with the answers of a generator as they come, held to its contract.

    Raises:
        PluginError: ``generate_many`` raised, or gave what answers no open request.
    """
    own = getattr(type(generator), "generate_many", Generator.generate_many)
    if own is Generator.generate_many:
        yield from ((prompted, _ask_alone(generator, prompted)) for prompted in prompts)
        return
    waiting: dict[str, Prompted] = {}

    def draw() -> Iterator[GenerationRequest]:
        for prompted in prompts:
            waiting[prompted.request.query_id] = prompted
            yield prompted.request

    requests, name = draw(), f"generator {label}"
    kept = ". Answers before it are kept; the same command continues the run."
    with plugin_errors(name, "generate_many", kept):
        many = generator.generate_many(requests, observer)  # type: ignore[attr-defined]  # it has one of its own
    for generation in iterate_guarded(many, name, "generate_many", kept):
        if not isinstance(generation, Generation) or generation.query_id not in waiting:
            raise PluginError(
                f"{name}: generate_many gave {shown(generation)}, which is no Generation for a "
                "request that is open"
            )
        prompted = waiting.pop(generation.query_id)
        yield prompted, _check_answer(generation, prompted)
    for _ in requests:  # those it did not care to draw
        pass
    for query_id, prompted in waiting.items():
        missing = Generation(query_id, "", error="missing: no answer was given")
        yield prompted, _check_answer(missing, prompted)


def _ask_alone(generator: GeneratorLike, prompted: Prompted) -> Answered:
    query_id = prompted.request.query_id
    start = time.perf_counter()
    try:
        answer: Any = generator.generate(prompted.request)
    except (*PASSED_ON, TargetBenchError):
        raise
    except BaseException as error:
        return _check_answer(make_failed_generation(query_id, error), prompted)
    if isinstance(answer, str):
        answer = Generation(query_id, answer, seconds=round(time.perf_counter() - start, 6))
    problem = None
    if not isinstance(answer, Generation):
        problem = f"generate returned {shown(answer)}, not text or a Generation of it"
    elif answer.query_id != query_id:
        problem = f"its query_id is {shown(answer.query_id)}; pass on request.query_id"
    if problem is not None:
        answer = Generation(query_id, "", error=f"contract: {problem}")
    return _check_answer(answer, prompted)


def _check_answer(generation: Generation, prompted: Prompted) -> Answered:
    problem = find_fault(generation)
    if problem:
        query_id = prompted.request.query_id
        generation = Generation(query_id, "", error=f"contract: no Generation: {problem}")
    if generation.error is not None:  # words of others: a server may repeat the key it was sent
        trace = generation.traceback and without_secrets(generation.traceback)
        masked = without_secrets(generation.error)
        generation = replace(generation, error=masked, traceback=trace)
    text = mask_answer(generation.text)
    if text != generation.text:
        generation = replace(generation, text=text)
    return Answered(generation, prompted.shown_rows, prompted.truncated)


def _add_second(first: Answered, second: Answered) -> Answered:
    """Return the second answer, or the first if the second failed, with what both took."""
    earlier, later = first.generation, second.generation
    took: dict[str, Any] = {}
    for name in ("input_tokens", "output_tokens", "cost", "seconds"):
        both = getattr(earlier, name), getattr(later, name)
        took[name] = None if None in both else sum(both)
    if later.error is None:
        return second._replace(generation=replace(later, **took))
    counted = {name: sum_ for name, sum_ in took.items() if sum_ is not None}
    return first._replace(generation=replace(earlier, **counted))
