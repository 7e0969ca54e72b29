"""Entries: the content of a leaderboard for a verified submission, without any dataset.

The entries in a folder are read one at a time, each checked before anything of it is used.
"""

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import nan
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import DataError
from target_bench.core.files import atomic_write, parse_json
from target_bench.core.metric import AnswerCounts, Counts, Score
from target_bench.reporting.leaderboard.card import Card
from target_bench.reporting.leaderboard.document_models import check_entry
from target_bench.runs.manifest import NO_CONTEXT
from target_bench.runs.times import ColdTimes, Recorded, declared

FORMAT = 2
"""The version of ``*.entry.json`` that is written. Version 1 has no runs without retrieval."""

READABLE = (1, FORMAT)
"""The versions that are read; a file of another one is refused."""

SUFFIX = ".entry.json"
"""Suffix of an entry's file, which is beside the submission."""

Verdict = Literal["accepted", "suspicious", "rejected"]
Level = Literal["note", "suspicious", "rejected"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding of a check.

    Attributes:
        check: the name of the check.
        level: a note leaves the verdict as it is; else the verdict is at least this.
        message: what was found, with figures.
        run: the place of the run in the submission, or None if it is about the whole.
    """

    check: str
    level: Level
    message: str
    run: int | None = None


@dataclass(frozen=True, eq=False)
class RunEntry:
    """One run of a submission, every figure of it recomputed.

    Attributes:
        basis: whether it is the retrieval that an answer run of the same submission is built on.
        scores: metric name -> score with its 95% interval; for an answer run those of its
            retrieval too.
        query_ids: the n queries of the split, in the order of the dataset.
        per_query: metric name -> (n,) float64 value of each query alone; NaN where it is in no
            denominator.
        slices: by what queries can be divided -> (n) value of each, or None; names as in
            ``runs.manifest.slice_columns``, without the prefix.
        counts: the denominators of the rankings.
        answers: the denominators of the answers, or None.
        report: what else the task says of the answers (outcomes, groups), or None.
        title: the name of the task in full; empty in entries of version 1.
        summary: what the task sums up of the answers, in lines of text.
        retriever_identity: class, settings and versions of the retriever, as declared.
        generator_identity: the same of the generator; empty for a run about retrieval.
        predictions_sha256: of the predictions.
        corpus, ..., date: as in ``document_models.SharedFields``; times, environment and date as
            they were declared, empty where they were not.
    """

    corpus: str
    split: str
    task: str
    retriever: str | None
    generator: str | None
    cutoffs: tuple[int, ...]
    scores: Mapping[str, Score]
    query_ids: Sequence[str]
    per_query: Mapping[str, NDArray[np.float64]]
    counts: Counts
    corpus_fingerprint: str
    queries_fingerprint: str
    predictions_sha256: str
    distractors: tuple[str, ...] = ()
    about: str | None = None
    basis: bool = False
    retrieval: int | None = None
    slices: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    answers: AnswerCounts | None = None
    report: Mapping[str, Any] | None = None
    title: str = ""
    summary: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    timed_queries: int = 0
    latency_ms: Mapping[str, Any] | None = None
    cold: bool = False
    environment: Mapping[str, Any] = field(default_factory=dict)
    retriever_identity: Mapping[str, Any] = field(default_factory=dict)
    generator_identity: Mapping[str, Any] = field(default_factory=dict)
    date: str = ""

    @property
    def ranks(self) -> bool:
        """Whether it is a run of rankings."""
        return self.generator is None

    @property
    def times(self) -> ColdTimes:
        """Those that may be shown: cold ones, and of 0.1.0's what no cache could shorten."""
        asked = self.answers.asked if self.answers else 0
        generator = self.generator_identity if self.generator else {}
        recorded = Recorded(self.seconds, self.timed_queries, asked, self.latency_ms)
        return declared(recorded, self.cold, self.retriever_identity, generator)

    @property
    def milliseconds(self) -> float | None:
        """Of the retrieval of a query: its share of the batch."""
        return self.times.retrieve

    @property
    def without_queries(self) -> "RunEntry":
        """The run without its queries, their values and slices."""
        return replace(self, per_query={}, slices={}, query_ids=())

    def to_json(self) -> dict[str, Any]:
        """Field name -> value; arrays packed, as ``from_json`` reads them."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return record | {
            "scores": {name: score.to_json() for name, score in self.scores.items()},
            "query_ids": list(self.query_ids),
            "per_query": {name: _packed(values) for name, values in self.per_query.items()},
            "counts": self.counts.to_json(),
            "answers": self.answers.to_json() if self.answers else None,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "RunEntry":
        """Read the output of ``to_json``."""
        n = len(record["query_ids"])
        answers = record["answers"]
        return cls(
            **{
                **record,
                "cutoffs": tuple(record["cutoffs"]),
                "distractors": tuple(record["distractors"]),
                "summary": tuple(record.get("summary", ())),
                "scores": {
                    name: Score.from_json(found) for name, found in record["scores"].items()
                },
                "per_query": {k: _unpacked(text, n) for k, text in record["per_query"].items()},
                "counts": Counts(**record["counts"]),
                "answers": AnswerCounts(**answers) if answers else None,
            }
        )


@dataclass(frozen=True, eq=False)
class Entry:
    """A verified submission.

    Attributes:
        id: unique on a board: the name of the submission's file without its suffix.
        card: who made what; every text in it is the submitter's.
        runs: its runs; an answer run names its retrieval by its place here.
        verdict: of the verification.
        findings: the reasons, and notes.
        fingerprint: a hash of all that was submitted, for any compression.
        checked_by: the version of target-bench that verified it.
    """

    id: str
    card: Card
    runs: tuple[RunEntry, ...]
    verdict: Verdict
    findings: tuple[Finding, ...]
    fingerprint: str
    checked_by: str

    def to_json(self) -> dict[str, Any]:
        """Return the document in ``*.entry.json``."""
        return {
            "format": FORMAT,
            "id": self.id,
            "card": self.card.model_dump(mode="json"),
            "runs": [run.to_json() for run in self.runs],
            "verdict": self.verdict,
            "findings": [asdict(finding) for finding in self.findings],
            "fingerprint": self.fingerprint,
            "checked_by": self.checked_by,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Entry":
        """Read the output of ``to_json``.

        Raises:
            ValueError: it is none, or of another version.
        """
        if record.get("format") not in READABLE:
            known = " and ".join(map(str, READABLE))
            raise ValueError(f"format {record.get('format')!r}, but this version reads {known}")
        return cls(
            id=record["id"],
            card=Card.model_validate(record["card"]),
            runs=tuple(RunEntry.from_json(run) for run in record["runs"]),
            verdict=record["verdict"],
            findings=tuple(Finding(**finding) for finding in record["findings"]),
            fingerprint=record["fingerprint"],
            checked_by=record["checked_by"],
        )

    def write(self, path: Path) -> None:
        """Write the entry; the same entry is the same file.

        Raises:
            OSError: it cannot be written.
        """
        text = json.dumps(self.to_json(), separators=(",", ":"))
        atomic_write(path, f"{text}\n".encode())


MOST_BYTES = 256 * 2**20
"""Of an entry file."""

_ROUNDING = 1e-4


def files(folder: Path) -> list[Path]:
    """Return the entry files in a folder and its sub-folders, in the order of their names.

    Raises:
        DataError: there is no such folder.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder")
    return sorted(folder.rglob(f"*{SUFFIX}"))


def entries(folder: Path) -> Iterator[tuple[Path, Entry]]:
    """Every entry in a folder with its file, rejected ones too, one at a time.

    Raises:
        DataError: there is no such folder or no entry in it, a file cannot be read or is not an
            entry, or two have the same id; the message names file and field.
    """
    seen: dict[str, Path] = {}
    for path in files(folder):
        entry = read(path)
        other = seen.setdefault(entry.id.casefold(), path)
        if other is not path:
            raise DataError(
                f"{path}: id: {entry.id!a} is the id of {other} too; it should be there once"
            )
        yield path, entry
    if not seen:
        raise DataError(
            f"{folder}: holds no *{SUFFIX}; target-bench leaderboard verify writes one for each "
            "submission"
        )


def read(path: Path) -> Entry:
    """Return the entry in a file, checked field by field.

    Raises:
        DataError: it cannot be read, is too large, or is not an entry.
    """
    try:
        if path.is_symlink() or not path.is_file():
            raise DataError(f"{path}: is a link or no file; an entry is read from a plain file")
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise DataError(f"{path}: {size:,} bytes; an entry has at most {MOST_BYTES:,}")
        record = parse_json(path.read_bytes(), parse_constant=_no_number)
        check_entry(record)
        entry = Entry.from_json(record)
        runs = (_checked(run, i) for i, run in enumerate(entry.runs))
        return replace(entry, runs=tuple(map(_without_rankings, runs)))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise DataError(
            f"{path}: holds no entry: {error}. Write it again with target-bench leaderboard verify."
        ) from error


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")


def _checked(run: RunEntry, place: int) -> RunEntry:
    """Return the run, its recalls seen to be those of its queries."""
    for name, score in run.scores.items():
        values = run.per_query.get(name)
        if values is None or not name.startswith("recall@"):
            continue
        if np.isinf(values).any():
            raise ValueError(f"runs.{place}.per_query.{name}: holds an infinite number")
        known = values[~np.isnan(values)]
        if len(known) and not abs(float(known.mean()) - score.value) <= _ROUNDING:
            raise ValueError(
                f"runs.{place}.scores.{name}.value: {score.value:g}, but its queries have "
                f"{float(known.mean()):g} in the mean"
            )
    return run


def _without_rankings(run: RunEntry) -> RunEntry:
    """Return the run; where answers were given without tables, its rankings have no scores."""
    if not (run.basis and run.retriever == NO_CONTEXT):
        return run
    scores = {
        name: replace(one, value=nan, low=nan, high=nan, n=0) for name, one in run.scores.items()
    }
    values = {name: np.full_like(found, np.nan) for name, found in run.per_query.items()}
    return replace(run, scores=scores, per_query=values)


def _packed(values: NDArray[np.float64]) -> str:
    raw = np.ascontiguousarray(values, dtype="<f8").tobytes()
    return base64.b64encode(zlib.compress(raw, 9)).decode("ascii")


def _unpacked(text: str, n: int) -> NDArray[np.float64]:
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(base64.b64decode(text, validate=True), 8 * n + 1)
    if len(raw) != 8 * n:
        raise ValueError(f"{n} queries need as many values")
    return np.frombuffer(raw, dtype="<f8").astype(np.float64)
