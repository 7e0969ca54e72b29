"""The release files themselves, against the sizes that their authors and TARGET's report."""

from collections import Counter
from pathlib import Path

import pytest

from target_bench import score_answers
from target_bench.core.files import CACHE_VARIABLE
from target_bench.core.registry import create
from target_bench.core.release import Release
from target_bench.core.schema import Dataset
from target_bench.data import cache
from target_bench.data.load import load, loader
from target_bench.data.tables import MemoryCorpus
from tests.data.strategies import exact
from tests.data.written import FORMS, SHAPES, Form, Shape, write_target
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
    dataset = load(name, alias, data_dir=DATA)
    assert dataset.split == "validation"
    assert (len(dataset.corpus), len(dataset.queries)) == (n_tables, n_queries)


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
        ("ehrsql", 27, 3_578, 5_528, []),
        ("wtq", 2_108, 4_344, 4_344, []),
        ("infotabs", 2_719, 1_800, 1_800, []),
        ("infotabs:language=af", 2_719, 1_800, 1_800, []),
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


def test_labels_of_infotabs() -> None:
    labels = Counter(query.answer for query in load("infotabs", data_dir=DATA).queries)
    assert labels == dict.fromkeys(("True", "False", "Not Enough Information"), 600)


def test_reference_answers_of_wtq_are_right() -> None:
    dataset = load("wtq", data_dir=DATA)
    answers = {query.id: str(query.answer) for query in dataset.queries}
    assert score_answers(dataset, answers, "qa").scores["denotation"].value == 1


def _copies(dataset: Dataset) -> int:
    return len(dataset.corpus) - len(set(dataset.corpus.groups))


def test_copies_in_fetaqa() -> None:
    """1,946 of 2,003 tables are different, in validation 992 of 1,001."""
    assert _copies(load("fetaqa", data_dir=DATA)) == 57
    assert _copies(load("fetaqa", "validation", data_dir=DATA)) == 9


def test_labels_of_tabfact() -> None:
    labels = Counter(query.answer for query in load("tabfact", data_dir=DATA).queries)
    assert labels == {"True": 6_425, "False": 6_354}


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


@pytest.mark.parametrize("name", ["ottqa", "tabfact"])
def test_files_and_cache_give_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loader's own tables, those just read, and those of the cache: byte for byte."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    plugin = loader(name)
    split = plugin.info.splits[0]
    release = Release(DATA / name, "", plugin.subfolders)
    held = MemoryCorpus(plugin.tables(release, split))
    queries = tuple(plugin.queries(release, split))
    read, cached = load(name, data_dir=DATA), load(name, data_dir=DATA)
    assert len(cache.entries()) == 2
    for dataset in (read, cached):
        assert dataset.corpus.fingerprint == held.fingerprint
        assert all(map(_same, dataset.corpus, held))
        assert dataset.corpus.groups == held.groups
        assert dataset.queries == queries
        assert dataset.files == dict(release.hashes)
    assert read.notes == cached.notes


def _same(left: object, right: object) -> bool:
    return left == right


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


@pytest.mark.parametrize(("form", "shape"), list(zip(FORMS, SHAPES, strict=True)))
@pytest.mark.parametrize("name", ["ottqa", "fetaqa"])
def test_written_in_targets_layout(tmp_path: Path, name: str, form: Form, shape: Shape) -> None:
    """The same tables, questions and rankings; what is lost is the metadata of the questions."""
    authors = load(name, data_dir=DATA)
    folder = tmp_path / name
    write_target(folder, authors.corpus, authors.queries, authors.split, form, shape)
    target = load(name, data_dir=tmp_path)
    assert list(map(exact, target.corpus)) == list(map(exact, authors.corpus))
    assert target.corpus.fingerprint == authors.corpus.fingerprint
    assert [(q.id, q.text, q.gold, q.answer) for q in target.queries] == [
        (q.id, q.text, q.gold, q.answer) for q in authors.queries
    ]
    loaded = []
    for dataset in (authors, target):
        retriever = create("retriever", "bm25")
        retriever.embed_corpus(dataset.corpus)
        rankings = retriever.retrieve_batch([query.text for query in dataset.queries[:100]], 10)
        loaded.append([list(ranking) for ranking in rankings])
    assert loaded[0] == loaded[1]
