"""``scores.json``: what is in it, checked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from target_bench.core.errors import StoreError
from target_bench.core.files import unsealed, wholly_sealed
from target_bench.core.metric import AnswerCounts, Counts, Score

T = TypeVar("T", Counts, AnswerCounts)

_ADVICE = "remove it and run the same command again"


@dataclass(frozen=True, slots=True)
class StoredScores:
    """The scores of a finished run.

    Attributes:
        scores: metric name -> score, in the order in which they are recorded; empty where no query
            has a reference.
        counts: the denominators of the rankings.
        answers: the denominators of the answers; None for a run of rankings.
        report: what else the task says of the answers; empty where it says nothing.
    """

    scores: Mapping[str, Score]
    counts: Counts
    answers: AnswerCounts | None
    report: Mapping[str, Any]


def read_scores(folder: Path) -> StoredScores:
    """Return the scores of a run.

    Raises:
        StoreError: the run is not finished, or the file is damaged.
    """
    path = folder / "scores.json"
    if not path.exists():
        raise StoreError(
            f"{folder}: the run is not finished (no scores.json); run the same command again"
        )
    try:
        content = unsealed(json.loads(path.read_bytes()), required=wholly_sealed(folder))
        if not all(isinstance(content.get(part), dict) for part in ("scores", "counts")):
            raise StoreError(f"{path}: holds no scores; {_ADVICE}")
        return _parse(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path}: cannot be read ({error}); {_ADVICE}") from error


def _parse(content: Mapping[str, Any]) -> StoredScores:
    scores = {name: Score.from_json(found) for name, found in content["scores"].items()}
    for name, score in scores.items():
        if not all(isinstance(v, int | float) for v in (score.value, score.low, score.high)):
            raise TypeError(f"{name} is not a number")
    answers = content.get("answers")
    counts = _counts(Counts, content["counts"])
    answered = None if answers is None else _counts(AnswerCounts, answers)
    of_scores = counts if answered is None else answered
    if not scores and of_scores.unlabelled < of_scores.asked:
        raise ValueError("there are no scores")
    return StoredScores(scores, counts, answered, dict(content.get("report") or {}))


def _counts(kind: type[T], record: Mapping[str, Any]) -> T:
    """Return the denominators; entries that this version does not know are left out."""
    known = {one.name: record[one.name] for one in fields(kind) if one.name in record}
    for name, value in known.items():
        if not isinstance(value, int | float | None) or isinstance(value, bool):
            raise TypeError(f"{name} is {value!r:.40}, not a number")
    return kind(**known)
