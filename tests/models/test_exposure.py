"""What a model has met is written beside its weights, kept apart, and said with its scores."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench import Dataset, load
from target_bench.models import exposure
from tests.examples.shops import FRUITS, shops


class Trained:
    """A retriever whose weights lie in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def weights_folder(self) -> Path:
        return self.folder


class Wrapped:
    """One with such a part."""

    def __init__(self, inner: object) -> None:
        self.inner = inner

    def parts(self) -> dict[str, object]:
        return {"inner": self.inner}


@pytest.fixture
def shop(tmp_path: Path) -> dict[str, Dataset]:
    extra: list[dict[str, Any]] = [
        {"query_id": "a", "query": "Who  MINES it ?!", "table_id": "iron", "split": "train"},
        {"query_id": "b", "query": "another", "table_id": ["iron", "coal"], "split": "train"},
        {"query_id": "c", "query": " ", "table_id": "iron", "split": "train"},
        {"query_id": "s-coal-2", "query": "fine", "table_id": "iron", "split": "train"},
    ]
    folder = shops(tmp_path / "shops", extra, copies=True)
    return {split: load(folder, split) for split in ("train", "validation", "test")}


def test_nothing_of_what_will_be_scored_is_trained_on(shop: dict[str, Dataset]) -> None:
    """The words of a question, its table, and copies of the table; ids do not count."""
    kept = {q.id for q in exposure.apart(shop["train"], [shop["test"]]).queries}
    left_out = {q.id for q in shop["train"].queries} - kept
    assert left_out == {"a", "b", "c", "t-fig", "u-fig"}
    shared = exposure.apart(shop["train"], [shop["test"]], shared_tables=True)
    assert {q.id for q in shop["train"].queries} - {q.id for q in shared.queries} == {"a", "c"}
    assert exposure.apart(shop["train"], [shop["validation"], shop["test"]]).queries == tuple(
        query for query in shop["train"].queries if query.id == "s-coal-2"
    )


def test_a_score_says_what_the_model_has_met(shop: dict[str, Dataset], tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    exposure.record(first, exposure.lines_of(shop["validation"], "validation"))
    some = replace(shop["train"], queries=shop["train"].queries[:4])
    exposure.record(second, exposure.lines_of(some), base=first)
    assert exposure.notes(Trained(tmp_path), shop["train"]) == []
    expected = [
        f"the model in {second} was trained on 4 of the 28 questions and 2 of the 14 gold tables "
        "of shops train (different ones, regardless of their ids)",
        f"the model in {second} was chosen, among its epochs, by 0 of the 28 questions and "
        f"{len(FRUITS)} of the 14 gold tables of shops train (different ones, regardless of "
        "their ids)",
    ]
    assert exposure.notes(Wrapped(Trained(second)), shop["train"]) == expected
    (note,) = exposure.notes(Trained(first), shop["test"])
    assert "0 of the 2 questions and 1 of the 2 gold tables" in note, "by content, under another id"


@pytest.mark.parametrize("text", ["{", '{"use": "train"}\n', "[]\n"])
def test_a_record_that_cannot_be_read_is_said(
    text: str, shop: dict[str, Dataset], tmp_path: Path
) -> None:
    (tmp_path / exposure.FILE).write_text(text)
    (note,) = exposure.notes(Trained(tmp_path), shop["test"])
    assert "cannot be read" in note
    assert "whether that was shops test is not known" in note
