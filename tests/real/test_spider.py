"""Spider's release files: sizes, gold tables, hardness, rows."""

from collections import Counter

import pytest

from target_bench.core.schema import Dataset, TableId
from target_bench.data.load import load
from tests.real.data import DATA
from tests.real.databases import records, share_of_databases_found

pytestmark = pytest.mark.skipif(
    not (DATA / "spider").is_dir(), reason=f"no Spider in {DATA} (set TARGET_BENCH_DATA)"
)


@pytest.fixture(scope="module")
def spider() -> Dataset:
    """The validation split."""
    return load("spider", data_dir=DATA)


def test_sizes(spider: Dataset) -> None:
    assert spider.split == "validation"
    assert (len(spider.corpus), len(spider.queries), len(spider.databases)) == (80, 1_034, 20)
    assert spider.notes == ()
    assert len(set(spider.corpus.groups)) == 80
    assert "cre_Doc_Template_Mgt" in spider.databases
    assert all(table_id.table_id != "sqlite_sequence" for table_id in spider.corpus.ids)


def test_gold_tables_and_hardness(spider: Dataset) -> None:
    recorded = records(DATA / "spider" / "dev_derived.jsonl.gz")
    for query, expected in zip(spider.queries, recorded, strict=True):
        assert query.database_id == expected["db_id"]
        gold = {TableId(query.database_id, name) for name in expected["gold_tables"]}
        assert set(query.gold) == gold
        assert query.metadata["hardness"] == expected["hardness"]
    counts = Counter(query.metadata["hardness"] for query in spider.queries)
    assert counts == {"easy": 248, "medium": 446, "hard": 174, "extra": 166}


def test_rows_are_those_of_the_files(spider: Dataset) -> None:
    sizes = {str(t.id): len(t.rows) for t in spider.corpus}
    assert sizes["car_1/cars_data"] == 406
    assert sizes["world_1/city"] == 4_079
    assert sizes["flight_2/flights"] == 1_200
    assert all(sizes.values())
    for table in spider.corpus:
        assert len(table.rows[0]) == len(table.header) == len(table.context["columns"])


def test_train_databases_as_distractors(spider: Dataset) -> None:
    """84 of 146 databases are here, with 330 tables; sqlite_sequence is none."""
    mixed = load("spider", data_dir=DATA, distractors=["spider:split=train"])
    assert mixed.queries == spider.queries
    assert len(mixed.databases) == 20 + 84
    drawn = [mixed.corpus[i] for i in mixed.distractors[0].ids]
    assert len({table.id.database_id for table in drawn}) == 146
    here = [table for table in drawn if table.id.database_id in mixed.databases]
    assert len(here) == 330
    few = load("spider", data_dir=DATA, distractors=["spider:split=train,n=30"])
    assert len(few.corpus) == 110


@pytest.mark.parametrize(
    ("retriever", "floor"),
    [
        ("bm25:rows=0", 0.88),
        ("bm25", 0.89),
        ("bm25:fields=[[database,title],[columns,header],[descriptions],[rows]]", 0.945),
    ],
)
def test_databases_of_the_first_tables(spider: Dataset, retriever: str, floor: float) -> None:
    """How often the best table is of the gold database (the paper's best on its test: 0.833)."""
    assert share_of_databases_found(spider, retriever) >= floor
