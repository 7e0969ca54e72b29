"""What must not change a score: the order of the queries, how many are asked at a time, threads.

Hash seeds and the threads of libraries are of a process: see ``tests/cli/test_cli.py``.
"""

import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import ClassVar

import pytest

from target_bench.core import registry
from target_bench.core.contract import Generator
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.data.load import load
from target_bench.runs.result import Result
from tests.builders import Recorder, only, same_scores
from tests.target import TARGET

pytestmark = pytest.mark.slow


def test_order_of_the_queries(tmp_path: Path) -> None:
    """Rankings, answers, and their scores to the last bit."""
    mini = load("mini")
    shuffled = replace(
        mini, queries=tuple(random.Random(1).sample(mini.queries, len(mini.queries)))
    )
    for task in ("retrieval", "fact_verification"):
        results = []
        for out, dataset in (("one", mini), ("other", shuffled)):
            target = TARGET((task, dataset), out=tmp_path / out, observer=Recorder())
            results.append(only(target.run("lsa", top_k=[1, 5, 10])))
        first, second = results
        assert dict(first.scores) == dict(second.scores)
        assert first.folder.name == second.folder.name
        files = [(result.folder / "scores.json").read_bytes() for result in results]
        assert files[0] == files[1]


@pytest.mark.parametrize("name", ["bm25", "tfidf", "lsa", "random:seed=3"])
def test_queries_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The settings of a run do not name it, and neither do its rankings."""

    def run(n: int) -> Result:
        retriever = registry.create("retriever", name)
        monkeypatch.setattr(type(retriever), "queries_at_once", n)
        target = TARGET(("retrieval", "mini"), out=tmp_path / str(n), observer=Recorder())
        return only(target.run(retriever, top_k=[1, 5, 10], limit=60))

    whole, few = run(128), run(7)
    same_scores(few, whole)
    lines = [(result.folder / "retrieval.jsonl").read_bytes() for result in (few, whole)]
    assert lines[0] == lines[1]


class Several(Generator):
    """Answers so many requests at a time, in as many threads; the last drawn comes first."""

    at_once: ClassVar[int] = 1

    def __init__(self) -> None:
        self._one = registry.create("generator", "extractive")

    def generate(self, request: GenerationRequest) -> str:
        answer = self._one.generate(request)
        return answer if isinstance(answer, str) else answer.text

    def generate_many(
        self, requests: Iterable[GenerationRequest], observer: Observer
    ) -> Iterator[Generation]:
        left = iter(requests)
        with ThreadPoolExecutor(self.at_once) as pool:
            while some := list(islice(left, self.at_once)):
                answers = list(pool.map(self.generate, some))
                for request, answer in reversed(list(zip(some, answers, strict=True))):
                    yield Generation(request.query_id, answer)


@pytest.mark.parametrize("task", ["question_answering", "fact_verification", "text_to_sql"])
def test_answers_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str) -> None:
    """Nor do scores depend on how many answers are made at a time, and in which order they come.

    As many statements are executed at the same time.
    """
    outcomes = []
    for n in (1, 4):
        monkeypatch.setattr(Several, "at_once", n)
        text = f"{task}:workers={min(n, 2)}" if task == "text_to_sql" else task
        target = TARGET((text, "mini"), out=tmp_path / str(n), observer=Recorder())
        folder = only(target.run("bm25", generator=Several(), limit=30)).folder
        names = ("scores.json", "per_query.parquet")
        outcomes.append([folder.name, *((folder / name).read_bytes() for name in names)])
    assert outcomes[0] == outcomes[1]
