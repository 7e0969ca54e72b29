"""No room left, in the middle of a run: what is said, what is kept, and how it goes on."""

import resource
from pathlib import Path

import pytest

from tests.runs.processes import (
    CAN_MOUNT,
    N_QUERIES,
    ended,
    finish,
    in_own_mounts,
    rankings,
    run_slow,
    scores,
    start_unforked,
    write_slow,
)

pytestmark = pytest.mark.slow

PAGE = 4096
ROOMS = (1, 2, 3, 4, 12, 24, -6, -4, -3, -2, -1)
"""Pages, or how many are missing to what a run takes: none, a part or all of each file fits."""

FILL_AND_MEND = """
mkdir disk first
mount -t tmpfs -o size="$0" none disk
SLOW_ASKED=asked1 "$@" > out1 2> err1
echo $? > code1
cp -r disk/. first
mount -o remount,size=10m disk
SLOW_ASKED=asked2 "$@" > out2 2> err2
echo $? > code2
cp -r disk runs
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run."""
    folder = tmp_path_factory.mktemp("whole")
    write_slow(folder)
    assert finish(run_slow(), folder)[0] == 0
    return folder / "runs"


def _is_told(code: int, out: str, err: str) -> None:
    assert code == 4, err
    assert "Make room and run the same command again: what was answered is kept." in err
    assert "cannot be " in err
    assert out == ""
    assert "Traceback" not in err


def _asked(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _is_whole(runs: Path, whole: Path) -> None:
    assert scores(runs) == scores(whole)
    assert sorted(rankings(runs)) == sorted(rankings(whole))


@pytest.mark.parametrize("room", ROOMS)
def test_small_disk(tmp_path: Path, whole: Path, room: int) -> None:
    """The same command on the same disk once it is larger."""
    write_slow(tmp_path)
    taken = sum(-(-path.stat().st_size // PAGE) for path in whole.glob("*/*"))
    size = (room if room > 0 else taken + room) * PAGE
    script = in_own_mounts(FILL_AND_MEND, str(size), *run_slow("disk"))
    code, _, err = finish(script, tmp_path)
    assert code == 0, err
    text = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*[12]")}
    _is_told(int(text["code1"]), text["out1"], text["err1"])
    assert "disk/retrieval-mini-test-slow.py-slow-" in text["err1"].replace("\n", "")
    assert "No space left on device" in text["err1"]
    if room in (12, 24):
        assert "retrieval.jsonl cannot be written" in text["err1"].replace("\n", "")

    kept = rankings(tmp_path / "first")
    assert (int(text["code2"]), text["err2"]) == (0, "")
    assert len(_asked(tmp_path / "asked2")) == N_QUERIES - len(kept)
    assert len(_asked(tmp_path / "asked1")) <= len(kept) + 16
    _is_whole(tmp_path / "runs", whole)


if not CAN_MOUNT:  # then the limit below has to do; a skip would count as a failure
    del test_small_disk


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_small_files(tmp_path: Path, whole: Path, share: float) -> None:
    """The same where the system limits the size of a file, as quotas do."""
    write_slow(tmp_path)
    (path,) = whole.glob("*/retrieval.jsonl")
    room = int(path.stat().st_size * share)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, old[1]))
    try:
        told = ended(start_unforked(run_slow(), tmp_path))  # it inherits the limit
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    _is_told(*told)
    kept = rankings(tmp_path / "runs")
    assert bool(kept) == (share > 0.1)
    code, _, err = finish(run_slow(), tmp_path, SLOW_ASKED="asked")
    assert (code, err) == (0, "")
    assert len(_asked(tmp_path / "asked")) == N_QUERIES - len(kept)
    _is_whole(tmp_path / "runs", whole)
