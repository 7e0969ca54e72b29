"""A program: runs of ``mini`` that meet a fault at the first, second, ... call of the system.

``kill``: the process is killed, in the middle if the call writes. ``full``: there is no room on the
disk from this call on. Each run goes on in a process of its own; prints how many calls there are,
then the numbers of those after which it did not come to the scores of an undisturbed one.
"""

import errno
import json
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from target_bench.core.errors import StoreError
from tests.runs.forked import PRELOADED
from tests.runs.processes import rankings, scores
from tests.target import TARGET

CALLS = {
    "kill": ("open", "write", "fsync", "replace", "ftruncate", "unlink"),
    "full": ("write", "fsync"),
}
ADVICE = "No space left on device. Make room and run the same command again: what was answered is"


def _faulty(
    kind: str, calls: list[str], at: int, name: str, real: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a call of the system that meets the fault if it is the ``at``-th one."""

    def call(*arguments: Any, **more: Any) -> Any:
        calls.append(name)
        if len(calls) < at:
            return real(*arguments, **more)
        if len(calls) == at and name == "write":
            real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
        if kind == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.kill(os.getpid(), signal.SIGKILL)

    return call


def _run(out: Path, kind: str, at: int | None) -> Literal["whole", "faulted", "wrong"]:
    """Run in a process of its own, with a fault at a call if one is named."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            calls: list[str] = []
            for name in CALLS[kind] if at is not None else ():
                setattr(os, name, _faulty(kind, calls, at or 0, name, getattr(os, name)))
            TARGET(("retrieval", "mini"), out=out).run("slow.py:Slow", top_k=1, limit=20)
            code = 0
        except StoreError as error:
            code = 4 if ADVICE in str(error) else 1
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code == 0:
        return "whole"
    return "faulted" if code == {"kill": -signal.SIGKILL, "full": 4}[kind] else "wrong"


def main(kind: str) -> None:
    """Meet the fault at every call in turn."""
    for module in PRELOADED:  # else every process would import it
        import_module(module)
    assert _run(Path("whole"), kind, None) == "whole"
    expected = scores(Path("whole")), dict(rankings(Path("whole")))
    n, wrong = 0, []
    while (end := _run(out := Path(str(n)), kind, n + 1)) != "whole":
        again = _run(out, kind, None)
        lines = rankings(out)
        same = (scores(out), dict(lines)) == expected and len(dict(lines)) == len(lines)
        if (end, again) != ("faulted", "whole") or not same or list(out.glob("*/*.tmp")):
            wrong.append(n)
        n += 1
    json.dump({"calls": n, "wrong": wrong}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
