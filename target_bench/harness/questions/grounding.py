"""Questions compared with all tables of a corpus: how rare their words are, and who answers."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from target_bench.core.schema import Corpus, TableId
from target_bench.data.table_text import stop_words
from target_bench.harness.questions.solving import Ask, Found, TableView, solve, terms, words

Difficulty = Literal["easy", "medium", "hard"]
"""At least four rare words, two or three, or fewer."""

RARE = 0.01
"""The share of tables that hold a rare word at most; one table in any case."""

_LEAST: dict[Difficulty, int] = {"easy": 4, "medium": 2, "hard": 0}


class Rarity:
    """How many tables of a corpus hold each word.

    Args:
        corpus: the tables.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.tables: Counter[str] = Counter()
        for table in corpus:
            self.tables.update(TableView(table).every_word)
        self._most = max(1, int(RARE * len(corpus)))

    def rare_words(self, text: str, view: TableView) -> list[str]:
        """Return the words of a question that its table holds and few others, each once."""
        known = dict.fromkeys(words(text)).keys() & view.every_word
        return sorted(word for word in known - stop_words("en") if self.tables[word] <= self._most)

    def rarest(self, text: str) -> str:
        """Return the word of a text that the fewest tables hold."""
        return min(words(text), key=lambda word: (self.tables[word], word))


def difficulty_of(rare_words: int) -> Difficulty:
    """Return the difficulty of a question with this many rare words."""
    return next(name for name, least in _LEAST.items() if rare_words >= least)


@dataclass(slots=True)
class Answers:
    """The tables that answer a question.

    Attributes:
        same: those that give its answer, and the cells that it comes from.
        others: those that give another answer.
    """

    same: dict[TableId, Found] = field(default_factory=dict)
    others: list[TableId] = field(default_factory=list)


def answers(
    asks: Sequence[tuple[Ask, Sequence[str]]], corpus: Corpus, rarity: Rarity
) -> list[Answers]:
    """Find the tables that answer questions, in one pass over the corpus.

    Args:
        asks: what each question asks, and its answer.
        corpus: the tables.
        rarity: of this corpus. A table is tried if it holds the rarest word of what is asked.
    """
    found = [Answers() for _ in asks]
    by_word: dict[str, list[int]] = defaultdict(list)
    for i, (ask, _) in enumerate(asks):
        by_word[rarity.rarest(ask.names)].append(i)
    for table in corpus:
        view = TableView(table)
        for i in (i for word in by_word.keys() & view.every_word for i in by_word[word]):
            ask, answer = asks[i]
            given = solve(ask, view)
            if given is None:
                continue
            if _same(given.answer, answer):
                found[i].same[table.id] = given
            else:
                found[i].others.append(table.id)
    return found


def _same(one: Iterable[str], other: Iterable[str]) -> bool:
    return set(map(terms, one)) == set(map(terms, other))


ALIKE = 0.8
"""The Jaccard index of the words of two questions about one table from which on they are one."""


def is_repeated(text: str, earlier: Iterable[str]) -> bool:
    """Return whether a question says nearly what an earlier one about the same table says."""
    said = frozenset(words(text))
    others = (frozenset(words(other)) for other in earlier)
    return any(len(said & other) >= ALIKE * len(said | other) for other in others)
