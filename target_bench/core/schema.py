"""The values of an evaluation: tables, queries, rankings, answers, and their data sets."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.declarations import Source, Sources
from target_bench.core.errors import ConfigError
from target_bench.core.grid import CellGrid

Cell = str | int | float | bytes | None
"""One cell: text in web tables, the source's own type in databases."""


LabelMode = Literal["strict", "target"]
"""How a label is read from an answer: as a word of its own, or as the original TARGET does it."""


AnswerKind = Literal["ranking", "text", "label", "sql", "tables"]
"""What an answer is; a task says which."""


SQLOutcome = Literal[
    "executed",
    "syntax_error",
    "unknown_table",
    "unknown_column",
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

    ```python
    from target_bench import TableId

    print(TableId("soccer", "players") == ("soccer", "players"))  # True
    ```

    A plain pair of strings is equal to a ``TableId``, and accepted in its place.
    """

    database_id: str
    table_id: str

    def __str__(self) -> str:
        return f"{self.database_id}/{self.table_id}"

    @property
    def label(self) -> str:
        """The id as people read it: without a database where there is none."""
        return self.table_id if self.database_id == NO_DATABASE else str(self)


def copy_json(value: Any) -> Any:
    """Return a deep copy of JSON, several times as fast as ``copy.deepcopy``."""
    if isinstance(value, dict):
        return {name: copy_json(item) for name, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) for item in value]
    return tuple(map(copy_json, value)) if type(value) is tuple else value


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a corpus.

    ```python
    from target_bench import Table, TableId

    table = Table(TableId("0", "moons"), ["planet", "moons"], [["Mars", 2], ["Venus", 0]])
    print(table)  # Table('moons', 2 columns, 2 rows)
    ```

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

    def __repr__(self) -> str:
        # All cells of a table would bury an error or a notebook.
        return f"Table({self.id.label!r}, {len(self.header)} columns, {len(self.rows):,} rows)"

    def _repr_html_(self) -> str:
        from target_bench.core.html_view import table_html

        return table_html(self)


@dataclass(frozen=True, slots=True)
class Query:
    """A question, statement or instruction to be answered from tables.

    ```python
    from target_bench import Query, TableId

    query = Query("q1", "How many moons has Mars?", (TableId("0", "moons"),), "2")
    print(query.references)  # ('2',)
    ```

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
    database_id: str = NO_DATABASE
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def references(self) -> tuple[str, ...]:
        """The accepted answers."""
        return (self.answer,) if isinstance(self.answer, str) else self.answer

    @property
    def synthetic(self) -> bool:
        """Whether a program or a model wrote it: ``synthetic`` in its metadata says by what."""
        return bool(self.metadata.get("synthetic"))


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The ranking of a query.

    ```python
    from target_bench import Retrieval, TableId

    retrieval = Retrieval("q1", (TableId("0", "moons"),), (0.7,))
    print(retrieval.tables[0], retrieval.error)  # 0/moons None
    ```

    Attributes:
        query_id: the query.
        tables: the ids of the retrieved tables, best first: all that metrics read.
        scores: one per table where the retriever gave scores, else empty.
        error: why the query failed, or None; then ``tables`` is empty.
        resorted: whether the retriever gave the tables in another order than their scores say.
        tied: whether tables of equal score were put in the order that breaks ties.
        divides_ties: whether the cutoff divides tables of equal score: the first one left out has
            the score of the last one; None where it is not known.
        traceback: of the exception that the retriever raised, if that was the error.
        at: smaller cutoff -> the tables that were returned at it, of a retriever whose ranking
            depends on how many are asked for; empty for all others.
    """

    query_id: str
    tables: tuple[TableId, ...]
    scores: tuple[float, ...] = ()
    error: str | None = None
    resorted: bool = False
    tied: bool = False
    divides_ties: bool | None = None
    traceback: str | None = None
    at: Mapping[int, tuple[TableId, ...]] = field(default_factory=dict)

    def take_cutoff(self, k: int) -> "Retrieval":
        """Return the ranking at a cutoff: the tables returned at it, else the first of all."""
        if k in self.at:
            smaller = {cutoff: tables for cutoff, tables in self.at.items() if cutoff < k}
            return replace(self, tables=self.at[k], scores=(), divides_ties=None, at=smaller)
        if len(self.tables) <= k:
            return self
        divided = self.scores[k - 1] == self.scores[k] if self.scores else None
        first, scores = self.tables[:k], self.scores[:k]
        return replace(self, tables=first, scores=scores, divides_ties=divided)


FLAGS = ("resorted", "tied")
"""Fields of a ``Retrieval`` that a log holds only where they are true."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt.

    ```python
    from target_bench import Message

    print(Message("system", "Answer in one word."))
    # Message(role='system', content='Answer in one word.')
    ```

    Attributes:
        role: ``system``, ``user`` or ``assistant``.
        content: its text.
    """

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """A request to a generator.

    ```python
    from target_bench import GenerationRequest, Message

    request = GenerationRequest("q1", "qa", (Message("user", "Who won?"),), "Who won?")
    print(request.messages[0].content, request.answer)  # Who won? text
    ```

    Attributes:
        query_id: the query it is about.
        task: short name of the task.
        messages: the prompt, tables included, as a language model reads it.
        query: the text of the query.
        tables: the tables of the prompt, best first, for generators that read no prompt.
        answer_schema: the JSON schema that the answer should follow, or None for free text.
        answer: the kind of answer that the task asks for.
        schema_optional: whether free text is read as well as JSON of ``answer_schema``.
        temperature: of sampling; None for the generator's own setting.
    """

    query_id: str
    task: str
    messages: tuple[Message, ...]
    query: str
    tables: tuple[Table, ...] = ()
    answer_schema: Mapping[str, Any] | None = None
    answer: AnswerKind = "text"
    schema_optional: bool = False
    temperature: float | None = None

    def __post_init__(self) -> None:
        # All requests of a task share a schema: a generator that changes it changes its copy.
        object.__setattr__(self, "answer_schema", copy_json(self.answer_schema))


@dataclass(frozen=True, slots=True)
class Generation:
    """The answer of a generator.

    ```python
    from target_bench import Generation

    answer = Generation("q1", "2", output_tokens=1)
    print(answer.text, answer.error)  # 2 None
    ```

    Attributes:
        query_id: the query it is about.
        text: the answer; empty if it failed.
        error: why it failed, or None.
        input_tokens: tokens of the prompt, where the provider counts them.
        output_tokens: tokens of the answer, where the provider counts them.
        cost: in the currency of the price table, where there is one.
        seconds: wall-clock time of the answer, waiting for a rate limit excluded.
        cached: whether it comes from a cache.
        finish_reason: why it ended, as the provider calls it: ``length`` if it was cut.
        traceback: of the exception that the generator raised, if that was the error.
        shown_rows: how many rows of each table its prompt showed, -1 for a table that found no
            room; set by the harness.
        truncated: whether its prompt left out rows or tables for want of room; set by the harness.
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
    traceback: str | None = None
    shown_rows: tuple[int, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """A task's judgement of an answer, with the answer that was judged.

    ```python
    from target_bench import Judgement

    judgement = Judgement("q1", fingerprint="5f2a", record={"correct": True})
    print(judgement.record["correct"])  # True
    ```

    Attributes:
        query_id: the query.
        fingerprint: a hash of all that the record depends on: the answer, the reference, the data
            it was tried on, the settings.
        record: all that metrics and reports read of the judged answer, as JSON.
    """

    query_id: str
    fingerprint: str
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Executed:
    """The result of a SQL statement.

    Attributes:
        outcome: ``executed``, or why not.
        columns: the names of the result's columns; empty unless it was executed.
        rows: the result, in the engine's order; empty unless it was executed.
        message: that of the engine, or the limit that was met; empty if it was executed.
        seconds: how long each execution took, fetching included; several where times are compared.
    """

    outcome: SQLOutcome
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    message: str = ""
    seconds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """The declaration of a corpus.

    ```python
    from target_bench import CorpusInfo, Hub

    print(CorpusInfo("my-corpus", licence="CC BY 4.0", data=Hub("owner/name")).source)
    # https://huggingface.co/datasets/owner/name
    ```

    Attributes:
        name: lower-case name, as written on the command line.
        title: the name its authors use; default: the name.
        tasks: short names of the tasks it serves.
        splits: the splits with queries, in this order of preference: the first is the default.
        licence: the licence of the data.
        citation: the paper, in one line.
        source: where the release files are to be had; default: where its data are.
        files: the files that have to lie in the data folder, for the message that they do not.
        any_task: whether it serves any other task too, unless that needs databases.
        data: where its files are fetched from; or split -> that, where the splits differ in more
            than their names, or some cannot be fetched.
    """

    name: str
    title: str = ""
    tasks: tuple[str, ...] = (RANKING_TASK,)
    splits: tuple[str, ...] = ("test",)
    licence: str = "not stated"
    citation: str = ""
    source: str = ""
    files: tuple[str, ...] = ()
    any_task: bool = False
    data: Sources | Mapping[str, Sources] | None = None

    def __post_init__(self) -> None:
        if not self.splits:
            raise ConfigError(f"corpus {self.name}: splits=(): expected a split, as ('test',)")
        object.__setattr__(self, "title", self.title or self.name)
        if not self.source and (sources := self.sources(self.splits[0])):
            object.__setattr__(self, "source", sources[0].address)

    def sources(self, split: str) -> tuple[Source, ...]:
        """Return where the files of a split are fetched from; nothing where they cannot be."""
        data = self.data.get(split) if isinstance(self.data, Mapping) else self.data
        if data is None:
            return ()
        sources = data if isinstance(data, tuple) else (data,)
        return tuple(source.select_split(split) for source in sources)

    @property
    def fetched_splits(self) -> tuple[str, ...]:
        """The splits whose files can be fetched."""
        return tuple(split for split in self.splits if self.sources(split))


class Corpus(Collection[Any], ABC):
    """The tables that a retriever searches: found by id, in a fixed order.

    ```python
    from target_bench import load

    corpus = load("mini").corpus
    table = corpus[corpus.ids[0]]
    print(len(corpus), table.id)  # 139 0/olympics-1972-medals
    ```

    It shows tables alone: no question, no gold table, no name of a data set.
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} tables)"

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __iter__(self) -> Iterator[Table]: ...

    @abstractmethod
    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        """Return the table with this id; raises ``KeyError`` for an unknown one."""

    @property
    @abstractmethod
    def ids(self) -> Sequence[TableId]:
        """The ids of all tables, in corpus order."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of the content: ids, headers, rows, context and their order."""

    @property
    @abstractmethod
    def positions(self) -> Mapping[tuple[str, str], int]:
        """Table id -> its position in corpus order."""

    @property
    @abstractmethod
    def groups(self) -> Sequence[int]:
        """For each table the position of the first table with the same header and rows."""

    def __contains__(self, table_id: object) -> bool:
        return table_id in self.positions

    @property
    def shuffled(self) -> "Corpus":
        """The same tables in the order that breaks ties (``ranking.tie_order``)."""
        return self

    def copy_for_retriever(self) -> "Corpus":
        """Return the tables shuffled, as a copy: a retriever may change the object that it gets."""
        return copy(self.shuffled)

    def at(self, place: int) -> Table:
        """Return the table at a place of the corpus."""
        table: Table = self[self.ids[place]]
        return table

    def batches(self, n: int) -> Iterator[list[Table]]:
        """Yield the tables in corpus order, ``n`` at a time (the last batch may be shorter)."""
        if n < 1:
            raise ValueError(f"a batch holds at least one table, not {n}")
        tables = iter(self)
        while batch := list(islice(tables, n)):
            yield batch


@dataclass(frozen=True, slots=True)
class NearCopy:
    """A distractor that nearly is a gold table, such as an older state of it.

    Attributes:
        id: the distractor in the mixed corpus.
        gold: the gold table.
        similarity: their Jaccard index over normalised cells.
    """

    id: TableId
    gold: TableId
    similarity: float


@dataclass(frozen=True, slots=True)
class Distractors:
    """Tables of another corpus, or of another split, that were mixed into one.

    Attributes:
        spec: the text that asked for them: ``ottqa:split=train,n=1000,seed=7``.
        ids: their ids in the mixed corpus, in its order.
        notes: warnings about them.
        near_copies: those of them that are near-copies of gold tables, where they were looked for.
        near_copies_setting: the setting ``near_copies``; None for the default of their corpus.
    """

    spec: str
    ids: tuple[TableId, ...]
    notes: tuple[str, ...] = ()
    near_copies: tuple[NearCopy, ...] = ()
    near_copies_setting: str | None = None


SPLIT_ALIASES = {"dev": "validation", "val": "validation", "valid": "validation"}
"""Other names of the split ``validation``."""

LEFT_OUT = "files that cannot be read, and were left out:"
"""The beginning of the note that names them: commands look for it, and exit with 3."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """One split of a corpus plug-in, loaded.

    ```python
    from target_bench import load

    dataset = load("mini")
    print(dataset.split, len(dataset.corpus), dataset.queries[0].text)
    # test 139 At the Games held in Barcelona, how many golds did the host nation take?
    ```

    Attributes:
        info: what the corpus declares about itself.
        split: the split's full name.
        corpus: the tables.
        queries: the questions with their gold tables and reference answers.
        files: path of a source file in the data folder -> its SHA-256.
        notes: warnings about the data (empty tables, empty questions, ...).
        distractors: the tables that were mixed in.
        databases: database id -> SQLite or DuckDB file, for the task text-to-SQL. Databases that
            queries name and that are not here were missing.
        request: the options that loaded it, with which a run of it can be repeated: ``corpus``,
            ``distractors``, ``limit``, and ``about``: the task to whose queries it was limited,
            if these are not the ones of table retrieval.
        seconds: how long it took to load.
    """

    info: CorpusInfo
    split: str
    corpus: Corpus
    queries: tuple[Query, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    distractors: tuple[Distractors, ...] = ()
    databases: Mapping[str, Path] = field(default_factory=dict)
    request: Mapping[str, Any] = field(default_factory=dict, compare=False)
    seconds: float = field(default=0.0, compare=False)

    def __repr__(self) -> str:
        size = f"{len(self.corpus):,} tables, {len(self.queries):,} queries"
        return f"Dataset({self.info.name} {self.split}: {size})"

    def _repr_html_(self) -> str:
        from target_bench.core.html_view import dataset_html

        return dataset_html(self)


Format = Literal["text", "markdown", "csv", "json", "html", "sentences"]

Linearised = Literal[
    "totto_full", "totto_full_metadata", "totto_subtable", "totto_subtable_metadata"
]
"""The four inputs of ToTTo's models."""

TableFormat = Literal[Format, Linearised]
"""How a table is written as text."""

Field = Literal[
    "id", "title", "section", "header", "rows", "keys", "database", "columns", "descriptions"
]
"""A part of a table that a text of it may have."""

RowLimit = int | Literal["all", "auto"]
"""How many rows of a table are read; ``Serializer`` says what ``auto`` is."""
