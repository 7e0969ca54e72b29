# SPDX-License-Identifier: Apache-2.0
"""Query expansion by hypothetical schemas (HySE).

A language model is asked what tables would answer the query; their schemas are closer to the
tables' own words than the query is. It is HyDE (Gao et al., ACL 2023) with schemas for documents;
CRUSH4SQL (Kothyari et al., EMNLP 2023) does the same for columns of databases.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench import ConfigError, Corpus, GenerationRequest, Message, Ranked, Retriever
from target_bench.plugin_tools import (
    Candidates,
    Fusion,
    InnerRetriever,
    Method,
    Ranking,
    Scale,
    ask_generator,
    check_generator,
    note_cached,
    part,
)

TASK = "table_retrieval"
DEPTH = 200

PROMPT = """\
Imagine a large collection of tables. One of them answers the question or decides the statement \
below. Write {{ n }} different schemas that this table could have: a title as on a web page or in \
a database, and the names of its columns. Reply with JSON alone, in this form:
[{"title": "...", "columns": ["...", "..."]}]

Question or statement: {{ query }}"""
"""What the generator is asked."""


_BULLET = re.compile(r"^\s*(?:[-*•#>]+|\(?\d+[.):])\s*")
_MARKS = re.compile(r"[*_`|]+")
_OPENING = re.compile(r"[\[{]")


class HySE(Retriever):
    """Ranks by the query and by the schemas of tables that a generator imagines for it.

    Needs: extra dense; MiniLM (download); a generator, which may cost money.

    The retriever is asked with the query and with each schema, and the rankings are fused; schemas
    share what ``weight`` leaves. With a dense retriever, ``normalise=none`` ranks by the weighted
    average of the vectors. A query whose expansion fails, or holds no schema, is ranked by itself,
    counted and reported.

    A query is one request to the generator, in batches, and is asked once for as long as the object
    lives; a generator that records its answers is not asked again in later runs either.

    Args:
        generator: as written on the command line, or an object.
        retriever: ranks: as written on the command line, or an object.
        n_schemas: how many schemas to ask for, and to use at most.
        weight: of the query's own ranking, from 0 to 1.
        prompt: what the generator is asked, with ``{{ query }}`` and ``{{ n }}`` where they go.
        method: as for ``hybrid``.
        normalise: as for ``hybrid``.
        depth: how many tables each ranking has. Default: 200, or ``top_k`` where that is more.

    Raises:
        ConfigError: a part cannot be built, or a setting is invalid.
    """

    packages = ("numpy",)

    def __init__(
        self,
        generator: Any,
        retriever: Any = "dense:encoder=minilm",
        n_schemas: int = 3,
        weight: float = 0.5,
        prompt: str = PROMPT,
        method: Method = "weighted",
        normalise: Scale = "max",
        depth: int | None = None,
    ) -> None:
        self.generator = generator
        self.retriever = retriever
        self.n_schemas = n_schemas
        self.weight = weight
        self.prompt = prompt
        self.method: Method = method
        self.normalise: Scale = normalise
        self.depth = depth
        for name in ("n_schemas", "depth"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name}={value}: at least 1 is needed")
        if not 0 <= weight <= 1:
            raise ConfigError(f"weight={weight}: the share of the query's ranking, from 0 to 1")
        if "{{ query }}" not in prompt:
            raise ConfigError("prompt: it has no field {{ query }}")
        self._fusion = Fusion(method, normalise)
        self._inner = InnerRetriever(retriever)
        self._generator = check_generator(part("generator", generator))
        self._schemas: dict[str, list[str]] = {}
        self._failed: dict[str, str] = {}

    def parts(self) -> Mapping[str, object]:
        """Return the generator, and the retriever."""
        return {"generator": self._generator, "retriever": self._inner.retriever}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Have the retriever index the tables."""
        self._ids = corpus.ids
        self._inner.embed_corpus(corpus)

    def limit_memory(self, n_bytes: int) -> None:
        """Pass the limit on to the retriever."""
        self._inner.limit_memory(n_bytes)

    def save(self, folder: Path) -> None:
        """Write the retriever's index into a folder of its own; schemas are of queries."""
        self._inner.save(folder / "retriever")

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the files that ``save`` wrote."""
        self._ids = corpus.ids
        self._inner.load(folder / "retriever", corpus)

    def notes(self) -> Sequence[str]:
        """Return the notes of the retriever, and the number of queries without schemas."""
        notes = self._inner.notes()
        if self._failed:
            query, problem = next(iter(self._failed.items()))
            notes.append(
                f"{len(self._failed):,} of {len(self._failed) + len(self._schemas):,} queries "
                f"got no hypothetical schema and were ranked by themselves; the first, "
                f"{query[:80]!r}: {problem[:200]}"
            )
        return notes

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables for one query, best first."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, expanded and computed together."""
        if not queries or not len(self._ids):
            return [[] for _ in queries]
        if self.weight < 1:
            self._expand(queries)
        depth = self.depth or max(DEPTH, top_k)
        texts = [[query, *self._schemas.get(query, [])] for query in queries]
        rankings = self._rankings(texts, depth)
        fused = self._fusion.fused(rankings, self._weights(texts), depth, len(self._ids), top_k)
        return Ranked(self._ids, *fused)

    def _rankings(self, texts: Sequence[Sequence[str]], depth: int) -> list[Candidates]:
        """Return the rankings of the first text of each query, of the second, and so on.

        A query that has no such text gets its first again, which its weight of 0 leaves out.
        """
        numbers: dict[str, int] = {}
        for group in texts:
            for text in group:
                numbers.setdefault(text, len(numbers))
        candidates = self._inner.candidates(list(numbers), depth)
        rankings = []
        for place in range(max(map(len, texts))):
            chosen = [numbers[g[place] if place < len(g) else g[0]] for g in texts]
            scores = None if candidates.scores is None else candidates.scores[chosen]
            rankings.append(Candidates(candidates.rows[chosen], scores, candidates.label))
        return rankings

    def _weights(self, texts: Sequence[Sequence[str]]) -> list[NDArray[np.float64]]:
        """Return the (n, 1) weights of the first text of each query, of the second, and so on."""
        counts = np.array([len(group) - 1 for group in texts])[:, None]
        own = np.where(counts, self.weight, 1.0)
        share = (1.0 - own) / np.maximum(counts, 1)
        return [own, *(np.where(counts > i, share, 0.0) for i in range(counts.max()))]

    def _expand(self, queries: Sequence[str]) -> None:
        """Have schemas made for the queries that have none yet."""
        unique = dict.fromkeys(queries)
        new = [query for query in unique if query not in self._schemas]
        if len(new) < len(unique):
            note_cached("schemas asked for before")
        requests = [
            GenerationRequest(str(i), TASK, (Message("user", self._asked_with(query)),), query)
            for i, query in enumerate(new)
        ]
        answers = ask_generator(self._generator, requests)
        for i, query in enumerate(new):
            answer = answers[str(i)]
            made = _schemas(answer.text, self.n_schemas) if answer.error is None else []
            self._failed.pop(query, None)
            if made:
                self._schemas[query] = made
            else:
                self._failed[query] = answer.error or f"no schema in {answer.text!r:.150}"

    def _asked_with(self, query: str) -> str:
        return self.prompt.replace("{{ n }}", str(self.n_schemas)).replace("{{ query }}", query)


def _schemas(answer: str, n: int) -> list[str]:
    """Return the first ``n`` different schemas of an answer, a line each: title and columns.

    JSON is looked for first, anywhere in the answer: a list of schemas, an object that holds one,
    or one schema after another; a schema is text, a list, or an object whose values count.
    Without JSON each line that names a table and columns, as in ``Title: a, b``, is a schema.
    """
    schemas = [_text(item) for document in _documents(answer) for item in _items(document)]
    words = [" ".join(text.split()) for text in schemas or map(_line, answer.splitlines())]
    return list(dict.fromkeys(text for text in words if re.search(r"[^\W\d_]", text)))[:n]


def _documents(answer: str) -> Iterator[Any]:
    """Yield the JSON lists and objects in a text, one after the other."""
    decoder = json.JSONDecoder(strict=False)
    start = 0
    while match := _OPENING.search(answer, start):
        try:
            document, start = decoder.raw_decode(answer, match.start())
        except (ValueError, RecursionError):
            start = match.end()
        else:
            yield document


def _items(document: Any) -> list[Any]:
    """Return the schemas of a document."""
    if isinstance(document, list):
        flat = all(isinstance(item, str) for item in document)
        return [document] if flat and not _look_whole(document) else document
    values = list(document.values())
    if len(values) > 1 and all(isinstance(value, list) for value in values):
        return [[name, value] for name, value in document.items()]
    if values and all(_is_schema(value) and isinstance(value, dict) for value in values):
        return values
    lists = [value for value in values if _holds_schemas(value)]
    return lists[0] if len(lists) == 1 else [document]


def _look_whole(texts: list[str]) -> bool:
    """Return whether each text is a schema, and not the name of a column."""
    return any(re.search(r"[:(|,]", text) for text in texts)


def _holds_schemas(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            _is_schema(item) or (isinstance(item, str) and _look_whole([item])) for item in value
        )
    )


def _is_schema(item: Any) -> bool:
    """Return an object with a list in it, or a list."""
    return isinstance(item, list) or (
        isinstance(item, dict) and any(isinstance(value, list) for value in item.values())
    )


def _text(value: Any) -> str:
    """Return all that a value says, in order; names of keys are left out."""
    if isinstance(value, dict):
        return " ".join(map(_text, value.values()))
    if isinstance(value, list):
        return " ".join(map(_text, value))
    return "" if value is None or isinstance(value, bool) else str(value)


def _line(line: str) -> str:
    """Return a line without bullet, number and marks, if it names columns; else nothing."""
    bare = _MARKS.sub(" ", _BULLET.sub("", line))
    title, colon, columns = bare.partition(":")
    if not (columns.strip() if colon else re.search(r"[(,|\t]", _BULLET.sub("", line))):
        return ""
    return re.sub(r"[(),:;\t]", " ", f"{title} {columns}")
