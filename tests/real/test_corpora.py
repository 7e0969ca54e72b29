"""The release files themselves, against the sizes that their authors and TARGET's report."""

from collections import Counter
from pathlib import Path

import pytest

from target_bench import score_answers
from target_bench.data.load import load
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
    ("name", "n_tables", "n_queries", "n_gold", "notes"),
    [
        ("beaver", 463, 209, 928, []),
        (
            "spider2-lite",
            8_255,
            547,
            4_172,
            [
                "questions about a database that is not here, which are not scored: 12 (local056",
                "questions with gold tables that are not here, which are left out: 8 (bq277",
                "questions without a gold table that is here, which are not scored: 1 (bq396",
            ],
        ),
        ("wtq", 2_108, 4_344, 4_344, []),
    ],
)
def test_sizes_of_hard_corpora(
    name: str, n_tables: int, n_queries: int, n_gold: int, notes: list[str]
) -> None:
    """All gold tables of BEAVER are found; what Spider 2.0-lite lacks is counted."""
    dataset = load(name, data_dir=DATA)
    assert (len(dataset.corpus), len(dataset.queries)) == (n_tables, n_queries)
    assert sum(len(query.gold) for query in dataset.queries) == n_gold
    counted = [note for note in dataset.notes if "question" in note or "gold" in note]
    assert len(counted) == len(notes)
    for note in notes:
        assert any(counts.startswith(note) for counts in counted)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("tabfact", {"True": 6_425, "False": 6_354}),
    ],
)
def test_labels(name: str, labels: dict[str, int]) -> None:
    assert Counter(query.answer for query in load(name, data_dir=DATA).queries) == labels


@pytest.mark.parametrize(
    ("name", "alias", "n_tables", "n_copies", "n_queries"),
    [
        ("fetaqa", "test", 2_003, 57, 2_003),
        ("fetaqa", "dev", 1_001, 9, 1_001),
        ("tabfact", "val", 1_696, 0, 12_792),
    ],
)
def test_splits_and_copies(
    name: str, alias: str, n_tables: int, n_copies: int, n_queries: int
) -> None:
    dataset = load(name, alias, data_dir=DATA)
    n_different = len(set(dataset.corpus.groups))
    assert (len(dataset.corpus), len(dataset.queries)) == (n_tables, n_queries)
    assert n_tables - n_different == n_copies


def test_reference_answers_of_wtq_are_right() -> None:
    dataset = load("wtq", data_dir=DATA)
    answers = {query.id: str(query.answer) for query in dataset.queries}
    assert score_answers(dataset, answers, "qa")["denotation"].value == 1


def test_every_table_of_ottqa_is_gold() -> None:
    dataset = load("ottqa", data_dir=DATA)
    assert {gold for query in dataset.queries for gold in query.gold} == set(dataset.corpus.ids)
    assert len({table.context["title"] for table in dataset.corpus}) == 727


def test_all_csv_gives_the_same_tables_as_the_split(tmp_path: Path) -> None:
    """TabFact's archive of all tables and that of the split are two ways to one corpus."""
    for name in ("test_examples.json.gz", "all_csv.zip"):
        (tmp_path / name).symlink_to(DATA / "tabfact" / name)
    whole, part = load("tabfact", data_dir=tmp_path), load("tabfact", data_dir=DATA)
    assert whole.corpus.fingerprint == part.corpus.fingerprint
    assert whole.queries == part.queries


def test_distractors_of_the_train_split() -> None:
    """789 tables and the 8,102 of train; 1,000 of them are among 8,000 of them."""
    plain = load("ottqa", data_dir=DATA)
    whole = load("ottqa", data_dir=DATA, distractors=["ottqa:split=train"])
    assert len(whole.corpus) == 789 + 8_102 == len(set(whole.corpus.ids))
    assert whole.queries == plain.queries
    unnamed, copies = whole.distractors[0].notes
    assert unnamed.startswith("203 of 8102 tables have some empty column names")
    assert copies.startswith("9 tables have header and rows of a table of the corpus")
    own = set(plain.corpus.ids)
    assert [i for i in whole.corpus.ids if i in own] == list(plain.corpus.ids)
    few, many = (
        load("ottqa", data_dir=DATA, distractors=[f"ottqa:split=train,n={n},seed=7"]).corpus
        for n in (1_000, 8_000)
    )
    assert (len(few), len(many)) == (1_789, 8_789)
    assert list(few.ids) == [i for i in many.ids if i in few]
