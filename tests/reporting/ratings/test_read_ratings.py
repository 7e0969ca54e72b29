"""Files of ratings: what is read, and what each fault says."""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import DataError
from target_bench.reporting.forms.read_saved import LARGEST
from target_bench.reporting.ratings.criteria import CRITERIA
from target_bench.reporting.ratings.rating_agreement import agreement
from target_bench.reporting.ratings.read_ratings import read_all, read_ratings
from target_bench.runs.result import Result


def _record(run: Result, ratings: Any, **changed: Any) -> dict[str, Any]:
    return {
        "format": "target-bench ratings",
        "version": 1,
        "criteria": "totto",
        "run": run.identity.key,
        "rater": "a",
        "ratings": ratings,
        **changed,
    }


def _file(folder: Path, record: Any, name: str = "ratings.json") -> Path:
    path = folder / name
    path.write_text(record if isinstance(record, str) else json.dumps(record), encoding="utf-8")
    return path


def test_what_was_filled_in(described: Result, tmp_path: Path) -> None:
    one, two, three = described.query_ids[:3]
    given = {one: {"fluency": 2, "coverage": 0.5}, two: {"faithfulness": 1}, three: {}}
    found = read_ratings(_file(tmp_path, _record(described, given)), described)
    assert found.by_query == {one: {"fluency": 2.0, "coverage": 0.5}, two: {"faithfulness": 1.0}}
    assert (found.rater, found.criteria) == ("a", "totto")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": "other"}, "format: expected 'target-bench ratings', found 'other'"),
        ({"version": 2}, "version: expected 1, found 2"),
        ({"version": True}, "version: expected 1, found True"),
        ({"criteria": "beauty"}, "criteria: 'beauty' is not one of struc-bench, totto"),
        ({"criteria": ["totto"]}, r"criteria: \['totto'\] is not one of"),
        ({"run": "abc"}, "run: the ratings are of the run with the key 'abc'"),
        ({"rater": 3}, "rater: expected a text, found 3"),
        ({"ratings": []}, r"ratings: expected an object, found \[\]"),
        ({"ratings": {}}, "ratings: no answer is rated"),
        (
            {"ratings": {"nope": {}}},
            "ratings: 1 of 1 are of queries that the run does not have: 'nope'",
        ),
    ],
)
def test_faults_of_a_file(
    changed: dict[str, Any], said: str, described: Result, tmp_path: Path
) -> None:
    record = _record(described, {described.query_ids[0]: {"fluency": 1}}) | changed
    with pytest.raises(DataError, match=rf"ratings\.json: {said}"):
        read_ratings(_file(tmp_path, record), described)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (3, "expected an object, found 3"),
        ({"beauty": 1}, "'beauty': totto asks about fluency, faithfulness, coverage"),
        ({"fluency": 3}, "'fluency': expected one of 0, 1, 2, found 3"),
        ({"fluency": 0.5}, "'fluency': expected one of 0, 1, 2, found 0.5"),
        ({"fluency": True}, "'fluency': expected one of 0, 1, 2, found True"),
        ({"fluency": "2"}, "'fluency': expected one of 0, 1, 2, found '2'"),
        ({"coverage": 1.5}, "'coverage': expected a number from 0 to 1, found 1.5"),
        ({"coverage": None}, "'coverage': expected a number from 0 to 1, found None"),
    ],
)
def test_faults_of_a_rating(numbers: Any, said: str, described: Result, tmp_path: Path) -> None:
    name = described.query_ids[0]
    with pytest.raises(DataError, match=f"ratings of '{name}'.*{said}"):
        read_ratings(_file(tmp_path, _record(described, {name: numbers})), described)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"ratings": NaN}', "NaN is not a number of JSON"),
        ("[]", "expected an object of JSON, found list"),
    ],
)
def test_files_that_are_none(text: str, said: str, described: Result, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read_ratings(_file(tmp_path, text), described)


def test_files_that_cannot_be_read(described: Result, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_ratings(tmp_path / "none.json", described)
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(DataError, match="more than 50,000,000 bytes"):
        read_ratings(large, described)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["format", "run", "ratings", "fluency", "criteria"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(json_values, st.sampled_from(["ratings", "rater", "criteria", "version", "run"]))
def test_any_value_is_read_or_refused(
    described: Result, tmp_path_factory: pytest.TempPathFactory, value: Any, field: str
) -> None:
    record = _record(described, {described.query_ids[0]: {"fluency": 1}}) | {field: value}
    path = _file(tmp_path_factory.getbasetemp(), record, "any.json")
    with contextlib.suppress(DataError):
        assert read_ratings(path, described).by_query


def test_files_of_several_people(described: Result, tmp_path: Path) -> None:
    given = {name: {"fluency": 1} for name in described.query_ids}
    one = _file(tmp_path, _record(described, given), "one.json")
    with pytest.raises(DataError, match=r"one\.json is of rater 'a' too"):
        read_all([one, one], described)
    other = {name: {"content": 1} for name in described.query_ids}
    two = _file(tmp_path, _record(described, other, rater="b", criteria="struc-bench"), "two.json")
    with pytest.raises(DataError, match=r"two\.json: criteria: struc-bench, and .*one\.json has"):
        read_all([one, two], described)


def test_agreement_with_every_metric(described: Result, tmp_path: Path) -> None:
    """Ratings that follow a metric correlate with it; raters that differ are averaged."""
    parent = described.per_query["parent"]
    order = np.argsort(np.argsort(parent)) / len(parent)
    files = []
    for rater, shift in (("a", 0.0), ("b", 0.01)):
        given = {
            name: {"coverage": min(1.0, float(place) + shift), "fluency": 2}
            for name, place in zip(described.query_ids, order, strict=True)
        }
        files.append(_file(tmp_path, _record(described, given, rater=rater), f"{rater}.json"))
    found = agreement(described, read_all(files, described))
    named = {(one.criterion, one.beside): one.found for one in found.metrics}
    assert {name for _, name in named} == set(described.scores)
    assert len(named) == len(CRITERIA["totto"]) * len(described.scores)
    assert named["coverage", "parent"].spearman.value is not None
    assert named["coverage", "parent"].spearman.value > 0.99
    assert named["fluency", "parent"].kendall.value is None
    assert named["faithfulness", "parent"].n == 0
    assert found.means == {"fluency": 2.0, "coverage": pytest.approx(order.mean() + 0.005)}
    between = {one.criterion: one for one in found.between}
    assert between["coverage"].beside == "a and b"
    assert (found.raters, found.answers) == (2, len(parent))
    assert json.loads(json.dumps(found.to_json()))["raters"] == 2
