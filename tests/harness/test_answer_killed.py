"""A run of answers that was killed: only what is missing is asked, and the scores are the same."""

import json
import random
import signal
import time
from pathlib import Path

import pytest

from tests.builders import rewrite, unfinish
from tests.harness.answering import QUESTIONS, Own, answered, ids
from tests.runs.processes import command, finish, start

pytestmark = pytest.mark.slow

KILLS = 3
SECONDS = "0.005"

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
    written = _only(runs, "generations.jsonl").read_bytes().split(b"\n")[:-1]
    lines = list(map(json.loads, written))
    records = {line["query_id"]: line for line in lines}
    kept = [line["query_id"] for line in lines if "error" not in line]
    assert len(set(kept)) == len(kept), "what was answered is asked again"
    return {key: (line["text"], line.get("error")) for key, line in records.items()}


@pytest.mark.parametrize("name", ["Slow", "SlowMany"])
def test_killed_at_random_moments(tmp_path: Path, name: str) -> None:
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    code, _, err = finish(_command(name, "whole"), tmp_path, SLOW_ASKED="all")
    assert code == 3
    failed = sum(1 for query in QUESTIONS if query.id.endswith("7"))
    assert f"failed on {failed} of 144" in err
    chance = random.Random(20240229)
    moments = [chance.randrange(40 * n + 1, 40 * n + 11) for n in range(KILLS)]
    stored = [_killed(tmp_path, name, "runs", moment) for moment in moments]
    assert stored == sorted(stored)
    assert 0 < stored[0] < stored[-1] < len(QUESTIONS)
    code, _, err = finish(_command(name, "runs"), tmp_path, SLOW_ASKED="asked")
    assert code == 3, err
    assert _answers(tmp_path / "runs") == _answers(tmp_path / "whole")
    scores = [_only(tmp_path / runs, "scores.json").read_bytes() for runs in ("whole", "runs")]
    assert scores[0] == scores[1]
    sent = (tmp_path / "asked").read_text(encoding="utf-8").split()
    assert set(sent) == set(ids(QUESTIONS))
    most = len(QUESTIONS) + (4 + failed) * (KILLS + 1)  # what failed is asked again each time
    assert len(sent) <= most, "what was answered is asked again"


def test_killed_after_the_last_answer_or_within_it(tmp_path: Path) -> None:
    """Nobody is asked where nothing is left; a line without its end is asked again."""
    whole = answered(tmp_path, Own())
    scores = (whole.folder / "scores.json").read_bytes()
    rewrite(whole.folder / "manifest.json", lambda manifest: manifest.pop("seconds") and manifest)
    (whole.folder / "scores.json").unlink()
    own = Own()
    assert not answered(tmp_path, own).run.reused, "its scores were missing"
    assert own.asked == []
    assert (whole.folder / "scores.json").read_bytes() == scores
    path = whole.folder / "generations.jsonl"
    kept = b"".join(path.read_bytes().splitlines(keepends=True)[:-1])
    for torn in (b'{"query_id": "', b'{"query_id": "q", "text": "x"}', b"\xc3"):
        path.write_bytes(kept + torn)
        unfinish(whole.folder)
        own = Own()
        answered(tmp_path, own)
        assert ids(QUESTIONS[-1:]) == [request.query_id for request in own.asked]
        assert path.read_bytes().startswith(kept + b'{"query_id": "')
        assert path.read_bytes().count(b"\n") == len(QUESTIONS)
