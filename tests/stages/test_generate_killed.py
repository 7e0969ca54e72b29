"""A run of answers that was killed: only what is missing is asked, and the scores are the same."""

import json
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.runs.processes import command, finish, start
from tests.stages.answering import QUESTIONS, Own, answered, ids

KILLS = 4
SECONDS = "0.004"

SLOW = """
import os, time


class Slow:
    '''Copies a cell; the environment says how slowly, and where to note what was asked.'''

    def generate(self, request):
        time.sleep(float(os.environ.get("SLOW_SECONDS", 0)))
        with open(os.environ["SLOW_ASKED"], "a", encoding="utf-8") as file:
            file.write(request.query_id + "\\n")
        if request.query_id.endswith("7"):
            raise RuntimeError("seven")
        return str(request.tables[0].rows[len(request.query) % 5][1])


class SlowMany(Slow):
    '''The same, four at a time and backwards.'''

    def generate_many(self, requests, observer):
        waiting = []
        for request in requests:
            waiting.append(request)
            if len(waiting) == 4:
                yield from self.answers(waiting)
                waiting = []
        yield from self.answers(waiting)

    def answers(self, requests):
        from target_bench.schema import Generation

        for request in reversed(requests):
            try:
                yield Generation(request.query_id, self.generate(request))
            except RuntimeError as error:
                yield Generation(request.query_id, "", error=f"raised: RuntimeError: {error}")
"""


def _command(name: str, out: str) -> list[str]:
    more = ("--retriever", "oracle", "--generator", f"slow.py:{name}", "--out", out)
    return command("run", "mini", "--task", "qa", *more)


def _killed(folder: Path, name: str, out: str, seconds: float) -> bool:
    """Run for so long at most; whether it was killed before it ended."""
    environment = {"SLOW_SECONDS": SECONDS, "SLOW_ASKED": "asked"}
    process = start(_command(name, out), folder, **environment)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return process.returncode == -signal.SIGKILL


def _only(runs: Path, name: str) -> Path:
    (path,) = runs.glob(f"question-answering-*/{name}")
    return path


def _answers(runs: Path) -> dict[str, tuple[str, str | None]]:
    found = {}
    for line in _only(runs, "generations.jsonl").read_bytes().split(b"\n")[:-1]:
        record = json.loads(line)
        assert record["query_id"] not in found, "asked twice"
        found[record["query_id"]] = (record["text"], record.get("error"))
    return found


@pytest.mark.parametrize("name", ["Slow", "SlowMany"])
def test_killed_at_random_moments(tmp_path: Path, name: str) -> None:
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    began = time.monotonic()
    slowly = {"SLOW_ASKED": "all", "SLOW_SECONDS": SECONDS}
    code, _, err = finish(_command(name, "whole"), tmp_path, **slowly)
    life = time.monotonic() - began
    assert code == 3
    failed = sum(1 for query in QUESTIONS if query.id.endswith("7"))
    assert f"failed on {failed} of 144" in err
    whole = _answers(tmp_path / "whole")
    chance = random.Random(20240229)
    kills, in_the_middle = 0, False
    for n in range(3 * KILLS):
        out = f"runs{n}"
        while kills < KILLS and _killed(tmp_path, name, out, chance.uniform(life / 2, life)):
            kills += 1
            for path in (tmp_path / out).glob("question-answering-*/generations.jsonl"):
                in_the_middle |= 0 < path.read_bytes().count(b"\n") < len(QUESTIONS)
        code, _, err = finish(_command(name, out), tmp_path, SLOW_ASKED="asked")
        assert code == 3, err
        assert _answers(tmp_path / out) == whole
        scores = [_only(tmp_path / runs, "scores.json").read_bytes() for runs in ("whole", out)]
        assert scores[0] == scores[1]
        asked = (tmp_path / "asked").read_text(encoding="utf-8").split()
        assert set(asked) == set(ids(QUESTIONS))
        assert len(asked) <= len(QUESTIONS) + 4 * (kills + 1), "what was answered is asked again"
        (tmp_path / "asked").unlink()
        if kills >= KILLS and in_the_middle:
            break
    assert kills >= KILLS
    assert in_the_middle


def test_killed_after_the_last_answer(tmp_path: Path) -> None:
    """Nobody is asked where nothing is left to ask."""
    whole = answered(tmp_path, Own())
    scores = (whole.folder / "scores.json").read_bytes()
    path = whole.folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    del manifest["seconds"]
    path.write_text(json.dumps(manifest), encoding="utf-8")
    (whole.folder / "scores.json").unlink()
    own = Own()
    again = answered(tmp_path, own)
    assert own.asked == []
    assert again.reused
    assert (whole.folder / "scores.json").read_bytes() == scores


@pytest.mark.parametrize(
    "torn", [b'{"query_id": "', b"{", b'{"query_id": "q", "text": "x"}', b"\xc3"]
)
def test_torn_last_line(tmp_path: Path, torn: bytes) -> None:
    """A line without its end is asked again, even if it reads well."""
    whole = answered(tmp_path, Own())
    path = whole.folder / "generations.jsonl"
    kept = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(kept[:-1]) + torn)
    own = Own()
    answered(tmp_path, own)
    assert [request.query_id for request in own.asked] == [QUESTIONS[-1].id]
    assert path.read_bytes().startswith(b"".join(kept[:-1]) + b'{"query_id": "')
    assert path.read_bytes().count(b"\n") == len(QUESTIONS)
