"""The generation stage: every query is answered once and written to the run folder."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from target_bench.core import cache_use
from target_bench.core.contract import (
    Generator,
    ask_if_paid,
    check_generator,
    failed_generation,
    generation_fault,
    plugin_errors,
    yielded,
)
from target_bench.core.credentials import answer_without_secrets, masked_settings, without_secrets
from target_bench.core.errors import PASSED_ON, PluginError, TargetBenchError
from target_bench.core.identity import (
    object_label,
    plugin_identity,
    used_packages,
)
from target_bench.core.observer import Observer
from target_bench.core.prompt_writer import Prompted, PromptWriter
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Generation, GenerationRequest, Query, Retrieval
from target_bench.core.settings import named
from target_bench.core.task import Task, has_reference
from target_bench.core.user_code import process_restored, shown, split_place
from target_bench.harness.stages.consent import of_generator
from target_bench.harness.stages.recorded import Stage
from target_bench.harness.stages.retrieve import MOST_FAILURES, Experiment
from target_bench.models.original_classes import adapted, created
from target_bench.runs.record_log import ANSWERS, Answered
from target_bench.runs.store import Run
from target_bench.runs.times import Took, with_times


class GeneratorLike(Protocol):
    """The one method that makes any object a generator."""

    def generate(self, request: GenerationRequest) -> Generation | str:
        """Return the answer to one request."""


Answer = Callable[[Query], Answered]
"""query -> its answer, where no generator is asked."""


@dataclass(frozen=True, slots=True)
class AnswerMode:
    """Answers without a generator: what they are for, and where they come from."""

    description: str
    answer: Callable[[Task[Any], Query], Answered]


def _gold(task: Task[Any], query: Query) -> Answered:
    known = has_reference(task, query)
    return Answered(Generation(query.id, query.references[0] if known else ""))


GOLD = "gold"

ANSWER_MODES = {
    GOLD: AnswerMode("The reference answers: upper bound.", _gold),
    "empty": AnswerMode(
        "No answer: lower bound.", lambda _, query: Answered(Generation(query.id, ""))
    ),
}


_NOT_RETRIEVED = "retrieval: "
"""First words of the error of a query whose tables could not be retrieved."""


@dataclass(frozen=True)
class GeneratorSpec:
    """Generator to evaluate.

    Attributes:
        label: the generator as it was asked for, or the name of a mode.
        identity: all of it that can change an answer.
        generator: the generator, if there is one.
        answer: where the answers come from, if no request is sent.
        prompt: what identifies the prompt of those answers, if it is not the one of this run.
        name: what the user calls it; None without a name.
        packages: package -> version of those that it, and the judging of its answers, use.
    """

    label: str
    identity: Mapping[str, Any]
    generator: GeneratorLike | None = None
    answer: Answer | None = None
    prompt: Mapping[str, Any] | None = None
    name: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_gold(self) -> bool:
        """Whether references are the answers."""
        return self.identity == {"mode": GOLD}


@dataclass(frozen=True)
class AnswerPlan:
    """Plan of answering the queries of an experiment.

    Attributes:
        task: a task that is about answers.
        generator: what answers.
        prompter: what it is asked with.
        depth: how many tables stand in a prompt.
        written: task and prompt options as they were asked for, for the manifest.
    """

    task: Task[Any]
    generator: GeneratorSpec
    prompter: PromptWriter
    depth: int
    written: Mapping[str, Any]


class GenerateStage(Stage):
    """Answers the queries that a run folder does not hold yet.

    A failed answer is recorded and the stage goes on: it counts as wrong.

    Args:
        plan: what answers, and what it is asked with.
        experiment: tables and queries, and the options of the run.
        retrievals: query id -> its tables.
        store: the run folder.
    """

    def __init__(
        self,
        plan: AnswerPlan,
        experiment: Experiment,
        retrievals: Mapping[str, Retrieval],
        store: Run,
    ) -> None:
        spec, dataset = plan.generator, experiment.dataset
        super().__init__(
            store, dataset, experiment.observer, spec.label, spec.packages, spec.generator
        )
        self.spec, self.prompter, self.depth = spec, plan.prompter, plan.depth
        self.retrievals, self.confirm = retrievals, experiment.confirm
        note_queries = getattr(spec.generator, "note_queries", None)
        if note_queries is not None:  # ``replay`` tells queries of one id apart
            note_queries(dataset.queries, experiment.options.limit is not None)

    def run(self) -> tuple[dict[str, Answered], bool]:
        """Return the answers to all queries, and whether all of them were there already."""
        stored = self.store.read(ANSWERS)
        if stored:
            self.note_reuse()
        done = {
            query.id: stored[query.id]
            for query in self.dataset.queries
            if query.id in stored and not self._asked_again(stored[query.id].generation)
        }
        todo = [query for query in self.dataset.queries if query.id not in done]
        if not todo and self.store.manifest.seconds:
            return done, True
        self.begin()
        self.repeat_notes()
        generator = self.spec.generator
        requests = (prompted.request for prompted in self._prompts(todo))
        ask_if_paid(
            generator,
            self.confirm,
            lambda: of_generator(generator, self.spec.label, requests, self._may_repair()),
        )
        answers = done | self._answer(todo, any(a.generation.error is None for a in done.values()))
        return {query.id: answers[query.id] for query in self.dataset.queries}, not todo

    def _asked_again(self, generation: Generation) -> bool:
        """Whether a failure is asked again: always, but where its tables are still not there."""
        if generation.error is None:
            return False
        retrieval = self.retrievals.get(generation.query_id)
        retrieved = retrieval is not None and retrieval.error is None
        return retrieved or not generation.error.startswith(_NOT_RETRIEVED)

    def _may_repair(self) -> bool:
        from target_bench.models.prompts.prompting import may_repair

        return may_repair(self.prompter, self.spec.generator)

    def _prompts(self, queries: Sequence[Query]) -> Iterator[Prompted]:
        for query in queries:
            retrieval = self.retrievals[query.id]
            if retrieval.error is None:
                ranking = retrieval.tables[: self.depth]
                tables = self.prompter.tables(self.dataset.corpus, ranking)
                yield self.prompter.prompted(query, tables)

    def _fault(self, generation: Generation) -> PluginError:
        problem, line_of_user = split_place(str(generation.error))
        fault = PluginError(
            f"generator {self.spec.label} failed on the first {MOST_FAILURES} queries, of "
            f"{generation.query_id!r}: {problem}\nFix the generator and run again.{line_of_user}"
        )
        if generation.traceback:
            fault.add_note(generation.traceback)  # --debug and notebooks show it
        return fault

    def _answer(self, todo: Sequence[Query], any_done: bool) -> dict[str, Answered]:
        self.observer.stage(f"{self.spec.label}: generate", total=len(todo))
        answers: dict[str, Answered] = {}
        start = time.perf_counter()
        watch = cache_use.CacheWatch()
        try:
            with ANSWERS.log(self.store.folder) as append, process_restored():
                for answered in self._answers(todo):
                    append([answered])
                    answers[answered.generation.query_id] = answered
                    self.observer.answered(answered.generation)
                    self.observer.advance(1)
                    any_done = any_done or answered.generation.error is None
                    if not any_done and len(answers) == MOST_FAILURES:
                        raise self._fault(answered.generation)
        finally:
            stages = {}
            if self.spec.generator is not None:
                cached = any(a.generation.cached for a in answers.values())
                if cached:
                    cache_use.record_answers(self.spec.generator, any_cached=True)
                took = Took(time.perf_counter() - start, watch.used(), len(answers))
                stages = {"generate": took}
            self.store.write_manifest(**with_times(self.store.manifest, "timed_answers", stages))
        return answers

    def _answers(self, todo: Sequence[Query]) -> Iterator[Answered]:
        """Yield the answers; those that cannot be right are asked for a second time."""
        if self.spec.answer is not None:
            yield from map(self.spec.answer, todo)
            return
        generator, label = self.spec.generator, self.spec.label
        assert generator is not None
        for query in todo:
            error = self.retrievals[query.id].error
            if error is not None:
                yield Answered(Generation(query.id, "", error=f"{_NOT_RETRIEVED}{error}"))
        repairs = self._may_repair()
        again: dict[str, tuple[Prompted, Answered]] = {}
        for prompted, answered in answers_of(generator, label, self._prompts(todo), self.observer):
            generation = answered.generation
            second = self.prompter.repaired(prompted, generation) if repairs else None
            if second is None:
                yield answered
            else:
                again[generation.query_id] = second, answered
        if not again:
            return
        # No estimate counted the second requests whose first answer was recorded.
        unannounced = (
            second.request for second, first in again.values() if first.generation.cached
        )
        ask_if_paid(generator, self.confirm, lambda: of_generator(generator, label, unannounced))
        prompts = (second for second, _ in again.values())
        for prompted, answered in answers_of(generator, label, prompts, self.observer):
            yield _second(again[prompted.request.query_id][1], answered)


def answers_of(
    generator: GeneratorLike, label: str, prompts: Iterator[Prompted], observer: Observer
) -> Iterator[tuple[Prompted, Answered]]:
    """Yield prompts with the answers of a generator as they come, held to its contract.

    Raises:
        PluginError: ``generate_many`` raised, or gave what answers no open request.
    """
    own = getattr(type(generator), "generate_many", Generator.generate_many)
    if own is Generator.generate_many:
        yield from ((prompted, _answer_alone(generator, prompted)) for prompted in prompts)
        return
    waiting: dict[str, Prompted] = {}

    def drawn() -> Iterator[GenerationRequest]:
        for prompted in prompts:
            waiting[prompted.request.query_id] = prompted
            yield prompted.request

    requests, name = drawn(), f"generator {label}"
    kept = ". Answers before it are kept; the same command continues the run."
    with plugin_errors(name, "generate_many", kept):
        many = generator.generate_many(requests, observer)  # type: ignore[attr-defined]  # it has one of its own
    for generation in yielded(many, name, "generate_many", kept):
        if not isinstance(generation, Generation) or generation.query_id not in waiting:
            raise PluginError(
                f"{name}: generate_many gave {shown(generation)}, which is no Generation for a "
                "request that is open"
            )
        prompted = waiting.pop(generation.query_id)
        yield prompted, _answered(generation, prompted)
    for _ in requests:  # those it did not care to draw
        pass
    for query_id, prompted in waiting.items():
        missing = Generation(query_id, "", error="missing: no answer was given")
        yield prompted, _answered(missing, prompted)


def _answer_alone(generator: GeneratorLike, prompted: Prompted) -> Answered:
    query_id = prompted.request.query_id
    start = time.perf_counter()
    try:
        answer: Any = generator.generate(prompted.request)
    except (*PASSED_ON, TargetBenchError):
        raise
    except BaseException as error:
        return _answered(failed_generation(query_id, error), prompted)
    if isinstance(answer, str):
        answer = Generation(query_id, answer, seconds=round(time.perf_counter() - start, 6))
    problem = None
    if not isinstance(answer, Generation):
        problem = f"generate returned {shown(answer)}, not text or a Generation of it"
    elif answer.query_id != query_id:
        problem = f"its query_id is {shown(answer.query_id)}; pass on request.query_id"
    if problem is not None:
        answer = Generation(query_id, "", error=f"contract: {problem}")
    return _answered(answer, prompted)


def _answered(generation: Generation, prompted: Prompted) -> Answered:
    problem = generation_fault(generation)
    if problem:
        query_id = prompted.request.query_id
        generation = Generation(query_id, "", error=f"contract: no Generation: {problem}")
    if generation.error is not None:  # words of others: a server may repeat the key it was sent
        trace = generation.traceback and without_secrets(generation.traceback)
        masked = without_secrets(generation.error)
        generation = replace(generation, error=masked, traceback=trace)
    text = answer_without_secrets(generation.text)
    if text != generation.text:
        generation = replace(generation, text=text)
    return Answered(generation, prompted.shown_rows, prompted.truncated)


def _second(first: Answered, second: Answered) -> Answered:
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


def generator_spec(
    generator: GeneratorLike | GeneratorSpec | str,
    task: Task[Any],
    options: RunConfig,
    observer: Observer,
) -> GeneratorSpec:
    """Make the generator of a task's answers.

    Args:
        generator: a generator, its name as on the command line, or a spec, which is returned.
        task: what the answers are for.
        options: what prompts are made of; a prompt that a generator may not read is warned of.
        observer: gets warnings.

    Raises:
        ConfigError: an unknown name, an invalid setting, or the object is not a generator.
    """
    name, generator = named(generator)
    if isinstance(generator, GeneratorSpec):
        return generator
    if isinstance(generator, str) and generator in ANSWER_MODES:
        answer, converses = partial(ANSWER_MODES[generator].answer, task), False
        spec = GeneratorSpec(generator, {"mode": generator}, answer=answer, name=name)
    else:
        text = generator if isinstance(generator, str) else None
        label = text or type(generator).__name__
        if isinstance(generator, str):
            generator = created("generator", generator, other_names=ANSWER_MODES)
        plugin = adapted("generator", check_generator(generator))
        with plugin_errors(f"generator {masked_settings(label)}", "what identifies it"):
            identity, warning = plugin_identity(plugin)
            label = text or object_label(generator, identity)
        if warning:
            observer.warning(warning)
        converses, packages = getattr(plugin, "converses", True), used_packages(plugin, task)
        label = masked_settings(label)
        spec = GeneratorSpec(label, identity, generator=plugin, name=name, packages=packages)
    if options.prompt is not None and not converses:
        observer.warning(
            f"nothing says that {spec.label} reads prompts (converses = True), so "
            f"{options.prompt} may change none of its answers"
        )
    return spec
