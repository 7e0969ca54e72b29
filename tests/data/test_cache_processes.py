"""The cache and processes: killed while they write, several at once, and how much they hold."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from target_bench.data import cache_writing
from tests.builders import ottqa_question, write_ottqa
from tests.data.cached import TABLES, load

pytestmark = pytest.mark.usefixtures("place")


KILLED = """
import os, signal, sys
from pathlib import Path
from target_bench.data import read_split
from target_bench.corpora.ottqa import OTTQA

class Killed(OTTQA):
    def tables(self, release, split):
        for table in super().tables(release, split):
            yield table
            os.kill(os.getpid(), signal.SIGKILL)

read_split.read_tables(Killed(), Path(sys.argv[1]), "validation")
"""


def test_killed_while_it_wrote(folder: Path, place: Path, tmp_path: Path) -> None:
    """The half of an entry is never used, is shown as unfinished, and goes after a day."""
    script = tmp_path / "killed.py"
    script.write_text(KILLED, encoding="utf-8")
    done = subprocess.run([sys.executable, script, folder], check=False)
    assert done.returncode < 0
    (half,) = place.iterdir()
    assert (half / "tables.arrow").exists()
    assert [entry.state for entry in cache_writing.entries()] == ["unfinished"]
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
from target_bench.data import cache_writing

go = Path(sys.argv[2])
(go.parent / f"ready-{sys.argv[3]}").touch()
while not go.exists():
    time.sleep(0.001)
notes = []
for _ in range(int(sys.argv[4])):
    dataset = corpora.load("ottqa", None, sys.argv[1])
    notes += dataset.notes
    if sys.argv[3] == "0":
        cache_writing.clear()
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
        assert [entry.state for entry in cache_writing.entries()] == ["whole", "whole"]


GROWTH = """
import sys
from pathlib import Path
from target_bench.data import read_split
from target_bench.data.formats import detect as layouts

def rss():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

folder = Path(sys.argv[1])
small = layouts.of_path(folder / "small")
assert len(read_split.read_tables(small, folder / "small", "test").value) == 20
large = layouts.of_path(folder / "large")
before = rss()
corpus = read_split.read_tables(large, folder / "large", "test").value
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
