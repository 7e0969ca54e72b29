"""The contracts of a corpus, a task and a metric as checks, on loaded data."""

import json
import tempfile
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isclose
from pathlib import Path
from typing import Any
from unittest import SkipTest

from target_bench.core import registry
from target_bench.core.built_in import ANSWER_TASK
from target_bench.core.contract import plugin_errors
from target_bench.core.errors import ConfigError, DataError, TargetBenchError
from target_bench.core.metric import Metric, of_mean
from target_bench.core.metric_function import FunctionMetric, is_read_by, metric_of
from target_bench.core.release import CorpusLoader
from target_bench.core.schema import CorpusInfo, Dataset, Generation
from target_bench.core.task import AnswerJudge, SummaryBlock, Task, has_reference
from target_bench.core.task_names import make_task
from target_bench.data import load
from target_bench.data.cache import QUERIES, TABLES, Cached, Kind
from target_bench.data.databases import stored_tables
from target_bench.harness.stages.judge import judge_answers
from target_bench.harness.stages.score import Scored, score_answers, score_rankings
from target_bench.metrics.scores import check_names
from target_bench.testing.checks import Contract, expect

_KINDS = (TABLES, QUERIES)
_MOST_QUERIES = 20
_DEPTH = 10
_GIVEN = ("gold", "nothing", "failed")  # answers; of failed ones each is right, beside an error


@dataclass(eq=False)
class CorpusContract(Contract):
    """The checks of a corpus, or a folder or database of your own, given as a path.

    Default: its first split, in the ``data_dir`` where ``load`` finds it.
    """

    kind = "corpus"
    data_dir: str | Path | None = None
    split: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.plugin, str | Path) and load.is_path(self.plugin):
            self.plugin = partial(load.loader, self.plugin)
        super().__post_init__()

    def info(self) -> None:
        """It declares name, title, tasks, splits, licence, citation and source."""
        plugin = self._make()
        info = getattr(plugin, "info", None)
        is_corpus = isinstance(plugin, CorpusLoader) and isinstance(info, CorpusInfo)
        inherit = "inherit CorpusLoader, and define info = CorpusInfo(...), tables and queries"
        expect(is_corpus, f"{type(plugin).__name__} is not a corpus: {inherit}")
        for field in ("name", "title", "tasks", "splits", "licence", "citation", "source"):
            kind = tuple if field in ("tasks", "splits") else str
            is_filled = isinstance(value := getattr(info, field), kind) and value
            expect(is_filled, f"info.{field} is {value!r}; write a {kind.__name__}, not empty")
        assert self._split

    def data(self) -> None:
        """Tables, queries and databases are sound, and read in the same order by another loader.

        Sort what comes from a set or a folder.
        """
        dataset, again = self._dataset, self._read()
        for table in dataset.corpus:
            titles = [table.context.get(field) for field in ("title", "section_title")]
            are_texts = all(isinstance(title, str | None) for title in titles)
            expect(are_texts, f"table {table.id}: a title of {titles!r:.80} is not text")
        for query in dataset.queries:
            elsewhere = [table for table in query.gold if table.database_id != query.database_id]
            tables = ", ".join(map(str, elsewhere))
            database = f"of another database than its own, {query.database_id!r}"
            expect(not elsewhere, f"query {query.id!r} has gold tables {tables} {database}")
        names = {table_id.database_id for table_id in dataset.corpus.ids}
        databases = load.read_databases(self._make(), self._folder, dataset.split)
        for name, path in databases.items():
            expect(name in names, f"no table is of the database {name!r} ({path})")
            stored_tables.sound_tables(path)
        first, second = ((d.corpus.fingerprint, d.queries) for d in (dataset, again))
        expect(first == second, "a second loader gives other tables or queries, or another order")

    def answers(self) -> None:
        """Answers are what the tasks of the corpus can score: labels, texts, SQL."""
        dataset = self._dataset
        tasks = [task for task in map(make_task, dataset.info.tasks) if task.answer != "ranking"]
        default = tasks[0].name if len(tasks) == 1 else None
        for task in tasks:
            queries = [q for q in dataset.queries if q.metadata.get("task", default) == task.name]
            answered = tuple(query for query in queries if has_reference(task, query))
            expect(answered or not queries, f"no query of the task {task.name} has an answer")
            task.check(replace(dataset, queries=answered))

    def release(self) -> None:
        """Files are read through the release, which remembers them and names those not there."""
        plugin, files = self._make(), [self._part(kind, self._folder).files for kind in _KINDS]
        if plugin.embedded is not None or not (plugin.info.files or any(files)):
            raise SkipTest("its data come with it, or it reads no file through the release")
        expect(all(files), "its tables or its queries are from no file that the release read")
        with tempfile.TemporaryDirectory() as folder:
            for kind in _KINDS:
                problem: object = "raised nothing"
                try:
                    self._part(kind, Path(folder))
                except TargetBenchError as error:
                    problem = error
                is_named = isinstance(problem, DataError) and folder in str(problem)
                expect(is_named, f"use release.require: {kind.name} of an empty folder {problem}")

    @cached_property
    def _split(self) -> str:
        return load.split_of(self._make(), self.split)

    @cached_property
    def _folder(self) -> Path:
        return load.folder_of(self._make(), self.data_dir, self._split)

    def _read(self) -> Dataset:
        """Return the split, read by new loaders; fails if it is not sound."""
        tables, queries = (self._part(kind, self._folder) for kind in _KINDS)
        info, files = self._make().info, tables.files | queries.files
        return load.make_dataset(info, self._split, tables.value, queries.value, files)

    _dataset = cached_property(_read)

    def _part(self, kind: Kind, folder: Path) -> Cached:
        return load.read_part(self._make(), folder, self._split, kind, in_cache=False)


@dataclass(eq=False)
class TaskContract(Contract):
    """The checks of a task, on the first queries that it scores of ``dataset``, or ``mini``."""

    kind = "task"
    dataset: Dataset | None = None
    most_sent = 5 * _MOST_QUERIES

    def __post_init__(self) -> None:
        super().__post_init__()
        self._dataset = _referenced(self._make(), self.dataset)

    def declaration(self) -> None:
        """Attributes are of their kinds, settings and metrics are steady, names are distinct."""
        task = self._make()
        for name, is_kept, expected in (
            ("name", task.name.isidentifier() and task.name.islower(), "a lower-case identifier"),
            ("judge", isinstance(task.judge, AnswerJudge | None), "an AnswerJudge, or None"),
        ):
            expect(is_kept, f"{name} is {getattr(task, name)!r:.80}; expected {expected}")
        settings, again = task.settings(), self._make().settings()
        expect(settings == again, f"settings() gave {settings!r}, then {again!r}")
        first, second = ([(m.name, m.signature) for m in self._metrics()] for _ in range(2))
        expect(first, "metrics() is empty: name at least one metric")
        expect(first == second, f"metrics() gave {first!r}, then {second!r}")
        expect(len(dict(first)) == len(first), f"metrics() has a name twice: {first!r}")

    def scores(self) -> None:
        """References are valid and score highest, empty answers less, and failed ones no more.

        Let a metric decide that is higher for right answers than for empty ones. A Generation with
        an error holds no answer. A report is JSON, its summary a line per block.
        """
        metrics = self._metrics()
        leads = next((metric for metric in metrics if metric.spec.decides), metrics[0])
        scored = {given: _scored(self._make(), self._dataset, given) for given in _GIVEN}
        values = {given: scores.scores[leads.name].value for given, scores in scored.items()}
        is_ordered = values["failed"] <= values["nothing"] < values["gold"]
        is_highest = isclose(values["gold"], leads.highest) or not leads.spec.decides
        gold, nothing, failed = (values[given] for given in _GIVEN)
        expect(
            is_ordered and is_highest,
            f"{leads.name} is {gold:g} for references, {nothing:g} for empty answers, {failed:g} "
            f"for failed ones; its highest value is {leads.highest:g}",
        )
        for scores in scored.values():
            with plugin_errors("it", "writing its report as JSON"):
                report = json.loads(json.dumps(scores.report, allow_nan=False))
            for block in self._make().view.summary(report) if report else ():
                is_line = isinstance(block, SummaryBlock) and "\n" not in str(block)
                expect(is_line, f"summary() gave {block!r:.200}: expected blocks of one line")

    def judging(self) -> None:
        """Judging twice gives the same, and what is judged is not judged again."""
        task, dataset = self._make(), self._dataset
        if task.judge is None:
            raise SkipTest("it does not judge")
        answers = {q.id: Generation(q.id, q.references[0]) for q in dataset.queries}
        first, second = (judge_answers(dataset, answers, self._make()) for _ in range(2))
        differing = [query_id for query_id in first if first[query_id] != second.get(query_id)]
        expect(not differing, f"the answers to {differing} were judged in two ways")
        rest = task.judge.unjudged(dataset, answers, {}, first)
        expect(not rest, f"unjudged() names {[q.id for q in rest]}, which were judged a moment ago")

    def _metrics(self) -> list[Metric[Any]]:
        task = self._make()
        cutoffs = [_DEPTH] if task.answer == "ranking" else []
        return [metric_of(metric) for metric in task.metrics(self._dataset.queries, cutoffs)]


@dataclass(eq=False)
class MetricContract(Contract):
    """The checks of a metric: a function, a class or a name, on examples of a task.

    Default: the first task that it can be computed for, on the corpus ``mini``.
    """

    kind = "metric"
    task: str | None = None
    dataset: Dataset | None = None

    def __post_init__(self) -> None:
        self._make = self._made

    def declaration(self) -> None:
        """It declares itself by a `MetricSpec`, under a name and a steady signature of its own."""
        metric = self._make()
        check_names([metric])
        signatures = metric.signature, self._make().signature
        is_steady = isinstance(metric.signature, str) and len({*signatures}) == 1
        expect(is_steady, f"signature gave {signatures!r:.200}: expected the same text twice")

    def values(self) -> None:
        """A value lies within its bounds, and references score no worse than empty answers.

        Set scale, highest and higher_is_better, and give zeros for a query that is left out.
        """
        metric, both = self._make(), []
        for scored in self._both:
            score, values = scored.scores[metric.name], scored.per_query[metric.name]
            limits = metric.bounds(scored.statistics.get(metric.name, of_mean(values)))
            low, high = max(score.low, limits[0]), min(score.high, limits[1])
            is_within = low <= score.value <= high
            expect(is_within, f"its value {score.value} is not within {low} and {high}")
            both.append(score.value)
        best, worst = map(metric.spec.merit, both)
        expect(best >= worst, "references score {:g}, empty answers {:g}".format(*both))

    def _made(self) -> Metric[Any]:
        """Make the metric, at a cutoff if it has one."""
        plugin: Any = self.plugin
        made = metric_of(plugin() if isinstance(plugin, type) else plugin)
        return made.at(_DEPTH) if isinstance(made, FunctionMetric) and made.spec.at_k else made

    @cached_property
    def _both(self) -> list[Scored[Any]]:
        """The scores of references and of empty answers."""
        metric = self._make()
        names = registry.BUILT_IN["task"]
        fitting = (n for n in names if is_read_by(metric, registry.resolve("task", n)))
        task = make_task(self.task or next(fitting, ANSWER_TASK))
        dataset = _referenced(task, self.dataset)
        return [_scored(task, dataset, given, metric) for given in _GIVEN[:2]]


def _referenced(task: Task[Any], dataset: Dataset | None) -> Dataset:
    """Return a dataset, or ``mini``, with its first queries that have a reference of the task."""
    dataset = load.of_task(dataset or load.load("mini"), task)
    queries = [query for query in dataset.queries if has_reference(task, query)]
    if not queries:
        raise ConfigError(f"no query of {dataset.info.name} has a reference: pass another dataset")
    return replace(dataset, queries=tuple(queries[:_MOST_QUERIES]))


def _scored(task: Task[Any], dataset: Dataset, given: str, *more: Metric[Any]) -> Scored[Any]:
    """Score answers, or the rankings of gold tables or of none, as the harness does."""
    if task.answer == "ranking":
        rankings = {q.id: q.gold if given == "gold" else () for q in dataset.queries}
        return score_rankings(dataset, rankings, _DEPTH, task, more)
    error = "raised: a test" if given == "failed" else None
    texts = {q.id: "" if given == "nothing" else q.references[0] for q in dataset.queries}
    answers = {query_id: Generation(query_id, text, error) for query_id, text in texts.items()}
    judgements = judge_answers(dataset, answers, task) if task.judge is not None else {}
    return score_answers(dataset, answers, task, judgements, {}, more)
