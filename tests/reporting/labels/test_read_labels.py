"""Files of labels: what is read, and what each fault says."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.reporting.labels.read_labels import Labels, read_all, read_labels
from tests.reporting.labels.conftest import entry, saved, write_saved


def _read(path: Path, shop: Dataset) -> Labels:
    return read_labels(path, shop.queries, shop.corpus)


def test_what_was_filled_in(shop: Dataset, tmp_path: Path) -> None:
    edited = entry("q2", "accepted") | {"text": "what does the DVD of Alien cost"}
    record = saved(
        {"q1": entry("q1", films="relevant", prices=None), "q2": edited}, by="length,kind"
    )
    found = _read(write_saved(tmp_path, record), shop)
    assert (found.annotator, found.by) == ("a", ("length", "kind"))
    assert found.by_query["q1"].tables == {
        TableId("0", "films"): "relevant",
        TableId("0", "prices"): None,
    }
    assert found.by_query["q1"].text is None
    assert found.by_query["q2"].text == "what does the DVD of Alien cost"
    assert found.by_query["q2"].verdict == "accepted"


def test_an_edited_question_that_was_written_back_is_known(shop: Dataset, tmp_path: Path) -> None:
    was = entry("q1", "accepted") | {"asked": "who made Heat"}
    assert _read(write_saved(tmp_path, saved({"q1": was})), shop).by_query["q1"].text is not None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": "other"}, "format: expected 'target-bench labels', found 'other'"),
        ({"version": 2}, "version: expected 1, found 2"),
        ({"annotator": 3}, "annotator: expected a text, found 3"),
        ({"by": 3}, "by: expected a text, found 3"),
        ({"labels": []}, r"labels: expected an object, found \[\]"),
        ({"labels": {}}, "labels: nothing is labelled"),
        ({"labels": {"q1": entry("q1", films=None)}}, "labels: nothing is labelled"),
        ({"labels": {"nope": {}}}, "labels: 1 of 1 questions are not among those.*: 'nope'"),
        ({"labels": {"q1": 3}}, "labels of 'q1': expected an object with asked, question"),
        ({"labels": {"q1": {"more": 1}}}, "labels of 'q1': expected an object with asked"),
        ({"labels": {"q1": {"asked": 1}}}, "'q1', 'asked': expected a text, found 1"),
        (
            {"labels": {"q1": {"asked": "what"}}},
            "the form asked 'what', and the corpus has 'who directed Heat'",
        ),
        (
            {"labels": {"q1": entry("q1") | {"text": " "}}},
            "'text': the edited question is empty; reject it instead",
        ),
        (
            {"labels": {"q1": entry("q1", "good")}},
            "'question': expected accepted or rejected, found 'good'",
        ),
        (
            {"labels": {"q1": entry("q1", nope="relevant")}},
            "there is no table '0/nope' in the corpus",
        ),
        (
            {"labels": {"q1": entry("q1", films="yes")}},
            "'0/films': expected relevant, not relevant, cannot say or null, found 'yes'",
        ),
        ({"labels": {"q1": entry("q1") | {"tables": 1}}}, "'tables': expected a list, found 1"),
        (
            {"labels": {"q1": entry("q1") | {"tables": [["0", "films"]]}}},
            r"expected \[database, table, label\]",
        ),
        (
            {"labels": {"q1": entry("q1") | {"tables": [["0", "films", None]] * 2}}},
            "'0/films' is there twice",
        ),
    ],
)
def test_faults_of_a_file(
    changed: dict[str, Any], said: str, shop: Dataset, tmp_path: Path
) -> None:
    record = saved({"q1": entry("q1", films="relevant")}) | changed
    with pytest.raises(DataError, match=rf"labels\.json: .*{said}"):
        _read(write_saved(tmp_path, record), shop)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["asked", "q1", "question", "tables", "text"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(json_values, st.sampled_from(["labels", "annotator", "version", "by"]))
def test_any_value_is_read_or_refused(
    shop: Dataset, tmp_path_factory: pytest.TempPathFactory, value: Any, field: str
) -> None:
    record = saved({"q1": entry("q1", films="relevant")}) | {field: value}
    path = write_saved(tmp_path_factory.getbasetemp(), record, "any-labels.json")
    with contextlib.suppress(DataError):
        assert _read(path, shop).by_query


def test_files_of_several_people(shop: Dataset, tmp_path: Path) -> None:
    one = write_saved(tmp_path, saved({"q1": entry("q1", films="relevant")}), "one.json")
    two = write_saved(tmp_path, saved({"q1": entry("q1", films="relevant")}, "b"), "two.json")
    assert [f.annotator for f in read_all([one, two], shop.queries, shop.corpus)] == ["a", "b"]
    with pytest.raises(DataError, match=r"one\.json is of annotator 'a' too"):
        read_all([one, one], shop.queries, shop.corpus)


@pytest.mark.parametrize("order", [1, -1])
def test_files_of_samples_that_were_drawn_by_other_properties(
    shop: Dataset, tmp_path: Path, order: int
) -> None:
    labels = {"q1": entry("q1", films="relevant")}
    one = write_saved(tmp_path, saved(labels, "a", by="length"), "a.json")
    two = write_saved(tmp_path, saved(labels, "b"), "b.json")
    said = [r"by 'length'", "from all questions alike"][::-order]
    with pytest.raises(DataError, match=rf"drawn {said[0]}, and that of .*json {said[1]}; read"):
        read_all([one, two][::order], shop.queries, shop.corpus)
