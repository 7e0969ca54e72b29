"""A log of users' questions, by which words that all questions have count little.

Words such as "what", a company's name or a year may be in few tables and in most questions; the
rarity of BM25 then takes them for what a question is about. The log corrects the number n of N
tables that a term is taken to be in: ``max(n, 2 N (k - 1) / M)`` for a term in k of M questions.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.core.files import parse_json, sha256_of
from target_bench.core.text_tables import counted

_ENOUGH = 25
"""Questions from which on a log shows which words most of them have (docs/retrievers.md)."""

_WEIGHT = 2.0


class QuestionLog:
    """The questions of a file.

    Args:
        path: a question a line, or JSON lines with the field ``query``.
            Nothing says which table answers them.

    Raises:
        ConfigError: the file cannot be read or has no question; the message names the line.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            lines = self.path.read_text(encoding="utf-8-sig").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"log={str(path)!r}: cannot be read ({error}); name a text file with a question a "
                "line"
            ) from error
        as_json = self.path.suffix in (".jsonl", ".ndjson")
        self.questions = [
            self._question(line, number) if as_json else line
            for number, line in enumerate(lines, start=1)
            if line.strip()
        ]
        if not self.questions:
            raise ConfigError(f"log={str(path)!r}: has no question")

    def _question(self, line: str, number: int) -> str:
        try:
            question = parse_json(line)["query"]
            if not isinstance(question, str):
                raise TypeError(question)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"log={self.path}, line {number}: expected an object with the text 'query', and it "
                f"is {line[:80]!r}"
            ) from error
        return question

    @property
    def revision(self) -> str:
        """The content, for identities of runs."""
        return f"sha256:{sha256_of(self.path)}"

    def least_counts(
        self,
        vocabulary: Mapping[str, int],
        n_tables: int,
        terms_of: Callable[[str], Iterable[str]],
    ) -> NDArray[np.int64]:
        """Return (terms,) in how many tables a term is taken to be at least; warn of a short log.

        Args:
            vocabulary: term -> its number.
            n_tables: in the corpus.
            terms_of: question -> its terms.
        """
        if len(self.questions) < _ENOUGH:
            warnings.warn(
                f"log={self.path}: {counted(len(self.questions), 'question')} may not show which "
                f"words most questions have; {_ENOUGH} are enough",
                stacklevel=1,
            )
        questions_with = Counter(
            term for question in self.questions for term in {*terms_of(question)}
        )
        least = np.zeros(len(vocabulary), dtype=np.int64)
        for term, k in questions_with.items():
            if k > 1 and term in vocabulary:
                share = _WEIGHT * (k - 1) / len(self.questions)
                least[vocabulary[term]] = round(n_tables * min(share, 1.0))
        return least
