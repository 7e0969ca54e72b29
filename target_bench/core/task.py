"""The contract of a task: where its tables come from, what an answer is, how it is scored."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, cast

from target_bench.core.answer_options import SEVERAL_TABLES
from target_bench.core.metric import Metric
from target_bench.core.prompt_writer import PromptOptions, PromptWriter
from target_bench.core.schema import (
    AnswerKind,
    Corpus,
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

_PACKAGE = __name__.partition(".")[0]
_OWN_PROMPTS = Path(__file__).parents[1] / "models" / "prompts"


@dataclass(frozen=True, slots=True)
class Predictions:
    """The outputs of a system for the queries of a dataset, all by query id.

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

    Attributes:
        label: what it is about; may be empty.
        counts: name -> number, or a number as it is to be shown.
        text: a sentence; shown in place of, or before, the counts.
        profile: name -> a share between 0 and 1, where several shares are seen together: three or
            more are drawn as a radar, several runs on one.
    """

    label: str
    counts: Mapping[str, int | str] = field(default_factory=dict)
    text: str = ""
    profile: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        shown = {**self.counts, **{name: f"{share:.2f}" for name, share in self.profile.items()}}
        listed = ", ".join(f"{name} {value}" for name, value in shown.items())
        said = "; ".join(part for part in (self.text, listed) if part)
        return f"{self.label}: {said}" if self.label else said


@dataclass(frozen=True, slots=True)
class LeakLimits:
    """Shares of answers above which a submission looks as if it knew the references.

    Each is compared with a lower confidence bound of the share; None: it is not looked at.

    Attributes:
        unsupported: of answers whose tables do not hold the answer, those that are copies of the
            reference: suspicious above.
        verbatim: of answers with a long reference, those that are copies of it: suspicious above.
        certain: as ``unsupported``, but rejected above.
    """

    unsupported: float | None = None
    verbatim: float | None = None
    certain: float | None = None


def _prompts_of(cls: type) -> Path:
    """Return the folder of the prompts of a class."""
    if cls.__module__.partition(".")[0] == _PACKAGE:
        return _OWN_PROMPTS
    file = getattr(sys.modules[cls.__module__], "__file__", None)
    return Path(file).parent if file else Path.cwd()  # a cell of a notebook is in no file


class Task(ABC, Generic[ExamplesT]):
    """A task: its requests to a system, and how answers are read, judged, scored and summed up.

    A name, a title and ``metrics`` make one, where these are functions; the rest has defaults. It
    runs on every corpus with references of its kind (``answer``). Keep constructor arguments, its
    settings, under their own names. ``ExamplesT`` is the type that its metrics read.

    Attributes:
        VERSION: of a task of this package; raised when what it asks, reads or judges can be another
            than before. Your own is identified by its source files.
        packages: distributions whose versions can change a judgement; recorded with every run.
        name: its short name, as recorded: a Python identifier in lower case.
        title: its name in full.
        aliases: other names that users may write.
        scores: what its metrics read, as their declarations name it: ``texts``, ``labels``,
            ``SQL``, ``rankings``, or a word of its own.
        takes: what a system is given, in words, for people.
        gives: what an answer is, in words, for people.
        reads: the options of a run that it reads, by their names in Python.
        answer: what an answer is.
        ranks: whether an answer is a ranking of tables; follows from ``answer``.
        source: where the tables of a prompt come from.
        retrieves: whether a run of it begins with a retriever; follows from ``source``.
        judges: whether answers are judged before they are scored (``judge``); an object may set it
            where that follows from its settings.
        replays: whether judging cannot be repeated, as where a model judges; an object may set it
            where that follows from its settings. A submission then carries the judgements, which
            are read and never made again. ``judge`` then judges a failed answer without asking the
            model.
        scores_unlabelled: whether it has metrics that need no reference: where no query has one,
            ``metrics`` gives those alone and all queries are scored.
        needs_databases: whether it can only be asked of a corpus with databases.
        slices: what its scores are broken down by unless asked for otherwise: names of metadata.
        outcome: the metric that is 1 for a right answer, 0 for a wrong one and between for one that
            is partly right, if there is one.
        leak_limits: when a submission looks as if it knew the references.
        prompt_note: what a reader of its prompts should know; may be empty.
        answer_schema: the JSON schema of an answer; None for answers in prose.
        reads_prose: whether it reads an answer in prose as well, where JSON is asked for.
    """

    VERSION: ClassVar[str] = "1"
    packages: tuple[str, ...] = ()
    name: ClassVar[str]
    title: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    scores: ClassVar[str] = ""
    takes: ClassVar[str] = ""
    gives: ClassVar[str] = ""
    reads: ClassVar[frozenset[str]] = frozenset({*SEVERAL_TABLES, "table_format"})
    answer: ClassVar[AnswerKind] = "text"
    source: ClassVar[TableSource] = "retrieved"
    judges: bool = False
    replays: bool = False
    scores_unlabelled: ClassVar[bool] = False
    needs_databases: ClassVar[bool] = False
    slices: ClassVar[tuple[str, ...]] = ()
    outcome: ClassVar[str | None] = None
    leak_limits: ClassVar[LeakLimits] = LeakLimits()
    prompt_note: ClassVar[str] = ""
    answer_schema: ClassVar[Mapping[str, Any] | None] = None
    reads_prose: ClassVar[bool] = False

    ranks: ClassVar[bool] = False
    retrieves: ClassVar[bool] = True

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls.ranks = cls.answer == "ranking"
        cls.retrieves = cls.source == "retrieved"

    def settings(self) -> list[str]:
        """List the settings that change a score besides the metrics, for the identity of a run.

        Default: nothing.
        """
        return []

    def parts(self) -> Mapping[str, object]:
        """Return name -> plug-in of what judges its answers, where that is one. Default: none."""
        return {}

    # References

    def has_reference(self, query: Query) -> bool:
        """Return whether a query can be scored. Default: it has gold tables, or a reference."""
        if self.ranks:
            return bool(query.gold)
        return any(query.answer)  # a text, or one of several, that is not empty

    def check(self, dataset: Dataset) -> None:
        """Check the references before anything is asked. Default: every reference is valid.

        Args:
            dataset: only its queries that have a reference.

        Raises:
            DataError: a reference is not valid; the message names the query.
        """

    def gold_answer(self, query: Query) -> str:
        """Write the reference as a system would answer it: the upper bound. Default: the first."""
        return query.references[0]

    def given_tables(self, query: Query, corpus: Corpus) -> Sequence[TableId]:  # noqa: ARG002
        """Return the ids of a prompt's tables where they are given. Default: the gold tables."""
        return query.gold if self.source == "given" else ()

    # Requests

    @property
    def prompt_file(self) -> Path:
        """The YAML file with its templates. Default: ``<name>.yaml`` beside the file of its class;
        of tasks of this package, in ``models/prompts``. A subclass without a file of its own
        has that of the class it is made from; any other task that of question answering.
        """  # noqa: D205
        files = [
            _prompts_of(cls) / f"{cls.name}.yaml"
            for cls in type(self).__mro__
            if issubclass(cls, Task) and hasattr(cls, "name")
        ]
        default = _OWN_PROMPTS / "question_answering.yaml"
        return next((file for file in files if file.is_file()), default)

    def prompt_writer(
        self,
        options: PromptOptions,  # noqa: ARG002 (the contract's arguments)
        databases: Mapping[str, Path],  # noqa: ARG002
        follows_schema: bool,  # noqa: ARG002
    ) -> PromptWriter | None:
        """Make what writes its requests. Default: None, for the standard one.

        The standard one (``models.prompts.prompting.writer_of``) fills the templates of
        ``prompt_file`` with the tables of a query.

        Args:
            options: what the user chose.
            databases: database id -> file, where there are databases.
            follows_schema: whether the generator follows JSON schemas.
        """
        return None

    # Judging and scoring

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

    def parsed(self, examples: ExamplesT) -> Sequence[object | None]:  # noqa: ARG002
        """List the value read from each answer; None where there is none. Default: an empty list.

        An empty list says that every answer is readable.
        """
        return ()

    def report(self, dataset: Dataset, examples: ExamplesT) -> Mapping[str, Any]:  # noqa: ARG002
        """Return further findings about the answers, as JSON. Default: nothing."""
        return {}

    def summary(self, report: Mapping[str, Any]) -> Sequence[SummaryBlock]:  # noqa: ARG002
        """Sum up what ``report`` gave, for people. Default: nothing."""
        return ()

    def remarks(self, report: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:  # noqa: ARG002
        """Return query id -> what ``report`` found wrong with that query. Default: nothing."""
        return {}

    def unjudged(
        self,
        dataset: Dataset,  # noqa: ARG002 (the contract's arguments)
        generations: Mapping[str, Generation],  # noqa: ARG002
        retrievals: Mapping[str, Retrieval],  # noqa: ARG002
        known: Mapping[str, Judgement],  # noqa: ARG002
    ) -> Sequence[Query]:
        """List the queries without a judgement of the answer and the data as they are now.

        Default: none; a task that judges overrides it together with ``judge``.

        Args:
            dataset: queries, references and data.
            generations: query id -> its answer, of every query.
            retrievals: query id -> its tables; may lack queries.
            known: query id -> its judgement, perhaps of something else.

        Raises:
            ConfigError: the answers cannot be judged on these data.
        """
        return ()

    def judge(
        self,
        queries: Sequence[Query],  # noqa: ARG002 (the contract's arguments)
        dataset: Dataset,  # noqa: ARG002
        generations: Mapping[str, Generation],  # noqa: ARG002
        retrievals: Mapping[str, Retrieval],  # noqa: ARG002
    ) -> Generator[Judgement, None, None]:
        """Judge the answers to some queries; each comes as soon as it is judged, in any order.

        Raises:
            BudgetError: the time for all of them is over.
        """
        yield from ()

    def detail(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """Choose what a report shows of a judgement, by name. Default: what is not empty.

        An entry ``verdict``, if there is one, is what became of the answer, in a word.

        Args:
            record: the line of ``judgements.jsonl``.
        """
        hidden = ("query_id", "fingerprint")
        return {n: v for n, v in record.items() if n not in hidden and v not in (None, "", [], {})}

    def limit_time(self, seconds: float) -> None:
        """Limit the time of judging, or else of reading and scoring all answers.

        Default: nothing is limited.
        """

    def check_budget(self) -> None:
        """Check that time is left. Default: there always is.

        Raises:
            BudgetError: the time for reading and scoring is over.
        """

    # Submissions

    def holds_answer(
        self,
        query: Query,  # noqa: ARG002 (the contract's arguments)
        tables: Sequence[TableId],  # noqa: ARG002
        corpus: Corpus,  # noqa: ARG002
    ) -> bool | None:
        """Return whether tables hold the answer to a query; None where unknown. Default: None.

        Args:
            query: with its reference.
            tables: those that a system was given.
            corpus: all tables.
        """
        return None

    def is_copied(
        self,
        answer: str,  # noqa: ARG002 (the contract's arguments)
        judgement: Judgement | None,  # noqa: ARG002
        query: Query,  # noqa: ARG002
    ) -> bool:
        """Return whether an answer is the reference word for word. Default: never.

        Args:
            answer: the text of the answer; empty for a failed one.
            judgement: what judging found out about it, for a task that judges.
            query: with its reference.
        """
        return False
