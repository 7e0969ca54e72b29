"""A run that was killed while it judged: at most the statements then running are lost."""

import json
import signal
import time
from pathlib import Path

from tests.harness.judged import QUERIES, lines
from tests.runs.processes import command, finish, start

SECONDS = 120

SLOW = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500000) "
    "SELECT count(*), {} FROM n"
)
"""Takes a part of a second."""


def _command(predictions: Path, out: str) -> list[str]:
    more = ("--predictions", str(predictions), "--limit", str(len(QUERIES)), "--out", out)
    return command("score", "mini", "--task", "text-to-sql", *more)


def _stored(runs: Path) -> list[str]:
    """The whole lines that are stored."""
    contents = [path.read_bytes() for path in runs.glob("text-to-sql-*/judgements.jsonl")]
    return [line.decode() for content in contents for line in content.split(b"\n")[:-1]]


def _killed(arguments: list[str], folder: Path, judged: int) -> list[str]:
    """Kill a run once so many more answers are judged; the lines it has stored by then."""
    before = len(_stored(folder / "runs"))
    process = start(arguments, folder)
    end = time.monotonic() + SECONDS
    while len(_stored(folder / "runs")) < before + judged and time.monotonic() < end:
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return _stored(folder / "runs")


def test_killed_while_statements_run(tmp_path: Path) -> None:
    predictions = tmp_path / "predictions.json"
    answers = {query.id: SLOW.format(i) for i, query in enumerate(QUERIES)}
    predictions.write_text(json.dumps(answers), encoding="utf-8")
    arguments = _command(predictions, "runs")
    stored: list[str] = []
    for n in (2, 3):
        now = _killed(arguments, tmp_path, n)
        assert now[: len(stored)] == stored
        judged = [json.loads(line)["query_id"] for line in now]
        assert len(set(judged)) == len(judged), "an answer was judged again"
        assert len(stored) + n <= len(now) < len(QUERIES)
        stored = now
    code, _, err = finish(arguments, tmp_path)
    assert code == 0, err
    (folder,) = (tmp_path / "runs").glob("text-to-sql-*")
    assert set(stored) <= set(_stored(tmp_path / "runs"))
    assert [line["query_id"] for line in lines(folder)] == [query.id for query in QUERIES]
    code, _, err = finish(_command(predictions, "whole"), tmp_path)
    assert code == 0, err
    (whole,) = (tmp_path / "whole").glob("text-to-sql-*")
    for name in ("scores.json", "judgements.jsonl"):
        assert (folder / name).read_bytes() == (whole / name).read_bytes()
