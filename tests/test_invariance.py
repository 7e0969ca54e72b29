"""What must not change a score: the order of the queries, and how many are asked at a time.

Hash seeds and threads are of a process: see ``tests/cli/test_cli.py``.
"""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from target_bench import registry
from target_bench.corpora import load
from target_bench.evaluator import TARGET
from target_bench.results import Result
from tests.builders import Recorder, only, same_scores

RETRIEVERS = ("bm25", "tfidf", "lsa", "random:seed=3")


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", RETRIEVERS)
def test_order_of_the_queries(tmp_path: Path, name: str, seed: int) -> None:
    """Rankings, answers, and their scores to the last bit."""
    mini = load("mini")
    shuffled = replace(mini, queries=tuple(random.Random(seed).sample(mini.queries, 280)))
    for task in ("retrieval", "fact_verification"):
        found = []
        for out, dataset in (("one", mini), ("other", shuffled)):
            target = TARGET((task, dataset), out=tmp_path / out, observer=Recorder())
            found.append(only(target.run(name, top_k=[1, 5, 10])))
        assert dict(found[0].scores) == dict(found[1].scores)
        assert found[0].folder.name == found[1].folder.name
        files = [(result.folder / "scores.json").read_bytes() for result in found]
        assert files[0] == files[1]


@pytest.mark.parametrize("name", RETRIEVERS)
def test_queries_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The settings of a run do not name it, and neither do its rankings."""

    def run(n: int) -> Result:
        retriever = registry.create("retriever", name)
        monkeypatch.setattr(type(retriever), "queries_at_once", n)
        target = TARGET(("retrieval", "mini"), out=tmp_path / str(n), observer=Recorder())
        return only(target.run(retriever, top_k=[1, 5, 10]))

    whole = run(128)
    lines = (whole.folder / "retrieval.jsonl").read_bytes()
    for n in (1, 7, 500):
        found = run(n)
        same_scores(found, whole)
        assert (found.folder / "retrieval.jsonl").read_bytes() == lines
