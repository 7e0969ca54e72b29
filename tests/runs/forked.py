"""Commands in processes of their own that need not import the package: they are forked.

Starting Python and importing the package takes a process longer than most of these commands take.
A server that has imported it (``multiprocessing``'s) forks a process for each command: with its own
folder, environment, memory, and process id, which can be sent any signal. What is set before Python
starts (hash seed, threads of libraries, a traced call of the system) wants a process that is not
forked.
"""

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import IO

_PRELOADED = [
    *("bm25s", "cydifflib", "ir_measures", "packaging.requirements", "portalocker", "pytrec_eval"),
    *("pyarrow.parquet", "pydantic.type_adapter", "rapidfuzz.distance"),
    *("rich.live", "rich.progress", "rich.table"),
    *("target_bench.cli.main", "target_bench.cli.run", "target_bench.corpora.mini.loader"),
    *("target_bench.evaluation.sweeps.sweep", "target_bench.evaluation.target"),
    *("target_bench.generators.extractive", "target_bench.retrievers.bm25"),
    *("target_bench.tasks.fact_verification", "target_bench.tasks.question_answering"),
    *("target_bench.tasks.table_to_text", "target_bench.tasks.text_to_table"),
    *("target_bench.tasks.retrieval", "target_bench.tasks.text_to_sql"),
]


class Forked:
    """A command that runs, as ``subprocess.Popen`` has it.

    Args:
        words: the command line without ``target-bench``.
        folder: where it runs.
        environment: all its variables.
    """

    def __init__(self, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOADED)
        out, err = context.Pipe(duplex=False), context.Pipe(duplex=False)
        arguments = (list(words), str(folder), dict(environment), out[1], err[1])
        self._process = context.Process(target=_run, args=arguments, daemon=True)
        self._process.start()
        self.stdout, self.stderr = _ours(*out), _ours(*err)
        assert self._process.pid is not None
        self.pid = self._process.pid
        self._said: dict[IO[str], str] = {}
        self._readers = [
            Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (self.stdout, self.stderr)
        ]

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
        for reader in self._readers:
            if reader.ident is None:
                reader.start()
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("target-bench", timeout or 0)
        for reader in self._readers:
            reader.join()
        return self._said[self.stdout], self._said[self.stderr]

    def _read(self, stream: IO[str]) -> None:
        with stream:
            self._said[stream] = stream.read()


def _ours(reader: Connection, writer: Connection) -> IO[str]:
    """What a process writes into a pipe; its end of it is closed here."""
    writer.close()
    with reader:
        return os.fdopen(os.dup(reader.fileno()), encoding="utf-8")


def _run(
    words: list[str], folder: str, environment: dict[str, str], out: Connection, err: Connection
) -> None:
    """Be ``target-bench`` in a process that was forked."""
    from target_bench.cli import main
    from target_bench.evaluation.sweeps import local_executor

    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]  # a sweep has children
    local_executor.get_context = lambda _: multiprocessing.get_context("fork")  # type: ignore[attr-defined, assignment]
    for number, pipe in ((1, out), (2, err)):
        os.dup2(pipe.fileno(), number)
        pipe.close()
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
