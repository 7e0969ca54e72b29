"""The contract of a task: how it asks, reads answers, judges and scores them."""

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
"""The tables of a prompt: retrieved ones, the gold tables, or none."""

FAILED = "failed"
"""The key in ``Judgement.record`` of a mapping judge -> its error, for judges that failed.

The answer is scored without them, and ``find_unjudged`` lists its query again.
"""

NOT_JUDGED = "not judged: "
"""How an error in ``Result.errors`` begins where a judge failed."""

ExamplesT = TypeVar("ExamplesT")


@dataclass(frozen=True, slots=True)
class Predictions:
    """The outputs of a system, by query id.

    ```python
    from target_bench import Predictions, Retrieval, TableId

    ranking = Retrieval("q1", (TableId("0", "moons"),))
    print(Predictions({"q1": ranking}, depth=10).rankings["q1"].tables)
    # (TableId(database_id='0', table_id='moons'),)
    ```

    Attributes:
        rankings: the tables of each query; empty where nothing was retrieved.
        answers: the answer to each query, failed ones included; empty for rankings alone.
        judgements: the judgement of each answer; empty for a task without a judge.
        depth: the largest cutoff of rankings; 0 without any.
    """

    rankings: Mapping[str, Retrieval] = field(default_factory=dict)
    answers: Mapping[str, Generation] = field(default_factory=dict)
    judgements: Mapping[str, Judgement] = field(default_factory=dict)
    depth: int = 0


class Outputs(NamedTuple):
    """The input of a metric that is a function."""

    dataset: Dataset
    predictions: Predictions


@dataclass(frozen=True, slots=True)
class SummaryBlock:
    """A line of a task's summary, which terminal and report lay out.

    ```python
    from target_bench import SummaryBlock

    print(SummaryBlock("gold True", {"as True": 4, "as False": 1}))
    # gold True: as True 4, as False 1
    ```

    Attributes:
        label: its subject; may be empty.
        counts: name -> number, or text of a number.
        text: a sentence, which stands before the counts.
        is_always_shown: whether ``run`` and ``score`` print it also without ``--verbose``.
    """

    label: str
    counts: Mapping[str, int | str] = field(default_factory=dict)
    text: str = ""
    is_always_shown: bool = False

    def __str__(self) -> str:
        listed = ", ".join(f"{name} {value}" for name, value in self.counts.items())
        details = "; ".join(filter(None, (self.text, listed)))
        return f"{self.label}: {details}" if self.label else details


@dataclass(frozen=True, slots=True)
class PromptStyle:
    """How a task asks. The default is that of question answering.

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
            task's class, else of a base class, else that of question answering.
        writer: makes the writer of its requests from the ``RunConfig``, the files of databases by
            their id, and whether the generator follows JSON schemas. Default: the templates are
            filled with the tables of a query (``models.prompts.prompting.make_prompt_writer``).
        schema: the JSON schema of an answer; None for answers in prose.
        reads_prose: whether it can read an answer in prose although it has a schema.
    """

    file: Path | None = None
    # Any for RunConfig: importing it here would close a circle.
    writer: Callable[[Any, Mapping[str, Path], bool], PromptWriter] | None = None
    schema: Mapping[str, Any] | None = None
    reads_prose: bool = False


class AnswerJudge(ABC):
    """Judges the answers to a task one by one, before they are scored, as by executing SQL.

    ```python
    from target_bench import AnswerJudge, Generation, Judgement, load

    class Short(AnswerJudge):
        def find_unjudged(self, dataset, generations, retrievals, stored):
            judged = {query_id: judgement.fingerprint for query_id, judgement in stored.items()}
            return [q for q in dataset.queries if judged.get(q.id) != generations[q.id].text]

        def make_judgements(self, queries, dataset, generations, retrievals):
            for query in queries:
                text = generations[query.id].text
                yield Judgement(query.id, text, {"short": len(text) < 20})

    dataset = load("mini")
    answers = {query.id: Generation(query.id, "Paris") for query in dataset.queries}
    (first, *_) = Short().make_judgements(dataset.queries, dataset, answers, {})
    print(first.record)  # {'short': True}
    ```

    A task sets ``judge`` to one, perhaps to itself. Judgements are stored as they are yielded, so a
    killed run continues.

    Attributes:
        is_repeatable: whether the same answer always gets the same judgement, unlike where a model
            judges: only then can a run be submitted to a leaderboard.
        packages: distributions whose versions can change a judgement; recorded with every run.
    """

    is_repeatable: bool = True
    packages: tuple[str, ...] = ()

    def parts(self) -> Mapping[str, object]:
        """Return name -> plug-in that it uses. Default: none."""
        return {}

    @abstractmethod
    def find_unjudged(
        self,
        dataset: Dataset,
        generations: Mapping[str, Generation],
        retrievals: Mapping[str, Retrieval],
        stored: Mapping[str, Judgement],
    ) -> Sequence[Query]:
        """List the queries whose answer has no stored judgement, or one that holds no more.

        What is not listed is kept: compare fingerprints, as an answer may be another than before.

        Args:
            dataset: queries, references and data.
            generations: query id -> its answer, for every query.
            retrievals: query id -> its tables; queries may be missing.
            stored: query id -> judgement, perhaps of another answer or on other data.

        Raises:
            ConfigError: the answers cannot be judged on these data.
        """

    @abstractmethod
    def make_judgements(
        self,
        queries: Sequence[Query],
        dataset: Dataset,
        generations: Mapping[str, Generation],
        retrievals: Mapping[str, Retrieval],
    ) -> Generator[Judgement, None, None]:
        """Judge the answers to some queries; yield each judgement once it is made, in any order.

        Raises:
            BudgetError: the time limit for all of them is over.
        """


def _drop_empty(record: Mapping[str, Any]) -> Mapping[str, Any]:
    hidden = ("query_id", "fingerprint")
    shown = {name: value for name, value in record.items() if name not in hidden}
    return {name: value for name, value in shown.items() if value not in (None, "", [], {})}


TaskReport = Mapping[str, Any]
"""The result of ``Task.report``."""


@dataclass(frozen=True, slots=True)
class View:
    """How a task and its answers are shown to people.

    ```python
    from target_bench import SummaryBlock, View

    view = View(gives="a year", summary=lambda report: [SummaryBlock("years", report)])
    print(*view.summary({"right": 3, "wrong": 1}))  # years: right 3, wrong 1
    ```

    Attributes:
        takes: the input of a system, in words.
        gives: an answer, in words.
        slices: properties of queries for each of which ``TaskReport`` gets a table of scores.
        properties: the keys of ``Task.properties``, for ``--by``.
        summary: task report -> lines below the scores.
        breakdown: task report -> reason why answers are wrong -> outcome -> number.
        remarks: task report -> query id -> remarks on this query.
        detail: record of a judgement -> the entries to show of it. An entry ``verdict`` is the
            outcome in a word. Default: all that are not empty.
    """

    takes: str = ""
    gives: str = ""
    slices: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    summary: Callable[[TaskReport], Sequence[SummaryBlock]] = lambda _report: ()
    breakdown: Callable[[TaskReport], Mapping[str, Mapping[str, int]]] = lambda _report: {}
    remarks: Callable[[TaskReport], Mapping[str, Sequence[str]]] = lambda _report: {}
    detail: Callable[[Mapping[str, Any]], Mapping[str, Any]] = _drop_empty


class Task(ABC, Generic[ExamplesT]):
    """A task: how it asks a system, and how it reads and scores the answers.

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

    A name and metrics that are functions make one; the rest has defaults. It runs on every corpus
    with references of its kind (``answer``). Keep constructor arguments as attributes of their
    names. ``ExamplesT`` is the type that its metrics read.

    Attributes:
        name: its short name: a Python identifier in lower case.
        title: its name in full. Default: made of the name.
        aliases: other names that users may write. A subclass with a name of its own inherits none.
        answer: the kind of a system's answers to it, as ``text`` or ``sql``; ``ranking`` where none
            is generated.
        source: where the tables of a prompt come from. If they are retrieved, a run needs a
            retriever.
        scores: what its metrics score, a word as in ``MetricSpec.scores``: ``texts``, ``labels``,
            ``SQL``, ``rankings``, or one of its own; "" for functions. Scores are in results.
        scores_unlabelled: whether it has metrics that need no reference: if no query has one,
            ``metrics`` returns those alone and all queries are scored.
        main: the metric that decides between systems. Of a metric of rankings it is the name
            without ``@k``: the largest cutoff counts. Default: the first of its metrics.
        prompt: how it asks.
        judge: the judge of its answers, if there is one; an object may set it by its settings.
        view: how it is shown.
        asked_as: its name with settings, as in the command; None for an object made in Python.
        VERSION: for tasks of this package: raised when its requests, or how it reads or judges
            answers, can change. Your own is identified by its source files.
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
        if "name" in vars(cls):  # another task than its base class
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
        """List the metrics to compute over some queries, or functions as ``metric`` takes them.

        Args:
            queries: the scored queries.
            cutoffs: the cutoffs of rankings, ascending; empty for answers.
        """

    def examples(self, dataset: Dataset, predictions: Predictions) -> ExamplesT:
        """Make the input of the metrics, in the order of the queries.

        Default: ``Outputs``, for metrics that are functions.

        Args:
            dataset: the scored queries. Each has a reference, or, with ``scores_unlabelled``, none.
            predictions: the outputs of a system for every query.

        Raises:
            BudgetError: the time limit for reading and scoring is over.
        """
        return cast(ExamplesT, Outputs(dataset, predictions))

    def main_metric(self, queries: Sequence[Query]) -> str:  # noqa: ARG002 (for tasks of several)
        """Return the metric that decides between systems on these queries. Default: ``main``."""
        return self.main

    def parse_answers(self, examples: ExamplesT) -> Sequence[object | None]:  # noqa: ARG002
        """List the value in each answer, None for an unreadable one; or nothing: all are readable.

        Default: nothing.
        """
        return ()

    def properties(self, examples: ExamplesT) -> Mapping[str, Sequence[Any]]:  # noqa: ARG002
        """Return property -> text or None for each answer, for ``--by``. Default: none."""
        return {}

    def report(self, dataset: Dataset, examples: ExamplesT) -> TaskReport:  # noqa: ARG002
        """Return further findings about the answers, as JSON, for ``view``. Default: nothing."""
        return {}

    def settings(self) -> list[str]:
        """List the settings, besides metrics, that change a score; they identify a run.

        Default: nothing.
        """
        return []

    def check(self, dataset: Dataset) -> None:
        """Check the references before a run. Default: every reference is valid.

        Args:
            dataset: the queries that have a reference.

        Raises:
            DataError: a reference is not valid; the message names the query.
        """


def has_reference(task: Task[Any], query: Query) -> bool:
    """Return whether a query can be scored: it has gold tables, or for answers a reference."""
    return bool(query.gold) if task.answer == "ranking" else any(query.references)


def given_tables(task: Task[Any], query: Query) -> tuple[TableId, ...]:
    """Return the tables of a prompt if they are not retrieved but given: the gold tables."""
    return query.gold if task.source == "given" else ()
