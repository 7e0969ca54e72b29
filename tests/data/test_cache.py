"""The cache of loaded corpora: what is used again, what is not, and what is left behind."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from target_bench import corpora
from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.core.schema import Table
from target_bench.corpora.ottqa import OTTQA
from target_bench.data import cache
from tests.builders import ottqa_question, ottqa_table, write_ottqa
from tests.data.cached import QUESTIONS, TABLES, entries, load, same
from tests.data.written import (
    asked,
    query,
    table,
    write_queries,
    write_shards,
    write_target,
)

pytestmark = pytest.mark.usefixtures("place")


def test_second_load_parses_nothing(folder: Path, tmp_path: Path, parsed: list[str]) -> None:
    """Nor does one of the same files in another folder, or with other time stamps."""
    first = load(folder)
    assert parsed == ["tables", "queries"]
    os.utime(folder / "dev_tables.jsonl", (1, 1))
    shutil.copytree(folder, tmp_path / "copy")
    for place in (folder, tmp_path / "copy"):
        same(first, again := load(place))
        assert first.notes == again.notes
    assert parsed == ["tables", "queries"]


def test_one_changed_byte(folder: Path) -> None:
    """Of the same length, with the same time stamp."""
    load(folder)
    path = folder / "dev_tables.jsonl"
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"Ann", b"Eve"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert next(iter(load(folder).corpus["0", "Cup_0"].rows)) == ["2001", "Eve Cup_0"]


def test_source_that_changes_while_it_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    """What was read under the old hash is not kept."""
    read = OTTQA.tables

    def changing(self: OTTQA, release: Release, split: str) -> Iterator[Table]:
        yield from read(self, release, split)
        write_ottqa(folder, TABLES[:1], QUESTIONS)

    monkeypatch.setattr(OTTQA, "tables", changing)
    with pytest.raises(DataError, match="files there changed while they were read"):
        load(folder)
    assert not list(place.iterdir())


def test_added_and_removed_shard(tmp_path: Path) -> None:
    folder = write_target(tmp_path / "data", [table("a")], [query(1, "a")])
    records = [
        {"database_id": "0", "table_id": n, "table": [["x"], [n]], "context": {}} for n in "abc"
    ]
    (folder / "corpus" / "test.jsonl").unlink()
    (one,) = write_shards(folder / "corpus", "test", records[:1], 1, "jsonl")
    assert len(corpora.load(folder).corpus) == 1
    one.unlink()
    write_shards(folder / "corpus", "test", records, 3, "jsonl")
    assert len(corpora.load(folder).corpus) == 3
    (folder / "corpus" / "test-00002-of-00003.jsonl").unlink()
    with pytest.raises(DataError, match=r"or shards from 0 to 2, but is test-00000"):
        corpora.load(folder)


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
            (found,) = corpora.load(path).corpus
            assert found.rows == [[i] for i in range(n + 1)]
    (found,) = corpora.load(path).corpus
    assert len(found.rows) == 3


def test_clear(folder: Path, place: Path, parsed: list[str]) -> None:
    """Also what is no entry; a corpus that is open survives it."""
    dataset = load(folder)
    (place / "README").write_text("hello", encoding="utf-8")
    assert load(folder).notes == ()
    sources = [entry.source for entry in cache.entries()]
    assert sorted(sources) == ["", str(folder), str(folder)]
    assert {entry.path.parent for entry in cache.clear()} == {place}
    assert not list(place.iterdir())
    assert len(list(dataset.corpus)) == 2
    load(folder)
    assert len(parsed) == 4


def _truncated(content: bytes) -> bytes:
    return content[:-8]


def _scrambled(content: bytes) -> bytes:
    return b"x" * len(content)


def _one_cell(content: bytes) -> bytes:
    """Another letter in a cell: the file is as long as before, and sound."""
    assert b"Cup_1" in content
    return content.replace(b"Cup_1", b"Cap_1")


@pytest.mark.parametrize("damage", [_truncated, _scrambled, _one_cell])
@pytest.mark.parametrize("kind", ["tables", "queries"])
def test_damaged_entry_is_made_again(
    folder: Path, place: Path, parsed: list[str], kind: str, damage: Callable[[bytes], bytes]
) -> None:
    whole = load(folder)
    (entry,) = entries(place, kind)
    content = entry.read_bytes()
    entry.unlink()  # what has it open goes on reading that
    entry.write_bytes(damage(content))
    same(whole, again := load(folder))
    assert parsed == ["tables", "queries", kind]
    assert again.notes == (f"{entry} was damaged, and was made again",)
    assert load(folder).notes == ()
    assert len(parsed) == 3
    assert [entry.source for entry in cache.entries()] == [str(folder)] * 2


@pytest.mark.parametrize("where", ["cache", "cache/corpora"])
def test_file_in_the_place_of_the_cache(folder: Path, tmp_path: Path, where: str) -> None:
    (tmp_path / where).parent.mkdir(exist_ok=True)
    (tmp_path / where).write_text("in the way", encoding="utf-8")
    for _ in range(2):
        dataset = load(folder)
        assert len(list(dataset.corpus)) == 2
        assert len(dataset.notes) == 2
        for note in dataset.notes:
            assert f"the cache {tmp_path / 'cache'} cannot be written (" in note
            assert "name another folder with $TARGET_BENCH_CACHE" in note
    assert cache.entries() == []


def _tmpfs_works() -> bool:
    command = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs /mnt"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


FULL = """
import sys
from pathlib import Path
if sys.argv[3] != "mounted":
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
from target_bench import corpora
dataset = corpora.load("ottqa", data_dir=sys.argv[1])
print(len(list(dataset.corpus)), *dataset.notes, sep="|")
print("LEFT", [p for p in Path(sys.argv[2]).rglob(".new*")])
"""


@pytest.fixture
def large(tmp_path: Path) -> Path:
    rows = [[["x" * 100, []], ["y", []]]] * 1000
    tables = [ottqa_table(f"Cup_{i}", data=rows) for i in range(12)]
    return write_ottqa(tmp_path / "large", tables, QUESTIONS)


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_full_disk(large: Path, tmp_path: Path) -> None:
    """A cache on a disk of 256 KiB: it is read into memory, and nothing is left."""
    place = tmp_path / "small"
    place.mkdir()
    (tmp_path / "full.py").write_text(FULL, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "full.py"), str(large), str(place)]
    if _tmpfs_works():
        mount = f"mount -t tmpfs -o size=256k tmpfs '{place}'"
        whole = f'{mount} && exec "$@"'
        command = ["unshare", "-rm", "sh", "-c", whole, "sh", *command, "mounted"]
    else:
        command.append("limited")
    environment = {**os.environ, "TARGET_BENCH_CACHE": str(place)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, left = done.stdout.splitlines()
    n, note = first.split("|")
    assert n == "12"
    assert f"the cache {place} cannot be written (" in note
    assert left == "LEFT []"


KILLED = """
import os, signal, sys
from pathlib import Path
from target_bench.data.load import read_tables
from target_bench.corpora.ottqa import OTTQA

class Killed(OTTQA):
    def tables(self, release, split):
        for table in super().tables(release, split):
            yield table
            os.kill(os.getpid(), signal.SIGKILL)

read_tables(Killed(), Path(sys.argv[1]), "validation")
"""


def test_killed_while_it_wrote(folder: Path, place: Path, tmp_path: Path) -> None:
    """The half of an entry is never used, is shown as unfinished, and goes after a day."""
    script = tmp_path / "killed.py"
    script.write_text(KILLED, encoding="utf-8")
    done = subprocess.run([sys.executable, script, folder], check=False)
    assert done.returncode < 0
    (half,) = place.iterdir()
    assert [entry.source for entry in cache.entries()] == [""]
    assert len(load(folder).corpus) == 2
    assert half.exists()  # another process may be at work
    os.utime(half, (time.time() - 90_000,) * 2)
    write_ottqa(folder, TABLES, [ottqa_question("q2", "Cup_0")])
    load(folder)
    assert not half.exists()


AT_ONCE = """
import json, sys, time
from pathlib import Path
from target_bench import corpora
from target_bench.corpora import ottqa
from target_bench.data import cache
from target_bench.data.load import read_tables

go = Path(sys.argv[2])
(go.parent / f"ready-{sys.argv[3]}").touch()
while not go.exists():
    time.sleep(0.001)
notes = []
for _ in range(int(sys.argv[4])):
    dataset = corpora.load("ottqa", data_dir=sys.argv[1])
    notes += dataset.notes
    if sys.argv[3] == "0":
        cache.clear()
print(json.dumps([dataset.corpus.fingerprint, len(list(dataset.corpus)), notes]))
"""


@pytest.mark.parametrize("times", [1, 25])
def test_processes_at_once(folder: Path, tmp_path: Path, place: Path, times: int) -> None:
    """Several build the same entry at the same moment, one removing it again and again."""
    expected = load(folder).corpus.fingerprint
    shutil.rmtree(place)
    go = tmp_path / "go"
    command = [sys.executable, "-c", AT_ONCE, str(folder), str(go)]
    started = [
        subprocess.Popen(
            [*command, str(i if times > 1 else i + 1), str(times)], stdout=-1, text=True
        )
        for i in range(4)
    ]
    while len(list(tmp_path.glob("ready-*"))) < 4:
        time.sleep(0.01)
    go.touch()
    for process in started:
        out, _ = process.communicate(timeout=300)
        fingerprint, n, notes = json.loads(out)
        assert (fingerprint, n) == (expected, 2)
        assert not [note for note in notes if "damaged" in note]
        assert times > 1 or notes == []
    if times == 1:
        assert len(list(place.iterdir())) == 2
        assert [entry.source for entry in cache.entries()] == [str(folder)] * 2


GROWTH = """
import sys
from pathlib import Path
from target_bench.data.load import read_tables
from target_bench.data.formats import detect as layouts

def rss():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

folder = Path(sys.argv[1])
small = layouts.of_path(folder / "small")
assert len(read_tables(small, folder / "small", "test").value) == 20
large = layouts.of_path(folder / "large")
before = rss()
corpus = read_tables(large, folder / "large", "test").value
assert len(corpus) == 20_000
n = sum(len(table.rows) for table in corpus)
print(n, rss() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measured as Linux shows it")
def test_memory_is_bounded_by_the_stream(tmp_path: Path) -> None:
    """20,000 tables of 3 KB: some 60 MB of text, 200 MB as Python objects."""
    for name, n in (("small", 20), ("large", 20_000)):
        path = tmp_path / name / "corpus" / "test.jsonl"
        path.parent.mkdir(parents=True)
        rows = [["cell of a table", str(i), "another cell"] for i in range(60)]
        with path.open("w", encoding="utf-8") as file:
            for i in range(n):
                grid = [["a", "b", "c"], *rows]
                file.write(json.dumps({"table_id": i, "table": grid, "context": None}) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, str(tmp_path)], capture_output=True, text=True, check=True
    )
    n_rows, kilobytes = map(int, done.stdout.split())
    assert n_rows == 20_000 * 60
    assert kilobytes < 60_000


def test_code_that_reads_corpora_is_a_part_of_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    files = [
        tmp_path / (name if name.endswith(".py") else f"{name}/a.py") for name in cache._READERS
    ]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    before = cache._own_code.__wrapped__()
    files[0].write_text("# another state")
    assert cache._own_code.__wrapped__() != before
