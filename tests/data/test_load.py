"""Finding a corpus, its split and its folder, tasks and corpora by their names."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.registry import find_task
from target_bench.core.schema import Dataset
from target_bench.data.folders import ENVIRONMENT
from target_bench.data.load import (
    drop_repeated,
    is_path,
    load,
    load_once,
    loader,
    pair_with_corpora,
)
from target_bench.data.selection import limit_queries, select_queries
from tests.builders import Recorder, ottqa_question, ottqa_table, write_ottqa
from tests.data.written import asked, write_own

MINI = load("mini")
PLUGIN = """
from target_bench.core.release import CorpusLoader
from target_bench.core.schema import CorpusInfo, Query, Table, TableId


class Shop(CorpusLoader):
    info = CorpusInfo("shop", "Our shop", ("retrieval",), ("test",), "ours", "us",
                      "https://example.org/shop", files=("prices.txt",))

    def __init__(self, currency: str = "EUR") -> None:
        self.currency = currency

    def tables(self, release, split):
        price = release.text(release.require("prices.txt"))
        yield Table(TableId("0", "prices"), ["price", "in"], [[price, self.currency]])

    def queries(self, release, split):
        price = release.text(release.require("prices.txt"))
        yield Query("q", "What does it cost?", (TableId("0", "prices"),), price)


class NoCorpus:
    pass


class NoTables(CorpusLoader):
    info = CorpusInfo("bare")


class NoInfo(CorpusLoader):
    def tables(self, release, split):
        return []

    queries = tables
"""


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)


@pytest.mark.parametrize("name", ["ottqa", "fetaqa", "tabfact"])
@pytest.mark.parametrize("environment", [None, "", "set"])
def test_no_data_says_what_to_get(
    name: str, environment: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if environment is not None:
        monkeypatch.setenv(ENVIRONMENT, environment and str(tmp_path))
    info = loader(name).info
    with pytest.raises(DataError) as caught:
        load(name)
    for part in (info.title, info.source, info.licence, *info.files, "--data-dir", ENVIRONMENT):
        assert part in str(caught.value)


def test_data_dir_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: there is no such folder\nDownload OTT-QA"):
        load("ottqa", data_dir=tmp_path / "nowhere")


def test_mini_is_always_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "nowhere"))
    again = load("mini", "test", data_dir=tmp_path)
    assert (MINI.split, MINI.notes, MINI.files) == ("test", (), again.files)
    assert MINI.corpus.fingerprint == again.corpus.fingerprint


def test_plugin_from_a_file(tmp_path: Path) -> None:
    plugin = f"{tmp_path}/shop_corpus.py:Shop"
    (tmp_path / "shop_corpus.py").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "prices.txt").write_text("12", encoding="utf-8")
    dataset = load(plugin, data_dir=tmp_path)
    assert (dataset.info.name, dataset.split, len(dataset.corpus)) == ("shop", "test", 1)
    for spec, currency in ((plugin, "EUR"), (f"{plugin}:currency=USD", "USD")):
        assert load(spec, data_dir=tmp_path).corpus["0", "prices"].rows == [["12", currency]]
    for spec, fault in {
        plugin.replace(":Shop", ":NoCorpus"): "NoCorpus is not a CorpusLoader",
        plugin.replace(":Shop", ":NoInfo"): r"NoInfo has no info; define info = CorpusInfo\(",
        plugin.replace(":Shop", ":NoTables"): r"define tables\(\), or columns = Columns\(",
        "nowhere/corpus.py:Shop": "there is no file",
        f"{plugin}p": r"no 'Shopp'.*Classes and functions there: .*Shop",
        "ottqaa": r"unknown corpus 'ottqaa'\. Did you mean ottqa.*target-bench list corpora",
    }.items():
        with pytest.raises(ConfigError, match=fault):
            load(spec)


@pytest.mark.parametrize("beside", ["corpus.jsonl", "nothing.txt"])
def test_a_corpus_without_files_needs_no_folder(tmp_path: Path, beside: str) -> None:
    """It reads what lies beside its code, whatever else is there."""
    for name, text in ((beside, "{}"), ("queries.jsonl", "{}"), ("prices.txt", "3")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "alone.py").write_text(PLUGIN.replace('files=("prices.txt",)', ""))
    dataset = load(f"{tmp_path}/alone.py:Shop")
    assert [table.rows for table in dataset.corpus] == [[["3", "EUR"]]]


# tasks and corpora by their names


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (("retrieval", "Table Retrieval", "table-retrieval", "Table Retrieval Task"), "retrieval"),
        (("QA", "table_qa", "Table Question Answering"), "question_answering"),
        (("fv", "Fact Verification", "fact-checking"), "fact_verification"),
        (("Text to SQL Task",), "text_to_sql"),
    ],
)
def test_tasks_by_any_name(names: tuple[str, ...], short: str) -> None:
    assert {find_task(name).name for name in names} == {short}


def test_a_task_alone_is_about_every_corpus_that_serves_it() -> None:
    pairs = pair_with_corpora("qa")
    assert {task for task, _ in pairs} == {"question_answering"}
    assert {"mini", "fetaqa", "ottqa"} <= {corpus for _, corpus in pairs}
    assert "tabfact" not in {corpus for _, corpus in pairs}
    assert ("fact_verification", "tabfact") in pair_with_corpora("fv")


NO_QA = replace(MINI, info=replace(MINI.info, tasks=("retrieval",)))


@pytest.mark.parametrize(
    ("task", "fault"),
    [
        (("mini",), "is a corpus: expected a task, such as 'retrieval'"),
        (("Spider-Test",), "unknown task 'Spider-Test'"),
        (("./tables",), "is a corpus: expected a task"),
        (("mini", "retrieval"), "is a corpus: expected a task"),
        ((3,), "is not a task: expected a name"),
        ((MINI, "qa"), "is not a task: expected a name"),
        (("qa", "tabfact"), "corpus tabfact does not serve the task question_answering; it serves"),
        (("fv", "fetaqa"), r"fetaqa does not serve the task fact_ver.* its kind \(label\)"),
        (("qa", "minni"), "Did you mean mini"),
        (("qa", NO_QA), "does not serve"),
    ],
)
def test_what_is_no_task_with_its_corpora(task: Any, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        pair_with_corpora(*task)


def test_sql_of_a_database_beside_tables_names_the_database(tmp_path: Path) -> None:
    (tmp_path / "shop.sqlite").touch()
    (tmp_path / "predictions.jsonl").write_text('{"query_id": "1", "answer": "SELECT 1"}\n')
    with pytest.raises(ConfigError, match=r"For SQL name the database alone.*shop\.sqlite$"):
        pair_with_corpora("text-to-sql", str(tmp_path))


def test_a_corpus_that_is_named_twice_is_run_once() -> None:
    """Under any of its names; two datasets are two, even under one name."""
    pairs = pair_with_corpora("retrieval", ["ottqa", "OTT-QA", "mini", "ottqa"])
    assert drop_repeated(pairs) == [("retrieval", "ottqa"), ("retrieval", "mini")]
    both = [("retrieval", "mini"), ("question_answering", "mini")]
    assert drop_repeated([*both, *both]) == both
    other = replace(MINI, queries=MINI.queries[:3])
    assert len(drop_repeated(pair_with_corpora("retrieval", [MINI, other, MINI]))) == 2


# loading each split once, and the queries of a task


def test_notes_are_shown_once(tmp_path: Path) -> None:
    write_ottqa(tmp_path, [ottqa_table("Cup")], [ottqa_question("q1", "Cup", question="")])
    recorder = Recorder()
    loaded: dict[Any, Dataset] = {}
    for _ in range(2):
        load_once("ottqa", None, (), tmp_path, recorder, loaded)
    (warning,) = recorder.warnings
    assert warning.startswith("ottqa validation: 1 of 1 queries are empty")


def test_a_dataset_is_its_own_split() -> None:
    for split in (None, "test"):
        assert load_once(MINI, split, (), None, Recorder()).queries == MINI.queries
    with pytest.raises(ConfigError, match=r"split='dev'.* with the split test"):
        load_once(MINI, "dev", (), None, Recorder())


def test_the_words_of_a_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a stored run can be gone on with, from any folder."""
    monkeypatch.chdir(tmp_path)
    write_own(tmp_path / "own", {"a.csv": "x,y\n1,2\n"}, [asked("a")])
    code = "from target_bench.corpora.mini.loader import Mini\n\nclass Mine(Mini): ...\n"
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    expected: dict[Any, str | None] = {
        "mini": "mini",
        "./own": str(tmp_path / "own"),
        "mine.py:Mine": f"{tmp_path}/mine.py:Mine",
    }
    for corpus, words in [*expected.items(), (MINI, None)]:
        assert load_once(corpus, None, (), None, Recorder()).request["corpus"] == words
    assert limit_queries(MINI, 3).request["limit"] == 3


def test_queries_of_a_task() -> None:
    ranked = tuple(query for query in MINI.queries if query.metadata.get("ranked", True))
    assert select_queries(MINI, "retrieval").queries == ranked
    assert len(ranked) == 280, "not those whose metadata say that they are not ranked"
    questions = select_queries(MINI, "question_answering").queries
    statements = select_queries(MINI, "fact_verification").queries
    assert (len(questions), len(statements)) == (144, 79)
    assert {q.metadata["task"] for q in questions} == {"question_answering"}
    few = limit_queries(select_queries(MINI, "fact_verification"), 5).queries
    assert len(few) == 5
    assert {query.id for query in few} <= {query.id for query in statements}
    with pytest.raises(ConfigError, match="no query of mini test is about the task table_reading"):
        select_queries(MINI, "table_reading")


def test_rows_of_a_plug_in_get_one_length(tmp_path: Path) -> None:
    """And a note says so."""
    (tmp_path / "loose.py").write_text(LOOSE, encoding="utf-8")
    dataset = load(f"{tmp_path / 'loose.py'}:Loose", data_dir=tmp_path)
    assert dataset.corpus["0", "t"].rows == [[1, None, None], [1, 2, 3]]
    assert any("the first: table 0/t, row 1: 1 cell" in note for note in dataset.notes)


LOOSE = """
from target_bench.core.release import CorpusLoader
from target_bench.core.schema import CorpusInfo, Query, Table, TableId


class Loose(CorpusLoader):
    info = CorpusInfo("loose", "Loose", ("retrieval",), ("test",), "CC0", "none", "none")

    def tables(self, release, split):
        yield Table(TableId("0", "t"), ("a", "b"), [(1,), (1, 2, 3)], {"title": "T"})

    def queries(self, release, split):
        yield Query("q", "?", (TableId("0", "t"),))
"""


@pytest.mark.parametrize(
    ("declared", "refused"), [("tables_alone = True", ""), ("", "1 tables and 0 queries")]
)
def test_a_loader_without_queries(tmp_path: Path, declared: str, refused: str) -> None:
    """It has to say that it has tables alone: a misspelt method is no corpus without queries."""
    text = LOOSE.replace("def queries", "def querys").replace(
        "    info =", f"    {declared}\n    info ="
    )
    (tmp_path / "loose.py").write_text(text, encoding="utf-8")
    expected = pytest.raises(DataError, match=refused) if refused else nullcontext()
    with expected:
        assert not load(f"{tmp_path / 'loose.py'}:Loose", data_dir=tmp_path).queries


@pytest.mark.parametrize(
    ("splits", "asked_split", "ids", "note"),
    [
        (["test ", "Test", "TEST", "test"], None, "0123", ""),
        (["train", "train", "holdout"], None, "2", "2 of train"),
        (["dev", "test"], "validation", "0", "1 of test"),
        (["val", "test"], "dev", "0", "1 of test"),
        (["dev", "val", " test"], None, "2", "2 of validation"),
    ],
)
def test_splits_of_ones_own(
    tmp_path: Path, splits: list[str], asked_split: str | None, ids: str, note: str
) -> None:
    """Any spelling is what it means, and queries that are not asked are counted."""
    queries = [asked("a", query_id=i, split=split) for i, split in enumerate(splits)]
    write_own(tmp_path, {"a.csv": "x\n1\n"}, queries)
    for _ in range(2):  # read, and from the cache
        dataset = load(tmp_path, asked_split)
        assert "".join(query.id for query in dataset.queries) == ids
        start = "queries of other splits, which are not asked: "
        assert [n for n in dataset.notes if n.startswith(start)] == [start + note] * bool(note)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (r"C:\Users\me\tables", True),
        (r"C:\Users\me\tables:encoding=cp1252", True),
        ("d:/tables", True),
        (r".\tables", True),
        (r"C:\plugins\mine.py:Mine:x=1", False),
        ("mine.py:Mine", False),
        ("package:Mine", False),
        ("mini", False),
    ],
)
def test_paths_of_windows(name: str, path: bool) -> None:
    assert is_path(name) is path
    if path:
        with pytest.raises(DataError, match=r"tables: there is no such folder"):
            load(name)
