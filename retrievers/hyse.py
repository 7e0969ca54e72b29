# SPDX-License-Identifier: Apache-2.0
"""Query expansion by hypothetical schemas (HySE).

A language model is asked what tables would answer the query; their schemas are closer to the
tables' own words than the query is. It is HyDE (Gao et al., ACL 2023) with schemas for documents;
CRUSH4SQL (Kothyari et al., EMNLP 2023) does the same for columns of databases.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench import ConfigError, GenerationRequest, Message, Ranked
from target_bench.plugin_tools import (
    Candidates,
    Fusion,
    InnerRetriever,
    Method,
    Ranking,
    Scale,
    Wrapper,
    ask_generator,
    check_generator,
    make_part,
    note_cached,
)

_DEPTH = 200
_BULLET = re.compile(r"^\s*(?:[-*•#>]+|\(?\d+[.):])\s*")
_Places = NDArray[np.int64]
_Floats = NDArray[np.float64]

PROMPT = """\
Imagine a large collection of tables. One of them answers the question or decides the statement \
below. Write {{ n }} different schemas that this table could have: a title as on a web page or in \
a database, and the names of its columns. Reply with JSON alone, in this form:
[{"title": "...", "columns": ["...", "..."]}]

Question or statement: {{ query }}"""
"""What the generator is asked."""


_MARKS = re.compile(r"[*_`|]+")
_OPENING = re.compile(r"[\[{]")


class HySE(Wrapper):
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
        if depth is not None and depth < 1:
            raise ConfigError(f"depth={depth}: at least 1 is needed")
        if not 0 <= weight <= 1:
            raise ConfigError(f"weight={weight}: the share of the query's ranking, from 0 to 1")
        if "{{ query }}" not in prompt:
            raise ConfigError("prompt: it has no field {{ query }}")
        if n_schemas < 1:
            raise ConfigError(f"{n_schemas} hypothetical schemas: at least 1 is needed")
        self.generator = generator
        self.retriever = retriever
        self.n_schemas = n_schemas
        self.weight = weight
        self.prompt = prompt
        self.method: Method = method
        self.normalise: Scale = normalise
        self.depth = depth
        self._fusion = Fusion(method, normalise)
        self._inner = InnerRetriever(retriever)
        self._generator = check_generator(make_part("generator", generator))
        self._texts: dict[str, list[str]] = {}
        self._failed: dict[str, str] = {}

    def parts(self) -> Mapping[str, object]:
        """Return the generator, and the retriever."""
        return {"generator": self._generator, **super().parts()}

    def notes(self) -> Sequence[str]:
        """Return the notes of the retriever, and the number of queries without schemas."""
        notes = list(super().notes())
        if self._failed:
            query, problem = next(iter(self._failed.items()))
            notes.append(
                f"{len(self._failed):,} of {len(self._failed) + len(self._texts):,} queries "
                f"got no hypothetical schema and were ranked by themselves; the first, "
                f"{query[:80]!r}: {problem[:200]}"
            )
        return notes

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, expanded and computed together."""
        if not queries or not len(self._inner.ids):
            return [[] for _ in queries]
        if self.weight < 1:
            self._expand(queries)
        depth = self.depth or max(_DEPTH, top_k)
        texts = [[query, *self._texts.get(query, [])] for query in queries]
        fused = _fuse(self._inner, texts, self.weight, self._fusion, depth, top_k)
        return Ranked(self._inner.ids, *fused)

    def _expand(self, queries: Sequence[str]) -> None:
        """Have schemas written for the queries that have none yet."""
        unique = dict.fromkeys(queries)
        new = [query for query in unique if query not in self._texts]
        if len(new) < len(unique):
            note_cached("hypothetical schemas asked for before")
        prompt = self.prompt.replace("{{ n }}", str(self.n_schemas))
        prompts = {query: prompt.replace("{{ query }}", query) for query in new}
        requests = [
            GenerationRequest(query, "table_retrieval", (Message("user", text),), query)
            for query, text in prompts.items()
        ]
        answers = ask_generator(self._generator, requests)
        for query in new:
            answer = answers[query]
            texts = () if answer.error else dict.fromkeys(self.texts_in(answer.text))
            self._failed.pop(query, None)
            if texts:
                self._texts[query] = list(texts)[: self.n_schemas]
            else:
                self._failed[query] = (
                    answer.error or f"no hypothetical schema in {answer.text!r:.150}"
                )

    def texts_in(self, answer: str) -> list[str]:
        """Return the schemas in an answer, a line each: title and columns.

        JSON is looked for first, anywhere in the answer: a list of schemas, an object that holds
        one, or one schema after another; a schema is text, a list, or an object whose values count.
        Without JSON each line that names a table and columns, as in ``Title: a, b``, is a schema.
        """
        schemas = [_text(item) for document in _documents(answer) for item in _items(document)]
        words = [" ".join(text.split()) for text in schemas or map(_line, answer.splitlines())]
        return [text for text in words if re.search(r"[^\W\d_]", text)]


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
    bare = _without_bullet(line)
    title, colon, columns = _MARKS.sub(" ", bare).partition(":")
    if not (columns.strip() if colon else re.search(r"[(,|\t]", bare)):
        return ""
    return re.sub(r"[(),:;\t]", " ", f"{title} {columns}")


def _without_bullet(line: str) -> str:
    """Return a line of an answer without the bullet or number that it begins with."""
    return _BULLET.sub("", line).strip()


def _fuse(
    retriever: InnerRetriever,
    texts: Sequence[Sequence[str]],
    weight: float,
    fusion: Fusion,
    depth: int,
    k: int,
) -> tuple[_Places, _Floats]:
    """Return the best tables of each query by its own ranking and those of further texts.

    Args:
        retriever: ranks; its corpus is indexed.
        texts: of each query: itself, then the further ones.
        weight: of the query's own ranking, from 0 to 1; the further ones share the rest. A query
            without any has 1.
        fusion: of the rankings.
        depth: how many tables each ranking has.
        k: the most tables to return.

    Returns:
        As ``Fusion.fused``.
    """
    numbers = {text: number for number, text in enumerate(dict.fromkeys(chain(*texts)))}
    candidates = retriever.candidates(list(numbers), depth)
    counts = np.array([len(group) - 1 for group in texts])[:, None]
    own = np.where(counts, weight, 1.0)
    share = (1.0 - own) / np.maximum(counts, 1)
    weights = [own, *(np.where(counts > place, share, 0.0) for place in range(counts.max()))]
    rankings = []
    for place in range(len(weights)):  # who has no such text gets its first again, with weight 0
        chosen = [numbers[group[place if place < len(group) else 0]] for group in texts]
        scores = None if candidates.scores is None else candidates.scores[chosen]
        rankings.append(Candidates(candidates.rows[chosen], scores, candidates.label))
    return fusion.fuse(rankings, weights, depth, len(retriever.ids), k)
