"""Sweeps in processes of their own: plug-ins that count, and how to start, kill and read."""

import json
from collections import Counter
from pathlib import Path

from tests.runs.processes import command, finish

PLUGINS = """
import contextlib, io, json, os, signal, time, warnings
from target_bench.core.contract import Generator

# In words that a run does not look for: it would say that it cannot see what they give.
ENVIRONMENT, OPEN = getattr(os, "environ"), getattr(io, "open")


def note(name, text):
    with OPEN(name, "a", encoding="utf-8") as file:
        file.write(text + "\\n")


class Slow:
    '''Ranks by the length of the query, and notes what it is asked.'''

    def __init__(self, shift: int = 0, seconds: float = 0.0) -> None:
        self.shift, self.seconds = shift, seconds

    def embed_corpus(self, corpus):
        note("embedded", f"{self.shift}")
        self.ids = list(corpus.ids)

    def retrieve(self, query, top_k):
        note("ranked", f"{self.shift}|{query}")
        time.sleep(self.seconds)
        start = (len(query) + self.shift) % 50
        return self.ids[start : start + top_k]


class Placed(Slow):
    '''Notes where it runs, and takes its time to index.'''

    def embed_corpus(self, corpus):
        super().embed_corpus(corpus)
        gpus = ENVIRONMENT.get("CUDA_VISIBLE_DEVICES")
        note("placed", f"{self.shift} {os.getpid()} {gpus!r} {os.getcwd()}")
        time.sleep(self.seconds)


class Noting(Slow):
    '''Has something to say.'''

    def notes(self):
        return ["mind this"]


class Indiscreet(Slow):
    '''Warns with its key; what its process writes is kept in a file.'''

    def __init__(self, api_key: str) -> None:
        super().__init__()
        self.api_key = api_key

    def embed_corpus(self, corpus):
        super().embed_corpus(corpus)
        with OPEN("warned", "w") as file, contextlib.redirect_stderr(file):
            warnings.warn(f"my key is {self.api_key}")


class Broken(Slow):
    '''Fails at every query.'''

    def retrieve(self, query, top_k):
        raise RuntimeError("the index is gone")


class Deadly(Slow):
    '''Its process dies, once or always.'''

    def __init__(self, always: bool = True) -> None:
        super().__init__()
        self.always = always

    def retrieve(self, query, top_k):
        if self.always or not os.path.exists("died"):
            note("died", "died")
            os.kill(os.getpid(), signal.SIGKILL)
        return super().retrieve(query, top_k)


class Counting(Generator):
    '''Answers with what it is called, and notes each answer that it makes.'''

    def __init__(self, label: str = "a", seconds: float = 0.0) -> None:
        self.label, self.seconds = label, seconds

    def generate(self, request):
        time.sleep(self.seconds)
        tables = ",".join(str(table.id) for table in request.tables)
        note("produced", json.dumps([self.label, tables, request.query_id]))
        return f"{self.label} {len(request.tables)}"


class Paid(Counting):
    '''The same for money.'''

    paid = True

    def estimate_cost(self, n_requests, input_tokens):
        return n_requests * 0.5
"""

TWELVE = """
corpora: {name: mini, limit: 12}
tasks: fact_verification
retrievers:
  - {name: "plugins.py:Slow", shift: [0, 7]}
  - no-context
generators:
  - {name: "plugins.py:Counting", label: [a, b, c, d], seconds: 0.004}
top_k: [1, 5]
"""
"""Three retrievers and four generators."""

SIX = TWELVE.replace("[a, b, c, d]", "[a, b]")
"""Three retrievers and two generators."""


def write(folder: Path, text: str) -> Path:
    """Write the plug-ins and ``sweep.yaml``."""
    (folder / "plugins.py").write_text(PLUGINS, encoding="utf-8")
    path = folder / "sweep.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def sweep(*arguments: str) -> list[str]:
    """The command line of the sweep."""
    return command("sweep", "sweep.yaml", *arguments)


def ran(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the sweep."""
    return finish(sweep(*arguments), folder)


def contents(runs: Path, name: str = "scores.json") -> dict[str, bytes]:
    """Run folder -> content of one of its files."""
    return {path.parent.name: path.read_bytes() for path in runs.glob(f"*/{name}")}


def produced(folder: Path) -> Counter[tuple[str, str, str]]:
    """(label, tables, query id) -> how often this answer was made."""
    path = folder / "produced"
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = written.splitlines(keepends=True)
    return Counter(tuple(json.loads(line)) for line in lines if line.endswith("\n"))  # none torn


def recorded(runs: Path) -> set[tuple[str, str]]:
    """(run folder, query id) of every answer on disk."""
    return {
        (path.parent.name, json.loads(line)["query_id"])
        for path in runs.glob("*/generations.jsonl")
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]
    }
