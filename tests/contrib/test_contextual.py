"""Tables indexed with a sentence about them, with sentences that are replayed."""

import json
from pathlib import Path

import pytest

from tests.retrievers.tables import ask, built, corpus, names, reloaded


@pytest.fixture
def spec(tmp_path: Path) -> str:
    sentences = {"0/fruit": "What the grocer\n asks for.", "0/rivers": "Streams.", "0/bare": " "}
    file = tmp_path / "sentences.json"
    file.write_text(json.dumps(sentences), encoding="utf-8")
    return f"contextual:generator='replay:file={file}'"


def test_a_table_is_found_by_its_sentence_and_by_what_it_had(spec: str, tmp_path: Path) -> None:
    retriever = built(spec)
    grocer, apple = ask(retriever, ["grocer", "apple price"])
    assert names(grocer) == ["fruit"]
    assert names(apple)[0] == "fruit"
    assert ask(built("bm25"), ["grocer"]) == [[]]
    [note] = retriever.notes()
    assert note.startswith("6 of 8 tables have no sentence of context, the first: ")
    assert corpus()[("0", "fruit")].context["title"] == "Fruit prices"
    saved, loaded = reloaded(spec, tmp_path / "index")
    assert ask(loaded) == ask(saved)
    assert loaded.notes() == [note]
