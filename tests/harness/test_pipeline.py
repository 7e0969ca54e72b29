"""Retrieve, generate, score: what makes two runs of answers the same, and what is scored."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset, Query
from target_bench.data.load import load
from target_bench.data.selection import select_queries
from target_bench.runs.result import Result
from tests.builders import Recorder, only, same_scores
from tests.harness.answering import FAULTY, QUESTIONS, Own, answered
from tests.target import TARGET

MINI = select_queries(load("mini"), "retrieval")


@pytest.fixture(autouse=True)
def _sound_world() -> Iterator[None]:
    yield
    FAULTY.clear()


class Knowing(Own):
    """Knows the answers, and fails where ``Own`` does."""

    def generate(self, request: Any) -> Any:
        super().generate(request)
        query = next(query for query in QUESTIONS if query.id == request.query_id)
        return query.answer if isinstance(query.answer, str) else query.answer[-1]


def _with(dataset: Dataset, change: Callable[[Query], Query]) -> Dataset:
    return replace(dataset, queries=tuple(map(change, dataset.queries)))


def _run(out: Path, dataset: Dataset = MINI, task: str = "qa", **arguments: Any) -> Result:
    target = TARGET((task, dataset), out=out, observer=Recorder())
    return only(target.run(arguments.pop("retriever", "bm25"), **arguments))


BASE: dict[str, Any] = {"top_k": [1, 5], "generator": "extractive", "limit": 20}


def test_what_changes_no_answer_is_the_same_run(tmp_path: Path) -> None:
    """The way it is asked for, and the order of the queries."""
    first = _run(tmp_path, **BASE)
    again = _run(tmp_path, **BASE | {"generator": "extractive:tables=3"})
    assert again.run.reused
    assert again.folder == first.folder
    few = replace(MINI, queries=tuple(q for q in MINI.queries if q.id in set(first.per_query.ids)))
    turned = _run(tmp_path, replace(few, queries=few.queries[::-1]), **BASE)
    assert turned.run.reused
    assert turned.per_query.ids == first.per_query.ids
    same_scores(turned, first)
    other = _run(tmp_path, _with(MINI, lambda query: replace(query, answer="?")), **BASE)
    assert other.folder != first.folder, "other references are another run"
    assert len(list(tmp_path.glob("retrieval-*"))) == 1, "the rankings are the same"


def test_failures_count_as_wrong(tmp_path: Path) -> None:
    """Never dropped: the score is over all that was asked."""
    right = answered(tmp_path / "all", Knowing())
    assert right.scores["exact_match"].value == 1
    FAULTY.update(query.id for query in QUESTIONS[-36:])
    result = answered(tmp_path, Knowing())
    for name in ("exact_match", "token_f1"):
        assert result.scores[name].value == pytest.approx(108 / 144)
        assert result.scores[name].n == 144
        assert result.per_query.values[name][-36:].tolist() == [0] * 36
        assert result.per_query.values[name][:-36].tolist() == [1] * 108
    assert result.scores["sacrebleu"].value < right.scores["sacrebleu"].value


def test_recorded_answers_score_the_same(tmp_path: Path) -> None:
    """What a run left is a predictions file."""
    for task, names in (("qa", ("token_f1", "sacrebleu")), ("fv", ("accuracy", "f1_weighted"))):
        run = _run(tmp_path, task=task, top_k=3)
        target = TARGET((task, "mini"), out=tmp_path, observer=Recorder())
        given = only(target.score(predictions=run.folder / "generations.jsonl", top_k=3))
        assert given.stored.answers is not None
        assert given.stored.answers.failed == 0
        assert given.command.generator == "generations.jsonl"
        for name in names:
            assert given.scores[name] == run.scores[name]


def test_answers_in_the_order_of_the_queries(tmp_path: Path) -> None:
    """An answer a line is scored against another query when the queries are in another order."""
    path = tmp_path / "answers.txt"
    path.write_text("".join(f"{query.answer}\n" for query in MINI.queries), encoding="utf-8")
    plain = _with(MINI, lambda query: replace(query, metadata={}, answer=str(query.answer)))
    turned = replace(plain, queries=plain.queries[::-1])
    values = []
    for dataset in (plain, turned, plain):
        target = TARGET(("qa", dataset), out=tmp_path, observer=Recorder())
        values.append(only(target.score(predictions=path)).scores["exact_match"].value)
    assert values[0] == values[2] == 1
    assert values[1] < 0.5


def test_labels_that_are_none(tmp_path: Path) -> None:
    """Reference answers that are no labels are told, with the query."""
    with pytest.raises(DataError, match=r"query '[^']+': answer to a statement: expected True"):
        _run(tmp_path, _with(MINI, lambda query: replace(query, answer="yes")), "fv", **BASE)
