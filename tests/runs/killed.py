"""A program: runs of ``mini`` that are killed at the first, second, ... call of the system.

Prints how many calls there are, then the numbers of those after which the run did not come to the
scores of an undisturbed one.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from target_bench.harness.target import TARGET
from tests.runs.forked import PRELOADED
from tests.runs.processes import rankings, scores

CALLS = ("open", "write", "fsync", "replace", "ftruncate", "unlink")


def _dies(calls: list[str], at: int, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **more: Any) -> Any:
        calls.append(name)
        if len(calls) == at:
            if name == "write":
                real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **more)

    return call


def _run(out: Path, die_at: int | None) -> bool:
    """Run in a process of its own; whether it lived to the end."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            if die_at is not None:
                calls: list[str] = []
                for name in CALLS:
                    setattr(os, name, _dies(calls, die_at, name, getattr(os, name)))
            TARGET(("retrieval", "mini"), out=out).run("slow.py:Slow", top_k=[1, 10])
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(process, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return not os.WIFSIGNALED(status)


def main() -> None:
    """Die at every call in turn."""
    for module in PRELOADED:  # else every process would import it
        import_module(module)
    _run(Path("whole"), None)
    expected = scores(Path("whole")), dict(rankings(Path("whole")))
    n, bad = 0, []
    while not _run(Path(str(n)), n + 1):
        lived = _run(Path(str(n)), None)
        found = rankings(Path(str(n)))
        same = (scores(Path(str(n))), dict(found)) == expected and len(set(found)) == len(found)
        if not lived or not same or list(Path(str(n)).glob("*/*.tmp")):
            bad.append(n)
        n += 1
    json.dump({"calls": n, "bad": bad}, sys.stdout)


if __name__ == "__main__":
    main()
