"""Commands in processes of their own that need not import the package: they are forked.

Starting Python and importing the package takes a process longer than most of these commands take.
A server that has imported it (``multiprocessing``'s) forks a process for each command: with its own
folder, environment, memory, and process id, which can be sent any signal. What is set before Python
starts (hash seed, threads of libraries, a traced call of the system) wants a process that is not
forked.

A command of a shell script is a small program (``client``) that hands its words, folder,
environment and open files over to a process that is forked, and ends as that one ends.
"""

import atexit
import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import count
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread

PRELOADED = [
    *("scipy.stats", "sklearn.feature_extraction.text", "sqlglot.optimizer", "duckdb"),
    *("bm25s", "cydifflib", "ir_measures", "packaging.requirements", "portalocker", "pytrec_eval"),
    *("pyarrow.parquet", "pydantic.type_adapter", "rapidfuzz.distance"),
    *("rich.live", "rich.progress", "rich.table"),
    *("target_bench.cli.main", "target_bench.cli.run", "target_bench.corpora.mini.loader"),
    *("target_bench.harness.sweeps.sweep", "target_bench.harness.evaluate"),
    *("target_bench.generators.extractive", "target_bench.retrievers.bm25"),
    *("target_bench.tasks.fact_verification", "target_bench.tasks.question_answering"),
    *("target_bench.tasks.table_to_text", "target_bench.tasks.text_to_table"),
    *("target_bench.tasks.retrieval", "target_bench.tasks.text_to_sql"),
    *("target_bench.reporting.leaderboard.pack", "target_bench.reporting.report.report_writer"),
    *("target_bench.metrics.retrieval", "target_bench.metrics.sql"),
    *("target_bench.sql.workers", "target_bench.sql.duckdb_copy"),
]
"""What commands import when they come to it; importing keeps nothing of a file but its code."""


class Forked:
    """A command that runs, as ``subprocess.Popen`` has it.

    Args:
        words: the command line without ``target-bench``.
        folder: where it runs.
        environment: all its variables.
    """

    def __init__(self, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._files = [_scratch() / f"{next(_NUMBERS)}.txt" for _ in range(2)]
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
        streams = {n: Connection(os.open(f, flags)) for n, f in enumerate(self._files, start=1)}
        self._process = _forked(words, folder, environment, streams)
        for stream in streams.values():
            stream.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, or the negative number of a signal; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end; standard output and standard error.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("target-bench", timeout or 0)
        out, err = self.written()
        return out, err

    def written(self) -> list[str]:
        """Standard output and standard error until now."""
        return [file.read_text(encoding="utf-8") for file in self._files]


_NUMBERS = count()


@cache
def _scratch() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="forked"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_CLIENT = """#!{python} -IS
import json, os, socket, sys

with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    words = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(words).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(words)
    code = int.from_bytes(server.recv(4), "big", signed=True)
sys.exit(code if code >= 0 else 128 - code)
"""


@cache
def client() -> Path:
    """A program ``target-bench``, alone in its folder; each of its commands is forked."""
    folder = _scratch() / "bin"
    folder.mkdir()
    address = str(folder / ".socket")
    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen()
    Thread(target=_serve, args=(server,), daemon=True).start()
    program = folder / "target-bench"
    program.write_text(_CLIENT.format(python=sys.executable, address=address), encoding="utf-8")
    program.chmod(0o755)
    return program


def _serve(server: socket.socket) -> None:
    while True:
        Thread(target=_answer, args=(server.accept()[0],), daemon=True).start()


def _answer(request: socket.socket) -> None:
    """Run the command of a client; it ends with its client."""
    with request:
        size, files, _, _ = socket.recv_fds(request, 4, 3)
        with request.makefile("rb") as stream:
            words, folder, environment = json.loads(stream.read(int.from_bytes(size, "big")))
        streams = {number: Connection(file) for number, file in enumerate(files)}
        process = _forked(words, folder, environment, streams)
        for stream_ in streams.values():
            stream_.close()
        if wait([process.sentinel, request]) == [request]:
            process.kill()
        process.join()
        assert process.exitcode is not None
        with suppress(OSError):
            request.sendall(process.exitcode.to_bytes(4, "big", signed=True))


def _forked(
    words: Sequence[str],
    folder: Path | str,
    environment: Mapping[str, str],
    streams: Mapping[int, Connection],
) -> BaseProcess:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    arguments = (list(words), str(folder), dict(environment), dict(streams))
    process = context.Process(target=_run, args=arguments, daemon=True)
    process.start()
    return process


def _run(
    words: list[str], folder: str, environment: dict[str, str], streams: dict[int, Connection]
) -> None:
    """Be ``target-bench`` in a process that was forked."""
    from target_bench.cli import main
    from target_bench.sql import workers

    vars(workers)["count_processors"] = lambda: 1  # as in the suite's own process
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]  # a sweep has children
    for number, pipe in streams.items():
        os.dup2(pipe.fileno(), number)
        pipe.close()
    if 0 in streams:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["target-bench", *words]
    try:
        main()
    finally:
        atexit._run_exitfuncs()
