# SPDX-License-Identifier: Apache-2.0
"""Listwise reranking by a language model, RankGPT (Sun et al., EMNLP 2023)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from target_bench import (
    ConfigError,
    Corpus,
    GenerationRequest,
    Message,
    Serializer,
    TableId,
)
from target_bench.plugin_tools import (
    InnerRetriever,
    Ranking,
    RowLimit,
    Wrapper,
    ask_generator,
    check_generator,
    make_part,
)

PROMPT = """\
I will provide you with {{ n }} tables, each indicated by a number in brackets. Rank the tables by \
how well they answer the question or decide the statement: {{ query }}

{{ tables }}

Question or statement: {{ query }}
Rank the {{ n }} tables above, the most relevant first, as in [2] > [1]. Reply with the ranking \
and nothing else."""
"""What the generator is asked about a window, after RankGPT's prompt for passages."""


class Listwise(Wrapper):
    """Has a generator order the best tables of another retriever, in a window that slides upwards.

    Needs: a generator, which may cost money.

    The last ``window`` of the first ``depth`` tables are put in order by one request, then the
    window moves up by ``step``, until it has been at the top. Tables that an answer leaves out keep
    their order behind those that it names; an answer that names none changes nothing, and is
    counted and reported. Tables have no scores.

    A request's id is the query and, from the second window on, its number after a colon.

    Args:
        generator: as written on the command line, or an object.
        retriever: finds the candidates: as written on the command line, or an object.
        depth: how many candidates are put in order; those behind them keep theirs.
        window: how many tables a request shows.
        step: how far the window moves.
        rows: how many rows of each table are shown.
        characters: of each table at most.
        prompt: what is asked, with ``{{ query }}``, ``{{ tables }}`` and ``{{ n }}``.

    Raises:
        ConfigError: a part cannot be built, or a setting is invalid.
    """

    def __init__(
        self,
        generator: Any,
        retriever: Any = "bm25",
        depth: int = 20,
        window: int = 20,
        step: int = 10,
        rows: RowLimit = 3,
        characters: int = 1000,
        prompt: str = PROMPT,
    ) -> None:
        self.generator, self.retriever, self.prompt = generator, retriever, prompt
        self.depth, self.window, self.step = depth, window, step
        self.rows, self.characters = rows, characters
        for name, least in (("depth", 1), ("window", 2), ("step", 1), ("characters", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name}={getattr(self, name)}: at least {least} is needed")
        if step > window:
            raise ConfigError(f"step={step}: more than window={window} leaves tables unread")
        for field in ("{{ query }}", "{{ tables }}"):
            if field not in prompt:
                raise ConfigError(f"prompt: it has no field {field}")
        self._write = Serializer(rows=rows)
        self._inner = InnerRetriever(retriever)
        self._generator = check_generator(make_part("generator", generator))
        self._counts, self._problem = [0, 0], ""

    def parts(self) -> Mapping[str, object]:
        """Return the generator, and the retriever."""
        return {"generator": self._generator, **super().parts()}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Have the retriever index the tables."""
        self._tables = corpus
        super().embed_corpus(corpus)

    def notes(self) -> Sequence[str]:
        """Return the notes of the retriever, and how many answers were no ranking."""
        n, without = self._counts
        own = f"{without:,} of {n:,} answers have no ranking, the first: {self._problem:.200}"
        return [*super().notes(), *([own] if without else [])]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries; windows of one place are asked together."""
        if not queries or not len(self._inner.ids):
            return [[] for _ in queries]
        candidates = self._inner.candidates(list(queries), max(self.depth, top_k)).rows
        ranked = {
            query: [self._inner.ids[place] for place in row if place >= 0]
            for query, row in zip(queries, candidates.tolist(), strict=True)
        }
        end, number = self.depth, 1
        while True:
            start = max(0, end - self.window)
            self._reorder(ranked, start, end, "" if number == 1 else f":{number}")
            if start == 0:
                return [ranked[query][:top_k] for query in queries]
            end, number = end - self.step, number + 1

    def _reorder(self, ranked: dict[str, list[TableId]], start: int, end: int, mark: str) -> None:
        """Put the tables of each query from place ``start`` to ``end`` in order."""
        windows = {q: tables[start:end] for q, tables in ranked.items() if len(tables) > start + 1}
        requests = [self._request(query, mark, window) for query, window in windows.items()]
        answers = ask_generator(self._generator, requests, record="rankings")
        for query, window in windows.items():
            answer = answers[query + mark]
            text = answer.text
            numbers = re.findall(r"\[0*(\d+)\]", text) or re.findall(r"\d+", text)
            places = {str(n + 1): n for n in range(len(window))}
            order = [places[number] for number in dict.fromkeys(numbers) if number in places]
            self._counts[0] += 1
            if not order:
                self._counts[1] += 1
                self._problem = self._problem or answer.error or repr(answer.text)
            order += [n for n in range(len(window)) if n not in order]
            ranked[query][start:end] = [window[n] for n in order]

    def _request(self, query: str, mark: str, window: Sequence[TableId]) -> GenerationRequest:
        tables = "\n\n".join(
            f"[{number}] {self._write(self._tables[table])[: self.characters]}"
            for number, table in enumerate(window, 1)
        )
        prompt = self.prompt.replace("{{ n }}", str(len(window)))
        head, *between = prompt.split("{{ tables }}")  # a query may have any text
        parts = [piece.replace("{{ query }}", query) for piece in (head, *between)]
        message = Message("user", tables.join(parts))
        return GenerationRequest(query + mark, "table_retrieval", (message,), query)
