# SPDX-License-Identifier: Apache-2.0
"""Query decomposition: a language model divides a question, and each part searches for itself.

Perez et al. (EMNLP 2020) decompose questions of several hops to answer them, Ammann, Golde and
Akbik (ACL SRW 2025) to retrieve; their reranker is ``rerank`` or ``listwise`` around this one.
"""

import re
from typing import Any

from target_bench.plugin_tools import Method, QueryExpansion, Scale

PROMPT = """\
The question or statement below may need several tables. Write the simple questions that have to \
be answered for it, at most {{ n }}, each of which can be understood without the others. Reply \
with one question per line and nothing else; if it is simple, repeat it.

Question or statement: {{ query }}"""
"""What the generator is asked."""


class Decompose(QueryExpansion):
    """Ranks by the query and by the simpler questions that a generator divides it into.

    Needs: a generator, which may cost money.

    The retriever is asked with the query and with each part, and the rankings are fused; parts
    share what ``weight`` leaves. A query whose request fails is ranked by itself, counted and
    reported. A query is one request, whose id is the query, and is asked once for as long as the
    object lives.

    Args:
        generator: as written on the command line, or an object.
        retriever: ranks: as written on the command line, or an object.
        n_parts: how many parts to ask for, and to use at most.
        weight: of the query's own ranking, from 0 to 1.
        prompt: what the generator is asked, with ``{{ query }}`` and ``{{ n }}`` where they go.
        method: as for ``hybrid``.
        normalise: as for ``hybrid``.
        depth: how many tables each ranking has. Default: 200, or ``top_k`` where that is more.

    Raises:
        ConfigError: a part cannot be built, or a setting is invalid.
    """

    writes = "part"

    def __init__(
        self,
        generator: Any,
        retriever: Any = "bm25",
        n_parts: int = 4,
        weight: float = 0.5,
        prompt: str = PROMPT,
        method: Method = "weighted",
        normalise: Scale = "max",
        depth: int | None = None,
    ) -> None:
        super().__init__(generator, retriever, prompt, n_parts, weight, method, normalise, depth)
        self.n_parts = n_parts

    def texts_in(self, answer: str) -> list[str]:
        """Return the lines of an answer with a word, without introductions."""
        lines = map(self.without_bullet, answer.splitlines())
        return [line for line in lines if re.search(r"\w", line) and not line.endswith(":")]
