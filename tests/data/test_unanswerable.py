"""Questions that are left without an answer: their tables and near-copies of these are gone."""

from pathlib import Path
from typing import Any

import pytest

from target_bench import evaluate
from target_bench.core.errors import ConfigError
from target_bench.corpora import load
from target_bench.data.near_copies import GoldTables
from tests.builders import Record
from tests.data.written import write_own


def test_draw() -> None:
    """At least the share; who keeps an answer keeps all of it, and no near-copy is left."""
    whole, drawn = load("mini"), load("mini:unanswerable=0.2")
    gold = {query.id: query.gold for query in whole.queries}
    lost = {query.id for query in drawn.queries if query.unanswerable}
    assert 0.2 * len(gold) <= len(lost) < len(gold)
    assert [query.id for query in drawn.queries] == list(gold)
    for query in drawn.queries:
        assert query.gold == (() if query.id in lost else gold[query.id])
        assert not (query.unanswerable and query.answer)
    gone = {table for name in lost for table in gold[name]}
    assert gone.isdisjoint(drawn.corpus.ids)
    gold_tables = GoldTables(whole.corpus[table] for table in gone)
    assert all(gold_tables.nearest(table) is None for table in drawn.corpus)
    assert list(drawn.corpus.ids) == [t for t in whole.corpus.ids if t in drawn.corpus]
    assert [t.id for t in drawn.corpus] == list(drawn.corpus.ids)


@pytest.mark.filterwarnings("ignore:.*are left without an answer")
@pytest.mark.filterwarnings("ignore:.* queries have no gold table")
def test_seed_and_identity(tmp_path: Path) -> None:
    """The same draw is the same data, and each draw makes a run of its own."""
    specs = ["mini", "mini:unanswerable=0.2", "mini:unanswerable=0.2,unanswerable_seed=1"]
    tables = {spec: load(spec).corpus.fingerprint for spec in specs}
    assert len(set(tables.values())) == 3
    assert load(specs[1]).corpus.fingerprint == tables[specs[1]]
    for spec in (*specs, specs[1]):
        evaluate("bm25", spec, task="retrieval", top_k=5, out=tmp_path)
    assert len([*tmp_path.iterdir()]) == 3


def test_shared_tables_and_copies(tmp_path: Path) -> None:
    """Table b is needed with a, and c is a copy of it: all their questions lose their answer."""
    rows = "city,height\nQuito,2850\nBern,540\n"
    golds: list[Record] = [{"table_id": g} for g in (["a", "b"], "b", "c", "d")]
    queries = [{"query_id": i, "query": "?", **gold} for i, gold in enumerate(golds)]
    others = {"a.csv": "fruit,n\nplum,1\n", "d.csv": "river,length\nAare,288\n"}
    write_own(tmp_path, {**others, "b.csv": rows, "c.csv": rows}, queries)
    for seed in range(8):
        drawn = load(f"{tmp_path}:unanswerable=0.25,unanswerable_seed={seed}")
        assert [t.table_id for t in drawn.corpus.ids] in (["d"], ["a", "b", "c"])
        assert sum(query.unanswerable for query in drawn.queries) in (1, 3)
    with pytest.raises(ConfigError, match="leaves no question with an answer"):
        load(f"{tmp_path}:unanswerable=0.9")


@pytest.mark.parametrize(
    ("spec", "more", "fault"),
    [
        ("mini:unanswerable=2", {}, "should be a share of the questions between 0 and 1"),
        ("mini:unanswerable_seed=1", {}, "unanswerable_seed needs unanswerable"),
        (
            "mini",
            {"distractors": ["mini:unanswerable=0.2,split=train"]},
            "are for the corpus that is asked about",
        ),
        (
            "mini:unanswerable=0.2",
            {"gold_corrections": "fix.csv"},
            "unanswerable=SHARE leaves some out",
        ),
    ],
)
def test_where_it_cannot_be_drawn(spec: str, more: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        load(spec, **more)
