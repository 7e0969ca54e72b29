"""Answering: every query is answered once from its tables and written to the run folder."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from target_bench.core import cache_use
from target_bench.core.contract import ask_if_paid
from target_bench.core.errors import PluginError
from target_bench.core.observer import Observer
from target_bench.core.prompt_writer import PromptedRequest, PromptWriter
from target_bench.core.schema import Dataset, Generation, GenerationRequest, Query, Retrieval
from target_bench.core.user_code import restore_process, split_user_line
from target_bench.harness.consent import Confirm, estimate_generator
from target_bench.harness.rank import MOST_FAILURES
from target_bench.harness.run_notes import record_start, warn_of_reuse
from target_bench.harness.systems import System
from target_bench.models.generator_calls import iterate_answers
from target_bench.runs.record_log import ANSWERS, Answered
from target_bench.runs.run import Run
from target_bench.runs.times import StageTime, add_times

_NOT_RETRIEVED = "retrieval: "
"""First words of the error of a query whose tables could not be retrieved."""


def answer(
    run: Run,
    generator: System,
    prompter: PromptWriter,
    max_tables: int,
    dataset: Dataset,
    rankings: Mapping[str, Retrieval],
    observer: Observer,
    confirm: Confirm | None,
) -> dict[str, Answered]:
    """Return query id -> answer: those of the run, and new ones by the generator.

    A failed answer is recorded and the run goes on: it counts as wrong.
    """
    plugin, label = generator.plugin, generator.label

    def write_prompts(queries: Iterable[Query]) -> Iterator[PromptedRequest]:
        for query in queries:
            ranking = rankings[query.id]
            if ranking.error is None:
                tables = prompter.choose_tables(dataset.corpus, ranking.tables[:max_tables])
                yield prompter.write_prompt(query, tables)

    def ask(todo: Sequence[Query]) -> Iterator[Answered]:
        if generator.look_up is not None:
            yield from map(generator.look_up, todo)
            return
        for query in todo:
            error = rankings[query.id].error
            if error is not None:
                yield Answered(Generation(query.id, "", error=f"{_NOT_RETRIEVED}{error}"))
        unanswered: dict[str, PromptedRequest] = {}

        def draw_requests() -> Iterator[GenerationRequest]:
            for prompted in write_prompts(todo):
                unanswered[prompted.request.query_id] = prompted
                yield prompted.request

        advice = ". Answers before it are kept; the same command continues the run."
        for answer in iterate_answers(plugin, draw_requests(), observer, label, advice):
            prompted = unanswered.pop(answer.query_id)
            yield Answered(answer, prompted.shown_rows, prompted.truncated)

    def work(
        todo: Sequence[Query], records: Mapping[str, Answered]
    ) -> Iterator[Sequence[Answered]]:
        record_start(run, generator)
        requests = (prompted.request for prompted in write_prompts(todo))
        ask_if_paid(plugin, confirm, lambda: estimate_generator(plugin, label, requests))
        observer.stage(f"{label}: generate", total=len(todo))
        n_answers, n_asked, any_cached = 0, 0, False
        start, watch = time.perf_counter(), cache_use.CacheWatch()
        any_done = any(record.generation.error is None for record in records.values())
        try:
            with restore_process():
                for answered in ask(todo):
                    yield [answered]
                    n_answers += 1
                    any_cached = any_cached or bool(answered.generation.cached)
                    observer.answered(answered.generation)
                    observer.advance(1)
                    any_done = any_done or answered.generation.error is None
                    # a query without tables is no failure of the generator, which is not asked
                    n_asked += rankings[answered.generation.query_id].error is None
                    # what is looked up fails for a query that a file lacks, and is no fault
                    if generator.look_up is None and not any_done and n_asked == MOST_FAILURES:
                        raise _fault(label, answered.generation)
        finally:
            if any_cached:
                cache_use.note_cached_answers(plugin, any_cached=True)
            took = StageTime(time.perf_counter() - start, watch.list_hits(), n_answers)
            stages = {"generate": took} if plugin is not None else {}
            run.write_manifest(**add_times(run.manifest, "timed_answers", stages))

    def keep(stored: dict[str, Answered]) -> dict[str, Answered]:
        """Keep answers, and the failures that would be the same again."""
        queries = {query.id: query for query in dataset.queries}

        def is_kept(query_id: str, error: str | None) -> bool:
            if error is None:
                return True
            if generator.look_up is not None:  # as in a file that lacks an answer
                return generator.look_up(queries[query_id]).generation.error is not None
            return error.startswith(_NOT_RETRIEVED) and rankings[query_id].error is not None

        found = {query_id: each for query_id, each in stored.items() if query_id in queries}
        return {i: each for i, each in found.items() if is_kept(i, each.generation.error)}

    records, n_kept = run.complete(ANSWERS, dataset.queries, work, keep)
    if n_kept:
        warn_of_reuse(run, generator, observer)
    return records


def _fault(label: str, generation: Generation) -> PluginError:
    problem, line_of_user = split_user_line(str(generation.error))
    fault = PluginError(
        f"generator {label} failed on the first {MOST_FAILURES} queries, of "
        f"{generation.query_id!r}: {problem}\nFix the generator and run again.{line_of_user}"
    )
    if generation.traceback:
        fault.add_note(generation.traceback)  # --debug and notebooks show it
    return fault
