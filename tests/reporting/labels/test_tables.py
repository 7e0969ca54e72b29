"""Gold tables from people: pools, what is shown, labels merged, agreement, queries written."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Dataset, Query, Table, TableId
from target_bench.data.load import load
from target_bench.data.tables import MemoryCorpus
from target_bench.reporting.labels.tables import (
    Label,
    MergedLabels,
    check_place,
    form_items,
    merge,
    pooled,
    questions,
    read_labels,
    shuffled,
    summary,
    write_labels,
)
from target_bench.runs.result import Result
from tests.reporting.labels.conftest import label, write_records, write_shop

FILMS, PRICES = TableId("0", "films"), TableId("0", "prices")


def _labels(tmp_path: Path, shop: Dataset, **people: list[Any]) -> list[Label]:
    files = [write_records(tmp_path, records, f"{name}.json") for name, records in people.items()]
    return read_labels(files, shop)


def _merged(tmp_path: Path, shop: Dataset, **people: list[Any]) -> dict[str, MergedLabels]:
    return merge(_labels(tmp_path, shop, **people), shop)


def _agreement(tmp_path: Path, shop: Dataset, **people: list[Any]) -> list[dict[str, Any]]:
    labels = _labels(tmp_path, shop, **people)
    agreement: list[dict[str, Any]] = summary(labels, merge(labels, shop))["agreement"]
    return agreement


def test_a_question_stays_rejected_wherever_its_tables_are_judged(
    tmp_path: Path, shop: Dataset
) -> None:
    records = [label("q1", None, "rejected"), label("q1", "films", "relevant")]
    for ann in (records, records[::-1]):
        assert _merged(tmp_path, shop, ann=ann)["q1"].state == "rejected"


def test_a_pool_has_the_first_tables_of_all_runs(shop: Dataset, shop_runs: list[Result]) -> None:
    pools = pooled(shop.queries, shop_runs, 2)
    for query in shop.queries:
        firsts = {t for run in shop_runs for t in run.rankings[query.id].tables[:2]}
        assert set(pools[query.id]) == firsts
        assert len(pools[query.id]) == len(firsts)
    assert pooled(shop.queries, shop_runs, 2) == pools
    text = repr(form_items(shop.queries, shop.corpus, pools)).lower()
    for hidden in ("bm25", "tfidf", *(run.folder.name for run in shop_runs)):
        assert hidden not in text
    judged = replace(shop.queries[0], gold=(FILMS,), metadata={"not_relevant": ["prices"]})
    assert not {FILMS, PRICES} & {*pooled([judged], shop_runs, 1)[judged.id]}
    with pytest.raises(ConfigError, match=r"depth=4: the rankings of .* have 3 tables"):
        pooled(shop.queries, shop_runs, 4)
    with pytest.raises(DataError, match="has no ranking of the question 'other'"):
        pooled([Query("other", "?", ())], shop_runs, 1)


def test_of_a_large_table_the_rows_with_words_of_the_question_are_shown() -> None:
    rows = [[f"row {i}", "Zanzibar" if i in (40, 90) else "x"] for i in range(100)]
    table = Table(TableId("0", "large"), ["number", "place"], rows, {"title": "Many"})
    query = Query("q", "what is in ZANZIBAR", (table.id,))
    review, item = form_items([query], MemoryCorpus([table]), {"q": [table.id]}, review=True)
    shown = [row[0].text for row in item.tables[0]["rows"] if row]
    assert shown == ["number", *(f"row {i}" for i in (*range(20), 40, 90))]
    assert [row[0].text for row in review.tables[0]["rows"] if row] == shown


def test_which_questions_are_asked(shop: Dataset) -> None:
    gold = [replace(q, gold=(FILMS,)) for q in shop.queries[:2]]
    some = replace(shop, queries=(*gold, *shop.queries[2:]))
    assert questions(some, review=False) == list(shop.queries[2:])
    assert questions(some, review=True) == gold
    assert {q.id for q in shuffled(shop.queries, 1)} == {q.id for q in shop.queries}
    assert shuffled(shop.queries, 1) == shuffled(shop.queries, 1)
    with pytest.raises(ConfigError, match="nothing to review"):
        questions(shop, review=True)
    with pytest.raises(ConfigError, match="has gold tables already"):
        questions(replace(some, queries=tuple(gold)), review=False)


@pytest.mark.parametrize(
    ("ann", "bob", "relevant", "not_relevant", "disputed"),
    [
        ("relevant", "relevant", 1, 0, 0),
        ("relevant", "cannot say", 1, 0, 0),
        ("relevant", "not relevant", 0, 0, 1),
        ("not relevant", None, 0, 1, 0),
        ("cannot say", "cannot say", 0, 0, 0),
    ],
)
def test_labels_of_a_table(
    ann: str,
    bob: str | None,
    relevant: int,
    not_relevant: int,
    disputed: int,
    shop: Dataset,
    tmp_path: Path,
) -> None:
    people = {"ann": [label("q1", "films", ann)], "bob": [label("q1", "films", bob)]}
    merged = _merged(tmp_path, shop, **people)["q1"]
    assert merged.state == "labelled"
    assert (merged.relevant, merged.not_relevant, merged.disputed) == (
        (FILMS,) * relevant, (FILMS,) * not_relevant, (FILMS,) * disputed
    )  # fmt: skip


def test_states_of_questions(shop: Dataset, tmp_path: Path) -> None:
    ann = [
        label("q1", "films", "relevant"),
        label("q1", "prices", None),
        label("q2", None, "accepted"),
        label("q3", None, "rejected"),
    ]
    bob = [label("q3", None, "accepted")]
    merged = _merged(tmp_path, shop, ann=ann, bob=bob)
    states = {name: labels.state for name, labels in merged.items()}
    assert states == {"q1": "unfinished", "q2": "labelled", "q3": "disputed"}
    cat = [label("q3", None, "rejected"), label("q1", "prices", "cannot say")]
    merged = _merged(tmp_path, shop, ann=ann, bob=bob, cat=cat)
    assert (merged["q1"].state, merged["q3"].state) == ("labelled", "rejected")


def test_agreement_is_cohens_kappa_with_an_interval(shop: Dataset, tmp_path: Path) -> None:
    tables = ("films", "prices", "cities", "staff")
    places = [(query.id, table) for query in shop.queries for table in tables]
    first = ["relevant" if i % 3 else "not relevant" for i in range(len(places))]
    second = ["relevant" if i % 4 else "not relevant" for i in range(len(places))]
    second[0] = "cannot say"
    ann, bob = (
        [label(*place, reply) for place, reply in zip(places, replies, strict=True)]
        for replies in (first, second)
    )
    (tables_only,) = _agreement(tmp_path, shop, ann=ann, bob=bob)
    assert (tables_only["annotators"], tables_only["what"]) == (["ann", "bob"], "tables")
    assert tables_only["n"] == len(places) - 1
    assert tables_only["kappa"] == pytest.approx(cohen_kappa_score(first[1:], second[1:]))
    assert tables_only["interval"][0] < tables_only["kappa"] < tables_only["interval"][1]
    verdicts = [label("q1", None, "accepted"), label("q2", None, "rejected")]
    both = _agreement(tmp_path, shop, ann=ann + verdicts, bob=bob + verdicts)
    assert both[0] == tables_only
    assert (both[1]["what"], both[1]["kappa"]) == ("questions", 1.0)
    (same,) = _agreement(tmp_path, shop, ann=ann[1:2], bob=ann[1:2])
    assert (same["same"], same["kappa"]) == (1.0, None)


def test_labels_are_written_as_queries_and_as_judgements(tmp_path: Path) -> None:
    folder = write_shop(tmp_path / "shop", {"q4": ["rivers"]}, topic="t")
    shop = load(folder)
    ann = [
        label("q1", "films", "relevant"),
        label("q1", "prices", "not relevant"),
        label("q2", "films", None),
        label("q2", "prices", "relevant"),
        label("q3", None, "rejected"),
        label("q4", None, "accepted"),
    ]
    merged = _merged(tmp_path, shop, ann=ann)
    write_labels(folder / "queries.jsonl", shop, merged)
    records = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    by_id = {record["query_id"]: record for record in records}
    assert (by_id["q1"]["table_id"], by_id["q1"]["not_relevant"]) == ("films", ["prices"])
    assert by_id["q2"]["table_id"] == [], "it is unfinished"
    assert by_id["q3"]["split"] == "rejected"
    assert by_id["q4"]["reviewed"] is True
    assert {record["topic"] for record in records} == {"t"}
    again = load(folder)
    assert {query.id for query in again.queries} == {"q1", "q2", "q4"}
    write_labels(tmp_path / "labels.qrels", shop, merged)
    assert (tmp_path / "labels.qrels").read_text().splitlines() == [
        "q1 0 films 1",
        "q1 0 prices 0",
        "q4 0 rivers 1",
    ]
    with pytest.raises(ConfigError, match="name a file of queries"):
        check_place(tmp_path / "labels.txt")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (label("q1", "films", "perhaps"), "label: expected one of relevant, not relevant, cannot"),
        (label("q1", "nope", "relevant"), "there is no table '0/nope'|there is no table 'nope'"),
        (label("q1", "films", "relevant") | {"query_id": "q9"}, "'q9' is not among the questions"),
        (label("q1", "films", "relevant") | {"asked": "else"}, "the form asked 'else'"),
        (label("q1", "films", None), "nothing is labelled"),
    ],
)
def test_broken_records(record: Any, message: str, shop: Dataset, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"ann\.json: .*({message})"):
        _labels(tmp_path, shop, ann=[record])


def test_one_person_judges_a_table_once(shop: Dataset, tmp_path: Path) -> None:
    record = label("q1", "films", "relevant", annotator="a")
    with pytest.raises(DataError, match=r"'a' judged .*films of 'q1' twice"):
        _labels(tmp_path, shop, ann=[record], bob=[record])
