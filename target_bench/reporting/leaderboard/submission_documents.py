"""The documents in a submission, and what may stand in them."""

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from target_bench.core.built_in import RANKING_TASK
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


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Declared(_Strict):
    """A score as the submitter's machine computed it; one over no query has no numbers."""

    value: Number | None
    low: Number | None
    high: Number | None
    n: int
    signature: Annotated[str, Field(max_length=1000)]


class Parts(BaseModel):
    """What ranked and what answered, in documents of submissions and of entries.

    Attributes:
        task: short name of the task.
        retriever: label of the retriever; None where nothing was retrieved.
        generator: label of the generator; None for a run of rankings.
        retrieval: for answers to retrieved tables, the place of their retrieval among the runs.
        cutoffs: ascending; none without a retriever.
    """

    task: Name
    retriever: Label | None
    generator: Label | None
    retrieval: Place | None
    cutoffs: Annotated[list[Cutoff], Field(max_length=20)]

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


class RunDocument(Parts, _Strict):
    """``run.json``: what a run is of, and what its manifest says.

    Attributes:
        corpus: registered name of the corpus.
        split: full name of the split.
        about: the task whose queries were ranked, or None for all of the split.
        database: the one database whose queries were ranked, or None.
        limit: how many queries were looked at, or None for all.
        distractors: what was mixed in, each as it was asked for.
        corpus_fingerprint: of the tables.
        queries_fingerprint: of queries and gold tables, of answers of the references too.
        files: SHA-256 of every source file of the data, by name.
        identity: of ``retriever``, ``generator`` and ``prompt``: class, settings, versions.
        environment: interpreter, processors and package versions.
        seconds: stage -> wall-clock seconds.
        timed_queries: how many queries the seconds of ``retrieve`` cover.
        latency_ms: of single queries, or None.
        cold: whether times of which something came out of a cache were left out; submissions that
            were packed by version 0.1.0 do not say.
        scores: metric name -> score, as the submitter's machine computed them.
        date: the day it was run.
    """

    corpus: Name
    split: Name
    about: Name | None
    database: Name | None
    limit: Annotated[int, Field(ge=1)] | None
    distractors: Annotated[list[Label], Field(max_length=20)]
    corpus_fingerprint: Hash
    queries_fingerprint: Hash
    files: dict[str, Hash]
    identity: dict[Name, dict[str, Any]]
    environment: dict[str, Any]
    seconds: Times
    timed_queries: Count
    latency_ms: Times | None
    cold: bool = False
    scores: Annotated[dict[Name, Declared], Field(max_length=500)]
    date: Annotated[str, Field(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")]


class Index(_Strict):
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
