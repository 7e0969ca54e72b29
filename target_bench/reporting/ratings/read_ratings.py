"""Ratings that a form saved: files of JSON from outside, checked before anything uses them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.reporting.forms.form_page import SavedFile
from target_bench.reporting.forms.read_saved import check_persons, entries, saved_object
from target_bench.reporting.ratings.criteria import CRITERIA, CriteriaName
from target_bench.runs.result import Result

SAVED = SavedFile("target-bench ratings", 1, who="rater", what="ratings")
"""The file that a form about ratings saves."""

_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Ratings:
    """What one person said of the answers of a run.

    Attributes:
        rater: the name that they gave; may be empty.
        criteria: what was asked.
        by_query: query id -> criterion -> number; of what was filled in only.
    """

    rater: str
    criteria: CriteriaName
    by_query: Mapping[str, Mapping[str, float]]


def read_ratings(path: Path, run: Result) -> Ratings:
    """Read a file that a form about a run saved.

    Args:
        path: the file.
        run: the run that the form is about.

    Raises:
        DataError: it is not such a file, of another run, names an answer or a criterion that there
            is not, holds a number that cannot be given, or no rating; the message says which.
    """
    record = saved_object(path, SAVED)
    criteria = record.get("criteria")
    if criteria not in list(CRITERIA):
        raise DataError(
            f"{path}: criteria: {criteria!r:.60} is not one of {', '.join(sorted(CRITERIA))}"
        )
    if record.get("run") != run.identity.key:
        raise DataError(
            f"{path}: run: the ratings are of the run with the key {record.get('run')!r:.40}, and "
            f"{run.folder.name} has {run.identity.key!r}; name the run whose form was filled in"
        )
    given = _by_query(path, entries(path, record, SAVED.what), criteria, run)
    return Ratings(record["rater"], criteria, given)


def read_all(paths: Sequence[Path], run: Result) -> list[Ratings]:
    """Read the files of several people about the same run.

    Raises:
        DataError: as for ``read_ratings``; or two are of the same person, or of different criteria.
    """
    found = [read_ratings(path, run) for path in paths]
    check_persons(paths, [one.rater for one in found], SAVED.who)
    for path, one in zip(paths, found, strict=True):
        if one.criteria != found[0].criteria:
            raise DataError(
                f"{path}: criteria: {one.criteria}, and {paths[0]} has {found[0].criteria}; read "
                "the files of one form at a time"
            )
    return found


def _by_query(
    path: Path, given: Mapping[str, Any], criteria: CriteriaName, run: Result
) -> dict[str, dict[str, float]]:
    unknown = [name for name in given if name not in run.answers]
    if unknown:
        listed = ", ".join(repr(name)[:60] for name in unknown[:_MOST_SHOWN])
        raise DataError(
            f"{path}: ratings: {len(unknown)} of {len(given)} are of queries that the run does not "
            f"have: {listed}"
        )
    found = {name: _numbers(path, name, one, criteria) for name, one in given.items()}
    found = {name: one for name, one in found.items() if one}
    if not found:
        raise DataError(f"{path}: ratings: no answer is rated")
    return found


def _numbers(path: Path, name: str, given: Any, criteria: CriteriaName) -> dict[str, float]:
    known = {one.name: one for one in CRITERIA[criteria]}
    if not isinstance(given, dict):
        raise DataError(f"{path}: ratings of {name!r:.60}: expected an object, found {given!r:.60}")
    for criterion, value in given.items():
        place = f"{path}: ratings of {name!r:.60}, {criterion!r:.40}"
        if criterion not in known:
            raise DataError(f"{place}: {criteria} asks about {', '.join(known)}")
        if not known[criterion].accepts(value):
            raise DataError(f"{place}: expected {known[criterion].expected}, found {value!r:.40}")
    return {criterion: float(value) for criterion, value in given.items()}
