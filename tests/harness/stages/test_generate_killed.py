"""A run of answers that was killed: only what is missing is asked, and the scores are the same."""

import json
import random
import signal
import time
from pathlib import Path

import pytest

from tests.builders import rewrite
from tests.harness.stages.answering import QUESTIONS, Own, answered, ids
from tests.runs.processes import command, finish, start

pytestmark = pytest.mark.slow

KILLS = 4
SECONDS = "0.01"

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
        from target_bench.core.schema import Generation

        for request in reversed(requests):
            try:
                yield Generation(request.query_id, self.generate(request))
            except RuntimeError as error:
                yield Generation(request.query_id, "", error=f"raised: RuntimeError: {error}")
"""


def _command(name: str, out: str) -> list[str]:
    more = ("--retriever", "oracle", "--generator", f"slow.py:{name}", "--out", out)
    return command("run", "mini", "--task", "qa", *more)


def _killed(folder: Path, name: str, out: str, answers: int) -> int:
    """Kill a run that has stored so many answers; how many it had."""
    process = start(_command(name, out), folder, SLOW_SECONDS=SECONDS, SLOW_ASKED="asked")
    while _stored(folder / out) < answers and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return _stored(folder / out)


def _stored(runs: Path) -> int:
    paths = runs.glob("question-answering-*/generations.jsonl")
    return sum(path.read_bytes().count(b"\n") for path in paths)


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
    code, _, err = finish(_command(name, "whole"), tmp_path, SLOW_ASKED="all")
    assert code == 3
    failed = sum(1 for query in QUESTIONS if query.id.endswith("7"))
    assert f"failed on {failed} of 144" in err
    chance = random.Random(20240229)
    moments = [chance.randrange(30 * n + 1, 30 * n + 11) for n in range(KILLS)]
    stored = [_killed(tmp_path, name, "runs", moment) for moment in moments]
    assert stored == sorted(stored)
    assert 0 < stored[0] < stored[-1] < len(QUESTIONS)
    code, _, err = finish(_command(name, "runs"), tmp_path, SLOW_ASKED="asked")
    assert code == 3, err
    assert _answers(tmp_path / "runs") == _answers(tmp_path / "whole")
    scores = [_only(tmp_path / runs, "scores.json").read_bytes() for runs in ("whole", "runs")]
    assert scores[0] == scores[1]
    asked = (tmp_path / "asked").read_text(encoding="utf-8").split()
    assert set(asked) == set(ids(QUESTIONS))
    assert len(asked) <= len(QUESTIONS) + 4 * (KILLS + 1), "what was answered is asked again"


def test_killed_after_the_last_answer(tmp_path: Path) -> None:
    """Nobody is asked where nothing is left to ask."""
    whole = answered(tmp_path, Own())
    scores = (whole.folder / "scores.json").read_bytes()
    path = whole.folder / "manifest.json"
    rewrite(path, lambda manifest: manifest.pop("seconds") and manifest)
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
