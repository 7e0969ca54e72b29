"""The contract of a task as checks, on queries with references."""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, get_args
from unittest import SkipTest

from target_bench.core.metric import Metric, score_of
from target_bench.core.metric_function import metric_of
from target_bench.core.prompt_writer import PromptOptions
from target_bench.core.schema import AnswerKind, Dataset, Generation, Judgement, Query, Retrieval
from target_bench.core.task import (
    AnswerJudge,
    Outputs,
    Predictions,
    SummaryBlock,
    TableSource,
    Task,
    has_reference,
)
from target_bench.core.task_names import make_task
from target_bench.data.load import load, of_task
from target_bench.testing.checks import (
    Check,
    CheckError,
    Contract,
    Report,
    calling,
    checks_of,
    expect,
    run,
)

_QUERIES = 20
_DEPTH = 10

MOST_JUDGED = 9 * _QUERIES
"""How many answers all checks together have judged, at most."""


def check_task(task: Callable[..., Task[Any]] | str, *arguments: Any, **options: Any) -> Report:
    """Run ``task_checks``: return the report, or raise one ``CheckError`` of all faults."""
    return run(task, task_checks(task, *arguments, **options)).raise_failures()


def task_checks(
    task: Callable[..., Task[Any]] | str,
    dataset: Dataset | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    skip: Mapping[str, str] | None = None,
) -> list[Check]:
    """Return the checks of a task, one by one.

    Args:
        task: its class, or a name with settings as on the command line (``qa``,
            ``my_file.py:Mine``).
        dataset: queries with references of the task; default: the corpus ``mini``.
        settings: arguments for the class.
        skip: names of checks to leave out, each with the reason, which the report shows.

    Raises:
        ConfigError: an unknown name or setting, or a dataset without queries of the task.
    """
    make = partial(make_task, task) if isinstance(task, str) else partial(task, **settings or {})
    return checks_of(TASK, TaskCase(make, of_task(dataset or load("mini"), make())), skip)


class TaskCase:
    """A task under test, with queries of it.

    Args:
        make: makes the task, a new one each time.
        dataset: queries, references and tables.
    """

    def __init__(self, make: Callable[[], Task[Any]], dataset: Dataset) -> None:
        self.make, self._dataset = make, dataset

    @property
    def scored(self) -> Dataset:
        """The first queries that have a reference; fails if there is none."""
        task = self.make()
        queries = tuple(query for query in self._dataset.queries if has_reference(task, query))
        if not queries:
            raise CheckError(
                f"no query of {self._dataset.info.name} has a reference: pass a dataset with "
                "queries of the task"
            )
        return replace(self._dataset, queries=queries[:_QUERIES])

    def metrics(self) -> list[Metric[Any]]:
        """Return its metrics."""
        task = self.make()
        with calling("metrics"):
            listed = task.metrics(self.scored.queries, [_DEPTH] if task.answer == "ranking" else [])
            return [metric_of(each) for each in listed]

    def scores(self, answer: "_Answer") -> dict[str, float]:
        """Return metric name -> its value over answers that are made in some way."""
        task = self.make()
        outputs = outputs_of(task, self.scored, answer)
        with calling("examples"):
            examples = task.examples(*outputs)
        values = {}
        for metric in self.metrics():
            with calling(f"the metric {metric.name}"):
                inputs = outputs if metric.reads_outputs else examples
                values[metric.name] = score_of(metric, metric.statistics(inputs))
        return values

    def leading(self, scores: Mapping[str, float]) -> str:
        """Return the metric that says whether an answer is right, else the first one."""
        deciding = [m.name for m in self.metrics() if m.spec.decides and m.name in scores]
        return next(iter(deciding or scores))


def attributes(case: TaskCase) -> None:
    """Its attributes are of the kinds that the contract names, and its settings are steady."""
    task = case.make()
    expect(
        task.name.isidentifier() and task.name == task.name.lower(),
        f"name={task.name!r}: expected a Python identifier in lower case",
    )
    expect(task.title.strip(), "title is empty: give the name of the task for people")
    for name, value, kinds in (
        ("answer", task.answer, get_args(AnswerKind)),
        ("source", task.source, get_args(TableSource)),
    ):
        expect(value in kinds, f"{name}={value!r}: expected one of {', '.join(kinds)}")
    expect(
        task.judge is None or isinstance(task.judge, AnswerJudge),
        f"judge is {task.judge!r:.80}: expected an AnswerJudge, or None",
    )
    listed, again = task.settings(), case.make().settings()
    expect(
        listed == again and all(isinstance(setting, str) for setting in listed),
        f"settings() gave {listed!r} and {again!r}: expected the same list of texts",
    )


def references(case: TaskCase) -> None:
    """The references of the dataset are valid."""
    with calling("check", "Correct the data, or what check expects of them."):
        case.make().check(case.scored)


def metrics(case: TaskCase) -> None:
    """It has metrics, each with its own name and signature, the same each time."""
    listed, again = ([(m.name, m.signature) for m in case.metrics()] for _ in range(2))
    expect(listed, "metrics() is empty: name at least one metric")
    expect(listed == again, f"metrics() gave {listed!r}, then {again!r}")
    names = [name for name, _ in listed]
    expect(len({*names}) == len(names), f"metrics() has a name twice: {', '.join(names)}")


def bounds(case: TaskCase) -> None:
    """The metric that decides gives references its highest value, and empty answers less.

    Where no metric decides, the first one gives references more than empty answers.
    """
    best, worst = case.scores(gold), case.scores(empty)
    main = case.leading(best)
    metric = next(m for m in case.metrics() if m.name == main)
    highest = metric.highest
    expect(
        not metric.spec.decides or abs(best[main] - highest) <= 1e-6,
        f"the references themselves score {main}={best[main]:g}, not {highest:g}",
    )
    expect(
        worst[main] < best[main],
        f"empty answers score {main}={worst[main]:g}, as the references do",
    )


def failures(case: TaskCase) -> None:
    """A failed answer scores as an empty one, regardless of its text."""
    if case.make().answer == "ranking":
        raise SkipTest("an answer is a ranking")
    failed, blank = case.scores(_failed), case.scores(empty)
    main = case.leading(blank)
    expect(
        failed[main] <= blank[main],
        f"answers that failed score {main}={failed[main]:g}, empty ones {blank[main]:g}: a "
        "Generation with an error holds no answer",
    )


def judging(case: TaskCase) -> None:
    """Judging twice gives the same, and what is judged is not judged again."""
    task, dataset = case.make(), case.scored
    if task.judge is None:
        raise SkipTest("it does not judge")
    generations = _answers(dataset, gold)
    judged, again = (_judged(case.make(), dataset, generations) for _ in range(2))
    differing = [query_id for query_id in judged if judged[query_id] != again.get(query_id)]
    expect(not differing, f"the answers to {differing} were judged in two ways")
    rest = task.judge.unjudged(dataset, generations, {}, judged)
    expect(not rest, f"unjudged() names {[q.id for q in rest]}, which were judged a moment ago")


def report(case: TaskCase) -> None:
    """It reads a value from each answer; its report is JSON, its summary a line per block."""
    task, dataset = case.make(), case.scored
    for answer in (gold, empty):
        examples = task.examples(*outputs_of(task, dataset, answer))
        n, values = len(dataset.queries), task.parsed(examples)
        expect(len(values) in (0, n), f"parsed() has {len(values)} entries for {n} answers")
        with calling("report", "Give values that JSON has: texts, numbers, lists, objects."):
            report = json.loads(json.dumps(task.report(dataset, examples), allow_nan=False))
        for block in task.view.summary(report) if report else ():
            expect(
                isinstance(block, SummaryBlock) and "\n" not in str(block),
                f"summary() gave {block!r:.200}: expected blocks of one line",
            )


def prompts(case: TaskCase) -> None:
    """It has a prompt, with tables and without, that says what is asked; its identity is JSON."""
    from target_bench.models.prompts.prompting import prompt_file, writer_of

    task, dataset = case.make(), case.scored
    if task.answer == "ranking":
        raise SkipTest("an answer is a ranking")
    with calling("the prompt", f"Put the templates into {prompt_file(task)}."):
        writer = writer_of(task, PromptOptions(), dataset.databases, follows_schema=True)
        json.dumps(writer.identity)
    query, *others = dataset.queries
    for ranking in (query.gold, ()):
        tables = writer.tables(dataset.corpus, ranking)
        first, *rest = (
            writer.prompted(each, tables).request.messages
            for each in (query, *(other for other in others if other.text != query.text))
        )
        expect(
            first not in rest,
            f"the prompt with {len(tables)} tables is the same for another query: it does not "
            "say what is asked",
        )


TASK: Contract = (
    attributes,
    references,
    metrics,
    bounds,
    failures,
    judging,
    report,
    prompts,
)


_Answer = Callable[[Query], Generation]


def gold(query: Query) -> Generation:
    """Answer with the reference."""
    return Generation(query.id, query.references[0])


def empty(query: Query) -> Generation:
    """Answer with the empty text."""
    return Generation(query.id, "")


def _failed(query: Query) -> Generation:
    return Generation(query.id, query.references[0], error="raised: a test")


def outputs_of(task: Task[Any], dataset: Dataset, answer: _Answer) -> Outputs:
    """Return what a system would give that answers each query so, judged where the task judges.

    Of a task about rankings ``gold`` ranks the gold tables, and any other answer nothing.
    """
    if task.answer == "ranking":
        ranked = {q.id: Retrieval(q.id, q.gold if answer is gold else ()) for q in dataset.queries}
        return Outputs(dataset, Predictions(rankings=ranked, depth=_DEPTH))
    answers = _answers(dataset, answer)
    judgements = _judged(task, dataset, answers) if task.judge is not None else {}
    return Outputs(dataset, Predictions({}, answers, judgements))


def _answers(dataset: Dataset, answer: _Answer) -> dict[str, Generation]:
    return {query.id: answer(query) for query in dataset.queries}


def _judged(
    task: Task[Any], dataset: Dataset, answers: Mapping[str, Generation]
) -> dict[str, Judgement]:
    assert task.judge is not None
    with (
        calling("judge"),
        closing(task.judge.judged(dataset.queries, dataset, answers, {})) as judging,
    ):
        return {judgement.query_id: judgement for judgement in judging}
