"""A retriever that fails: what is kept, what is said, and how a run goes on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.schema import Corpus, TableId
from target_bench.data.load import load, of_task
from target_bench.harness.target import TARGET
from target_bench.runs.result import Result, read_run
from tests.builders import Recorder, said

QUERIES = of_task(load("mini"), "retrieval").queries
NUMBER = 69
"""The place of the 70th query."""

FAULTY: set[str] = set()
"""The texts of the queries that ``Fragile`` fails on: a state of the world, not a setting."""

Answer = Callable[[tuple[TableId, ...], int], Any]


class Fragile:
    """No base class; raises on some queries."""

    def __init__(self) -> None:
        self.embedded = 0
        self.asked: list[str] = []

    def embed_corpus(self, corpus: Corpus) -> None:
        self.embedded += 1
        self._ids = tuple(corpus.ids)

    def retrieve(self, query: str, top_k: int) -> Any:
        self.asked.append(query)
        if query in FAULTY:
            raise RuntimeError("the index is gone")
        return [(table_id, 1.0) for table_id in self._ids[:top_k]]


class Batched(Fragile):
    """One call for many queries."""

    def retrieve_batch(self, queries: list[str], top_k: int) -> list[Any]:
        return [self.retrieve(query, top_k) for query in queries]


class Answering(Fragile):
    """Gives an answer of its own to the 70th query."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer

    def retrieve(self, query: str, top_k: int) -> Any:
        if query == QUERIES[NUMBER].text:
            return self.answer(self._ids, top_k)
        return super().retrieve(query, top_k)


@pytest.fixture(autouse=True)
def _sound_world() -> None:
    FAULTY.clear()


def _run(out: Path, retriever: object, **arguments: Any) -> Result:
    target = TARGET(("retrieval", "mini"), out=out, observer=Recorder())
    (result,) = target.run(retriever, **arguments)  # type: ignore[arg-type]  # found out inside
    return result


def _on_disk(out: Path) -> list[str]:
    (path,) = out.glob("*/retrieval.jsonl")
    return [json.loads(line)["query_id"] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("kind", [Fragile, Batched])
def test_stops_at_the_fault_and_goes_on_when_repaired(tmp_path: Path, kind: type[Fragile]) -> None:
    query = QUERIES[NUMBER]
    FAULTY.add(query.text)
    with pytest.raises(PluginError) as caught:
        _run(tmp_path, kind())
    message = str(caught.value)
    for part in (kind.__name__, repr(query.id), "mini test", "RuntimeError: the index is gone"):
        assert part in message
    assert query.text in message
    assert "--on-error record" in message
    assert caught.value.exit_code == 3
    assert _on_disk(tmp_path) == [q.id for q in QUERIES[:NUMBER]]

    FAULTY.clear()
    mended = kind()
    result = _run(tmp_path, mended)
    assert mended.asked == [q.text for q in QUERIES[NUMBER:]]
    assert sorted(_on_disk(tmp_path)) == sorted(q.id for q in QUERIES)
    assert (result.counts.failed, result.counts.answered) == (0, len(QUERIES))
    whole = _run(tmp_path / "whole", kind())
    assert result.scores == whole.scores
    assert result.times.timed_queries == len(QUERIES)


@pytest.mark.parametrize("kind", [Fragile, Batched])
def test_record_goes_on(tmp_path: Path, kind: type[Fragile]) -> None:
    bad = [QUERIES[0], QUERIES[NUMBER], QUERIES[-1]]
    FAULTY.update(query.text for query in bad)
    result = _run(tmp_path, kind(), on_error="record", top_k=139)
    assert result.counts.failed == 3
    assert result.counts.answered == len(QUERIES) - 3
    assert result.counts.asked == len(QUERIES) == result.scores["recall@139"].n
    assert said(result) == {q.id: "raised RuntimeError: the index is gone" for q in bad}
    expected = 1 - 3 / len(QUERIES)
    assert result.scores["recall@139"].value == pytest.approx(expected)
    values = dict(zip(result.query_ids, result.per_query["recall@139"], strict=True))
    assert [values[query.id] for query in bad] == [0, 0, 0]
    assert sum(values.values()) == len(QUERIES) - 3

    again = kind()
    reused = _run(tmp_path, again, on_error="record", top_k=139)
    assert again.asked == []
    assert reused.reused
    assert reused.errors == result.errors

    FAULTY.clear()
    mended = kind()
    whole = _run(tmp_path, mended, top_k=139)
    assert mended.asked == [query.text for query in bad]
    assert (whole.counts.failed, dict(whole.errors)) == (0, {})
    assert whole.scores["recall@139"].value == 1


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (lambda _ids, _k: None, "returned None"),
        (lambda ids, _k: [(ids[0], float("nan"))], f"the score nan for table {'0/'}"),
        (lambda ids, _k: [(ids[0], float("inf"))], "the score inf"),
        (lambda ids, _k: [(ids[0], "high")], "the score 'high'"),
        (lambda _ids, _k: [("0", "nowhere")], "('0', 'nowhere'), which is not the id of a table"),
        (lambda _ids, _k: [(("0", "nowhere"), 1.0)], "('0', 'nowhere'), which is not the id"),
        (lambda ids, _k: [ids[0], ids[1], ids[0]], "twice"),
        (lambda ids, k: list(ids[: k + 1]), "returned 11 tables where at most 10 were asked for"),
        (lambda ids, _k: [(ids[0], 1.0), ids[1]], "some tables with a score and some without"),
        (lambda ids, _k: [ids[0].table_id], "not the id of a table"),
        (lambda _ids, _k: "mini", "returned str, not a list of tables"),
        (lambda _ids, _k: 5, "returned int, not a list of tables"),
    ],
)
def test_broken_contract(tmp_path: Path, answer: Answer, fault: str) -> None:
    """Stops with class, query id and fault; or is recorded as that."""
    with pytest.raises(PluginError) as caught:
        _run(tmp_path / "stop", Answering(answer))
    for part in ("Answering", repr(QUERIES[NUMBER].id), fault):
        assert part in str(caught.value)
    assert _on_disk(tmp_path / "stop") == [q.id for q in QUERIES[:NUMBER]]
    result = _run(tmp_path / "record", Answering(answer), on_error="record")
    assert list(result.errors) == [QUERIES[NUMBER].id]
    assert fault in result.errors[QUERIES[NUMBER].id]


def test_scores_decide_the_order(tmp_path: Path) -> None:
    """Distances in place of similarities are noticed."""
    recorder = Recorder()
    target = TARGET(("retrieval", "mini"), out=tmp_path, observer=recorder)
    answering = Answering(lambda ids, _k: [(ids[0], 0.1), (ids[1], 0.9)])
    (result,) = target.run(answering, top_k=2)
    assert result.counts.resorted == 1
    assert any("Answering gave 1 of 280 rankings in another order" in w for w in recorder.warnings)
    lines = (result.folder / "retrieval.jsonl").read_text(encoding="utf-8").splitlines()
    record = json.loads(lines[NUMBER])
    assert (record["scores"], record["resorted"]) == ([0.9, 0.1], True)


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ((3.0, 2.0, 1.0), ""),
        ((3e-9, 2e-9, 1e-9), ""),
        ((0.7, 0.7 - 2**-53, 0.2), ""),
        ((0.7, 0.2, 0.2), ""),
        ((0.7, 0.7, 0.2), "280 of 280 scored rankings begin with tables of equal score"),
    ],
)
def test_ties_are_counted_and_reported_where_many(
    tmp_path: Path, scores: tuple[float, ...], told: str
) -> None:
    """Also when the run is there already."""
    for _ in range(2):
        recorder = Recorder()
        target = TARGET(("retrieval", "mini"), out=tmp_path, observer=recorder)
        (result,) = target.run(Scoring(scores), top_k=3)
        assert result.counts.tied == (280 if len(set(scores)) < 3 else 0)
        found = [text for text in recorder.warnings if "order of the corpus" in text]
        assert len(found) == bool(told)
        assert not told or (told in found[0] and "before any sigmoid" in found[0])


class Scoring:
    """A retriever without a base class: the first tables, with these scores."""

    def __init__(self, scores: tuple[float, ...]) -> None:
        self.scores = list(scores)

    def config(self) -> dict[str, object]:
        return {"scores": self.scores}

    def embed_corpus(self, corpus: Corpus) -> None:
        self._ids = corpus.ids

    def retrieve(self, query: str, top_k: int) -> list[tuple[TableId, float]]:
        return list(zip(self._ids, self.scores[:top_k], strict=False))


def test_failure_while_indexing(tmp_path: Path) -> None:
    class Broken(Fragile):
        def embed_corpus(self, corpus: Corpus) -> None:
            raise MemoryError("too many tables")

    with pytest.raises(PluginError, match=r"Broken raised MemoryError in embed_corpus on mini"):
        _run(tmp_path, Broken())


class WithNotes(Fragile):
    """A retriever whose notes can be had once a query was asked."""

    def notes(self) -> list[str]:
        return [f"{self.asked[0]!r} was the first query"]


def test_notes_that_fail_do_not_hide_what_ended_the_run(tmp_path: Path) -> None:
    class Broken(WithNotes):
        def embed_corpus(self, corpus: Corpus) -> None:
            raise ConfigError("no key set")

    with pytest.raises(ConfigError, match="no key set"):
        _run(tmp_path, Broken())


class Interrupted(WithNotes):
    most = 40

    def retrieve(self, query: str, top_k: int) -> Any:
        if len(self.asked) == self.most:
            raise KeyboardInterrupt
        return super().retrieve(query, top_k)


def test_notes_of_both_halves_of_a_run_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that goes on repeats the notes of its first half, and says where others begin."""
    recorder = Recorder()
    target = TARGET(("Table Retrieval", "mini"), out=tmp_path, observer=recorder)
    with pytest.raises(KeyboardInterrupt):
        target.run(Interrupted())
    kept = len(_on_disk(tmp_path))
    monkeypatch.setattr(Interrupted, "most", len(QUERIES))
    for _ in range(2):  # goes on, and is shown again
        (result,) = target.run(Interrupted())
    first, second = read_run(result.folder).manifest.notes
    assert first == f"{QUERIES[0].text!r} was the first query"
    assert second == f"from query {kept + 1} on: {QUERIES[kept].text!r} was the first query"
    assert recorder.warnings.count(f"Interrupted (recorded): {first}") == 2
    assert recorder.warnings.count(f"Interrupted: {second}") == 1
    assert recorder.warnings.count(f"Interrupted (recorded): {second}") == 1


def test_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path, Interrupted())
    kept = _on_disk(tmp_path)
    assert kept == [q.id for q in QUERIES[: len(kept)]]
    assert 16 <= len(kept) <= 40
