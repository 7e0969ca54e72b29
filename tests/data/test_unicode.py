"""Texts that macOS writes, with accents as characters of their own, are those that people type."""

import json
from pathlib import Path
from unicodedata import normalize

import pytest

from target_bench import corpora, evaluate
from tests.data.written import write_queries

CITIES = ["Zürich", "São Paulo", "Łódź", "Málaga", "Hà Nội", "Đà Nẵng", "한국", "Århus", "Köln"]


@pytest.mark.parametrize("where", ["files", "cells", "questions", "gold", "title"])
def test_decomposed_text_is_found(tmp_path: Path, where: str) -> None:
    """In names of files, cells, questions, ids of gold tables and what is said of a table."""

    def form(text: str, place: str) -> str:
        return normalize("NFD" if where == place else "NFC", text)

    (tmp_path / "tables").mkdir()
    for city in CITIES:
        cells = form(city, "cells") if where == "cells" else "x"
        (tmp_path / "tables" / f"{form(city, 'files')}.csv").write_text(f"city,n\n{cells},1\n")
    if where == "title":
        lines = [{"table_id": city, "title": normalize("NFD", city)} for city in CITIES]
        (tmp_path / "tables.jsonl").write_text("".join(f"{json.dumps(x)}\n" for x in lines))
    write_queries(
        tmp_path / "queries.jsonl",
        [
            {"query_id": i, "query": form(city, "questions"), "table_id": form(city, "gold")}
            for i, city in enumerate(CITIES)
        ],
    )
    dataset = corpora.load(tmp_path)
    assert sorted(i.table_id for i in dataset.corpus.ids) == sorted(CITIES)
    assert evaluate("bm25", dataset, top_k=1, out=tmp_path / "runs").scores["recall@1"].value == 1.0


def test_decomposed_frames_and_databases(tmp_path: Path) -> None:
    name = normalize("NFD", "Zürich")
    dataset = corpora.from_dataframe(
        {name: {name: [name]}}, [{"query_id": "1", "query": name, "table_id": "Zürich"}]
    )
    (table,) = dataset.corpus
    assert [table.id.table_id, *table.header, *table.rows[0]] == ["Zürich"] * 3
    assert dataset.queries[0].text == "Zürich"
