"""Listwise reranking, with rankings that are replayed."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.contract import Generator
from target_bench.core.errors import ConfigError
from target_bench.core.registry import resolve
from target_bench.core.schema import Generation, GenerationRequest
from tests.retrievers.tables import ask, built, corpus, names

Listwise = resolve("retriever", "listwise")

QUERY = "river river fruit plum rhine length"


def order(retriever: Any, query: str = QUERY, k: int = 5) -> list[str]:
    return [table.table_id for table in retriever.retrieve(query, k)]


def reranking(folder: Path, answers: dict[str, str], **settings: Any) -> Any:
    file = folder / "answers.json"
    file.write_text(json.dumps(answers), encoding="utf-8")
    retriever = Listwise(f"replay:file={file}", **settings)
    retriever.embed_corpus(corpus())
    return retriever


FIRST = ["twin1", "twin2", "rowless", "rivers", "fruit"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("[3] > [1] > [2] > [5] > [4]", [2, 0, 1, 4, 3]),
        ("Of 4 tables: [2] > [2] > [9] > [0]", [1, 0, 2, 3, 4]),  # the others keep their order
        ("4, 1", [3, 0, 1, 2, 4]),
        (f"[{'9' * 5000}] > [02]", [1, 0, 2, 3, 4]),  # more digits than int() reads
        ("I cannot tell.", [0, 1, 2, 3, 4]),
    ],
)
def test_tables_are_put_in_the_order_of_the_answer(
    tmp_path: Path, answer: str, expected: list[int]
) -> None:
    assert names(ask(built("bm25"), [QUERY])[0]) == FIRST
    retriever = reranking(tmp_path, {QUERY: answer})
    assert order(retriever) == [FIRST[place] for place in expected]
    assert order(retriever, k=2) == [FIRST[place] for place in expected[:2]]
    assert len(retriever.notes()) == (answer == "I cannot tell.")


def test_the_window_slides_up_from_the_last_table(tmp_path: Path) -> None:
    answers = {QUERY: "[2] > [1]", f"{QUERY}:2": "[2] > [1]", f"{QUERY}:3": "[2] > [1]"}
    retriever = reranking(tmp_path, answers, depth=4, window=2, step=1)
    assert order(retriever) == ["rivers", "twin1", "twin2", "rowless", "fruit"]


class Reading(Generator):
    """Keeps what it is asked."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def generate(self, request: GenerationRequest) -> Generation:
        self.prompts.append(request.messages[-1].content)
        return Generation(request.query_id, "[1]")


def test_a_request_shows_the_tables_by_their_numbers() -> None:
    generator = Reading()
    retriever = Listwise(generator, rows=1, depth=4)
    retriever.embed_corpus(corpus())
    assert len(order(retriever)) == 5
    [prompt] = generator.prompts
    assert "provide you with 4 tables" in prompt
    assert "[4] Rivers of France river length Rhône 813\n" in prompt
    assert "Loire" not in prompt
    assert prompt.count(QUERY) == 2
    later = Reading()
    retriever = Listwise(later, rows=1, depth=4)
    retriever.embed_corpus(corpus())
    assert len(order(retriever)) == 5
    assert later.prompts == []  # the answer was recorded
    for settings in ({"window": 1}, {"step": 21}, {"prompt": "x"}):
        with pytest.raises(ConfigError, match=next(iter(settings))):
            Listwise(generator, **settings)
