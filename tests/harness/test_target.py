"""TARGET: names, arguments, what is asked of a retriever, and what makes a run another run."""

import gc
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from target_bench.core.contract import Retriever
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus, CorpusInfo, Dataset, Query, TableId
from target_bench.data.load import load, of_task
from target_bench.harness.target import TARGET
from tests.builders import (
    Counting,
    Recorder,
    only,
    ottqa_question,
    ottqa_table,
    write_ottqa,
)

TASK = ("retrieval", "mini")


class InBatches(Retriever):
    """Table ``i`` scores by how many of its id's words the query has."""

    def embed_corpus(self, corpus: Corpus) -> None:
        self._words = [(table.id, set(table.id.table_id.split("-"))) for table in corpus]

    def retrieve(self, query: str, top_k: int) -> Ranking:
        words = set(query.lower().split())
        scored = [(table_id, float(len(words & mine))) for table_id, mine in self._words]
        return sorted(scored, key=lambda pair: -pair[1])[:top_k]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        return [self.retrieve(query, top_k) for query in queries]


def _target(out: Path, recorder: Recorder | None = None) -> TARGET:
    return TARGET(TASK, out=out, observer=recorder or Recorder())


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TARGET_BENCH_DATA", raising=False)


def test_unknown_names() -> None:
    with pytest.raises(ConfigError, match=r"unknown task 'retrieve'. Did you mean retrieval"):
        TARGET("retrieve")
    with pytest.raises(ConfigError, match=r"'mini' is a corpus.*Table Retrieval\", \"mini\""):
        TARGET("mini")
    with pytest.raises(ConfigError, match=r"unknown corpus 'minni'. Did you mean mini"):
        TARGET(("retrieval", "minni"))
    with pytest.raises(ConfigError, match=r"unknown retriever 'bm52'. Did you mean bm25"):
        TARGET(TASK).run("bm52")
    with pytest.raises(ConfigError, match=r"batch_size is an option of the original.*moving_from"):
        TARGET(TASK).run("bm25", batch_size=100)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="oracle"):
        TARGET(TASK).run("oracel")
    with pytest.raises(ConfigError, match="mini has no split 'train'"):
        TARGET(TASK).run("oracle", "train")


@pytest.mark.parametrize(
    ("retriever", "fault"),
    [
        (Counting, "Counting is a class; pass an object of it"),
        (object(), "object is not a retriever: it has no method embed_corpus"),
        (None, "the task retrieval is about tables that are retrieved: name a retriever"),
    ],
)
def test_not_a_retriever(tmp_path: Path, retriever: Any, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        _target(tmp_path).run(retriever)


def test_bounds(tmp_path: Path) -> None:
    """The oracle finds all that k tables can hold, no-context finds nothing."""
    target = _target(tmp_path)
    oracle, nothing = (only(target.run(mode, top_k=[1, 5])) for mode in ("oracle", "no-context"))
    exempt = {"recall@1", "recall_micro@1", "recall[dup]@1", "full_recall@1"}
    for name, score in oracle.scores.items():
        expected = score.value if name.startswith("precision") or name in exempt else 1.0
        assert score.value == expected, name
    assert 0.5 < oracle.scores["recall@1"].value < 1
    assert all(score.value == score.low == 0 for score in nothing.scores.values())
    assert all(0 < score.high < 0.05 for score in nothing.scores.values())
    assert nothing.counts.empty == nothing.counts.asked == nothing.counts.answered
    assert nothing.counts.failed == 0


def test_one_retrieval_serves_every_k(tmp_path: Path) -> None:
    retriever = Counting()
    several = only(_target(tmp_path).run(retriever, top_k=[5, 1, 20, 5]))
    ranked = of_task(load("mini"), "retrieval").queries
    n = len(ranked)
    assert len(retriever.embedded) == 1
    assert [query for query, _ in retriever.calls] == [
        q.text for q in of_task(load("mini"), "retrieval").queries
    ]
    assert {k for _, k in retriever.calls} == {20}
    assert several.counts.asked == several.counts.answered == n
    for k in (1, 5, 20):
        one = only(_target(tmp_path / str(k)).run(Counting(), top_k=k))
        for name in (f"recall@{k}", f"ndcg@{k}", f"recall_micro@{k}"):
            assert one.scores[name].value == several.scores[name].value
            assert one.per_query[name].tolist() == several.per_query[name].tolist()
            assert one.scores[name].low == pytest.approx(several.scores[name].low, abs=0.02)
            assert one.scores[name].high == pytest.approx(several.scores[name].high, abs=0.02)


def test_empty_and_odd_data_is_counted(tmp_path: Path) -> None:
    tables = [ottqa_table("Cup_0"), ottqa_table("Cup_1", data=[])]
    questions = [ottqa_question("q1", "Cup_0", question=""), ottqa_question("q2", "Cup_1")]
    write_ottqa(tmp_path, tables, questions)
    recorder = Recorder()
    target = TARGET(
        ("retrieval", "ottqa"), data_dir=tmp_path, out=tmp_path / "runs", observer=recorder
    )
    for name in ("bm25", "tfidf", "random", "oracle", "no-context"):
        result = only(target.run(name, top_k=1))
        assert (result.counts.asked, result.counts.empty_queries) == (2, 1), name
        assert result.counts.failed == 0
    assert [warning for warning in recorder.warnings if "queries are empty" in warning] == [
        "ottqa validation: 1 of 2 queries are empty"
    ]


def test_retriever_never_sees_gold_or_dataset(tmp_path: Path) -> None:
    """Nothing that can be reached from what it is given."""
    retriever = Counting()
    _target(tmp_path).run(retriever, limit=1)
    (corpus,) = retriever.embedded
    assert isinstance(corpus, Corpus)
    seen: dict[int, Any] = {}
    todo: list[Any] = [corpus]
    while todo:
        thing = todo.pop()
        if id(thing) not in seen and not isinstance(thing, type | ModuleType | FunctionType):
            seen[id(thing)] = thing
            todo += gc.get_referents(thing)
    assert not [t for t in seen.values() if isinstance(t, Query | Dataset | CorpusInfo)]
    texts = {thing for thing in seen.values() if isinstance(thing, str)}
    assert not texts & ({"mini", "target-bench mini"} | {q.text for q in load("mini").queries})
    assert {TableId("0", "missions-apollo")} <= set(corpus.ids)


class Collected(Counting):
    """Notes how many new objects Python looks for cycles after; perhaps it fails then."""

    def __init__(self, fails: bool = False) -> None:
        super().__init__()
        self.fails, self.seen = fails, 0

    def embed_corpus(self, corpus: Corpus) -> None:
        super().embed_corpus(corpus)
        self.seen = gc.get_threshold()[0]
        if self.fails:
            raise RuntimeError("no")


@pytest.mark.parametrize(("own", "in_run"), [(700, 50_000), (90_000, 90_000), (0, 0)])
@pytest.mark.parametrize("fails", [False, True])
def test_cycles_are_looked_for_as_before_once_a_run_has_ended(
    tmp_path: Path, own: int, in_run: int, fails: bool
) -> None:
    retriever, before = Collected(fails), gc.get_threshold()
    gc.set_threshold(own)
    try:
        with pytest.raises(PluginError) if fails else nullcontext():
            _target(tmp_path).run(retriever, limit=1)
        assert (retriever.seen, gc.get_threshold()[0]) == (in_run, own)
    finally:
        gc.set_threshold(*before)
