"""Plug-ins that leave word of what they did, for tests of executors; named by this file's path."""

import os
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import numpy as np

from target_bench.core.contract import Generator, Retriever
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus, GenerationRequest
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.search.indexes.exact import Exact
from target_bench.search.indexes.rescoring import Found


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


class Meeting(Generator):
    """Answers once two of its kind are asked at the same time."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder = folder
        self.name = name

    def generate(self, request: GenerationRequest) -> str:
        """Wait for the other one, and say how many there are."""
        note(self.folder, self.name)
        end = time.monotonic() + 60
        while len(set(notes(self.folder))) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        return str(len(set(notes(self.folder))))


class Stuck(First):
    """Hangs the first time, and goes on the second."""

    def wait(self) -> None:
        """Hang unless it did before."""
        if len(notes(self.folder)) == 1:
            time.sleep(1000)


class Deadly(First):
    """Ends its process."""

    def wait(self) -> None:
        """End it as the system does when memory runs out."""
        os._exit(9)


class Words(Encoder):
    """Counts words; says in a folder what it encodes, and in which process."""

    def __init__(self, folder: str, fails: str = "") -> None:
        self.folder = folder
        self.fails = fails

    def revision(self) -> str:
        """Of these words."""
        return "words-1"

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """(n, 64) counts."""
        note(self.folder, f"{kind} {os.getpid()} {len(texts)}")
        if self.fails == kind:
            raise RuntimeError("no model")
        vectors = np.zeros((len(texts), 64), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                vector[zlib.crc32(word.encode("utf-8", "replace")) % 64] += 1
        return vectors


class Mortal(Exact):
    """An exact index whose process ends at the first search of all."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def search(self, vectors: Vectors, k: int) -> Found:
        """As ``Exact``, but once."""
        if not notes(self.folder):
            note(self.folder, "dead")
            os._exit(9)
        return super().search(vectors, k)
