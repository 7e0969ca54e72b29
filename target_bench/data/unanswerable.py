"""Questions that lose their answer: their gold tables are left out of the corpus.

``ottqa:unanswerable=0.2`` leaves out the gold tables of at least a fifth of the questions, and the
tables that nearly are copies of these. A question that shares a gold table with one of them is left
without an answer too, with its other gold tables, so no question loses a part of its gold. Which
questions are drawn is decided by a hash of seed and id.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Corpus, Dataset, Query, TableId
from target_bench.core.settings import parse_settings, written_settings
from target_bench.data.distractors import divided
from target_bench.data.near_copies import GoldTables
from target_bench.data.tables import CorpusView

_SHARE, _SEED = SETTINGS = ("unanswerable", "unanswerable_seed")
"""What any corpus takes."""

_OF_GOLD = ("grades", "gold_columns", "not_relevant", "passages")


@dataclass(frozen=True)
class Draw:
    """Which share of the questions, between 0 and 1, is left without an answer."""

    share: float
    seed: int = 0  # decides which


def of_spec(spec: str) -> tuple[str, Draw | None]:
    """Return a corpus as it is written without the settings of a draw, and the draw, if any.

    Raises:
        ConfigError: a setting is invalid.
    """
    name, rest = divided(spec)
    if _SHARE not in rest:
        return spec, None
    settings = parse_settings(rest, spec)
    if _SHARE not in settings:
        raise ConfigError(f"{spec!r}: {_SEED} needs {_SHARE}, as {_SHARE}=0.2,{_SEED}=1")
    share, seed = settings[_SHARE], settings.get(_SEED, 0)
    if type(share) is not float or not 0 < share < 1:
        raise ConfigError(
            f"{spec!r}: {_SHARE}={share!r} should be a share of the questions between 0 and 1, as "
            f"{_SHARE}=0.2"
        )
    if type(seed) is not int:
        raise ConfigError(f"{spec!r}: {_SEED}={seed!r} should be a whole number")
    own = [f"{k}={v}" for k, v in written_settings(rest, spec).items() if k not in SETTINGS]
    return f"{name}:{','.join(own)}" if own else name, Draw(share, seed)


def without_answers(dataset: Dataset, draw: Draw) -> Dataset:
    """Return the dataset with unanswerable questions, which lose gold tables and answer.

    Raises:
        ConfigError: no question would keep its tables.
    """
    asked_of: dict[TableId, list[Query]] = defaultdict(list)
    for query in dataset.queries:
        for table in query.gold:
            asked_of[table].append(query)
    with_gold = [query for query in dataset.queries if query.gold]
    chosen: dict[str, Query] = {}
    for query in sorted(with_gold, key=lambda q: _hash(draw.seed, q.id)):
        if len(chosen) >= draw.share * len(with_gold):
            break
        _add(query, chosen, asked_of)
    gold = left_out = {table for query in chosen.values() for table in query.gold}
    while copies := _near_copies(dataset.corpus, gold, left_out):
        left_out = left_out | copies
        before = set(chosen)
        for table in sorted(copies):
            for query in asked_of.get(table, ()):
                _add(query, chosen, asked_of)
        gold = {t for name in chosen.keys() - before for t in chosen[name].gold}
        left_out = left_out | gold
    if len(chosen) == len(with_gold):
        raise ConfigError(
            f"{dataset.info.name} {dataset.split}: {_SHARE}={draw.share:g} leaves no question with "
            "an answer, as questions share their tables; give a smaller share"
        )
    kept = [table for table in dataset.corpus.ids if table not in left_out]
    note = (
        f"{_SHARE}={draw.share:g}: {len(chosen):,} of {len(with_gold):,} questions are left "
        f"without an answer, and {len(left_out):,} tables are left out"
    )
    queries = tuple(_without(q) if q.id in chosen else q for q in dataset.queries)
    corpus = PartOfCorpus(dataset.corpus, kept)
    return replace(dataset, corpus=corpus, queries=queries, notes=(*dataset.notes, note))


def _add(query: Query, chosen: dict[str, Query], asked_of: dict[TableId, list[Query]]) -> None:
    """Choose a query, and all that share gold tables with it."""
    waiting = [query]
    while waiting:
        query = waiting.pop()
        if query.id not in chosen:
            chosen[query.id] = query
            waiting += [other for table in query.gold for other in asked_of[table]]


def _near_copies(corpus: Corpus, gold: set[TableId], left_out: set[TableId]) -> set[TableId]:
    """Return the tables besides those left out that nearly are one of some tables."""
    if not gold:
        return set()
    gold_tables = GoldTables(corpus[table] for table in corpus.ids if table in gold)
    return {t.id for t in corpus if t.id not in left_out and gold_tables.nearest(t) is not None}


def _without(query: Query) -> Query:
    metadata = {name: value for name, value in query.metadata.items() if name not in _OF_GOLD}
    return replace(query, gold=(), answer="", metadata={**metadata, "unanswerable": True})


def _hash(seed: int, name: str) -> bytes:
    text = f"{seed}\0{name}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).digest()


class PartOfCorpus(CorpusView):
    """Some tables of a corpus, in its order.

    Args:
        base: the corpus, all of it.
        ids: the tables.
    """

    def __init__(self, base: Corpus, ids: Sequence[TableId]) -> None:
        self.base = base
        super().__init__((base,), [(0, base.positions[table_id]) for table_id in ids], ids)
