"""Entries: what a leaderboard holds of a verified submission, without any data set.

``verify`` writes them, ``build`` reads them; nobody else should write them.
"""

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    model_validator,
)

from target_bench.core.errors import DataError
from target_bench.core.files import atomic_write
from target_bench.core.metric import AnswerCounts, Counts, Score
from target_bench.reporting.leaderboard.documents import (
    MOST_RUNS,
    Card,
    DeclaredScore,
    Hash,
    Name,
    RunFields,
    Strict,
    first_fault,
    visible,
)

SUFFIX = ".entry.json"
"""Suffix of an entry's file, which is beside the submission."""

_MOST_BYTES = 64 * 2**20
"""Of the ids, or of the values of a metric, of a run: those of a million queries are fewer."""

Verdict = Literal["accepted", "suspicious", "rejected"]
Level = Literal["note", "suspicious", "rejected"]
Floats = NDArray[np.float64]


def _score(value: Any) -> Score:
    if isinstance(value, Score):
        return value
    spec = {"spec": value.pop("spec")} if isinstance(value, dict) and "spec" in value else {}
    return Score.from_json(DeclaredScore.model_validate(value).model_dump() | spec)


def _packed(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw, 9)).decode("ascii")


def _unpacked(value: str) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(base64.b64decode(value, validate=True), _MOST_BYTES)
    except (TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"is not packed as verify packs values ({error})") from error
    if not unpacker.eof:  # a bomb of a few kilobytes would fill the memory
        raise ValueError(f"holds no whole packed value, or more than {_MOST_BYTES:,} bytes")
    return raw


def _ids(value: Any) -> Any:
    if isinstance(value, list):
        return value
    try:
        return json.loads(_unpacked(value))
    except RecursionError as error:
        raise ValueError("is nested too deep") from error


def _values(value: Any) -> Floats:
    if isinstance(value, np.ndarray):
        return value
    return np.frombuffer(_unpacked(value), dtype="<f8").astype(np.float64)


StoredScore = Annotated[
    Score, PlainValidator(_score), PlainSerializer(lambda score: score.to_json())
]
StoredValues = Annotated[
    Floats,
    PlainValidator(_values),
    PlainSerializer(lambda values: _packed(np.ascontiguousarray(values, dtype="<f8").tobytes())),
]
StoredIds = Annotated[
    list[str],
    BeforeValidator(_ids),
    PlainSerializer(lambda ids: _packed(json.dumps(ids).encode())),
]


class Finding(Strict):
    """Finding of a check.

    Attributes:
        check: the name of the check.
        level: a note leaves the verdict as it is; else the verdict is at least this.
        message: what is wrong, with figures.
        run: the place of the run in the submission, or None if it is about the whole.
    """

    check: Name
    level: Level
    message: Annotated[str, Field(max_length=20_000)]
    run: int | None = None


class RunEntry(RunFields):
    """One run of a submission, every figure of it recomputed.

    Attributes:
        basis: whether it is the rankings that an answer run of the same submission is built on.
        title: the name of the task in full.
        scores: metric name -> score with its 95% interval; for an answer run those of its
            rankings too.
        query_ids: the n queries of the split, in the order of the dataset.
        per_query: metric name -> (n,) float64 value of each query alone; NaN where it is in no
            denominator.
        counts: the denominators of the rankings.
        answers: the denominators of the answers, or None.
        retriever_identity: class, settings and versions of the retriever, as declared.
        generator_identity: the same of the generator; empty for a run of rankings.
        predictions_sha256: of the predictions.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    basis: bool
    title: Annotated[str, Field(max_length=100)]
    scores: Annotated[dict[Name, StoredScore], Field(max_length=500)]
    query_ids: Annotated[StoredIds, Field(min_length=1)]
    per_query: Annotated[dict[Name, StoredValues], Field(max_length=500)]
    counts: Counts
    answers: AnswerCounts | None
    retriever_identity: dict[str, Any]
    generator_identity: dict[str, Any]
    predictions_sha256: Hash

    @property
    def ranks(self) -> bool:
        """Whether it is a run of rankings."""
        return self.generator is None

    @property
    def retrieve_ms(self) -> float | None:
        """Declared milliseconds of a query in a batch; None where not known."""
        seconds = self.seconds.get("retrieve")
        return 1000 * seconds / self.timed_queries if seconds and self.timed_queries else None

    @property
    def answer_ms(self) -> float | None:
        """Declared milliseconds of an answer; None where not known."""
        seconds = self.seconds.get("generate")
        return 1000 * seconds / self.answers.asked if seconds and self.answers else None

    @model_validator(mode="after")
    def _fits(self) -> "RunEntry":
        n = len(self.query_ids)
        for name, values in self.per_query.items():
            if len(values) != n:
                raise ValueError(f"per_query.{name}: {len(values)} values of {n} queries")
        return self


class Entry(Strict):
    """A verified submission.

    Attributes:
        id: unique on a board: the name of the submission's file without its suffix.
        card: who made what; every text in it is the submitter's.
        runs: its runs.
        verdict: of the verification.
        findings: the reasons, and notes.
        fingerprint: a hash of all that was submitted, for any compression.
        checked_by: the version of target-bench that verified it.
    """

    format: Literal[4] = 4
    id: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(visible)]
    card: Card
    runs: Annotated[list[RunEntry], Field(min_length=1, max_length=MOST_RUNS)]
    verdict: Verdict
    findings: list[Finding]
    fingerprint: Hash
    checked_by: Name

    def write(self, path: Path) -> None:
        """Write the entry; the same entry is the same file.

        Raises:
            OSError: it cannot be written.
        """
        atomic_write(path, f"{self.model_dump_json()}\n".encode())


def entries(folder: Path) -> Iterator[Entry]:
    """Yield every entry in a folder and its sub-folders, rejected ones too, one at a time.

    Raises:
        DataError: there is no such folder or no entry in it, a file cannot be read or is not an
            entry, or two have the same id; the message names file and field.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder")
    paths: dict[str, Path] = {}
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        entry = read(path)
        other = paths.setdefault(entry.id.casefold(), path)
        if other is not path:
            raise DataError(
                f"{path}: id: {entry.id!a} is the id of {other} too; it should be there once"
            )
        yield entry
    if not paths:
        raise DataError(
            f"{folder}: holds no *{SUFFIX}; target-bench leaderboard verify writes one for each "
            "submission"
        )


def read(path: Path) -> Entry:
    """Return the entry in a file, checked field by field.

    Raises:
        DataError: it cannot be read, or is not an entry.
    """
    try:
        return Entry.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise DataError(
            f"{path}: holds no entry: {first_fault(error)}. Write it again with target-bench "
            "leaderboard verify."
        ) from error
