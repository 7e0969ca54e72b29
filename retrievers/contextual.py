# SPDX-License-Identifier: Apache-2.0
"""Contextual retrieval (Anthropic 2024): a generator's sentence about each table is indexed too."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench import ConfigError, Corpus, GenerationRequest, Message, Ranked, Serializer, Table
from target_bench.plugin_tools import (
    InnerRetriever,
    MemoryCorpus,
    Ranking,
    RowLimit,
    Wrapper,
    ask_generator,
    check_generator,
    part,
)

PROMPT = """\
{{ table }}

Write one short sentence that situates this table, or this part of a table, for search: what it is \
about, and which people, places, times and quantities it has. Reply with the sentence and nothing \
else."""
"""What the generator is asked about a table."""


class Contextual(Wrapper):
    """Another retriever over tables whose titles begin with a sentence that a generator wrote.

    Needs: a generator, which may cost money.

    One request a table, whose id is the table's, ``database/table``; equal tables are asked about
    once. A table whose request fails, or whose answer is empty, stays as it is; how many do is
    said. Sentences are recorded, and no request is sent again for the same table and generator.
    For chunks of rows: ``chunks:rows=20,retriever='contextual:generator=...'``.

    Args:
        generator: as written on the command line, or an object.
        retriever: indexes the tables and ranks: as written on the command line, or an object.
        rows: how many rows of each table the generator reads.
        prompt: what it is asked, with ``{{ table }}`` where the table goes.

    Raises:
        ConfigError: a part cannot be built, or the prompt has no place for the table.
    """

    def __init__(
        self, generator: Any, retriever: Any = "bm25", rows: RowLimit = 10, prompt: str = PROMPT
    ) -> None:
        self.generator, self.retriever, self.rows, self.prompt = generator, retriever, rows, prompt
        if "{{ table }}" not in prompt:
            raise ConfigError("prompt: it has no field {{ table }}")
        self._write = Serializer(rows=rows)
        self._inner = InnerRetriever(retriever)
        self._generator = check_generator(part("generator", generator))
        self._sentences: list[str] = []
        self._problem = ""

    def parts(self) -> Mapping[str, object]:
        """Return the generator, and the retriever."""
        return {"generator": self._generator, **super().parts()}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Have a sentence written for each table, and the retriever index both."""
        prompts = [self.prompt.replace("{{ table }}", self._write(table)) for table in corpus]
        requests: dict[str, GenerationRequest] = {}
        for table_id, prompt in zip(corpus.ids, prompts, strict=True):
            message = Message("user", prompt)
            request = GenerationRequest("/".join(table_id), "table_context", (message,), prompt)
            requests.setdefault(prompt, request)
        answers = ask_generator(self._generator, list(requests.values()), record="contexts")
        written = [answers[requests[prompt].query_id] for prompt in prompts]
        self._sentences = ["" if a.error else " ".join(a.text.split()) for a in written]
        self._problem = next(
            (a.error or "an empty answer" for a in written if not a.text.strip()), ""
        )
        super().embed_corpus(self._prefixed(corpus))

    def _prefixed(self, corpus: Corpus) -> Corpus:
        return MemoryCorpus(
            replace(table, context={**table.context, "title": _prefixed_title(table, sentence)})
            if sentence
            else table
            for table, sentence in zip(corpus, self._sentences, strict=True)
        )

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the retriever's rankings."""
        if not len(self._inner.ids):
            return [[] for _ in queries]
        candidates, ids = self._inner.candidates(list(queries), top_k), self._inner.ids
        if candidates.scores is not None:
            return Ranked(ids, candidates.rows, candidates.scores)
        return [[ids[place] for place in row if place >= 0] for row in candidates.rows.tolist()]

    def notes(self) -> Sequence[str]:
        """Return the notes of the retriever, and how many tables have no sentence."""
        without = self._sentences.count("")
        own = f"{without:,} of {len(self._sentences):,} tables have no sentence of context, the "
        own += f"first: {self._problem:.200}"
        return [*super().notes(), *([own] if without else [])]

    def save(self, folder: Path) -> None:
        """Write the sentences, and the retriever's index into a folder of its own."""
        kept = {"sentences": self._sentences, "problem": self._problem}
        (folder / "contexts.json").write_text(json.dumps(kept), encoding="ascii")
        super().save(folder)

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the files that ``save`` wrote; no request is sent."""
        kept = json.loads((folder / "contexts.json").read_bytes())
        self._sentences, self._problem = kept["sentences"], kept["problem"]
        super().load(folder, self._prefixed(corpus))


def _prefixed_title(table: Table, sentence: str) -> str:
    title = str(table.context.get("title") or "")
    return f"{sentence} {title}".strip()
