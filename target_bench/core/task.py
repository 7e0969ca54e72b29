"""The contract of a task: where its tables come from, what an answer is, how it is scored."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, cast, get_args

from target_bench.core.errors import ConfigError
from target_bench.core.metric import Metric
from target_bench.core.prompt_writer import PromptWriter
from target_bench.core.schema import (
    AnswerKind,
    Dataset,
    Generation,
    Judgement,
    Query,
    Retrieval,
    TableId,
)

TableSource = Literal["retrieved", "given", "none"]
"""Where the tables of a prompt come from: a ranking, the query itself, or there are none."""

FAILED = "failed"
"""The entry of a judgement's record of what could not judge -> its error.

Such an answer is scored by what there is, and ``unjudged`` lists its query again.
"""

NOT_JUDGED = "not judged: "
"""First words of the error of such an answer in a result."""

ExamplesT = TypeVar("ExamplesT")


@dataclass(frozen=True, slots=True)
class Predictions:
    """The outputs of a system for the queries of a dataset, all by query id.

    ```python
    from target_bench import Predictions, Retrieval, TableId

    ranking = Retrieval("q1", (TableId("0", "moons"),))
    print(Predictions({"q1": ranking}, depth=10).rankings["q1"].tables)
    # (TableId(database_id='0', table_id='moons'),)
    ```

    Attributes:
        rankings: the tables of each query; empty where nothing was retrieved.
        answers: the answer to each query, failed ones included; empty for rankings alone.
        judgements: what judging found out about each answer; empty for a task without judging.
        depth: the largest cutoff of rankings; 0 without any.
    """

    rankings: Mapping[str, Retrieval] = field(default_factory=dict)
    answers: Mapping[str, Generation] = field(default_factory=dict)
    judgements: Mapping[str, Judgement] = field(default_factory=dict)
    depth: int = 0


class Outputs(NamedTuple):
    """What a metric as a function reads: the queries that are scored, and what a system gave."""

    dataset: Dataset
    predictions: Predictions


@dataclass(frozen=True, slots=True)
class SummaryBlock:
    """A line of a task's summary, as data: terminal, report and site render it.

    ```python
    from target_bench import SummaryBlock

    print(SummaryBlock("gold True", {"as True": 4, "as False": 1}))
    # gold True: as True 4, as False 1
    ```

    Attributes:
        label: what it is about; may be empty.
        counts: name -> number, or a number as it is to be shown.
        text: a sentence; shown in place of, or before, the counts.
        is_first: whether ``run`` and ``score`` print it without ``--verbose``, too.
    """

    label: str
    counts: Mapping[str, int | str] = field(default_factory=dict)
    text: str = ""
    is_first: bool = False

    def __str__(self) -> str:
        listed = ", ".join(f"{name} {value}" for name, value in self.counts.items())
        details = "; ".join(part for part in (self.text, listed) if part)
        return f"{self.label}: {details}" if self.label else details


@dataclass(frozen=True, slots=True)
class PromptStyle:
    """How a task asks; for tasks that ask in another way than question answering.

    ```python
    from target_bench import PromptStyle, Task

    class Years(Task):
        name = "years"
        prompt = PromptStyle(schema={"type": "integer"}, reads_prose=True)

        def metrics(self, queries, cutoffs=()):
            return []

    print(Years().prompt.schema)  # {'type': 'integer'}
    ```

    Attributes:
        file: the YAML file with its templates. Default: ``<name>.yaml`` beside the file of the
            task's class, else of a class that it is made from, else that of question answering.
        writer: (options, database id -> file, whether the generator follows JSON schemas) -> what
            writes its requests. Default: the templates are filled with the tables of a query
            (``models.prompts.prompting.make_prompt_writer``).
        schema: the JSON schema of an answer; None for answers in prose.
        reads_prose: whether it reads an answer in prose as well, where JSON is asked for.
    """

    file: Path | None = None
    # of a RunConfig, which reads metrics, which read tasks: its type would close a circle
    writer: Callable[[Any, Mapping[str, Path], bool], PromptWriter] | None = None
    schema: Mapping[str, Any] | None = None
    reads_prose: bool = False


class AnswerJudge(ABC):
    """What judges the answers to a task, one by one, before they are scored, as SQL is executed.

    ```python
    from target_bench import AnswerJudge, Generation, Judgement, load

    class Short(AnswerJudge):
        def unjudged(self, dataset, generations, retrievals, known):
            return [query for query in dataset.queries if query.id not in known]

        def judged(self, queries, dataset, generations, retrievals):
            for query in queries:
                yield Judgement(query.id, "", {"short": len(generations[query.id].text) < 20})

    dataset = load("mini")
    answers = {query.id: Generation(query.id, "Paris") for query in dataset.queries}
    print(next(Short().judged(dataset.queries, dataset, answers, {})).record)  # {'short': True}
    ```

    A task sets ``judge`` to one, perhaps to itself. Judgements are stored as they are yielded, so a
    killed run continues.

    Attributes:
        replays: whether judging cannot be repeated, as where a model judges; a run of such a
            task cannot be submitted to a leaderboard.
        packages: distributions whose versions can change a judgement; recorded with every run.
    """

    replays: bool = False
    packages: tuple[str, ...] = ()

    def parts(self) -> Mapping[str, object]:
        """Return name -> plug-in of what judges, where that is one. Default: none."""
        return {}

    @abstractmethod
    def unjudged(
        self,
        dataset: Dataset,
        generations: Mapping[str, Generation],
        retrievals: Mapping[str, Retrieval],
        known: Mapping[str, Judgement],
    ) -> Sequence[Query]:
        """List the queries without a judgement of the answer and the data as they are now.

        Args:
            dataset: queries, references and data.
            generations: query id -> its answer, of every query.
            retrievals: query id -> its tables; may lack queries.
            known: query id -> its judgement, perhaps of something else.

        Raises:
            ConfigError: the answers cannot be judged on these data.
        """

    @abstractmethod
    def judged(
        self,
        queries: Sequence[Query],
        dataset: Dataset,
        generations: Mapping[str, Generation],
        retrievals: Mapping[str, Retrieval],
    ) -> Generator[Judgement, None, None]:
        """Judge the answers to some queries; each comes as soon as it is judged, in any order.

        Raises:
            BudgetError: the time for all of them is over.
        """


def _drop_hidden(record: Mapping[str, Any]) -> Mapping[str, Any]:
    hidden = ("query_id", "fingerprint")
    return {n: v for n, v in record.items() if n not in hidden and v not in (None, "", [], {})}


@dataclass(frozen=True, slots=True)
class View:
    """What people see of a task.

    ```python
    from target_bench import SummaryBlock, View

    view = View(gives="a year", summary=lambda report: [SummaryBlock("years", report)])
    print(*view.summary({"right": 3, "wrong": 1}))  # years: right 3, wrong 1
    ```

    Attributes:
        takes: what a system is given, in words.
        gives: what an answer is, in words.
        slices: what its scores are broken down by unless asked for otherwise: names of metadata.
        summary: sums up what ``Task.report`` gave.
        breakdown: what ``Task.report`` gave -> why answers are wrong -> outcome -> number; a report
            shows it as a table.
        properties: those of its answers by which scores can be shown, besides those of queries.
        remarks: what ``Task.report`` gave -> query id -> what is wrong with that query.
        detail: the line of ``judgements.jsonl`` -> what a report shows of it, by name. An entry
            ``verdict``, if there is one, is what became of the answer, in a word. Default: what is
            not empty.
    """

    takes: str = ""
    gives: str = ""
    slices: tuple[str, ...] = ()
    summary: Callable[[Mapping[str, Any]], Sequence[SummaryBlock]] = lambda _report: ()
    breakdown: Callable[[Mapping[str, Any]], Mapping[str, Mapping[str, int]]] = lambda _report: {}
    properties: tuple[str, ...] = ()
    remarks: Callable[[Mapping[str, Any]], Mapping[str, Sequence[str]]] = lambda _report: {}
    detail: Callable[[Mapping[str, Any]], Mapping[str, Any]] = _drop_hidden


class Task(ABC, Generic[ExamplesT]):
    """A task: what a system is asked, and how its answers are read and scored.

    ```python
    from target_bench import Task, metric

    @metric
    def has_year(answer):
        return float("19" in answer)

    class Years(Task):
        name = "years"

        def metrics(self, queries, cutoffs=()):
            return [has_year]

    print(Years().title, [each.name for each in Years().metrics([])])  # Years ['has_year']
    ```

    A name and ``metrics`` make one, where these are functions; the rest has defaults. It runs on
    every corpus with references of its kind (``answer``). Keep constructor arguments, its settings,
    under their own names. ``ExamplesT`` is the type that its metrics read.

    Attributes:
        name: its short name, as recorded: a Python identifier in lower case.
        title: its name in full. Default: made of the name.
        aliases: other names that users may write; a subclass with a name has those that it gives.
        answer: what an answer is.
        source: where the tables of a prompt come from; where they are retrieved, a run of it
            begins with a retriever.
        scores: what its metrics read, as their declarations name it: ``texts``, ``labels``,
            ``SQL``, ``rankings``, or a word of its own; "" where they are functions.
        scores_unlabelled: whether it has metrics that need no reference: where no query has one,
            ``metrics`` gives those alone and all queries are scored.
        main: the metric that decides between systems, without a cutoff: of a metric of rankings
            the largest one counts. Default: the first of its metrics.
        prompt: how it asks.
        judge: what judges its answers before they are scored, if anything does; an object may set
            it where that follows from its settings.
        view: what people see of it.
        asked_as: its name with its settings, as it was asked for; None of one made in Python.
        VERSION: of a task of this package; raised when what it asks, reads or judges can be another
            than before. Your own is identified by its source files.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    answer: ClassVar[AnswerKind] = "text"
    source: ClassVar[TableSource] = "retrieved"
    scores: ClassVar[str] = ""
    scores_unlabelled: ClassVar[bool] = False
    main: ClassVar[str] = ""
    prompt: PromptStyle = PromptStyle()
    judge: AnswerJudge | None = None
    view: View = View()
    asked_as: str | None = None
    VERSION: ClassVar[str] = "1"

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "name" in vars(cls):  # a task of its own, which the names of its base class do not mean
            cls.aliases = vars(cls).get("aliases", ())
            cls.title = vars(cls).get("title", cls.name.replace("_", " ").capitalize())
        for field_name, kinds in (("answer", AnswerKind), ("source", TableSource)):
            value = getattr(cls, field_name)
            if value not in get_args(kinds):
                known = ", ".join(get_args(kinds))
                raise ConfigError(f"{cls.__name__}.{field_name} is {value!r}; it is one of {known}")

    @abstractmethod
    def metrics(
        self, queries: Sequence[Query], cutoffs: Sequence[int] = ()
    ) -> Sequence[Metric[ExamplesT] | Metric[Outputs] | Callable[..., float | None]]:
        """List what is computed over some queries: metrics, or functions as ``metric`` takes them.

        Args:
            queries: those that are scored.
            cutoffs: the cutoffs of rankings, ascending; empty for answers.
        """

    def examples(self, dataset: Dataset, predictions: Predictions) -> ExamplesT:
        """Read predictions: what the metrics see of all queries of the dataset, in its order.

        Default: both as they are, which metrics read that are functions.

        Args:
            dataset: the queries that are scored, each with a reference, or with
                ``scores_unlabelled`` perhaps none of them.
            predictions: with an entry for every one of them.

        Raises:
            BudgetError: the time for reading and scoring is over.
        """
        return cast(ExamplesT, Outputs(dataset, predictions))

    def main_metric(self, queries: Sequence[Query]) -> str:  # noqa: ARG002 (for tasks of several)
        """Return the metric that decides between systems on some queries. Default: ``main``."""
        return self.main

    def parsed(self, examples: ExamplesT) -> Sequence[object | None]:  # noqa: ARG002
        """List the value read from each answer; None where there is none. Default: an empty list.

        An empty list says that every answer is readable.
        """
        return ()

    def properties(self, examples: ExamplesT) -> Mapping[str, Sequence[Any]]:  # noqa: ARG002
        """Return property -> its value of every answer, for ``--by``. Default: none.

        A value is a text or None.
        """
        return {}

    def report(self, dataset: Dataset, examples: ExamplesT) -> Mapping[str, Any]:  # noqa: ARG002
        """Return further findings about the answers, as JSON. Default: nothing."""
        return {}

    def settings(self) -> list[str]:
        """List the settings that change a score besides the metrics, for the identity of a run.

        Default: nothing.
        """
        return []

    def check(self, dataset: Dataset) -> None:
        """Check the references before anything is asked. Default: every reference is valid.

        Args:
            dataset: only its queries that have a reference.

        Raises:
            DataError: a reference is not valid; the message names the query.
        """


def has_reference(task: Task[Any], query: Query) -> bool:
    """Return whether a query can be scored: it has gold tables, or a reference."""
    return bool(query.gold) if task.answer == "ranking" else any(query.answer)


def given_tables(task: Task[Any], query: Query) -> tuple[TableId, ...]:
    """Return the ids of a prompt's tables where they are given: the gold tables."""
    return query.gold if task.source == "given" else ()
