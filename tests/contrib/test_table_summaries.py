"""Tables found by what a model wrote about them: asked once, unique, failures said."""

import json
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.contract import Generator
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.encoders import UnitWords
from tests.retrievers.tables import ask, corpus, names, table

pytest.importorskip("llama_index.core")

TableSummaries = registry.resolve("retriever", "table-summaries")


class Writer(Generator):
    """Writes a summary from the first line of the table; some answers go wrong."""

    def __init__(self, name: str = "a table", wrong: str | None = None) -> None:
        self.name = name
        self.wrong = wrong
        self.requests: list[GenerationRequest] = []

    def generate(self, request: GenerationRequest) -> Generation | str:
        self.requests.append(request)
        text = request.messages[-1].content
        header = text.partition("Table:\n")[2].splitlines()[0]
        if self.wrong and "river,length" in header:
            return self._failed(request, self.wrong)
        fields = {"table_name": self.name, "table_summary": f"it is about {header}"}
        return f"```json\n{json.dumps(fields)}\n```"

    def _failed(self, request: GenerationRequest, how: str) -> Generation | str:
        if how == "raise":
            raise RuntimeError("the model is gone")
        if how == "error":
            return Generation(request.query_id, "", error="rate_limit: too fast")
        return how


def _embedded(writer: Generator, tables: Any = None, **settings: Any) -> Any:
    retriever = TableSummaries(writer, UnitWords(), **settings)
    retriever.embed_corpus(corpus() if tables is None else tables)
    return retriever


def _texts(retriever: Any) -> list[str]:
    return list(retriever._texts)


def test_what_is_embedded() -> None:
    texts = _texts(_embedded(Writer()))
    assert texts[0] == (
        "Schema of table a_table:\nTable 'a_table' has columns: fruit, price, .\n"
        "Context of table a_table:\nit is about fruit,price"
    )
    assert texts[1].startswith("Schema of table a_table_2:")
    original = _texts(_embedded(Writer(), schema="original"))[0]
    assert "'a_table' has columns: Column (VARCHAR), ." in original
    assert _texts(_embedded(Writer(), schema="none"))[0].startswith("Context of table a_table:\n")


def test_the_text_is_llama_indexes_own() -> None:
    """The original's text, made by its own classes from a database like its."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    from llama_index.core import SQLDatabase
    from llama_index.core.objects import SQLTableNodeMapping, SQLTableSchema

    engine = sqlalchemy.create_engine("sqlite://")
    metadata = sqlalchemy.MetaData()
    column = sqlalchemy.Column("Column", sqlalchemy.String)
    sqlalchemy.Table("a_table", metadata, column)
    metadata.create_all(engine)
    mapping = SQLTableNodeMapping(SQLDatabase(engine))
    schema = SQLTableSchema(table_name="a_table", context_str="it is about fruit,price")
    node = mapping.to_node(schema)
    engine.dispose()
    assert _texts(_embedded(Writer(), schema="original"))[0] == node.get_content()


def test_the_ranking_is_cosine() -> None:
    retriever = _embedded(Writer())
    vectors = UnitWords().encode(_texts(retriever), "table")
    queries = ["fruit price", "river length", "", "都市"]
    for query, ranking in zip(queries, ask(retriever, queries, 8), strict=True):
        cosines = UnitWords().encode([query], "query")[0] @ vectors.T
        assert len(ranking) == (8 if query else 0)
        for table_id, score in ranking:
            assert score == pytest.approx(cosines[corpus().positions[table_id]], abs=1e-6)
    assert names(ask(retriever, ["fruit price"], 1)[0]) == ["fruit"]


def test_the_generator_sees_ten_rows_and_a_schema() -> None:
    writer = Writer()
    many = MemoryCorpus([table("long", rows=[[f"cell{i}", i] for i in range(20)])])
    _embedded(writer, many)
    (request,) = writer.requests
    text = request.messages[-1].content
    assert "cell9" in text
    assert "cell10" not in text
    assert request.answer_schema is not None
    assert request.answer_schema["required"] == ["table_name", "table_summary"]
    assert [m.role for m in request.messages] == ["system", "user"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("raise", "raised"),
        ("error", "rate_limit"),
        ("no idea", "no JSON of table_name and table_summary"),
        ('{"table_name": "x"}', "no JSON of table_name and table_summary"),
        ('{"table_name": " ", "table_summary": "y"}', "an empty name or summary"),
        ('{"table_name": 3, "table_summary": "y"}', "an empty name or summary"),
    ],
)
def test_failures_are_counted_and_embedded_by_schema(wrong: str, why: str) -> None:
    retriever = _embedded(Writer(wrong=wrong))
    assert (
        _texts(retriever)[1]
        == "Schema of table rivers:\nTable 'rivers' has columns: river, length, .\n"
    )
    (failed,) = [note for note in retriever.notes() if "no summary" in note]
    assert failed.startswith("2 of 8 tables have no summary")
    assert f"{why} (2)" in failed
    assert any("got a number after a name" in note for note in retriever.notes())
