"""``target-bench sweep``."""

import json
from pathlib import Path

import pytest

from tests.harness.sweeps.workplace import (
    TWELVE,
    contents,
    produced,
    ran,
    recorded,
    sweep,
    write,
)
from tests.runs.processes import CAN_MOUNT, finish, in_own_mounts

pytestmark = pytest.mark.slow

SMALL = """
corpora: {name: mini, limit: 9}
retrievers: ["plugins.py:Slow", bm25]
"""


def test_dry_run_and_run(tmp_path: Path) -> None:
    """The cells, a table of them, and the second time nothing to do."""
    write(tmp_path, SMALL)
    code, out, err = ran(tmp_path, "--dry-run")
    assert (code, err) == (0, "")
    assert out.count(" new ") == 2
    assert "2 cells, 0 of them done; runs in " in out
    assert not (tmp_path / "runs").exists()

    code, out, err = ran(tmp_path)
    assert code == 0, err
    assert "2 cells: 2 done" in out
    assert "runs/sweep.results.csv (.parquet, .json) and .sweep.json" in out
    lines = [line.partition(" ")[2] for line in err.splitlines()]
    assert lines[0] == "[1/2] begins: retrieval | mini test limit=9 | plugins.py:Slow"
    assert any(line.startswith("[2/2] done in ") and "recall@10" in line for line in lines)

    code, out, err = ran(tmp_path, "--dry-run", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [cell["state"] for cell in found["cells"]] == ["done", "done"]
    assert [cell["recorded"] for cell in found["cells"]] == [9, 9]
    assert "2 cells: 2 reused" in ran(tmp_path, "--quiet")[1]


def test_failed_cells_are_reported_at_the_end(tmp_path: Path) -> None:
    """Exit code 3, a table of the others, and tracebacks where they are asked for."""
    write(tmp_path, SMALL.replace("Slow", "Broken"))
    code, out, err = ran(tmp_path)
    assert code == 3
    assert "2 cells: 1 done, 1 failed" in out
    assert (
        "Error: cell 1 failed (retrieval | mini test limit=9 | plugins.py:Broken): retriever" in err
    )
    assert "The query is" in err
    assert "Traceback" not in err
    assert "the same command runs what failed again." in err
    assert "Traceback" in ran(tmp_path, "--verbose")[2]


def test_failed_queries_are_reported(tmp_path: Path) -> None:
    write(tmp_path, f"on_error: record\n{SMALL.replace('Slow', 'Broken')}")
    code, out, err = ran(tmp_path, "--quiet")
    assert code == 3
    assert "2 cells: 2 done" in out
    assert "plugins.py:Broken): 9 of 9 queries failed (scored 0)" in err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SMALL.replace("corpora", "corpus"), "sweep.yaml: corpus: unknown key 'corpus'. Did you"),
        (SMALL.replace("mini", "minni"), "sweep.yaml: corpora: unknown corpus 'minni'. Did you"),
        ("corpora: [mini\n", "sweep.yaml: not valid YAML"),
    ],
)
def test_what_cannot_be(tmp_path: Path, text: str, told: str) -> None:
    write(tmp_path, text)
    for arguments in (("--dry-run",), ()):
        code, out, err = ran(tmp_path, *arguments)
        assert (code, out) == (2, "")
        assert told in err
        assert "Traceback" not in err
    assert not (tmp_path / "runs").exists()


def test_paid_generators(tmp_path: Path) -> None:
    """Told by the dry run, and asked for before anything runs."""
    write(tmp_path, TWELVE.replace(":Counting", ":Paid").replace("[a, b, c, d]", "a"))
    code, out, err = ran(tmp_path, "--dry-run")
    assert (code, err) == (0, "")
    assert "To be sent to plugins.py:Paid:label=a,seconds=0.004: 36 requests with about" in out
    assert "cost about 18.0000" in out
    code, out, err = ran(tmp_path)
    assert (code, out) == (2, "")
    assert "pass --yes to send them" in err
    assert not produced(tmp_path)
    code, out, err = ran(tmp_path, "--yes", "--quiet")
    assert code == 0, err
    assert "36 requests" in err
    assert set(produced(tmp_path).values()) == {1}


FILL_AND_MEND = """
mkdir disk
mount -t tmpfs -o size="$0" none disk
"$@" > out1 2> err1
echo $? > code1
mount -o remount,size=10m disk
"$@" > out2 2> err2
echo $? > code2
cp -r disk runs
"""


@pytest.mark.parametrize("pages", [1, 40])
def test_full_disk(tmp_path: Path, pages: int) -> None:
    """A message, exit code 4, nothing lost; the same command goes on when there is room."""
    write(tmp_path, TWELVE)
    assert ran(tmp_path, "--out", "whole", "--quiet")[0] == 0
    (tmp_path / "produced").unlink()
    script = in_own_mounts(
        FILL_AND_MEND, str(pages * 4096), *sweep("--out", "disk", "--workers", "2", "--quiet")
    )
    assert finish(script, tmp_path)[0] == 0
    text = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*[12]")}
    assert int(text["code1"]) == 4, text["err1"]
    assert "No space left on device" in text["err1"]
    assert "Make room and run the same command again" in text["err1"]
    assert "Traceback" not in text["err1"]
    assert int(text["code2"]) == 0, text["err2"]
    assert contents(tmp_path / "runs") == contents(tmp_path / "whole")
    assert len(recorded(tmp_path / "runs")) == 12 * 12


if not CAN_MOUNT:  # a skip would count as a failure
    del test_full_disk
