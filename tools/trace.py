"""Count the files of target_bench that a command enters.

    python -m tools.trace "run mini --retriever bm25"
    python -m tools.trace "submit RUN -o team.tbs.zip" "verify team.tbs.zip" "leaderboard build ..."

Each argument is one command line of ``target-bench``. They run one after the other in this process,
and the report is of all of them together. A file is entered when a function of it is called. What
runs while a module is imported does not count: module and class bodies, and what they call. Threads
are followed; worker processes (those that run SQL, cells of a sweep, Ray) are not.
"""

from __future__ import annotations

import argparse
import inspect
import shlex
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import target_bench

PACKAGE = Path(target_bench.__file__).parent


class Trace:
    """The files of a package whose functions are called, in this process.

    Attributes:
        entered: their absolute paths.
    """

    def __init__(self, package: Path = PACKAGE) -> None:
        self._inside = f"{package}/"
        self._seen: set[CodeType] = set()
        self.entered: set[str] = set()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record calls of this thread, and of the threads that start meanwhile."""
        threading.setprofile(self._record)
        sys.setprofile(self._record)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _record(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or code in self._seen:
            return
        file = code.co_filename
        ours = file.startswith(self._inside) and file.endswith(".py")  # else a page's template
        if not ours or file in self.entered:
            self._seen.add(code)
        elif not any(self._is_import(above) for above in _stack(frame)):
            self.entered.add(file)

    def _is_import(self, frame: FrameType) -> bool:
        """Return whether a frame is a module's or a class's body, which have no fast locals."""
        code = frame.f_code
        is_body = not code.co_flags & inspect.CO_OPTIMIZED
        return is_body and code.co_filename.startswith(self._inside)


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def report(files: Iterable[str], package: Path = PACKAGE) -> str:
    """Say how many files there are, and name them by folder."""
    folders: dict[str, list[str]] = defaultdict(list)
    paths = sorted(Path(file).relative_to(package) for file in files)
    for path in paths:
        folders[path.parent.as_posix()].append(path.name)
    lines = [f"{name}/ ({len(names)}): {', '.join(names)}" for name, names in folders.items()]
    return "\n".join([f"files of {package.name} entered: {len(paths)}", *sorted(lines)])


def exit_code(line: str, command: Callable[[], None]) -> int:
    """Run a command with the arguments of a line, as the terminal would."""
    before, sys.argv = sys.argv, ["target-bench", *shlex.split(line)]
    try:
        command()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = before
    return 0


def main() -> None:
    """Trace the commands and print the report; stop at the first that fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.trace",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="+", help="what follows target-bench on the command line")
    lines = parser.parse_args().command

    from target_bench.cli import main as command

    trace = Trace()
    with trace.recording():
        failed = next((line for line in lines if exit_code(line, command)), None)
    print(report(trace.entered))
    if failed is not None:
        sys.exit(f"failed: target-bench {failed}")


if __name__ == "__main__":
    main()
