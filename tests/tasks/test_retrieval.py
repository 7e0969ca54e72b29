"""The settings of table retrieval: metrics of sets."""

from typing import Any

from target_bench import score_rankings
from target_bench.core.registry import make_task
from target_bench.core.schema import Dataset
from target_bench.data.load import load

NEW = {"set_precision", "set_recall", "set_f1", "complete_recall", "set_size"}


def _scores(dataset: Dataset, settings: str = "") -> dict[str, Any]:
    rankings = {query.id: query.gold[:1] for query in dataset.queries}
    return dict(score_rankings(dataset, rankings, [1, 5], make_task(f"retrieval{settings}")))


def test_sets_are_measured_where_asked_for() -> None:
    dataset = load("mini")
    plain, sets = _scores(dataset), _scores(dataset, ":sets=true")
    assert set(sets) - set(plain) == NEW
    assert all(plain[name] == sets[name] for name in plain)
    assert sets["set_size"].value == 1
    assert sets["set_precision"].value == 1
    assert sets["complete_recall"].value == plain["full_recall@5"].value
