"""The release files themselves, against the sizes that their authors and TARGET's report."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from target_bench.corpora import load
from target_bench.errors import DataError
from target_bench.interfaces import Dataset
from tests.real.data import DATA, needs_data

pytestmark = needs_data


@pytest.mark.parametrize(
    ("name", "split", "n_tables", "n_queries", "rows", "columns"),
    [
        ("ottqa", "validation", 789, 2_214, 12.397972, 4.717364),
        ("fetaqa", "test", 2_003, 2_003, 14.157763, 5.698952),
        ("tabfact", "test", 1_695, 12_779, 13.432448, 6.252507),
    ],
)
def test_sizes(
    name: str, split: str, n_tables: int, n_queries: int, rows: float, columns: float
) -> None:
    """The split of the paper is the default; averages agree to six digits."""
    dataset = load(name, data_dir=DATA)
    assert dataset.split == split
    assert len(dataset.corpus) == n_tables
    assert len(dataset.queries) == n_queries
    mean_rows = sum(len(table.rows) for table in dataset.corpus) / n_tables
    mean_columns = sum(len(table.header) for table in dataset.corpus) / n_tables
    assert mean_rows == pytest.approx(rows, abs=5e-7)
    assert mean_columns == pytest.approx(columns, abs=5e-7)
    assert all(len(digest) == 64 for digest in dataset.files.values())


@pytest.mark.parametrize(
    ("name", "alias", "n_tables", "n_queries"),
    [("fetaqa", "dev", 1_001, 1_001), ("tabfact", "val", 1_696, 12_792)],
)
def test_sizes_of_validation(name: str, alias: str, n_tables: int, n_queries: int) -> None:
    dataset = load(name, alias, DATA)
    assert dataset.split == "validation"
    assert (len(dataset.corpus), len(dataset.queries)) == (n_tables, n_queries)


def _copies(dataset: Dataset) -> int:
    return len(dataset.corpus) - len(set(dataset.corpus.groups))


@pytest.mark.parametrize("name", ["ottqa", "fetaqa"])
def test_splits_without_questions_here(name: str) -> None:
    """Train tables are here, train questions are not: a message, not a traceback."""
    with pytest.raises(DataError) as caught:
        load(name, "train", DATA)
    message = str(caught.value)
    assert {"ottqa": "train.json", "fetaqa": "fetaQA-v1_train.jsonl"}[name] in message
    assert "Download it from https://github.com/" in message


def test_copies_in_fetaqa() -> None:
    """1,946 of 2,003 tables are different, in validation 992 of 1,001."""
    assert _copies(load("fetaqa", data_dir=DATA)) == 57
    assert _copies(load("fetaqa", "validation", DATA)) == 9


def test_first_query_of_fetaqa() -> None:
    """As TARGET's own test has it."""
    query = load("fetaqa", data_dir=DATA).queries[0]
    assert query.gold == (("0", "totto_source/dev_json/example-2205.json"),)


def test_labels_of_tabfact() -> None:
    labels = Counter(query.answer for query in load("tabfact", data_dir=DATA).queries)
    assert labels == {"True": 6_425, "False": 6_354}


def test_every_table_of_ottqa_is_gold() -> None:
    dataset = load("ottqa", data_dir=DATA)
    assert {gold for query in dataset.queries for gold in query.gold} == set(dataset.corpus.ids)
    assert len({table.context["title"] for table in dataset.corpus}) == 727


def test_file_a_table_gives_the_same_corpus(tmp_path: Path) -> None:
    """OTT-QA as its authors' repositories have it."""
    (tmp_path / "traindev_tables_tok").mkdir()
    with gzip.open(DATA / "ottqa" / "dev_tables.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            name = f"{json.loads(line)['uid']}.json"
            (tmp_path / "traindev_tables_tok" / name).write_text(line, encoding="utf-8")
    for name in ("dev.json.gz", "train_dev_test_table_ids.json.gz"):
        (tmp_path / name).symlink_to(DATA / "ottqa" / name)
    folder, file = load("ottqa", data_dir=tmp_path), load("ottqa", data_dir=DATA)
    assert folder.corpus.fingerprint == file.corpus.fingerprint
    assert folder.queries == file.queries


def test_all_csv_gives_the_same_tables_as_the_split(
    tmp_path: Path,
) -> None:
    """TabFact's archive of all tables and that of the split are two ways to one corpus."""
    for name in ("test_examples.json.gz", "all_csv.zip"):
        (tmp_path / name).symlink_to(DATA / "tabfact" / name)
    whole, part = load("tabfact", data_dir=tmp_path), load("tabfact", data_dir=DATA)
    assert whole.corpus.fingerprint == part.corpus.fingerprint
    assert whole.queries == part.queries
