"""Where the cache lies, and what happens where it cannot: no place, no room, no right."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from target_bench import corpora
from target_bench.core.errors import StoreError
from target_bench.core.files import CACHE_VARIABLE, cache_root
from target_bench.data import cache_writing
from tests.builders import ottqa_table, write_ottqa
from tests.data.cached import QUESTIONS, load

pytestmark = pytest.mark.usefixtures("place")


def test_temporary_folders_of_others_stay(
    folder: Path, tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a usable cache the system's folder is used, and nothing there is removed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    theirs = tmp_path / "temporary" / ".new-thesis"
    theirs.mkdir(parents=True)
    os.utime(theirs, (1, 1))
    place.parent.write_text("a file in place of the folder", encoding="utf-8")
    assert len(load(folder).corpus) == 2
    assert list((tmp_path / "temporary").iterdir()) == [theirs]


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
    assert cache_writing.entries() == []


def test_neither_cache_nor_temporary_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("in the way", encoding="utf-8")

    def nowhere() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    with pytest.raises(StoreError, match=r"neither into the cache .*No usable temporary.*\$TMPDIR"):
        load(folder)


def _tmpfs_works() -> bool:
    command = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs /mnt"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


FULL = """
import os, sys, tempfile
from pathlib import Path
if sys.argv[2] != "mounted":
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
from target_bench import corpora
from target_bench.core.errors import TargetBenchError
try:
    dataset = corpora.load("ottqa", None, sys.argv[1])
    print(len(list(dataset.corpus)), *dataset.notes, sep="|")
except TargetBenchError as error:
    print(type(error).__name__, error)
    code = error.exit_code
else:
    code = 0
left = [p for name in ("TARGET_BENCH_CACHE", "TMPDIR") for p in Path(os.environ[name]).rglob("*")]
print("LEFT", *[p for p in left if p.is_file()])
sys.exit(code)
"""


def _run_full(folder: Path, cache_at: Path, temporary: Path, full: list[Path]) -> Any:
    """Load in a process for which these folders are a disk of 256 KiB."""
    (cache_at.parent / "full.py").write_text(FULL, encoding="utf-8")
    arguments = [sys.executable, str(cache_at.parent / "full.py"), str(folder)]
    environment = {**os.environ, "TARGET_BENCH_CACHE": str(cache_at), "TMPDIR": str(temporary)}
    for path in (cache_at, temporary):
        path.mkdir(parents=True, exist_ok=True)
    if _tmpfs_works():
        mounts = " && ".join(f"mount -t tmpfs -o size=256k tmpfs '{path}'" for path in full)
        command = ["unshare", "-rm", "sh", "-c", f'{mounts} && exec "$@"', "sh", *arguments]
        command.append("mounted")
    else:
        command = [*arguments, "limited"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    rows = [[["x" * 100, []], ["y", []]]] * 1000
    tables = [ottqa_table(f"Cup_{i}", data=rows) for i in range(12)]
    return write_ottqa(tmp_path / "large", tables, QUESTIONS)


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_full_disk(large: Path, tmp_path: Path) -> None:
    """Under the cache: read without it. Under the temporary folder as well: exit code 4."""
    cache_at, temporary = tmp_path / "small", tmp_path / "tmp"
    done = _run_full(large, cache_at, temporary, [cache_at])
    if _tmpfs_works():
        assert done.returncode == 0, done.stdout + done.stderr
        n, note = done.stdout.splitlines()[0].split("|")
        assert n == "12"
        assert f"the cache {cache_at} cannot be written (" in note
        assert "No space left on device" in note
    done = _run_full(large, cache_at, temporary, [cache_at, temporary])
    assert done.returncode == StoreError.exit_code == 4, done.stdout + done.stderr
    message, left = done.stdout.splitlines()
    assert message.startswith("StoreError ottqa-validation-tables fits neither into the cache")
    assert "Make room" in message
    assert left.strip() == "LEFT"


def test_where_the_cache_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_root() == tmp_path / "cache"
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "target-bench"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_root() == Path.home() / ".cache" / "target-bench"
    monkeypatch.setenv(CACHE_VARIABLE, "~/somewhere")
    assert cache_root() == Path.home() / "somewhere"


def test_uncached_corpora_leave_nothing(place: Path) -> None:
    assert corpora.load("mini").notes == ()
    assert not place.exists()
