"""Getting a retriever ready: its index from a folder."""

from pathlib import Path
from typing import Any

from target_bench.core.schema import Corpus
from target_bench.harness.target import TARGET
from target_bench.runs.result import Result
from tests.builders import Counting, Recorder, only, same_scores
from tests.runs.processes import command, start


class Saving(Counting):
    """Notes what it is told, in order, and saves next to nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Any] = []

    def embed_corpus(self, corpus: Corpus) -> None:
        self.told.append("embed")
        super().embed_corpus(corpus)

    def save(self, folder: Path) -> None:
        self.told.append("save")
        (folder / "index").write_text("x", encoding="utf-8")

    def load(self, folder: Path, corpus: Corpus) -> None:
        assert (folder / "index").read_text(encoding="utf-8") == "x"
        self.told.append("load")
        self.embedded.append(corpus)


def _run(out: Path, retriever: Any, **options: Any) -> Result:
    target = TARGET(("retrieval", "mini"), out=out, observer=Recorder())
    return only(target.run(retriever, limit=5, **options))


def test_index_is_built_once(tmp_path: Path) -> None:
    """For every run over the same tables: another k or limit asks the same index."""
    retrievers = [Saving() for _ in range(3)]
    results = [
        _run(tmp_path, retriever, indexes=tmp_path / "saved", top_k=top_k)
        for retriever, top_k in zip(retrievers, (10, 5, 10), strict=True)
    ]
    assert [r.told for r in retrievers] == [["embed", "save"], ["load"], []]
    assert results[2].reused
    plain = _run(tmp_path / "plain", Saving(), top_k=5)
    same_scores(plain, results[1])


SAVING = """
import time
from pathlib import Path


class Saving:
    def embed_corpus(self, corpus):
        with open("embedded", "a") as file:
            file.write("embedded\\n")
        time.sleep(0.5)
        self.ids = list(corpus.ids)

    def retrieve(self, query, top_k):
        return self.ids[:top_k]

    def save(self, folder):
        (folder / "empty").touch()

    def load(self, folder, corpus):
        self.ids = list(corpus.ids)
"""


def test_two_processes_build_an_index_once(tmp_path: Path) -> None:
    """Of two runs with the same tables the second waits for the index of the first."""
    (tmp_path / "saving.py").write_text(SAVING, encoding="utf-8")
    arguments = ("run", "mini", "--task", "retrieval", "--retriever", "saving.py:Saving")
    both = [
        start(command(*arguments, "--indexes", "saved", "--limit", limit), tmp_path)
        for limit in ("3", "4")
    ]
    for process in both:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    assert (tmp_path / "embedded").read_text(encoding="ascii") == "embedded\n"
    assert len(list((tmp_path / "saved").iterdir())) == 1
