"""Questions and gold tables to train on, with hard negatives and without what will be scored."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from examples.training import overlap
from target_bench import ConfigError, Dataset, Serializer, TableId, load
from target_bench.core import registry

DEPTH = 50
"""Tables of each ranking among which hard negatives are looked for."""


@dataclass(frozen=True)
class Pairs:
    """What is trained on.

    Attributes:
        rows: ``anchor`` (a question), ``positive`` (a gold table as text), ``negative_1``, ...
        left_out: how many questions overlap with what is kept out.
    """

    rows: list[dict[str, str]]
    left_out: int


def training_pairs(
    corpora: Sequence[str],
    split: str,
    kept_out: Sequence[str],
    write: Serializer,
    *,
    negatives: str = "bm25",
    n_negatives: int = 1,
    shared_tables: bool = False,
    limit: int | None = None,
    seed: int = 0,
) -> Pairs:
    """Pair every question with each of its gold tables, and with tables that look like them.

    Hard negatives are the tables that a retriever ranks first and that are no gold table of the
    question, no copy of one, and no gold table of what is kept out. Where it ranks too few, they
    are drawn from all tables.

    Args:
        corpora: names or paths.
        split: of each of them.
        kept_out: splits that will be scored, as ``fetaqa:test``.
        write: how a table is written as text: as the retriever will write it.
        negatives: the retriever, with settings.
        n_negatives: how many of them a pair gets.
        shared_tables: train on questions about tables of the splits that are kept out, too.
        limit: only the first questions of each corpus.
        seed: of the draw.

    Raises:
        ConfigError: no question is left, or a split is both trained on and kept out.
    """
    scored = [load(*named.rpartition(":")[::2]) for named in kept_out]
    rows: list[dict[str, str]] = []
    left_out = 0
    for name in corpora:
        whole = load(name, split)
        if any((kept.info.name, kept.split) == (whole.info.name, whole.split) for kept in scored):
            raise ConfigError(f"{name} {split} is kept out, because it will be scored")
        dataset = overlap.apart(whole, scored, shared_tables)
        left_out += len(whole.queries) - len(dataset.queries)
        dataset = replace(dataset, queries=dataset.queries[:limit])
        avoided = frozenset[str]().union(*(overlap.met(kept).tables for kept in scored))
        avoided = frozenset() if shared_tables else avoided
        rows += list(_rows(dataset, avoided, write, negatives, n_negatives, seed))
    if not rows:
        raise ConfigError(
            f"no question is left: {left_out:,} overlap with {', '.join(kept_out)}. Where all "
            "splits ask about the same tables, --shared-tables keeps only their questions apart"
        )
    return Pairs(rows, left_out)


def _rows(
    dataset: Dataset,
    avoided: frozenset[str],
    write: Serializer,
    negatives: str,
    n: int,
    seed: int,
) -> Iterator[dict[str, str]]:
    contents, corpus = overlap.contents_of(dataset), dataset.corpus
    rankings: Sequence[Any] = [()] * len(dataset.queries)
    if n:
        retriever = registry.create("retriever", negatives)
        retriever.embed_corpus(corpus)
        rankings = retriever.retrieve_batch([query.text for query in dataset.queries], DEPTH)
    everything = list(corpus.ids)
    for query, ranking in zip(dataset.queries, rankings, strict=True):
        seen = {contents[table] for table in query.gold} | avoided
        drawn = random.Random(f"{seed} {query.id}").sample(everything, min(DEPTH, len(everything)))
        chosen: list[TableId] = []
        for table in [*(table for table, _ in ranking), *drawn]:
            if len(chosen) < n and contents[table] not in seen:
                seen.add(contents[table])
                chosen.append(table)
        if len(chosen) == n:
            texts = {f"negative_{i}": write(corpus[t]) for i, t in enumerate(chosen, start=1)}
            for gold in query.gold:
                yield {"anchor": query.text, "positive": write(corpus[gold]), **texts}
