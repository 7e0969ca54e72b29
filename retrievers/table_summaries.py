# SPDX-License-Identifier: Apache-2.0
"""The LlamaIndex retriever of the TARGET paper (Ji et al. 2025): tables found by their summaries.

A language model writes a name and a summary of each table from its first rows; both are embedded
as LlamaIndex writes a table schema, and its vector store finds the nearest by cosine.
"""

import importlib.util
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from target_bench import (
    ConfigError,
    Corpus,
    Generation,
    GenerationRequest,
    Message,
    MissingExtraError,
    Retriever,
    Serializer,
    Table,
    Vectors,
)
from target_bench.plugin_tools import (
    Encoding,
    Field,
    Format,
    Ranking,
    RowLimit,
    ask_generator,
    check_generator,
    make_part,
)

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "table_name": {
            "type": "string",
            "description": "table name (must be underscores and NO spaces)",
        },
        "table_summary": {
            "type": "string",
            "description": "short, concise summary/caption of the table",
        },
    },
    "required": ["table_name", "table_summary"],
    "additionalProperties": False,
}
"""JSON schema of an answer; names and descriptions are those of the original TARGET."""

_SYSTEM = "You are a helpful AI assistant."
_ASK = """\
Summarize the table below as JSON with two fields.

- "table_name": a name for the table, in snake case without spaces. It must be unique to the table \
and describe it while being concise; no generic name such as table or my_table.
- "table_summary": a short, concise summary or caption of the table.

Table:
{table}

Summary: """


@dataclass(frozen=True, slots=True)
class _Summary:
    """Name and summary that a model wrote for a table."""

    name: str
    text: str


Schema = Literal["columns", "original", "none"]


class TableSummaries(Retriever):
    """Cosine between a query and the name and summary that a language model gave a table.

    Needs: extras llama-index and dense; MiniLM (download); an LLM, which may cost money.

    A query whose vector is all zeros finds nothing.

    Two tables of one name would be one to LlamaIndex; where the original asks again, the later
    one in corpus order gets ``_2`` after its name. A table without a summary, because the answer
    failed or was none, is embedded by its schema alone; how many there are is said.

    Args:
        generator: writes names and summaries: a generator, or the name of one with its settings,
            as in ``'openai:model=gpt-4o-mini'``. Asking may cost money;
            one that records its answers is asked about a table once.
        encoder: makes vectors of texts: an encoder, or the name of one with its settings.
        fields: the parts of a table that the generator sees.
        rows: how many rows of it.
        format: how header and rows are written.
        schema: what stands before the summary: the names of the ``columns``; what the ``original``
            wrote, whose tables in SQLite have one column named Column; or ``none``.

    Raises:
        ConfigError: there is no such generator or encoder.
        MissingExtraError: llama-index-core is not installed.
    """

    packages = ("llama-index-core", "numpy")

    def __init__(
        self,
        generator: object,
        encoder: object = "minilm",
        fields: Sequence[Field] = ("header", "rows"),
        rows: RowLimit = 10,
        format: Format = "csv",
        schema: Schema = "columns",
    ) -> None:
        spec = importlib.util.find_spec
        if spec("llama_index") is None or spec("llama_index.core") is None:
            raise MissingExtraError(
                "llama-index-core", "llama-index", "the retriever table-summaries"
            )
        if schema not in ("columns", "original", "none"):
            raise ConfigError(f"schema={schema}: expected columns, original or none")
        self.generator = generator
        self.encoder = encoder
        self.fields = fields
        self.rows = rows
        self.format = format
        self.schema = schema
        self._shown = Serializer(fields, format, rows)
        self._generator = check_generator(make_part("generator", generator))
        self._encoding = Encoding(encoder, unit=False)
        self._notes: list[str] = []

    def config(self) -> dict[str, Any]:
        """Return the settings that change prompts and embedded texts; the models are parts."""
        return {
            "fields": list(self.fields),
            "rows": self.rows,
            "format": self.format,
            "schema": self.schema,
        }

    def parts(self) -> dict[str, object]:
        """Return the generator and the encoder."""
        return {"generator": self._generator, "encoder": self._encoding.encoder}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Have the tables summarised, and index the summaries."""
        replies = self._summaries([self._shown(table) for table in corpus])
        summaries = _unique_names([None if isinstance(s, str) else s for s in replies])
        self._notes = _notes(replies, summaries)
        texts = [self._text(t, s) for t, s in zip(corpus, summaries, strict=True)]
        self._encoding.begin_corpus()
        self._build(corpus, texts, self._encoding.tables(texts))

    def _summaries(self, tables: Sequence[str]) -> list["_Summary | str"]:
        """Return the summary of each table, or why there is none; equal ones are asked once."""
        requests = {table: _request(str(i), table) for i, table in enumerate(dict.fromkeys(tables))}
        answers = ask_generator(self._generator, list(requests.values()))
        return [_read_summary(answers[requests[table].query_id]) for table in tables]

    def _text(self, table: Table, summary: _Summary | None) -> str:
        """Return the text to embed, in the format of LlamaIndex's ``SQLTableNodeMapping``."""
        name = summary.name if summary else table.id.table_id
        columns = ", ".join(table.header) if self.schema != "original" else "Column (VARCHAR)"
        schema = f"Schema of table {name}:\nTable '{name}' has columns: {columns}, .\n"
        if summary is None:
            return schema
        context = f"Context of table {name}:\n{summary.text}"
        return context if self.schema == "none" else schema + context

    def _build(self, corpus: Corpus, texts: Sequence[str], vectors: Vectors) -> None:
        """Build LlamaIndex's vector store, which breaks ties by larger id: the first table's."""
        from llama_index.core import VectorStoreIndex
        from llama_index.core.embeddings import MockEmbedding
        from llama_index.core.schema import TextNode

        self._ids, self._texts, self._matrix = corpus.ids, list(texts), vectors
        self._index: Any = None
        last = len(texts) - 1
        nodes = [
            TextNode(id_=f"{last - place:09d}", text=text, embedding=vector)
            for place, (text, vector) in enumerate(zip(texts, vectors.tolist(), strict=True))
            if any(vector)
        ]
        if not nodes:
            return
        never_asked = MockEmbedding(embed_dim=vectors.shape[1])  # all vectors are given
        self._index = VectorStoreIndex(nodes, embed_model=never_asked)

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables for one query."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, which are encoded together."""
        from llama_index.core.schema import QueryBundle

        if self._index is None or not queries:
            return [[] for _ in queries]
        embeddings = self._encoding.queries(queries, self._matrix.shape[1])
        vectors = embeddings.astype(float).tolist()
        retriever = self._index.as_retriever(similarity_top_k=min(top_k, len(self._ids)))
        last = len(self._ids) - 1
        rankings: list[Ranking] = []
        for query, vector in zip(queries, vectors, strict=True):
            bundle = QueryBundle(query, embedding=vector)
            nodes = retriever.retrieve(bundle) if any(vector) else []
            rankings.append(
                [(self._ids[last - int(f.node.node_id)], float(f.score)) for f in nodes]
            )
        return rankings

    def notes(self) -> Sequence[str]:
        """Return notes on tables without a summary, and those of generator and encoder."""
        return [*self._notes, *self._encoding.notes()]


def _notes(replies: Sequence["_Summary | str"], unique: Sequence["_Summary | None"]) -> list[str]:
    notes = []
    if failed := Counter(summary for summary in replies if isinstance(summary, str)):
        why = ", ".join(f"{reason} ({n})" for reason, n in failed.most_common())
        notes.append(
            f"{failed.total()} of {len(replies)} tables have no summary and are embedded by their "
            f"schema alone: {why}"
        )
    pairs = zip(replies, unique, strict=True)
    if renamed := sum(new is not None and old != new for old, new in pairs):
        notes.append(f"{renamed} tables got a number after a name that another table has")
    return notes


def _unique_names(summaries: Sequence[_Summary | None]) -> list[_Summary | None]:
    """Add ``_2``, ``_3``, ... to names that earlier tables have, in corpus order."""
    taken: set[str] = set()
    unique: list[_Summary | None] = []
    for summary in summaries:
        if summary is not None:
            summary = replace(summary, name=_free(summary.name, taken))
            taken.add(summary.name)
        unique.append(summary)
    return unique


def _free(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def _request(query_id: str, table: str) -> GenerationRequest:
    prompt = _ASK.format(table=table)
    messages = (Message("system", _SYSTEM), Message("user", prompt))
    return GenerationRequest(query_id, "table_summary", messages, prompt, answer_schema=_SCHEMA)


def _read_summary(answer: Generation) -> _Summary | str:
    """Return the summary in an answer, or why there is none."""
    if answer.error is not None:
        return answer.error.partition(":")[0]
    start, end = answer.text.find("{"), answer.text.rfind("}")
    try:
        fields = json.loads(answer.text[start : end + 1])
        name, text = fields["table_name"], fields["table_summary"]
    except (ValueError, KeyError, TypeError):
        return "no JSON of table_name and table_summary"
    if not (isinstance(name, str) and isinstance(text, str) and name.strip() and text.strip()):
        return "an empty name or summary"
    return _Summary("_".join(name.split()), text.strip())
