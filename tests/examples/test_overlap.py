"""What will be scored is kept out of a training."""

from pathlib import Path
from typing import Any

import pytest

from examples.training import overlap
from target_bench import Dataset, load
from tests.examples.shops import shops


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
    kept = {q.id for q in overlap.apart(shop["train"], [shop["test"]]).queries}
    left_out = {q.id for q in shop["train"].queries} - kept
    assert left_out == {"a", "b", "c", "t-fig", "u-fig"}
    shared = overlap.apart(shop["train"], [shop["test"]], shared_tables=True)
    assert {q.id for q in shop["train"].queries} - {q.id for q in shared.queries} == {"a", "c"}
    assert overlap.apart(shop["train"], [shop["validation"], shop["test"]]).queries == tuple(
        query for query in shop["train"].queries if query.id == "s-coal-2"
    )
