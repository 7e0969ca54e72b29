"""What may stand in an entry file, before anything of it is believed or shown."""

from dataclasses import MISSING
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from target_bench.core.metric import AnswerCounts, Counts, MetricSpec
from target_bench.reporting.leaderboard.archive import MOST_RUNS
from target_bench.reporting.leaderboard.card import Card, visible
from target_bench.reporting.leaderboard.submission_documents import (
    Count,
    Hash,
    Label,
    Name,
    Parts,
    Place,
    Times,
    first_fault,
)

MOST_VALUES = 50_000_000
"""Values of queries in an entry, over all runs and metrics; they take 8 bytes each."""

_MOST_QUERIES = 1_000_000
_LARGEST_COUNT = 1e24  # of tokens and costs, summed over queries
_UNKNOWN = {"input_tokens", "output_tokens", "cost"}  # may be null: providers do not always tell
_PLAIN = {str, int, float, bool, type(None)}

Finite = Annotated[float, Field(allow_inf_nan=False, strict=False)]
Text = Annotated[str, Field(max_length=20_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _spec(record: dict[str, Any] | None) -> dict[str, Any] | None:
    """See that it is the declaration of a metric."""
    if record is not None:
        MetricSpec.from_json(record)
    return record


class ScoreDocument(_Strict):
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


class RunDocument(Parts, _Strict):
    """A run, as ``RunEntry.to_json`` writes it."""

    corpus: Name
    split: Name
    distractors: Annotated[list[Label], Field(max_length=20)]
    about: Name | None
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
    seconds: Times
    timed_queries: Count
    latency_ms: Times | None
    cold: bool = False
    environment: dict[str, Any]
    retriever_identity: dict[str, Any]
    generator_identity: dict[str, Any]
    corpus_fingerprint: Hash
    queries_fingerprint: Hash
    predictions_sha256: Hash
    date: Annotated[str, Field(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")]

    @model_validator(mode="after")
    def _fits(self) -> "RunDocument":
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


class FindingDocument(_Strict):
    """What a check found."""

    check: Name
    level: Literal["note", "suspicious", "rejected"]
    message: Text
    run: Place | None


class EntryDocument(_Strict):
    """An entry, as ``Entry.to_json`` writes it."""

    format: int
    id: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(visible)]
    card: Card
    runs: Annotated[list[RunDocument], Field(min_length=1, max_length=MOST_RUNS)]
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


def check(record: Any) -> None:
    """See that a JSON value is the document of an entry.

    Raises:
        ValueError: it is none; the message names the first field that is wrong.
    """
    try:
        EntryDocument.model_validate(record)
    except ValidationError as error:
        raise ValueError(first_fault(error)) from None
