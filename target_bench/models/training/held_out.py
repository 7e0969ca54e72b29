"""What must stay out of training: the questions and gold tables of splits that will be scored."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from target_bench.core.schema import Dataset, Query, TableId
from target_bench.data.tables import digests_of
from target_bench.models.training.training_record import Used, words_hash

SAME_QUESTION = "ask the same"
SAME_TABLE = "are about a gold table"
COPIED_TABLE = "are about a copy of a gold table"


@dataclass(frozen=True, slots=True)
class KeptOut:
    """The splits that will be scored.

    Attributes:
        names: ``corpus split`` of each.
        questions: hashes of the words of their questions.
        ids: corpus names and ids of their gold tables.
        contents: the digests of the contents of their gold tables.
    """

    names: tuple[str, ...]
    questions: frozenset[str]
    ids: frozenset[tuple[str, TableId]]
    contents: frozenset[bytes]

    @classmethod
    def of(cls, datasets: Sequence[Dataset]) -> "KeptOut":
        """Return the questions of these splits, and the tables they are about."""
        questions: set[str] = set()
        ids: set[tuple[str, TableId]] = set()
        contents: set[bytes] = set()
        for dataset in datasets:
            digests = contents_of(dataset)
            for query in dataset.queries:
                questions.add(words_hash(query.text))
                ids.update((dataset.info.name, table) for table in query.gold)
                contents.update(digests[table] for table in query.gold)
        names = tuple(f"{dataset.info.name} {dataset.split}" for dataset in datasets)
        return cls(names, frozenset(questions), frozenset(ids), frozenset(contents))

    def overlap(
        self, corpus: str, query: Query, contents: Iterable[bytes], shared_tables: bool = False
    ) -> str | None:
        """Name what a question shares with another training; None for nothing.

        The ids of questions do not count: many corpora number them again in each split.

        Args:
            corpus: the name of its corpus; ids of tables are compared within one.
            query: the question.
            contents: the digests of its gold tables.
            shared_tables: whether tables may be the same.
        """
        if words_hash(query.text) in self.questions:
            return SAME_QUESTION
        if shared_tables:
            return None
        if any((corpus, table) in self.ids for table in query.gold):
            return SAME_TABLE
        return None if self.contents.isdisjoint(contents) else COPIED_TABLE

    def overlapping(self, pairs: Iterable[Used]) -> tuple[int, int]:
        """Return how many of these questions, and of these tables, another training has used."""
        questions: set[str] = set()
        contents: set[bytes] = set()
        for pair in pairs:
            questions.add(pair.query)
            contents.add(bytes.fromhex(pair.content))
        return len(questions & self.questions), len(contents & self.contents)


def contents_of(dataset: Dataset) -> dict[TableId, bytes]:
    """Return the mapping table id -> the digest of its header and rows, equal for copies."""
    digests = digests_of(dataset.corpus)
    return {t: digest.content for t, digest in zip(dataset.corpus.ids, digests, strict=True)}
