"""Questions -> training pairs: each with a gold table, and tables that look like it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from target_bench.core import contract, registry
from target_bench.core.contract import is_paid
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.schema import Dataset, Query, TableId
from target_bench.data.table_text import Serializer
from target_bench.models.training.held_out import KeptOut, contents_of
from target_bench.models.training.training_record import Used, words_hash
from target_bench.search.nested import check_scope

_MOST_AVOIDED = 50
"""How many tables of kept-out splits, at most, a ranking is made deeper for."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A table as the encoder reads it.

    Attributes:
        text: the written table.
        content: the digest of header and rows.
    """

    text: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Pair:
    """A question, one of its gold tables, and tables that look like it.

    Attributes:
        question: its text.
        table: the gold table.
        negatives: tables that are none of its gold tables and no copies of them.
        gold: the digests of the contents of all its gold tables.
        used: ids and hashes, for the record.
    """

    question: str
    table: Candidate
    negatives: tuple[Candidate, ...]
    gold: frozenset[bytes]
    used: Used


def mined(
    dataset: Dataset,
    kept_out: KeptOut,
    write: Serializer,
    retriever: str,
    n_negatives: int,
    shared_tables: bool,
) -> list[Pair]:
    """Return the pairs of a split, each with the best-ranked tables that may serve as negatives.

    A gold table of a kept-out split is not a negative either, unless tables are shared.

    Args:
        dataset: questions and tables.
        kept_out: whose gold tables are not negatives.
        write: how tables are written.
        retriever: what ranks them: a name with settings.
        n_negatives: how many at most.
        shared_tables: whether tables of kept-out splits may be negatives.

    Raises:
        ConfigError: there is no such retriever, or it may cost money.
        PluginError: it failed.
    """
    contents = contents_of(dataset)
    avoided = frozenset() if shared_tables else kept_out.contents
    rankings = _rankings(dataset, contents, avoided, retriever, n_negatives)
    written: dict[TableId, Candidate] = {}

    def candidate(table: TableId) -> Candidate:
        if table not in written:
            written[table] = Candidate(write(dataset.corpus[table]), contents[table])
        return written[table]

    pairs = []
    for query, ranking in zip(dataset.queries, rankings, strict=True):
        gold = frozenset(contents[table] for table in query.gold)
        seen = {*gold, *avoided}
        negatives: list[Candidate] = []
        for table in ranking:
            if contents[table] not in seen and len(negatives) < n_negatives:
                seen.add(contents[table])
                negatives.append(candidate(table))
        pairs += [
            Pair(
                query.text,
                candidate(table),
                tuple(negatives),
                gold,
                used(dataset, query, table, contents, negatives),
            )
            for table in query.gold
        ]
    return pairs


def _rankings(
    dataset: Dataset,
    contents: dict[TableId, bytes],
    avoided: frozenset[bytes],
    name: str,
    n_negatives: int,
) -> list[tuple[TableId, ...]]:
    """Rank tables by question, deep enough to skip gold tables, copies and most avoided ones."""
    if not n_negatives:
        return [() for _ in dataset.queries]
    copies = Counter(contents.values())
    n_gold = max(sum(copies[contents[t]] for t in q.gold) for q in dataset.queries)
    n_avoided = min(sum(copies[content] for content in avoided), _MOST_AVOIDED)
    depth = min(n_negatives * max(copies.values()) + n_gold + n_avoided, len(dataset.corpus))
    retriever = contract.check_methods(registry.create("retriever", name))
    check_scope(retriever, f"negatives={name}", "training")
    if is_paid(retriever):
        raise ConfigError(f"negatives={name}: it may cost money; name another retriever")
    retriever.embed_corpus(dataset.corpus)
    found: list[tuple[TableId, ...]] = []
    size = contract.batch_size(retriever)
    for start in range(0, len(dataset.queries), size):
        batch = dataset.queries[start : start + size]
        for ranking in contract.retrieve(retriever, batch, depth, dataset.corpus, stop=True):
            if ranking.error is not None:
                raise PluginError(
                    f"negatives={name} failed on query {ranking.query_id!r} of "
                    f"{dataset.info.name} {dataset.split}: {ranking.error}"
                )
            found.append(ranking.tables)
    return found


def used(
    dataset: Dataset,
    query: Query,
    table: TableId,
    contents: dict[TableId, bytes],
    negatives: Sequence[Candidate] = (),
    use: Literal["train", "validation"] = "train",
) -> Used:
    """Return the entry of a pair in the record."""
    return Used(
        use,
        dataset.info.name,
        dataset.split,
        query.id,
        (table.database_id, table.table_id),
        words_hash(query.text),
        contents[table].hex(),
        tuple(negative.content.hex() for negative in negatives),
    )
