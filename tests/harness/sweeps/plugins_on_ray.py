"""Plug-ins that leave word of what they did, for tests of executors; named by this file's path."""

import os
import time
from pathlib import Path
from uuid import uuid4

from target_bench.core.contract import Retriever
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus


def note(folder: str, text: str) -> None:
    """Leave a note that no other one overwrites."""
    path = Path(folder) / f"{time.monotonic_ns()}-{uuid4().hex}"
    path.with_suffix(".new").write_text(text, encoding="utf-8")
    path.with_suffix(".new").rename(path.with_suffix(".note"))


def notes(folder: str | Path) -> list[str]:
    """The notes in the order they were left."""
    return [path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("*.note"))]


class First(Retriever):
    """Ranks the first tables, whatever is asked."""

    def __init__(self, folder: str, seconds: float = 0.0, name: str = "") -> None:
        self.folder = folder
        self.seconds = seconds
        self.name = name

    def embed_corpus(self, corpus: Corpus) -> None:
        """Say where it is, and take its time."""
        self.ids = corpus.ids
        gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
        note(self.folder, f"begin {self.name} {os.getpid()} {gpus!r} {Path.cwd()}")
        self.wait()
        note(self.folder, f"end {self.name} {os.getpid()}")

    def wait(self) -> None:
        """Take its time."""
        time.sleep(self.seconds)

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """The first tables."""
        return list(self.ids[:top_k])


class Deadly(First):
    """Ends its process."""

    def wait(self) -> None:
        """End it as the system does when memory runs out."""
        os._exit(9)
