"""Query decomposition, with answers that are replayed."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.registry import resolve
from tests.retrievers.tables import ask, built, corpus, names

Decompose = resolve("retriever", "decompose")


def decomposing(folder: Path, answers: dict[str, str], **settings: Any) -> Any:
    file = folder / "answers.json"
    file.write_text(json.dumps(answers), encoding="utf-8")
    retriever = Decompose(f"replay:file={file}", **settings)
    retriever.embed_corpus(corpus())
    return retriever


def test_each_part_finds_its_table(tmp_path: Path) -> None:
    query = "which is longer, what flows through Lyon or what the king drank"
    answers = {
        query: "Here they are:\n1. Rhône length?\n\n- Løvenskiold king\n2) Rhône length?\n***\nplum"
    }
    retriever = decomposing(tmp_path, answers, n_parts=2, weight=0.0)
    assert names(ask(retriever, [query])[0])[:2] == ["rivers", "kings"]
    assert set(names(ask(retriever, [query])[0])) == {
        table
        for part in ask(built("bm25"), ["Rhône length?", "Løvenskiold king"])
        for table in names(part)
    }


def test_a_query_without_parts_is_ranked_by_itself_and_counted(tmp_path: Path) -> None:
    retriever = decomposing(tmp_path, {"plum": "plum", "apple price": " ** \n"})
    queries = ["plum", "apple price", "Twin"]
    assert [names(r) for r in ask(retriever, queries)] == [
        names(r) for r in ask(built("bm25"), queries)
    ]
    [note] = retriever.notes()
    assert note.startswith("2 of 3 queries got no part and were ranked by themselves; the first")
    with pytest.raises(ConfigError, match="0 parts"):
        decomposing(tmp_path, {}, n_parts=0)
