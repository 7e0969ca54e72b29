"""Finding a corpus, its split and its folder."""

from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.data.load import ENVIRONMENT, load, loader
from tests.builders import ottqa_question, ottqa_table, write_ottqa

TABLES = [ottqa_table("Cup_0"), ottqa_table("Cup_1")]
QUESTIONS = [ottqa_question("q1", "Cup_1")]

PLUGIN = """
from target_bench.core.release import CorpusLoader
from target_bench.core.schema import CorpusInfo, Query, Table, TableId


class Shop(CorpusLoader):
    info = CorpusInfo(
        name="shop",
        title="Our shop",
        tasks=("retrieval",),
        splits=("test",),
        licence="ours",
        citation="us",
        source="https://example.org/shop",
        files=("prices.txt",),
    )

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
"""


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with OTT-QA in its sub-folder."""
    write_ottqa(tmp_path / "data" / "ottqa", TABLES, QUESTIONS)
    return tmp_path / "data"


@pytest.fixture
def plugin(tmp_path: Path) -> str:
    path = tmp_path / "shop_corpus.py"
    path.write_text(PLUGIN, encoding="utf-8")
    return f"{path}:Shop"


@pytest.mark.parametrize(("name", "near"), [("ottqaa", "ottqa"), ("tabfakt", "tabfact")])
def test_unknown_corpus(name: str, near: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(name)
    message = str(caught.value)
    assert f"unknown corpus {name!r}. Did you mean {near}" in message
    assert "All are listed by: target-bench list corpora." in message


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
    for part in (info.title, info.source, info.licence, *info.files, "--data-dir"):
        assert part in str(caught.value)
    assert ENVIRONMENT in str(caught.value)


def test_data_dir_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: there is no such folder\nDownload OTT-QA"):
        load("ottqa", data_dir=tmp_path / "nowhere")


def test_mini_is_always_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load("mini")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "nowhere"))
    again = load("mini", "test", data_dir=tmp_path)
    assert first.split == again.split == "test"
    assert first.corpus.fingerprint == again.corpus.fingerprint
    assert first.files == again.files
    assert len(first.corpus) >= 80
    assert len(first.queries) >= 150
    assert first.notes == ()


def test_plugin_from_a_file(plugin: str, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "prices.txt").write_text("12", encoding="utf-8")
    dataset = load(plugin, data_dir=tmp_path)
    assert (dataset.info.name, dataset.split, len(dataset.corpus)) == ("shop", "test", 1)
    assert list(dataset.corpus["0", "prices"].rows) == [["12", "EUR"]]
    dollars = load(f"{plugin}:currency=USD", data_dir=tmp_path)
    assert list(dollars.corpus["0", "prices"].rows) == [["12", "USD"]]


def test_plugin_of_another_kind(plugin: str) -> None:
    with pytest.raises(ConfigError, match="is not a corpus: NoCorpus is not a CorpusLoader"):
        load(plugin.replace(":Shop", ":NoCorpus"))
    with pytest.raises(ConfigError, match="there is no file"):
        load("nowhere/corpus.py:Shop")
    with pytest.raises(ConfigError, match=r"no 'Shopp'.*Classes and functions there: .*Shop"):
        load(plugin.replace(":Shop", ":Shopp"))


@pytest.mark.parametrize("beside", ["corpus.jsonl", "nothing.txt"])
def test_a_corpus_without_files_needs_no_folder(tmp_path: Path, beside: str) -> None:
    """It reads what lies beside its code, whatever else is there."""
    for name, text in ((beside, "{}"), ("queries.jsonl", "{}"), ("prices.txt", "3")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    code = PLUGIN.replace('files=("prices.txt",),', "")
    (tmp_path / "alone.py").write_text(code, encoding="utf-8")
    dataset = load(f"{tmp_path}/alone.py:Shop")
    assert [table.rows for table in dataset.corpus] == [[["3", "EUR"]]]
