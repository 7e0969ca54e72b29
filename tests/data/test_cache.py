"""The cache of loaded corpora: what is used again, what is not, and what is left behind."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from target_bench import corpora
from target_bench.core import registry
from target_bench.core.errors import DataError, PluginError
from target_bench.core.files import CACHE_VARIABLE
from target_bench.core.schema import Dataset
from target_bench.corpora.ottqa import OTTQA
from target_bench.data import cache
from target_bench.data.load import loader
from target_bench.data.reading import read_part
from tests.builders import ottqa_question, ottqa_table, write_ottqa, write_release
from tests.data.strategies import exact
from tests.data.written import asked, write_queries

TABLES = [ottqa_table("Cup_0"), ottqa_table("Cup_1")]
QUESTIONS = [ottqa_question("q1", "Cup_1")]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and nothing else that could hold data."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(corpora.ENVIRONMENT, raising=False)
    return tmp_path / "cache" / "corpora"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_ottqa(tmp_path / "ottqa", TABLES, QUESTIONS)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which sources were parsed; the hash of the loader's code stays what it is."""
    names: list[str] = []

    def noted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any) -> Any:
            names.append(name)
            return method(*arguments)

        return wrapper

    for name in ("tables", "queries"):
        monkeypatch.setattr(OTTQA, name, noted(name, getattr(OTTQA, name)))
    return names


def _load(folder: Path) -> Dataset:
    return corpora.load("ottqa", data_dir=folder)


def _content(dataset: Dataset) -> tuple[object, ...]:
    rows = [exact(table) for table in dataset.corpus]
    return dataset.corpus.fingerprint, rows, dataset.queries, dataset.files


def test_second_load_parses_nothing(folder: Path, tmp_path: Path, parsed: list[str]) -> None:
    """Nor does one of the same files in another folder, or with other time stamps."""
    first = _load(folder)
    assert parsed == ["tables", "queries"]
    os.utime(folder / "dev_tables.jsonl", (1, 1))
    shutil.copytree(folder, tmp_path / "copy")
    for place in (folder, tmp_path / "copy"):
        again = _load(place)
        assert (_content(again), again.notes) == (_content(first), first.notes)
    assert parsed == ["tables", "queries"]


def test_one_changed_byte(folder: Path) -> None:
    """Of the same length, with the same time stamp."""
    _load(folder)
    path = folder / "dev_tables.jsonl"
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"Ann", b"Eve"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert next(iter(_load(folder).corpus["0", "Cup_0"].rows)) == ["2001", "Eve Cup_0"]


def test_database_whose_log_grows(tmp_path: Path) -> None:
    """What a writer has committed is in the log beside the file, which stays as it is."""
    write_queries(tmp_path / "queries.jsonl", [asked("t")])
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("CREATE TABLE t (a)")
        for n in range(3):
            writer.execute("INSERT INTO t VALUES (?)", (n,))
            writer.commit()
            (stored,) = corpora.load(path).corpus
            assert stored.rows == [[i] for i in range(n + 1)]


def test_removed_cache(folder: Path, place: Path, parsed: list[str]) -> None:
    """A corpus that is open survives it."""
    dataset = _load(folder)
    (place / "README").write_text("hello", encoding="utf-8")
    assert _load(folder).notes == ()
    shutil.rmtree(place)
    assert len(list(dataset.corpus)) == 2
    _load(folder)
    assert len(parsed) == 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-8],
        lambda content: b"x" * len(content),
        lambda content: content.replace(b"Cup_1", b"Cap_1"),  # one letter of a cell: still sound
    ],
)
@pytest.mark.parametrize("kind", ["tables", "queries"])
def test_damaged_entry_is_made_again(
    folder: Path, place: Path, parsed: list[str], kind: str, damage: Callable[[bytes], bytes]
) -> None:
    whole = _load(folder)
    (entry,) = place.glob(f"*-{kind}-*")
    content = entry.read_bytes()
    entry.unlink()  # what has it open goes on reading that
    entry.write_bytes(damage(content))
    again = _load(folder)
    assert _content(again) == _content(whole)
    assert parsed == ["tables", "queries", kind]
    assert again.notes == _load(folder).notes == ()
    assert len(parsed) == 3
    assert len(list(place.iterdir())) == 2


@pytest.mark.parametrize("where", ["cache", "cache/corpora"])
def test_file_in_the_place_of_the_cache(folder: Path, tmp_path: Path, where: str) -> None:
    (tmp_path / where).parent.mkdir(exist_ok=True)
    (tmp_path / where).write_text("in the way", encoding="utf-8")
    dataset = _load(folder)
    assert (len(list(dataset.corpus)), dataset.notes) == (2, ())


def _python(code: str, *arguments: object) -> str:
    words = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


KILLED = """
import os, signal, sys
from pathlib import Path
from target_bench.data.cache import TABLES
from target_bench.data.reading import read_part
from target_bench.corpora.ottqa import OTTQA

class Killed(OTTQA):
    def tables(self, release, split):
        for table in super().tables(release, split):
            yield table
            os.kill(os.getpid(), signal.SIGKILL)

read_part(Killed(), Path(sys.argv[1]), "validation", TABLES)
"""


def test_killed_while_it_wrote(folder: Path, place: Path, tmp_path: Path) -> None:
    """The half of an entry is never used, and goes after a day."""
    script = tmp_path / "killed.py"  # a class has a hash where it has a file
    script.write_text(KILLED, encoding="utf-8")
    done = subprocess.run([sys.executable, script, folder], check=False)
    assert done.returncode < 0
    (half,) = place.iterdir()
    assert len(_load(folder).corpus) == 2
    assert half.exists()  # another process may be at work
    os.utime(half, (time.time() - 90_000,) * 2)
    write_ottqa(folder, TABLES, [ottqa_question("q2", "Cup_0")])
    _load(folder)
    assert not half.exists()


AT_ONCE = """
import json, shutil, sys, time
from pathlib import Path
from target_bench import corpora
from target_bench.core.files import cache_root

folder, go, number = sys.argv[1:]
(Path(go).parent / f"ready-{number}").touch()
while not Path(go).exists():
    time.sleep(0.001)
for _ in range(10):
    dataset = corpora.load("ottqa", data_dir=folder)
    if number == "0":
        shutil.rmtree(cache_root() / "corpora", ignore_errors=True)
print(json.dumps([dataset.corpus.fingerprint, len(list(dataset.corpus))]))
"""


def test_processes_at_once(folder: Path, tmp_path: Path, place: Path) -> None:
    """Several build the same entry at the same moment, one removing it again and again."""
    expected = _load(folder).corpus.fingerprint
    shutil.rmtree(place)
    go = tmp_path / "go"
    words = [sys.executable, "-c", AT_ONCE, str(folder), str(go)]
    started = [subprocess.Popen([*words, str(i)], stdout=-1, text=True) for i in range(3)]
    while len(list(tmp_path.glob("ready-*"))) < 3:
        time.sleep(0.01)
    go.touch()
    for process in started:
        out, _ = process.communicate(timeout=300)
        fingerprint, n = json.loads(out)
        assert (fingerprint, n) == (expected, 2)
    _load(folder)
    assert len(list(place.iterdir())) == 2


def test_code_that_reads_corpora_is_a_part_of_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    files = [tmp_path / (n if n.endswith(".py") else f"{n}/a.py") for n in cache._READERS]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    hashes = {cache._hash_readers.__wrapped__()}
    for file in files:
        file.write_text("# another state")
        hashes.add(cache._hash_readers.__wrapped__())
    assert len(hashes) == 1 + len(files)


# plug-ins: their settings and their code

PLUGIN = """
from target_bench.core.release import CorpusLoader
from target_bench.core.schema import CorpusInfo, Query, Table, TableId


class Shop(CorpusLoader):
    info = CorpusInfo("shop", "Shop", ("retrieval",), ("test", "a", "a-tables", "../../x", "b c"),
                      "ours", "us", "https://example.org", ("prices.txt",))

    def __init__(self, odd: bool = False) -> None:
        if odd:
            self.odd = object()

    def tables(self, release, split):
        price = release.text(release.require("prices.txt"))
        yield Table(TableId("0", "prices"), ["price", "in", split], [[price, "EUR", ""]])

    def queries(self, release, split):
        release.text(release.require("prices.txt"))
        yield Query("q", "What does it cost?", (TableId("0", "prices"),), "x")
"""


@pytest.mark.parametrize("name", registry.BUILT_IN["corpus"])
def test_every_corpus_of_this_package_can_be_cached(name: str) -> None:
    """Its settings have a hash."""
    assert cache._entry_prefix(loader(name), "test", cache.TABLES) is not None


@pytest.fixture
def shop(tmp_path: Path) -> str:
    write_release(tmp_path / "shop", "prices.txt", "12")
    (tmp_path / "shop_corpus.py").write_text(PLUGIN, encoding="utf-8")
    return f"{tmp_path}/shop_corpus.py"


def test_splits_with_odd_names(shop: str, tmp_path: Path, place: Path) -> None:
    """No split reads another's entry, and no name leads out of the cache."""
    before = set(tmp_path.rglob("*"))
    for split in ("a", "a-tables", "../../x", "b c", "test") * 2:
        loaded = corpora.load(f"{shop}:Shop", split, data_dir=tmp_path / "shop")
        (prices,) = loaded.corpus
        assert prices.header[2] == split
    new = set(tmp_path.rglob("*")) - before
    assert all(path.is_relative_to(place.parent) or "__pycache__" in str(path) for path in new)
    assert len([*place.glob("*-queries-*")]) == 5


def test_changed_code_of_the_loader(shop: str, tmp_path: Path) -> None:
    """Run in processes, as the same file cannot be imported twice."""
    script = (
        "import sys; from target_bench import corpora; "
        "print(list(corpora.load(sys.argv[1], data_dir=sys.argv[2]).corpus)[0].header)"
    )
    arguments = script, f"{shop}:Shop", tmp_path / "shop"
    assert "price" in _python(*arguments)
    Path(shop).write_text(PLUGIN.replace('["price", ', '["cost", '), encoding="utf-8")
    assert "cost" in _python(*arguments)


def test_setting_that_cannot_be_distinguished_from_another(
    shop: str, place: Path, tmp_path: Path
) -> None:
    """It is read again every time, and leaves nothing in the cache."""
    assert len(corpora.load(f"{shop}:Shop:odd=true", data_dir=tmp_path / "shop").corpus) == 1
    assert not place.exists()


WHERE = r"corpus shop \(Bad\), tables of test: "


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("raise KeyError('x')", f"{WHERE}KeyError: 'x'"),
        ("raise SystemExit(0)", f"{WHERE}SystemExit: 0"),
        ("yield 5", f"{WHERE}TypeError: expected Table, found int"),
        ("return 5", f"{WHERE}TypeError: 'int' object is not iter"),
        ("yield open('prices.dat')", rf"{WHERE}prices\.dat: cannot be read: No such file"),
        (
            "yield Table('t', ('a',), ())",
            r"id: expected a TableId .* found 't'; write Table\(TableId",
        ),
    ],
)
def test_plugin_that_breaks_its_contract(tmp_path: Path, code: str, fault: str) -> None:
    names: dict[str, Any] = {"__name__": "typed"}
    bad = f"class Bad(Shop):\n    def tables(self, release, split):\n        {code}\n"
    exec(PLUGIN + "\n\n" + bad, names)
    with pytest.raises((PluginError, DataError), match=fault):
        read_part(names["Bad"](), tmp_path, "test", cache.TABLES)


FULL = """
import resource, sys
from target_bench import corpora
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
dataset = corpora.load("ottqa", data_dir=sys.argv[1])
print(len(list(dataset.corpus)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_full_disk(tmp_path: Path, place: Path) -> None:
    """Where 100 kB can be written: the corpus is read into memory, and nothing is left."""
    rows = [[["x" * 100, []], ["y", []]]] * 1000
    large = [ottqa_table(f"Cup_{i}", data=rows) for i in range(12)]
    folder = write_ottqa(tmp_path / "large", large, QUESTIONS)
    assert _python(FULL, folder).strip() == "12"
    assert not [*place.parent.rglob(".new*")]


GROWTH = """
import sys
from pathlib import Path
from target_bench.data.formats import detect
from target_bench.data.cache import TABLES
from target_bench.data.reading import read_part

def kilobytes():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

def read(folder):
    return read_part(detect.choose_loader(folder), folder, "test", TABLES).value

read(Path(sys.argv[1]) / "small")
before = kilobytes()
print(sum(len(table.rows) for table in read(Path(sys.argv[1]) / "large")), kilobytes() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measured as Linux shows it")
def test_memory_is_bounded_by_the_stream(tmp_path: Path) -> None:
    """10,000 tables of 3 KB: some 30 MB of text, 100 MB as Python objects."""
    grid = [["a", "b", "c"], *(["cell of a table", str(i), "another cell"] for i in range(60))]
    for name, n in (("small", 20), ("large", 10_000)):
        path = tmp_path / name / "corpus" / "test.jsonl"
        path.parent.mkdir(parents=True)
        lines = (json.dumps({"table_id": i, "table": grid}) + "\n" for i in range(n))
        path.write_text("".join(lines))
    n_rows, kilobytes = map(int, _python(GROWTH, tmp_path).split())
    assert n_rows == 10_000 * 60
    assert kilobytes < 45_000
