"""A retriever that fails: what is kept, what is said, and how a run goes on."""

import errno
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import ConfigError, PluginError, StoreError
from target_bench.core.schema import Corpus, TableId
from target_bench.data.load import load
from target_bench.data.selection import select_queries
from target_bench.harness.run_notes import add_notes
from target_bench.runs.result import Result, read_run
from target_bench.runs.run import open_run
from tests.builders import Counting, Recorder, first_manifest, messages_of
from tests.target import TARGET

QUERIES = select_queries(load("mini"), "retrieval").queries
NUMBER = 69
"""The place of the 70th query."""

FAULTY: set[str] = set()
"""The texts of the queries that ``Fragile`` fails on: a state of the world, not a setting."""


class Fragile:
    """No base class; raises on some queries."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_corpus(self, corpus: Corpus) -> None:
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


Answer = Callable[[tuple[TableId, ...], int], Any]


class Answering(Fragile):
    """Gives answers of its own to the queries from the 70th on."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__()
        self.answers = {QUERIES[NUMBER + i].text: answer for i, answer in enumerate(answers)}

    def config(self) -> dict[str, Any]:
        return {}

    def retrieve(self, query: str, top_k: int) -> Any:
        if query in self.answers:
            return self.answers[query](self._ids, top_k)
        return super().retrieve(query, top_k)


@pytest.fixture(autouse=True)
def _sound_world() -> None:
    FAULTY.clear()


def _run(
    out: Path, retriever: object, observer: Recorder | None = None, **arguments: Any
) -> Result:
    target = TARGET(("retrieval", "mini"), out=out, observer=observer or Recorder())
    (result,) = target.run(retriever, **arguments)  # found out inside
    return result


def _on_disk(out: Path) -> list[str]:
    (path,) = out.glob("*/retrieval.jsonl")
    return [json.loads(line)["query_id"] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("kind", [Fragile, Batched])
@pytest.mark.parametrize("first", [0, 1])
def test_ten_failures_before_any_success_end_a_run(
    tmp_path: Path, kind: type[Fragile], first: int
) -> None:
    """After one success all are asked; the same command asks again what failed."""
    FAULTY.update(query.text for query in QUERIES[first:])
    retriever = kind()
    if first:
        assert _run(tmp_path, retriever, top_k=10).stored.counts.failed == len(QUERIES) - 1
    else:
        with pytest.raises(PluginError) as caught:
            _run(tmp_path, retriever, top_k=10)
        for part in (kind.__name__, "the first 10 queries of mini test", "the index is gone"):
            assert part in str(caught.value)
        assert _on_disk(tmp_path) == [q.id for q in QUERIES[:10]]
        assert QUERIES[10].text not in retriever.asked or kind is Batched
    FAULTY.clear()
    mended = kind()
    result = _run(tmp_path, mended, top_k=10)
    assert mended.asked == [q.text for q in QUERIES[first:]]
    assert (result.stored.counts.failed, result.stored.counts.answered) == (0, len(QUERIES))
    assert result.scores == _run(tmp_path / "whole", kind(), top_k=10).scores


class FirstK(Fragile):
    """Reranks the tables that it is asked for, the last one first."""

    def retrieve(self, query: str, top_k: int) -> Any:
        return list(self._ids[:top_k])[::-1]


class RarelyFirstK(Fragile):
    """Reranks the tables that it is asked for, for every tenth query, and counts its seconds."""

    def __init__(self, interrupted_at: int = 0) -> None:
        super().__init__()
        self.left = interrupted_at
        self.seconds: defaultdict[int, float] = defaultdict(float)

    def config(self) -> dict[str, Any]:
        return {}

    def retrieve(self, query: str, top_k: int) -> Any:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        start = time.perf_counter()
        time.sleep(0.001)
        ids = self._ids[:top_k]
        self.seconds[top_k] += time.perf_counter() - start
        return list(ids[::-1] if RANK[query] % 10 == 7 else ids)


RANK = {query.text: i for i, query in enumerate(QUERIES)}


class Chance(Fragile):
    """Gives another ranking each time."""

    def retrieve(self, query: str, top_k: int) -> Any:
        self.asked.append(query)
        start = len(self.asked) % 100
        return list(self._ids[start : start + top_k])


class Paid(FirstK):
    paid = True


class BatchedFirstK(FirstK):
    """Counts the queries of each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> list[Any]:
        self.sizes.append(len(queries))
        return [self.retrieve(query, top_k) for query in queries]


def test_no_batch_is_empty(tmp_path: Path) -> None:
    retriever = BatchedFirstK()
    _run(tmp_path, retriever, top_k=[1, 5, 10])
    assert min(retriever.sizes) > 0


@pytest.mark.parametrize(
    ("kind", "apart"),
    [(FirstK, True), (RarelyFirstK, True), (Fragile, False), (Chance, False), (Paid, False)],
)
def test_a_ranking_that_depends_on_k_is_asked_at_each_cutoff(
    tmp_path: Path, kind: type[Fragile], apart: bool
) -> None:
    observer = Recorder()
    result = _run(tmp_path, kind(), observer, top_k=[1, 5, 10])
    note = "its ranking depends on how many tables are asked for, so each cutoff was asked"
    assert any(note in text for text in observer.warnings) == apart
    if apart:
        for k in (1, 5):
            alone = _run(tmp_path / str(k), kind(), top_k=k)
            assert result.scores[f"recall@{k}"] == alone.scores[f"recall@{k}"]
        assert read_run(result.folder).run.rankings == result.run.rankings
        again = kind()
        assert _run(tmp_path, again, top_k=[1, 5, 10]).scores == result.scores


@pytest.mark.parametrize("at", [40, 300, 500, 700])
def test_an_interrupted_run_asks_each_query_at_each_cutoff(tmp_path: Path, at: int) -> None:
    whole = _run(tmp_path / "whole", RarelyFirstK(), top_k=[1, 5, 10])
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path, RarelyFirstK(at), top_k=[1, 5, 10])
    assert _run(tmp_path, RarelyFirstK(), top_k=[1, 5, 10]).run.rankings == whole.run.rankings


@pytest.mark.parametrize("n_added", [1, 60])
def test_a_log_torn_while_cutoffs_are_added_is_gone_on_with(tmp_path: Path, n_added: int) -> None:
    whole = _run(tmp_path / "whole", RarelyFirstK(), top_k=[1, 5, 10])
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path, RarelyFirstK(700), top_k=[1, 5, 10])
    (log,) = tmp_path.glob("*/retrieval.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    end = [i for i, line in enumerate(lines) if b'"at"' in line][n_added]
    assert b'"at"' not in lines[0]  # the first queries were ranked before one depended on k
    log.write_bytes(b"".join(lines[:end]) + lines[end][:-9])
    assert _run(tmp_path, RarelyFirstK(), top_k=[1, 5, 10]).run.rankings == whole.run.rankings


def test_a_bound_has_no_times_of_its_own(tmp_path: Path) -> None:
    assert _run(tmp_path, "oracle").run.manifest.seconds.keys() == {"load", "score"}
    assert {"embed_corpus", "retrieve"} <= _run(tmp_path, "bm25").run.manifest.seconds.keys()


def test_other_cutoffs_are_no_part_of_the_time_of_a_query(tmp_path: Path) -> None:
    retriever = RarelyFirstK()
    result = _run(tmp_path, retriever, top_k=[1, 5, 10])
    others = retriever.seconds[1] + retriever.seconds[5]
    assert result.run.manifest.seconds["retrieve"] < retriever.seconds[10] + others / 2


@pytest.mark.parametrize("kind", [Fragile, Batched])
def test_record_goes_on(tmp_path: Path, kind: type[Fragile]) -> None:
    bad = [QUERIES[0], QUERIES[NUMBER], QUERIES[-1]]
    FAULTY.update(query.text for query in bad)
    result = _run(tmp_path, kind(), top_k=139)
    assert (result.stored.counts.failed, result.stored.counts.answered) == (3, len(QUERIES) - 3)
    assert result.stored.counts.asked == len(QUERIES) == result.scores["recall@139"].n
    assert messages_of(result) == {q.id: "raised RuntimeError: the index is gone" for q in bad}
    assert result.scores["recall@139"].value == pytest.approx(1 - 3 / len(QUERIES))
    values = dict(zip(result.per_query.ids, result.per_query.values["recall@139"], strict=True))
    assert [values[query.id] for query in bad] == [0, 0, 0]

    FAULTY.clear()
    mended = kind()
    whole = _run(tmp_path, mended, top_k=139)
    assert mended.asked == [query.text for query in bad]
    assert (whole.stored.counts.failed, dict(whole.errors)) == (0, {})
    assert whole.scores["recall@139"].value == 1


BAD: list[tuple[Answer, str]] = [
    (lambda _ids, _k: None, "returned None"),
    (lambda ids, _k: [(ids[0], float("nan"))], "the score nan for table 0/"),
    (lambda ids, k: list(ids[: k + 1]), "returned 11 tables where at most 10 were asked for"),
]


def test_broken_contract(tmp_path: Path) -> None:
    bad = Answering(*(answer for answer, _ in BAD))
    result = _run(tmp_path, bad)
    assert list(result.errors) == [q.id for q in QUERIES[NUMBER : NUMBER + len(BAD)]]
    for message, (_, fault) in zip(result.errors.values(), BAD, strict=True):
        assert fault in message


def test_scores_decide_the_order(tmp_path: Path) -> None:
    """Distances in place of similarities are noticed."""
    observer = Recorder()
    distances = Answering(lambda ids, _k: [(ids[0], 0.1), (ids[1], 0.9)])
    result = _run(tmp_path, distances, observer, top_k=2)
    assert result.stored.counts.resorted == 1
    told = "Answering returned 1 of 280 rankings in an order that"
    assert any(told in warning for warning in observer.warnings)
    lines = (result.folder / "retrieval.jsonl").read_text(encoding="utf-8").splitlines()
    record = json.loads(lines[NUMBER])
    assert (record["scores"], record["resorted"]) == ([0.9, 0.1], True)


class Scoring(Fragile):
    """The first tables, with these scores."""

    def __init__(self, scores: tuple[float, ...]) -> None:
        self.scores = list(scores)

    def retrieve(self, query: str, top_k: int) -> list[tuple[TableId, float]]:
        return list(zip(self._ids, self.scores[:top_k], strict=False))


@pytest.mark.parametrize(
    ("scores", "top_k", "tied", "cut"),
    [
        ((3e-9, 2e-9, 1e-9), (1, 3), 0, 0),
        ((0.7, 0.7 - 2**-53, 0.2), (1, 3), 0, 0),
        ((0.7, 0.7, 0.2), (2, 3), 280, 0),
        ((0.7, 0.7, 0.2), (1, 3), 280, 280),
        ((0.7, 0.2, 0.2), (1, 3), 280, 280),
    ],
)
def test_ties_are_counted_and_reported_where_many(
    tmp_path: Path, scores: tuple[float, ...], top_k: tuple[int, ...], tied: int, cut: int
) -> None:
    """Also when the run is there already."""
    for _ in range(2):
        observer = Recorder()
        counts = _run(tmp_path, Scoring(scores), observer, top_k=top_k).stored.counts
        assert (counts.tied, counts.divided_ties) == (tied, cut)
        warning = "in 280 of 280 scored rankings a cutoff divides tables of equal score"
        assert any(warning in text for text in observer.warnings) == (cut > 0)


class Interrupted(Fragile):
    """Ends after some queries; its notes can be had once a query was asked."""

    most: int | None = 40

    def retrieve(self, query: str, top_k: int) -> Any:
        if len(self.asked) == self.most:
            raise KeyboardInterrupt
        return super().retrieve(query, top_k)

    def notes(self) -> list[str]:
        return [f"{self.asked[0]!r} was the first query"]


def test_a_log_that_cannot_be_written_is_told_before_the_corpus_is_embedded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Embedding may be paid."""
    open_file = os.open

    def refuse_log(path: Any, *arguments: Any) -> int:
        if Path(path).name == "retrieval.jsonl":
            raise PermissionError(errno.EACCES, "Permission denied")
        return open_file(path, *arguments)

    monkeypatch.setattr(os, "open", refuse_log)
    retriever = Counting()
    with pytest.raises(StoreError, match=r"retrieval\.jsonl cannot be written"):
        _run(tmp_path, retriever)
    assert retriever.embedded == []


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (MemoryError("no"), PluginError, "NoIndex raised MemoryError in embed_corpus on mini"),
        (ConfigError("no key set"), ConfigError, "no key set"),
    ],
)
def test_failure_while_indexing(
    tmp_path: Path, error: Exception, expected: type[Exception], message: str
) -> None:
    """Notes that fail too do not hide it."""

    class NoIndex(Interrupted):
        def embed_corpus(self, corpus: Corpus) -> None:
            raise error

    with pytest.raises(expected, match=message):
        _run(tmp_path, NoIndex())


def test_an_interrupted_run_keeps_its_rankings_and_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that goes on repeats the notes of its first half, and says where others begin."""
    observer = Recorder()
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path, Interrupted(), observer)
    kept = _on_disk(tmp_path)
    assert kept == [q.id for q in QUERIES[: len(kept)]]
    assert 16 <= len(kept) <= 40
    monkeypatch.setattr(Interrupted, "most", None)
    for _ in range(2):  # goes on, and is shown again
        result = _run(tmp_path, Interrupted(), observer)
    first, second = read_run(result.folder).run.manifest.notes
    assert first == f"{QUERIES[0].text!r} was the first query"
    text = QUERIES[len(kept)].text
    assert second == f"resumed after {len(kept)} queries: {text!r} was the first query"
    assert observer.warnings.count(f"Interrupted (recorded): {first}") == 2
    assert observer.warnings.count(f"Interrupted: {second}") == 1
    assert observer.warnings.count(f"Interrupted (recorded): {second}") == 1


def test_a_note_is_told_and_recorded_once(tmp_path: Path) -> None:
    """However often a run is gone on with."""
    store, observer = open_run(tmp_path, ["x"], first_manifest()), Recorder()
    store.write_new_manifest()
    add_notes(store, "bm25", ["slow", "slow"], observer)
    add_notes(store, "bm25", ["slow", "new"], observer)
    assert store.manifest.notes == ("slow", "new")
    assert observer.warnings == ["bm25: slow", "bm25: new"]
