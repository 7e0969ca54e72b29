"""The cache of loaded corpora: plug-ins, their settings and their code."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from target_bench import corpora
from target_bench.core import registry
from target_bench.core.errors import DataError, PluginError
from target_bench.data import cache
from target_bench.data.load import loader, read_tables
from tests.builders import write_release
from tests.data.cached import entries

pytestmark = pytest.mark.usefixtures("place")


PLUGIN = """
from target_bench.core.release import CorpusLoader
from target_bench.core.schema import CorpusInfo, Query, Table, TableId


class Shop(CorpusLoader):
    info = CorpusInfo("shop", "Shop", ("retrieval",), ("test", "a", "a-tables", "../../x", "b c"),
                      "ours", "us", "https://example.org", ("prices.txt",))

    def __init__(self, currency: str = "EUR", odd: bool = False) -> None:
        self.currency = currency
        if odd:
            self.odd = object()

    def tables(self, release, split):
        price = release.text(release.require("prices.txt"))
        yield Table(TableId("0", "prices"), ["price", "in", split], [[price, self.currency, ""]])

    def queries(self, release, split):
        release.text(release.require("prices.txt"))
        yield Query("q", "What does it cost?", (TableId("0", "prices"),), "x")


class Other(Shop):
    def tables(self, release, split):
        for table in super().tables(release, split):
            yield Table(table.id, ["other"], [[1]])
"""


@pytest.mark.parametrize("name", registry.BUILT_IN["corpus"])
def test_every_corpus_of_this_package_can_be_cached(name: str) -> None:
    """Its settings have a hash."""
    assert cache._code(loader(name), "test", cache.TABLES) is not None


@pytest.fixture
def shop(tmp_path: Path) -> str:
    write_release(tmp_path / "shop", "prices.txt", "12")
    (tmp_path / "shop_corpus.py").write_text(PLUGIN, encoding="utf-8")
    return f"{tmp_path}/shop_corpus.py"


def _header(name: str, split: str = "test") -> list[Any]:
    loaded = corpora.load(name, split, data_dir=Path(name.partition(".py")[0]).parent / "shop")
    (found,) = loaded.corpus
    assert not [note for note in loaded.notes if "damaged" in note]
    return [*found.header, *found.rows[0]]


def test_splits_with_odd_names(shop: str, tmp_path: Path, place: Path) -> None:
    """No split reads another's entry, and no name leads out of the cache."""
    before = set(tmp_path.rglob("*"))
    for _ in range(2):
        for split in ("a", "a-tables", "../../x", "b c", "test"):
            assert _header(f"{shop}:Shop", split)[2] == split
    new = set(tmp_path.rglob("*")) - before
    assert all(path.is_relative_to(place.parent) or "__pycache__" in str(path) for path in new)
    assert len(entries(place, "queries")) == 5


def test_changed_code_of_the_loader(shop: str, tmp_path: Path) -> None:
    """Run in processes, as the same file cannot be imported twice."""
    script = (
        "import sys; from target_bench import corpora; "
        "print(list(corpora.load(sys.argv[1], data_dir=sys.argv[2]).corpus)[0].header)"
    )
    run = [sys.executable, "-c", script, f"{shop}:Shop", str(tmp_path / "shop")]
    assert "price" in subprocess.check_output(run, text=True)
    path = Path(shop)
    path.write_text(PLUGIN.replace('"price", ', '"cost", '), encoding="utf-8")
    assert "cost" in subprocess.check_output(run, text=True)


def test_setting_that_cannot_be_distinguished_from_another(
    shop: str, place: Path, tmp_path: Path
) -> None:
    """It is read again every time, says so, and leaves nothing in the cache."""
    name, data = f"{shop}:Shop:odd=true", tmp_path / "shop"
    for _ in range(2):
        notes = " ".join(corpora.load(name, data_dir=data).notes)
        assert "shop-test-tables is read again every time" in notes
    assert not place.exists()


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("raise KeyError('x')", r"corpus shop \(Bad\), tables of test: KeyError: 'x'"),
        ("raise SystemExit(0)", r"corpus shop \(Bad\), tables of test: SystemExit: 0"),
        ("yield 5", r"corpus shop \(Bad\), tables of test: expected Table, found int"),
        (
            "yield Table('t', ('a',), ())",
            r"id should be a TableId .* but is 't'; write Table\(TableId",
        ),
        ("return 5", r"corpus shop \(Bad\), tables of test: TypeError: 'int' object is not iter"),
    ],
)
def test_plugin_that_breaks_its_contract(tmp_path: Path, code: str, fault: str) -> None:
    names: dict[str, Any] = {"__name__": "typed"}
    bad = f"class Bad(Shop):\n    def tables(self, release, split):\n        {code}\n"
    exec(PLUGIN + "\n\n" + bad, names)
    with pytest.raises((PluginError, DataError), match=fault):
        read_tables(names["Bad"](), tmp_path, "test")


def test_plugin_whose_file_is_missing(shop: str, tmp_path: Path) -> None:
    """An error of the source is not an error of the cache."""
    path = Path(shop)
    reading = 'open(release.folder / "prices.dat").read()'
    text = PLUGIN.replace('release.text(release.require("prices.txt"))', reading)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"corpus shop.*prices\.dat: cannot be read: No such file"):
        corpora.load(f"{shop}:Shop", data_dir=tmp_path / "shop")
