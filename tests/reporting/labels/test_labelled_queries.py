"""Labels become gold tables of a file that the same folder is loaded with."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Dataset, Query, TableId
from target_bench.data import select
from target_bench.metrics.pooled import labelled_tables
from target_bench.reporting.labels.collected import Collected, collect
from target_bench.reporting.labels.labelled_queries import with_labels, write_labels
from tests.reporting.labels.conftest import QUESTIONS, entry, saved, write_saved, write_shop

YES, NO = "relevant", "not relevant"


@pytest.fixture
def found(shop: Dataset, tmp_path: Path) -> Collected:
    """Two people: one table disputed, one question rejected, one unfinished."""
    edited = entry("q2", "accepted", prices=YES, films=NO) | {"text": "what does Alien cost"}
    one = {
        "q1": entry("q1", films=YES, prices=YES, staff=NO),
        "q2": edited,
        "q3": entry("q3", "rejected"),
        "q4": entry("q4", rivers=YES, cities=None),
    }
    two = {"q1": entry("q1", films=YES, prices=NO, staff=NO), "q3": entry("q3", "rejected")}
    files = [
        write_saved(tmp_path, saved(one, "ann", by="length"), "ann.json"),
        write_saved(tmp_path, saved(two, "bob", by="length"), "bob.json"),
    ]
    return collect(files, shop)


def _ids(tables: object) -> set[str]:
    assert isinstance(tables, tuple | frozenset)
    return {table.table_id for table in tables}


def test_what_is_counted(found: Collected) -> None:
    record = found.to_json()
    assert record["questions"] == {"labelled": 2, "rejected": 1, "unfinished": 1}
    assert (record["judged"], record["relevant"], record["without_relevant"]) == (5, 3, [])
    (disputed,) = record["disagreements"]
    assert disputed == {
        "query_id": "q1",
        "table": ["0", "prices"],
        "said": {"relevant": ["ann"], "not relevant": ["bob"]},
    }
    assert [(s["values"], s["questions"], s["labelled"]) for s in record["strata"]] == [
        (("long",), 1, 0),
        (("short",), 3, 2),
    ]
    assert json.loads(json.dumps(record)) is not None


def test_labels_become_gold_tables(found: Collected, shop: Dataset) -> None:
    kept = {q.id: q for q in with_labels(shop.queries, found.by_query, found.by)}
    assert kept.keys() == {"q1", "q2", "q4"}
    assert _ids(kept["q1"].gold) == {"films"}
    assert _ids(labelled_tables(kept["q1"])) == {"films", "staff"}
    assert kept["q2"].text == "what does Alien cost"
    assert kept["q2"].metadata["query_before"] == QUESTIONS["q2"]
    assert kept["q2"].metadata["reviewed"] is True
    assert kept["q4"] == shop.queries[3]
    labelled = [q for q in kept.values() if "sampling_weight" in q.metadata]
    assert {q.id for q in labelled} == {"q1", "q2"}


def test_the_folder_is_loaded_with_its_labels(
    found: Collected, shop: Dataset, tmp_path: Path
) -> None:
    folder = write_shop(tmp_path / "shop")
    others = {"train": [Query("t1", "a question of train", (TableId("0", "staff"),), "Bo")]}
    write_labels(folder / "queries.jsonl", shop, found.by_query, found.by, others)
    dataset = select.load(folder, "test")
    kept = with_labels(shop.queries, found.by_query, found.by)
    assert list(dataset.queries) == kept
    assert [q.id for q in select.load(folder, "rejected").queries] == ["q3"]
    assert list(select.load(folder, "train").queries) == others["train"]
    again = collect([tmp_path / "ann.json"], replace(shop, queries=(*kept, *shop.queries)))
    assert again.count("labelled") == 2


def test_more_labels_are_added_to_those_there_are(
    found: Collected, shop: Dataset, tmp_path: Path
) -> None:
    first = with_labels(shop.queries, found.by_query)
    dataset = replace(shop, queries=tuple(first))
    later = write_saved(tmp_path, saved({"q1": entry("q1", cities=NO, rivers=YES)}))
    second = {q.id: q for q in with_labels(first, collect([later], dataset).by_query)}
    assert _ids(second["q1"].gold) == {"films", "rivers"}
    assert _ids(labelled_tables(second["q1"])) == {"films", "rivers", "staff", "cities"}


def test_weights_are_those_of_all_labels(shop: Dataset, tmp_path: Path) -> None:
    """One short question is labelled first, and another one later: three over two for both."""

    def read(dataset: Dataset, name: str) -> Dataset:
        record = saved({name: entry(name, films=YES)}, by="length")
        found = collect([write_saved(tmp_path, record)], dataset)
        kept = with_labels(dataset.queries, found.by_query, found.by)
        return replace(dataset, queries=tuple(kept))

    first = read(shop, "q1")
    assert {q.id: q.metadata.get("sampling_weight") for q in first.queries} == {
        **dict.fromkeys(QUESTIONS),
        "q1": 3,
    }
    second = read(first, "q2")
    weights = {q.id: q.metadata.get("sampling_weight") for q in second.queries}
    assert weights == {"q1": 1.5, "q2": 1.5, "q3": None, "q4": None}


def test_judgements_for_trec_eval(found: Collected, shop: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "labels.qrels"
    write_labels(path, shop, found.by_query)
    assert path.read_text() == ("q1 0 films 1\nq1 0 staff 0\nq2 0 films 0\nq2 0 prices 1\n")


def test_faults(found: Collected, shop: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"labels\.txt: name a file of queries"):
        write_labels(tmp_path / "labels.txt", shop, found.by_query)
    gold = (TableId("one", "t"), TableId("two", "t"))
    dataset = replace(shop, queries=(Query("q", "?", gold),))
    with pytest.raises(DataError, match=r"query 'q': its gold tables are of several databases"):
        write_labels(tmp_path / "q.jsonl", dataset, {})
