"""The values that flow through the harness. All are immutable; none knows where it came from."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import nan
from typing import Any, Literal, NamedTuple

from target_bench.core.grid import CellGrid
from target_bench.core.metric_spec import MetricSpec

Cell = str | int | float | bytes | None
"""One cell: text in web tables, the source's own type in databases."""


OnError = Literal["stop", "record"]
"""What a failed query does: end the run, or count as wrong."""


LabelMode = Literal["strict", "target"]
"""How a label is read from an answer: as a word of its own, or as the original TARGET does it."""


AnswerKind = Literal["ranking", "text", "label", "sql", "tables"]
"""What an answer is; a task says which."""


SQLOutcome = Literal[
    "executed",
    "syntax_error",
    "no_such_table",
    "no_such_column",
    "error",
    "forbidden",
    "timeout",
    "memory",
    "unusable",
]
"""The outcome of a SQL statement.

``memory`` is any limit of size: memory, rows, or cells. ``unusable``: the database cannot be read,
with any statement.
"""


NO_DATABASE = "0"
"""The database id of tables that are in no database."""


class TableId(NamedTuple):
    """The identity of a table: its own id is unique only together with its database's.

    A plain pair of strings is equal to a
    ``TableId`` and accepted wherever one is.
    """

    database_id: str
    table_id: str

    def __str__(self) -> str:
        return f"{self.database_id}/{self.table_id}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a corpus.

    Attributes:
        id: its identity.
        header: the column names; they may repeat or be empty, as they do in the wild.
        rows: the data rows, each as long as the header.
        context: what the source says about the table. Keys shared by all corpora: ``title``,
            ``section_title``, ``primary_key``, ``foreign_keys``; a corpus may have more.
        grid: the cells with their spans, as the source has them; None where header and rows are
            all that there is.
    """

    id: TableId
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    context: Mapping[str, Any] = field(default_factory=dict)
    grid: CellGrid | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A question, statement or instruction to be answered from tables.

    Attributes:
        id: unique within the split.
        text: what the retriever and the generator see.
        gold: the tables that answer it; none where they are not known or not needed.
        answer: the reference: accepted text(s), a label or SQL; empty if there is none.
        database_id: the database the query belongs to, where there are databases.
        metadata: all else the source says (difficulty, evidence, highlighted cells, ...).
    """

    id: str
    text: str
    gold: tuple[TableId, ...]
    answer: str | tuple[str, ...] = ""
    database_id: str = "0"
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def references(self) -> tuple[str, ...]:
        """The accepted answers."""
        return (self.answer,) if isinstance(self.answer, str) else self.answer


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The ranked tables one query got.

    Attributes:
        query_id: whose ranking this is.
        tables: best first. The order is the ranking; every metric reads it and nothing else.
        scores: one per table where the retriever gave scores, else empty.
        error: what went wrong, if the query failed; then ``tables`` is empty.
        resorted: whether the retriever gave the tables in another order than their scores say.
        tied: whether tables of equal score were put in the order of the corpus.
    """

    query_id: str
    tables: tuple[TableId, ...]
    scores: tuple[float, ...] = ()
    error: str | None = None
    resorted: bool = False
    tied: bool = False


MARKS = ("resorted", "tied")
"""What is noted of a retrieval where it is true."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt.

    Attributes:
        role: ``system``, ``user`` or ``assistant``.
        content: its text.
    """

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """A request to a generator.

    Attributes:
        query_id: the query it is about.
        task: short name of the task.
        messages: the prompt, tables included, as a language model reads it.
        query: the text of the query.
        tables: the tables of the prompt, best first, for generators that read no prompt.
        answer_schema: the JSON schema that the answer should follow, or None for free text.
        answer: what kind of answer the task asks for.
        schema_optional: whether an answer in prose is read as well as one of ``answer_schema``.
    """

    query_id: str
    task: str
    messages: tuple[Message, ...]
    query: str
    tables: tuple[Table, ...] = ()
    answer_schema: Mapping[str, Any] | None = None
    answer: AnswerKind = "text"
    schema_optional: bool = False


@dataclass(frozen=True, slots=True)
class Generation:
    """The answer of a generator.

    Attributes:
        query_id: the query it is about.
        text: the answer; empty if it failed.
        error: what went wrong, if it failed.
        input_tokens: tokens of the prompt, where the provider counts them.
        output_tokens: tokens of the answer, where the provider counts them.
        cost: in the currency of the price table, where there is one.
        seconds: wall-clock time of the answer, waiting for a rate limit excluded.
        cached: whether it was recorded before and not asked for now.
        finish_reason: why it ended, as the provider calls it: ``length`` if it was cut.
    """

    query_id: str
    text: str
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    cached: bool = False
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A task's judgement of an answer, with the answer that was judged.

    Attributes:
        query_id: the query.
        fingerprint: a hash of all that the record follows from: the answer, the reference, the
            data it was tried on, the settings. Empty in a record of an earlier version.
        record: all that metrics and reports read of the judged answer, as JSON.
    """

    query_id: str
    fingerprint: str
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Executed:
    """The result of a SQL statement.

    Attributes:
        outcome: what became of it.
        columns: the names of the result's columns; empty unless it was executed.
        rows: the result, in the order it came; empty unless it was executed.
        message: the engine's own words, or which limit was met; empty if it was executed.
        seconds: how long each run took on the engine, fetching included; one unless it was asked
            to be run several times.
    """

    outcome: SQLOutcome
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    message: str = ""
    seconds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """One metric over one set of queries.

    Attributes:
        value: the metric, a fraction unless its documentation says otherwise; NaN over no query.
        low: lower bound of the 95% interval (``metrics.intervals``; the signature says which).
        high: upper bound of the 95% interval.
        n: how many queries it is over (failed ones included, scored 0).
        signature: everything that changes the value, in one string.
        spec: the declaration of a metric that is not of this package; None of one that is, whose
            declaration is found by its name.
    """

    value: float
    low: float
    high: float
    n: int
    signature: str
    spec: MetricSpec | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether all is equal; a score over no query equals another one."""
        return isinstance(other, Score) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(tuple(v for name, v in self.to_json().items() if name != "spec"))

    def to_json(self) -> dict[str, Any]:
        """Return field name -> value; NaN is None, as JSON has no NaN; ``spec`` only if set."""
        numbers = (("value", self.value), ("low", self.low), ("high", self.high))
        record: dict[str, Any] = {k: None if v != v else v for k, v in numbers}
        record |= {"n": self.n, "signature": self.signature}
        return record | ({"spec": self.spec.to_json()} if self.spec else {})

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Score":
        """Read what ``to_json`` wrote.

        Raises:
            ValueError: the declaration of the metric is not one.
        """
        known: dict[str, Any] = {k: nan if value is None else value for k, value in record.items()}
        if "spec" in record:
            known["spec"] = MetricSpec.from_json(record["spec"])
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Counts:
    """The denominators of a retrieval run, in queries.

    Attributes:
        asked: all queries of the split (after ``limit``).
        answered: those that got a ranking, an empty or short one included.
        failed: those whose retriever call raised or broke the contract; they score 0.
        empty: answered with no table at all.
        short: answered with fewer tables than asked for (the empty ones included).
        resorted: scored rankings that came in another order than their scores say.
        empty_queries: queries whose text is empty.
        tied: scored rankings in which tables of equal score were put in the order of the corpus.
        unlabelled: queries without gold tables, which are in no score.
    """

    asked: int
    answered: int
    failed: int
    empty: int
    short: int
    resorted: int
    empty_queries: int
    tied: int = 0
    unlabelled: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return field name -> value; ``unlabelled`` only where there are any."""
        return _denominators(self)


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """The denominators of a generation run, in queries.

    Attributes:
        asked: all queries of the split that the task is about (after ``limit``).
        answered: those that got an answer.
        failed: those whose generator call failed or whose tables could not be retrieved; they
            count as wrong.
        unparsed: answers in which what the task asks for could not be read; they count as wrong.
        truncated: prompts in which rows or tables were left out for want of room.
        cut: answers that reached their largest number of tokens.
        input_tokens: tokens of all prompts, as far as the provider counts them; None if it does
            not.
        output_tokens: the same of all answers.
        cost: of all answers, in the currency of the price table; None without one.
        unlabelled: queries without a reference answer, which are in no score.
    """

    asked: int
    answered: int
    failed: int
    unparsed: int
    truncated: int
    cut: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    unlabelled: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return field name -> value; ``unlabelled`` only where there are any."""
        return _denominators(self)


def _denominators(counts: Counts | AnswerCounts) -> dict[str, Any]:
    found = asdict(counts)
    if not counts.unlabelled:
        del found["unlabelled"]
    return found


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """The declaration of a corpus.

    Attributes:
        name: lower-case name, as written on the command line.
        title: the name its authors use.
        tasks: short names of the tasks it serves.
        splits: the splits with queries, in this order of preference: the first is the default.
        licence: the licence of the data.
        citation: the paper, in one line.
        source: where the release files are to be had.
        files: what has to lie in the data folder, as shown when it does not.
        any_task: whether it serves any other task too, unless that needs databases.
    """

    name: str
    title: str
    tasks: tuple[str, ...]
    splits: tuple[str, ...]
    licence: str
    citation: str
    source: str
    files: tuple[str, ...] = field(default=())
    any_task: bool = False
