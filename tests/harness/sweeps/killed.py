"""A program: the sweep of ``sweep.yaml``, its whole process group killed at random moments.

Each sweep is killed several times in a row, then finished. Prints how often it was killed, how many
answers were on disk each time, which answers were made again after they were on disk, and in which
folders the scores are not those of an undisturbed sweep.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from target_bench.harness.sweeps import Sweep
from tests.harness.sweeps.workplace import contents, produced, recorded

KILLS = 6
IN_A_ROW = 3
STARTS = 0.4
"""The share of a sweep's life that it takes to begin."""


def main() -> None:
    """Kill with the seed of the command line."""
    chance = random.Random(int(sys.argv[1]))
    # Importing the package takes a process longer than all its cells: here it is done once for all.
    for outcome in Sweep.load("sweep.yaml", out="warm").run():
        assert outcome.error is None
    began = time.monotonic()
    assert not _killed("whole", None)
    life = time.monotonic() - began
    whole, n_answers = contents(Path("whole")), len(recorded(Path("whole")))
    kills: list[int] = []
    again, other = [], []
    n = 0
    while len(kills) < KILLS:
        out = f"runs{n}"
        Path("produced").unlink()
        kept: dict[tuple[str, str, str], int] = {}
        for _ in range(min(IN_A_ROW, KILLS - len(kills))):
            left = life * min(1.0, STARTS + 1 - len(kept) / n_answers)
            if not _killed(out, chance.uniform(0.05, left)):
                break
            made = produced(Path())
            again += _made_again(kept, made)
            kept = {answer: made[answer] for answer in _on_disk(out, made)}
            kills.append(len(kept))
        assert not _killed(out, None)
        again += _made_again(kept, produced(Path()))
        if contents(Path(out)) != whole:
            other.append(out)
        n += 1
    print(json.dumps({"kills": kills, "again": again, "other": other, "life": life}))  # noqa: T201


def _killed(out: str, seconds: float | None) -> bool:
    """Sweep in a process group of its own; whether it had to be killed after so long."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.setsid()
            outcomes = Sweep.load("sweep.yaml", out=out).run()
            code = int(any(outcome.error for outcome in outcomes))
        finally:
            os._exit(code)
    end = time.monotonic() + (600 if seconds is None else seconds)
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0
            return False
        time.sleep(0.005)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return True


def _on_disk(out: str, made: dict[tuple[str, str, str], int]) -> set[tuple[str, str, str]]:
    """The answers that were made and are recorded: (label, tables, query id)."""
    found = set()
    for folder, query_id in recorded(Path(out)):
        manifest = json.loads((Path(out) / folder / "manifest.json").read_bytes())
        label = manifest["identity"]["generator"]["config"]["label"]
        rankings = Path(out) / manifest["asked"]["retrieval_run"] / "retrieval.jsonl"
        for line in rankings.read_text(encoding="utf-8").split("\n")[:-1]:
            ranking = json.loads(line)
            if ranking["query_id"] == query_id:
                tables = ",".join(f"{one}/{other}" for one, other in ranking["tables"])
                found.add((label, tables, query_id))
    assert found <= made.keys()
    return found


def _made_again(
    kept: dict[tuple[str, str, str], int], made: dict[tuple[str, str, str], int]
) -> list[tuple[str, str, str]]:
    return [answer for answer, n in kept.items() if made[answer] > n]


if __name__ == "__main__":
    main()
