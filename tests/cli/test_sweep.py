"""``target-bench sweep``."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from target_bench.cli.sweep import _outcome_tables
from target_bench.core.metric import Score
from target_bench.core.run_config import RunConfig
from target_bench.harness.sweeps.cell import CellOutcome, SweepCell
from target_bench.runs.times import ColdTimes
from tests.cli.inside import Inside
from tests.harness.sweeps.workplace import TWELVE, contents, produced, ran, recorded, sweep, write
from tests.runs.processes import CAN_MOUNT, finish, in_own_mounts

pytestmark = pytest.mark.slow

SMALL = """
corpora: {name: mini, limit: 9}
retrievers: ["plugins.py:Slow", bm25]
"""


def test_dry_run_and_run(inside: Inside, tmp_path: Path) -> None:
    """The cells, a table of them, and the second time nothing to do."""
    file = write(tmp_path, SMALL)
    out = inside.good("sweep", file, "--dry-run")
    assert out.count(" new ") == 2
    assert "2 cells, 0 of them finished; runs in " in out
    assert not Path("runs").exists()

    done = inside("sweep", file)
    assert done.code == 0, done.err
    assert "2 cells: 2 finished" in done.out
    assert "runs/sweep.results.csv (.json) and .sweep.json" in done.out
    lines = [line.partition(" ")[2] for line in done.err.splitlines()]
    assert lines[0] == "[1/2] begins: retrieval | mini test limit=9 | plugins.py:Slow"
    assert any(line.startswith("[2/2] finished in ") and "recall@10" in line for line in lines)

    cells = json.loads(inside.good("sweep", file, "--dry-run", "--json"))["cells"]
    assert [(cell["state"], cell["recorded"]) for cell in cells] == [("finished", 9)] * 2
    assert "2 cells: 2 reused" in inside("sweep", file).out


@pytest.mark.parametrize(
    ("more", "counts", "message"),
    [
        ("12", "2 cells: 1 finished, 1 failed", "plugins.py:Broken): retriever"),
        ("9", "2 cells: 2 finished", "Broken): 9 of 9 queries failed (scored 0)"),
    ],
)
def test_failures_are_reported_at_the_end(
    inside: Inside, tmp_path: Path, more: str, counts: str, message: str
) -> None:
    """Exit code 3, a table of the others, and tracebacks where they are asked for."""
    file = write(tmp_path, SMALL.replace("Slow", "Broken").replace("9", more))
    done = inside("sweep", file)
    assert (done.code, counts in done.out) == (3, True)
    assert message in done.err
    assert "cell 1 " in done.err
    assert "Traceback" not in done.err
    if more == "12":
        assert "run the same command again to retry what failed." in done.err
        assert "Traceback" in inside("sweep", file, "--debug").err


def test_what_cannot_be(inside: Inside, tmp_path: Path) -> None:
    for text, message in (
        (SMALL.replace("corpora", "corpus"), "sweep.yaml: corpus: unknown key 'corpus'. Did you"),
        (SMALL.replace("mini", "minni"), "sweep.yaml: corpora: unknown corpus 'minni'. Did you"),
        ("corpora: [mini\n", "sweep.yaml: not valid YAML"),
    ):
        for arguments in (("--dry-run",), ()):
            assert message in inside.bad(2, "sweep", write(tmp_path, text), *arguments)
    assert not (tmp_path / "runs").exists()


def test_paid_generators(inside: Inside, tmp_path: Path) -> None:
    """Told by the dry run, and asked for before anything runs."""
    file = write(tmp_path, TWELVE.replace(":Counting", ":Paid").replace("[a, b, c, d]", "a"))
    out = inside.good("sweep", file, "--dry-run")
    assert "To be sent to plugins.py:Paid:label=a,seconds=0.004: 36 requests with about" in out
    assert "cost about 18.0000" in out
    assert "pass --yes to send them" in inside.bad(2, "sweep", file)
    assert not produced(tmp_path)
    done = inside("sweep", file, "--yes")
    assert (done.code, "36 requests" in done.err) == (0, True)
    assert set(produced(tmp_path).values()) == {1}


FILL_AND_MEND = """
mkdir disk
mount -t tmpfs -o size="$0" none disk
"$@" --workers 2 > out1 2> err1
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
    assert ran(tmp_path, "--out", "whole")[0] == 0
    (tmp_path / "produced").unlink()
    script = in_own_mounts(FILL_AND_MEND, str(pages * 4096), *sweep("--out", "disk"))
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


def test_seconds_are_cold_or_a_dash() -> None:
    def outcome(number: int, **times: Any) -> CellOutcome:
        scores = {"recall@10": Score(0.5, 0.4, 0.6, 10, "s")}
        result: Any = SimpleNamespace(times=ColdTimes(**times), scores=scores)
        return CellOutcome(
            SweepCell(number, RunConfig(tasks="retrieval", corpora="mini", retrievers="bm25")),
            20.0,
            result,
        )

    stages = {"load": 7.0, "embed_corpus": 1.0, "retrieve": 2.5, "score": 9.0}
    cached = {"embed_corpus": "from a cache (recorded answers)"}
    warm = outcome(2, seconds={"load": 7.0, "retrieve": 2.5}, left_out=cached)
    (table,) = _outcome_tables([outcome(1, seconds=stages), warm, outcome(3)])
    assert [row[-1] for row in table.rows] == ["3.5", "–", ""]
    assert table.note == "– is a time that is not shown: from a cache (recorded answers)."
