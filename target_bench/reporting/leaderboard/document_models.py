"""The JSON documents of submissions and entries, and what may stand in them.

Both come from anybody: nothing of a document is believed or shown before it was checked here.
"""

from dataclasses import MISSING
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.metric import AnswerCounts, Counts, MetricSpec
from target_bench.reporting.leaderboard.archive import (
    LARGEST_INTEGER,
    MOST_RUNS,
    READABLE,
    RefusedError,
)
from target_bench.reporting.leaderboard.card import Card, faults, visible

MOST_TABLES = 1000
"""The largest cutoff; a ranking holds no more."""

Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(visible)]
Label = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(visible)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Cutoff = Annotated[int, Field(ge=1, le=MOST_TABLES)]
Place = Annotated[int, Field(ge=0, lt=MOST_RUNS)]
Number = Annotated[float, Field(strict=False)]
LARGEST_TIME = 1e10
"""Of seconds and milliseconds; more is not a time, and its sums might be infinite."""

Time = Annotated[float, Field(strict=False, ge=-LARGEST_TIME, le=LARGEST_TIME)]
Times = Annotated[dict[Name, Time], Field(max_length=20)]
Count = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]
ModelT = TypeVar("ModelT", bound=BaseModel)


class Strict(BaseModel):
    """A document without other fields than those named, each of its own type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Declared(Strict):
    """A score as the submitter's machine computed it; one over no query has no numbers."""

    value: Number | None
    low: Number | None
    high: Number | None
    n: int
    signature: Annotated[str, Field(max_length=1000)]


class SharedFields(Strict):
    """Fields of a run in documents of submissions and of entries.

    Attributes:
        corpus: registered name of the corpus.
        split: full name of the split.
        task: short name of the task.
        about: the task whose queries were ranked, or None for all of the split.
        distractors: what was mixed in, each as it was asked for.
        retriever: label of the retriever; None where nothing was retrieved.
        generator: label of the generator; None for a run of rankings.
        retrieval: for answers to retrieved tables, the place of their retrieval among the runs.
        cutoffs: ascending; none without a retriever.
        corpus_fingerprint: of the tables.
        queries_fingerprint: of queries and gold tables, of answers of the references too.
        environment: interpreter, processors and package versions.
        seconds: stage -> wall-clock seconds.
        timed_queries: how many queries the seconds of ``retrieve`` cover.
        latency_ms: of single queries, or None.
        cold: whether times of which something came out of a cache were left out; submissions that
            were packed by version 0.1.0 do not say.
        date: the day it was run.
    """

    corpus: Name
    split: Name
    task: Name
    about: Name | None
    distractors: Annotated[list[Label], Field(max_length=20)]
    retriever: Label | None
    generator: Label | None
    retrieval: Place | None
    cutoffs: Annotated[list[Cutoff], Field(max_length=20)]
    corpus_fingerprint: Hash
    queries_fingerprint: Hash
    environment: dict[str, Any]
    seconds: Times
    timed_queries: Count
    latency_ms: Times | None
    cold: bool = False
    date: Annotated[str, Field(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")]

    def problem(self) -> str | None:
        """Find why these do not fit together; None if they do."""
        if sorted(set(self.cutoffs)) != list(self.cutoffs):
            return "cutoffs should be ascending"
        if (self.retriever is None) == bool(self.cutoffs):
            return "cutoffs belong to runs with a retriever, and to all of them"
        if self.generator is None:
            if self.retriever is None or self.retrieval is not None:
                return "a run without a generator has a retriever and names no other run"
            return None
        if self.task == RANKING_TASK:
            return f"a run about {self.task} has no generator"
        if (self.retriever is None) != (self.retrieval is None):
            return "answers name a retriever and the run of its rankings, or neither"
        return None


class RunDocument(SharedFields):
    """``run.json``: what a run is of, and what its manifest says.

    Attributes:
        database: the one database whose queries were ranked, or None.
        limit: how many queries were looked at, or None for all.
        files: SHA-256 of every source file of the data, by name.
        identity: of ``retriever``, ``generator`` and ``prompt``: class, settings, versions.
        scores: metric name -> score, as the submitter's machine computed them.
    """

    database: Name | None
    limit: Annotated[int, Field(ge=1)] | None
    files: dict[str, Hash]
    identity: dict[Name, dict[str, Any]]
    scores: Annotated[dict[Name, Declared], Field(max_length=500)]


class Index(Strict):
    """``submission.json``: how many runs there are, and the hash of every other file."""

    format: int
    written_by: Name
    partial: bool
    runs: Annotated[int, Field(ge=1, le=MOST_RUNS)]
    files: dict[str, Hash]


def index_of(document: Any) -> Index:
    """``submission.json``, checked; errors as for ``run_of``."""
    index = _checked(Index, document, "submission.json")
    if index.format not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise RefusedError("archive", f"format {index.format}; this version reads {known}")
    return index


def run_of(document: Any, name: str) -> RunDocument:
    """Return a ``run.json``, checked.

    Raises:
        RefusedError: a field is missing, unknown, or of another type than it should be.
    """
    run = _checked(RunDocument, document, name)
    problem = run.problem()
    if problem is not None:
        raise RefusedError("archive", f"{name}: {problem}")
    return run


def card_of(document: Any) -> Card:
    """``card.json``, checked; errors as for ``run_of``."""
    try:
        return Card.model_validate(document)
    except ValidationError as error:
        messages = "; ".join(message for _, message in faults(error)[:10])
        raise RefusedError("card", f"card.json: {messages}") from None


def _checked(model: type[ModelT], document: Any, name: str) -> ModelT:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise RefusedError("archive", f"{name}: {first_fault(error)}") from None


def first_fault(error: ValidationError) -> str:
    """Describe the first field that is wrong, in printable text of bounded length."""
    one = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(ascii(str(part))[1:-1][:60] for part in one["loc"])
    said = one["msg"].removeprefix("Value error, ")[:300]
    return f"{where}: {said}" if where else said


MOST_VALUES = 50_000_000
"""Values of queries in an entry, over all runs and metrics; they take 8 bytes each."""

_MOST_QUERIES = 1_000_000
_LARGEST_COUNT = 1e24  # of tokens and costs, summed over queries
_UNKNOWN = {"input_tokens", "output_tokens", "cost"}  # may be null: providers do not always tell
_PLAIN = {str, int, float, bool, type(None)}
Finite = Annotated[float, Field(allow_inf_nan=False, strict=False)]
Text = Annotated[str, Field(max_length=20_000)]


def _spec(record: dict[str, Any] | None) -> dict[str, Any] | None:
    """See that it is the declaration of a metric."""
    if record is not None:
        MetricSpec.from_json(record)
    return record


class ScoreDocument(Strict):
    """A score; anything but a number is null."""

    value: Finite | None
    low: Finite | None
    high: Finite | None
    n: Annotated[int, Field(ge=0)]
    signature: Annotated[str, Field(max_length=1000)]
    spec: Annotated[dict[str, Any] | None, AfterValidator(_spec)] = None


def _plain(values: list[Any]) -> list[Any]:
    odd = {type(value) for value in values} - _PLAIN
    if odd:
        raise ValueError(f"holds a {odd.pop().__name__}; expected texts, numbers or null")
    return values


def _once(ids: list[str]) -> list[str]:
    if len(set(ids)) < len(ids):
        raise ValueError("names a query twice")
    return ids


def _numbers_of(kind: type[Any]) -> Any:
    fields = kind.__dataclass_fields__
    needed = {name for name, field in fields.items() if field.default is MISSING}

    def checked(value: dict[str, float | None]) -> dict[str, float | None]:
        if not needed <= set(value) <= set(fields):
            raise ValueError(f"expected {', '.join(fields)}")
        for name, number in value.items():
            if number is None and name not in _UNKNOWN:
                raise ValueError(f"{name} should be a number")
        return value

    return Annotated[
        dict[str, Annotated[float, Field(ge=0, le=_LARGEST_COUNT, strict=False)] | None],
        AfterValidator(checked),
    ]


class RunEntryDocument(SharedFields):
    """A run, as ``RunEntry.to_json`` writes it."""

    basis: bool
    scores: Annotated[dict[Name, ScoreDocument], Field(max_length=500)]
    query_ids: Annotated[
        list[str], Field(min_length=1, max_length=_MOST_QUERIES), AfterValidator(_once)
    ]
    per_query: Annotated[dict[Name, str], Field(max_length=500)]
    slices: Annotated[
        dict[Name, Annotated[list[Any], AfterValidator(_plain)]], Field(max_length=200)
    ]
    counts: _numbers_of(Counts)  # type: ignore[valid-type]  # made by a function
    answers: _numbers_of(AnswerCounts) | None  # type: ignore[valid-type]  # made by a function
    report: dict[str, Any] | None
    title: Annotated[str, Field(max_length=100), AfterValidator(visible)] = ""
    summary: Annotated[list[Text], Field(max_length=1000)] = []
    retriever_identity: dict[str, Any]
    generator_identity: dict[str, Any]
    predictions_sha256: Hash

    @model_validator(mode="after")
    def _fits(self) -> "RunEntryDocument":
        n = len(self.query_ids)
        for name, values in self.slices.items():
            if len(values) != n:
                raise ValueError(f"slices.{name!a}: {len(values)} values of {n} queries")
        for name, found in (("counts", self.counts), ("answers", self.answers)):
            if found is not None and found["asked"] != n:
                raise ValueError(f"{name}.asked: {found['asked']:g}, but there are {n} queries")
        problem = self.problem()
        if problem is not None:
            raise ValueError(problem)
        return self


class FindingDocument(Strict):
    """Finding of a check."""

    check: Name
    level: Literal["note", "suspicious", "rejected"]
    message: Text
    run: Place | None


class EntryDocument(Strict):
    """An entry, as ``Entry.to_json`` writes it."""

    format: int
    id: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(visible)]
    card: Card
    runs: Annotated[list[RunEntryDocument], Field(min_length=1, max_length=MOST_RUNS)]
    verdict: Literal["accepted", "suspicious", "rejected"]
    findings: Annotated[list[FindingDocument], Field(max_length=10_000)]
    fingerprint: Annotated[str, Field(max_length=200), AfterValidator(visible)]
    checked_by: Annotated[str, Field(max_length=200), AfterValidator(visible)]

    @model_validator(mode="after")
    def _fits(self) -> "EntryDocument":
        total = sum(len(run.query_ids) * len(run.per_query) for run in self.runs)
        if total > MOST_VALUES:
            raise ValueError(f"{total:,} values of queries; at most {MOST_VALUES:,} are read")
        for place, run in enumerate(self.runs):
            base = run.retrieval
            if base is not None and (
                base >= len(self.runs) or self.runs[base].generator is not None
            ):
                raise ValueError(f"runs.{place}.retrieval: {base} is not a run of rankings")
        return self


def check_entry(record: Any) -> None:
    """See that a JSON value is the document of an entry.

    Raises:
        ValueError: it is none; the message names the first field that is wrong.
    """
    try:
        EntryDocument.model_validate(record)
    except ValidationError as error:
        raise ValueError(first_fault(error)) from None
