"""The contract of a task as a list of checks."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args
from unittest import SkipTest

from target_bench.core import registry, unknown_names
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError
from target_bench.core.metric import Metric
from target_bench.core.metric_function import metric_of
from target_bench.core.prompt_writer import PromptOptions
from target_bench.core.schema import AnswerKind, Dataset, Generation, Judgement, Query, Retrieval
from target_bench.core.task import Outputs, Predictions, SummaryBlock, TableSource, Task
from target_bench.data.select import load, make_task, of_task
from target_bench.testing.checks import Check, CheckError, Report, calling, promise, run

_QUERIES = 20
MOST_JUDGED = 10 * _QUERIES
"""How many answers all checks together have judged, at most."""

_DEPTH = 10


@dataclass(frozen=True)
class TaskCase:
    """A task under test, with queries of it.

    Attributes:
        make: makes the task, a new one each time.
        dataset: queries, references and tables.
    """

    make: Callable[[], Task[Any]]
    dataset: Dataset

    @property
    def scored(self) -> Dataset:
        """The first queries that have a reference.

        Raises:
            CheckError: there is none.
        """
        task = self.make()
        queries = [query for query in self.dataset.queries if task.has_reference(query)]
        if not queries:
            raise CheckError(
                f"no query of {self.dataset.info.name} has a reference: pass a dataset with "
                "queries of the task, or correct has_reference"
            )
        return replace(self.dataset, queries=tuple(queries[:_QUERIES]))


def check_attributes(case: TaskCase) -> None:
    """Check that its attributes are of the kinds that the contract names."""
    task = case.make()
    if not (task.name.isidentifier() and task.name == task.name.lower()):
        raise CheckError(f"name={task.name!r}: expected a Python identifier in lower case")
    if not task.title.strip():
        raise CheckError("title is empty: give the name of the task for people")
    for name, value, kinds in (
        ("answer", task.answer, AnswerKind),
        ("source", task.source, TableSource),
    ):
        if value not in get_args(kinds):
            raise CheckError(f"{name}={value!r}: expected one of {', '.join(get_args(kinds))}")
    if task.judges and type(task).judge is Task.judge:
        raise CheckError("judges=True, but there is no method judge (and unjudged)")


def check_names(case: TaskCase) -> None:
    """Check that its name, title and aliases are of no other task."""
    task = case.make()
    own = {registry.normalise(one) for one in (task.name, task.title, *task.aliases)}
    for name in registry.names("task"):
        other = registry.resolve("task", name)
        names = {registry.normalise(one) for one in (name, other.title, *other.aliases)}
        if other.name != task.name and own & names:
            raise CheckError(f"{min(own & names)!r} is a name of the task {name}: choose another")


def check_settings(case: TaskCase) -> None:
    """Check that two tasks with the same settings have the same identity."""
    one, other = case.make().settings(), case.make().settings()
    if one != other or not all(isinstance(setting, str) for setting in one):
        raise CheckError(f"settings() gave {one!r} and {other!r}: expected the same list of texts")


def check_references(case: TaskCase) -> None:
    """Check that the references of the dataset are valid."""
    with calling("check", "Correct the data, or what check expects of them."):
        case.make().check(case.scored)


def check_metrics(case: TaskCase) -> None:
    """Check that it has metrics, each with its own name and signature, the same each time."""
    found = [[(m.name, m.signature) for m in _metrics(case)] for _ in range(2)]
    if not found[0]:
        raise CheckError("metrics() is empty: name at least one metric")
    if found[0] != found[1]:
        raise CheckError(f"metrics() gave {found[0]!r}, then {found[1]!r}")
    names = [name for name, _ in found[0]]
    if len(set(names)) < len(names):
        raise CheckError(f"metrics() has a name twice: {', '.join(names)}")
    outcome = case.make().outcome
    if outcome is not None and outcome not in names:
        raise CheckError(f"outcome={outcome!r} is not among the metrics: {', '.join(names)}")


def check_bounds(case: TaskCase) -> None:
    """Check that references score best, and empty answers are worse, by every metric."""
    best, worst = _scores(case, _gold), _scores(case, _empty)
    main = case.make().outcome or next(iter(best))
    highest = next(m.highest for m in _metrics(case) if m.name == main)
    if abs(best[main] - highest) > 1e-6:
        raise CheckError(f"the references themselves score {main}={best[main]:g}, not {highest:g}")
    if not worst[main] < best[main]:
        raise CheckError(f"empty answers score {main}={worst[main]:g}, as the references do")


def check_failures(case: TaskCase) -> None:
    """Check that a failed answer scores as an empty one, regardless of its text."""
    if case.make().ranks:
        raise SkipTest("an answer is a ranking")
    failed, empty = _scores(case, _failed), _scores(case, _empty)
    main = case.make().outcome or next(iter(empty))
    if failed[main] > empty[main]:
        raise CheckError(
            f"answers that failed score {main}={failed[main]:g}, empty ones {empty[main]:g}: a "
            "Generation with an error holds no answer"
        )


def check_parsed(case: TaskCase) -> None:
    """Check that what is read has an entry for each answer."""
    task, dataset = case.make(), case.scored
    read = task.parsed(task.examples(dataset, _predictions(task, dataset, _gold)))
    if len(read) not in (0, len(dataset.queries)):
        raise CheckError(f"parsed() has {len(read)} entries for {len(dataset.queries)} answers")


def check_judging(case: TaskCase) -> None:
    """Check that judging twice gives the same, and what is judged is not judged again."""
    task, dataset = case.make(), case.scored
    if not task.judges:
        raise SkipTest("it does not judge")
    generations = _answers(task, dataset, _gold)
    one, two = (_judged(case.make(), dataset, generations) for _ in range(2))
    if one != two:
        query = next(query_id for query_id in one if one[query_id] != two.get(query_id))
        raise CheckError(f"the answer to {query!r} was judged in two ways: {one[query]!r:.200}")
    again = task.unjudged(dataset, generations, {}, one)
    if again:
        raise CheckError(f"unjudged() names {again[0].id!r}, which was judged a moment ago")


def check_report(case: TaskCase) -> None:
    """Check that what it reports is JSON, and its summary has one line per block."""
    task, dataset = case.make(), case.scored
    for make in (_gold, _empty):
        examples = task.examples(dataset, _predictions(task, dataset, make))
        with calling("report", "Give values that JSON has: texts, numbers, lists, objects."):
            report = json.loads(json.dumps(task.report(dataset, examples), allow_nan=False))
        for block in task.summary(report) if report else ():
            if not isinstance(block, SummaryBlock) or "\n" in str(block):
                raise CheckError(f"summary() gave {block!r:.200}: expected blocks of one line")


def check_prompts(case: TaskCase) -> None:
    """Check that it has a prompt, with tables and without, whose identity is JSON."""
    from target_bench.models.prompts.prompting import writer_of

    task, dataset = case.make(), case.scored
    if task.ranks:
        raise SkipTest("an answer is a ranking")
    with calling("the prompt", f"Put the templates into {task.prompt_file}."):
        writer = writer_of(task, PromptOptions(), dataset.databases, follows_schema=True)
        json.dumps(writer.identity)
    query = dataset.queries[0]
    for ranking in (query.gold, ()):
        tables = writer.tables(dataset.corpus, ranking)
        request = writer.prompted(query, tables).request
        if not any(query.text in message.content for message in request.messages):
            raise CheckError(f"the prompt with {len(tables)} tables does not hold the query")


def check_copies(case: TaskCase) -> None:
    """Check that a task with limits for leaks sees that a reference is a copy of itself."""
    task, dataset = case.make(), case.scored
    if task.leak_limits.unsupported is None and task.leak_limits.verbatim is None:
        raise SkipTest("it sets no limits for leaks")
    judgements = _judgements(task, dataset, _answers(task, dataset, _gold))
    query = dataset.queries[0]
    if not task.is_copied(task.gold_answer(query), judgements.get(query.id), query):
        raise CheckError(f"is_copied() does not see that the reference of {query.id!r} is a copy")


CHECKS: Mapping[Callable[[TaskCase], None], Sequence[str]] = {
    check_attributes: (),
    check_names: ("attributes",),
    check_settings: ("attributes",),
    check_references: ("attributes",),
    check_metrics: ("references",),
    check_bounds: ("metrics",),
    check_failures: ("metrics",),
    check_parsed: ("metrics",),
    check_judging: ("references",),
    check_report: ("metrics",),
    check_prompts: ("references",),
    check_copies: ("references",),
}
"""Each check, and the names of those that have to pass before it means anything."""


def check_task(
    task: Callable[..., Task[Any]] | str,
    dataset: Dataset | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    skip: Mapping[str, str] | None = None,
) -> Report:
    """Test whether a task keeps the contract.

    Args:
        task: its class, or a name with settings as on the command line (``qa``,
            ``my_file.py:Mine``).
        dataset: queries with references of the task; default: the corpus ``mini``.
        settings: arguments for the class.
        skip: names of checks to leave out, each with the reason, which the report shows.

    Returns:
        What passed and what was skipped; ``print`` shows it.

    Raises:
        CheckError: a check failed; the message names all that did and how to correct them.
        ConfigError: an unknown name or setting, or a dataset without queries of the task.
    """
    name = task if isinstance(task, str) else getattr(task, "__name__", "task")
    return run(name, task_checks(task, dataset, settings=settings, skip=skip)).raise_failures()


def task_checks(
    task: Callable[..., Task[Any]] | str,
    dataset: Dataset | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    skip: Mapping[str, str] | None = None,
) -> list[Check]:
    """Return the single checks of a task; arguments and errors as for ``check_task``."""
    make = partial(make_task, task) if isinstance(task, str) else partial(task, **settings or {})
    name = make().name
    case = TaskCase(make, _about(dataset or load("mini"), name))
    names = [function.__name__.removeprefix("check_") for function in CHECKS]
    for left_out in skip or {}:
        if left_out not in names:
            raise ConfigError(f"skip: {unknown_names.unknown_name('check', left_out, names)}")
    return [
        Check(
            name,
            promise(function),
            partial(_skip, skip[name]) if skip and name in skip else partial(function, case),
            tuple(needs),
        )
        for name, (function, needs) in zip(names, CHECKS.items(), strict=True)
    ]


def _skip(reason: str) -> None:
    raise SkipTest(reason)


def _about(dataset: Dataset, task: str) -> Dataset:
    return dataset if task == RANKING_TASK else of_task(dataset, task)


_Answer = Callable[[Task[Any], Query], Generation]


def _gold(task: Task[Any], query: Query) -> Generation:
    return Generation(query.id, task.gold_answer(query))


def _empty(_task: Task[Any], query: Query) -> Generation:
    return Generation(query.id, "")


def _failed(task: Task[Any], query: Query) -> Generation:
    return Generation(query.id, task.gold_answer(query), error="raised: a test")


def _answers(task: Task[Any], dataset: Dataset, make: _Answer) -> dict[str, Generation]:
    return {query.id: make(task, query) for query in dataset.queries}


def _predictions(task: Task[Any], dataset: Dataset, make: _Answer) -> Predictions:
    if task.ranks:
        ranked = {q.id: Retrieval(q.id, q.gold if make is _gold else ()) for q in dataset.queries}
        return Predictions(rankings=ranked, depth=_DEPTH)
    answers = _answers(task, dataset, make)
    return Predictions({}, answers, _judgements(task, dataset, answers))


def _judgements(
    task: Task[Any], dataset: Dataset, answers: Mapping[str, Generation]
) -> dict[str, Judgement]:
    return _judged(task, dataset, answers) if task.judges else {}


def _judged(
    task: Task[Any], dataset: Dataset, answers: Mapping[str, Generation]
) -> dict[str, Judgement]:
    with calling("judge"), closing(task.judge(dataset.queries, dataset, answers, {})) as judging:
        return {one.query_id: one for one in judging}


def _metrics(case: TaskCase) -> list[Metric[Any]]:
    task = case.make()
    with calling("metrics"):
        listed = task.metrics(case.scored.queries, [_DEPTH] if task.ranks else [])
        return [metric_of(each) for each in listed]


def _scores(case: TaskCase, make: _Answer) -> dict[str, float]:
    """Return the mapping metric name -> its value over answers that are made in some way."""
    task, dataset = case.make(), case.scored
    with calling("examples"):
        outputs = Outputs(dataset, _predictions(task, dataset, make))
        examples = task.examples(*outputs)
    found = {}
    for metric in _metrics(case):
        with calling(f"the metric {metric.name}"):
            given = outputs if metric.reads_outputs else examples
            found[metric.name] = float(metric.value(metric.statistics(given).sum(axis=0)))
    return found
