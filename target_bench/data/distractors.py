"""Distractors: tables of another corpus, split or folder, mixed into a corpus.

Which tables are drawn, and where they stand, is decided by a hash of seed and table id. So the
first 1,000 are part of the first 8,000, and a corpus grows without the order of what was there
before changing. Distractors stand between the corpus's own tables, not after them: a retriever
that gives every table the same score gains nothing from the order.

Of the tables that are drawn, near-copies of gold tables may be left out afterwards, so that a draw
stays a part of every larger one.

Near-copies of tables: MinHash (Broder 1997) finds candidates, their Jaccard index decides.

A table is the set of its normalised cells: without templates (``{{...}}``) and text in brackets,
in lower case, words alone. Cells of fewer than ``SHORTEST`` characters are left out: rankings and
results share their small numbers. A table without other cells is one element, its whole text, so
that only copies of it are found. Two tables are near-copies if their sets have a Jaccard index of
at least ``LEAST``. Of each set the least values of ``BANDS`` times ``PER_BAND`` hashes are compared
and only pairs that agree in a band are looked at, so that a pair of index s is met with a
probability of 1 - (1 - s^PER_BAND)^BANDS: .9999 for .5, more above.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.core.schema import (
    NO_DATABASE,
    Corpus,
    Dataset,
    Distractors,
    NearCopy,
    Table,
    TableId,
)
from target_bench.core.settings import parse_settings, split_pairs
from target_bench.data.cache import Part
from target_bench.data.tables import CorpusView, Digest, digest_corpus

NearCopies = Literal["out", "kept"]
"""What becomes of near-copies of gold tables: left out, or kept and counted."""

SETTINGS = ("split", "n", "seed", "near_copies")
"""What distractors of any corpus take."""

_BEFORE_SETTINGS = re.compile(r":(?=\s*[^\W\d]\w*\s*=)")
_SECOND_PART = re.compile(rf":(?=({'|'.join(SETTINGS)})=)")


@dataclass(frozen=True)
class DistractorSpec:
    """Tables to mix in, as in ``ottqa:split=train,n=1000,seed=7``.

    Other settings than those below are the corpus's own: ``./tables:encoding=cp1252,n=100``.

    By default near-copies of gold tables are left ``out`` of a corpus without questions, and not
    searched for in others.
    """

    text: str  # as it was written
    corpus: str  # name or path, with its own settings
    split: str | None = None  # the corpus's own
    n: int | None = None  # all tables
    seed: int = 0  # decides which
    near_copies: NearCopies | None = None


def parse_spec(spec: str) -> DistractorSpec:
    """Read distractors as they are written."""
    name, rest = split_spec(spec)
    if inside := _SECOND_PART.search(rest):
        whole = f"{name}:{rest[: inside.start()]},{rest[inside.start() + 1 :]}"
        raise ConfigError(
            f"distractors {spec!r}: write all settings with commas between them: {whole!r}"
        )
    settings = parse_settings(rest, spec)
    split, n, seed, near = map(settings.get, SETTINGS)
    for setting, value, is_valid, expected in (
        ("n", n, type(n) is int and n > 0, "a whole number from 1"),
        ("seed", seed, type(seed) is int, "a whole number"),
        ("near_copies", near, near in get_args(NearCopies), " or ".join(get_args(NearCopies))),
    ):
        if value is not None and not is_valid:
            raise ConfigError(f"distractors {spec!r}: {setting}={value!r}: expected {expected}")
    own = [f"{k}={v}" for k, v in split_pairs(rest, spec).items() if k not in SETTINGS]
    corpus = f"{name}:{','.join(own)}" if own else name
    return DistractorSpec(spec, corpus, None if split is None else str(split), n, seed or 0, near)


def split_spec(spec: str) -> tuple[str, str]:
    """Return the name or path in a distractor spec, and its settings as they are written."""
    name, *settings = _BEFORE_SETTINGS.split(spec, maxsplit=1)
    return name, "".join(settings)


def mix_in(
    dataset: Dataset,
    source: Part,
    databases: Mapping[str, Path],
    spec: DistractorSpec,
    same: bool,
    has_questions: bool,
) -> Dataset:
    """Add distractors to the tables of a dataset; queries and gold tables stay as they are.

    ``same``: an id means the same table in both; ``has_questions``: the source is of a corpus with
    questions.
    """
    default: NearCopies | None = None if has_questions else "out"
    setting = None if spec.near_copies == default else spec.near_copies
    spec = replace(spec, near_copies=spec.near_copies or default)
    gold = {table_id for query in dataset.queries for table_id in query.gold}
    corpus, drawn, near_copies, more = draw_tables(dataset.corpus, source.value, same, spec, gold)
    notes, ids = (*source.notes, *more), tuple(ours for _, ours in drawn)
    mixed_in = Distractors(spec.text, ids, notes, near_copies, setting)
    names = {theirs.database_id: ours.database_id for theirs, ours in drawn}
    return replace(
        dataset,
        corpus=corpus,
        files={**dataset.files, **source.files},
        notes=(*dataset.notes, *(f"distractors {spec.text}: {note}" for note in notes)),
        distractors=(*dataset.distractors, mixed_in),
        databases={
            **{ours: databases[theirs] for theirs, ours in names.items() if theirs in databases},
            **dataset.databases,
        },
    )


Drawn = tuple[CorpusView, list[tuple[TableId, TableId]], tuple[NearCopy, ...], list[str]]
"""The mixed corpus, ids in the source and here of drawn tables, near-copies, and notes."""


def draw_tables(
    base: Corpus,
    source: Corpus,
    same: bool,
    spec: DistractorSpec,
    gold: Collection[TableId] = (),
) -> Drawn:
    """Return a corpus with tables of another one among its own.

    A table of the source that has the id of another table gets a database id of its own, unless an
    id means the same table in both.
    """
    known, ours, theirs = base.positions, digest_corpus(base), digest_corpus(source)
    new_ids = list(source.ids) if same else _rename_tables(source.ids, theirs, base.ids, ours)
    candidates = [i for i, table_id in enumerate(new_ids) if table_id not in known]
    taken = [(i, known[table_id]) for i, table_id in enumerate(new_ids) if table_id in known]
    there = sum(theirs[i] == ours[place] for i, place in taken)
    left_out = {
        "are in the corpus already": there,
        "have the id of another table of the corpus": len(taken) - there,
    }
    n = len(candidates) if spec.n is None else spec.n
    if n > len(candidates) or not candidates:
        reasons = ", ".join(f"{n} more {what}" for what, n in left_out.items() if n)
        raise ConfigError(
            f"distractors {spec.text!r}: {spec.n or 'all'} tables were asked for, but there "
            f"are {len(candidates)}{f' ({reasons})' if reasons else ''}"
        )
    hashes = {i: _hash(spec.seed, source.ids[i]) for i in candidates}
    drawn = sorted(candidates, key=hashes.__getitem__)[:n]
    near: dict[int, tuple[TableId, float]] = {}
    if spec.near_copies:
        gold_tables = GoldTables(base[table_id] for table_id in base.ids if table_id in gold)
        nearest = ((i, gold_tables.find_nearest(source[source.ids[i]])) for i in drawn)
        near = {i: copy for i, copy in nearest if copy is not None}
    fate = "were kept"
    if spec.near_copies == "out":
        fate, drawn = "were left out", [i for i in drawn if i not in near]
    contents = {digest.content for digest in ours}
    counts = {
        **{f"{what} and were left out": count for what, count in left_out.items()},
        f"{f'of {n:,} drawn ' * (spec.near_copies == 'out')}are near-copies of gold tables "
        f"and {fate}": len(near),
        "have header and rows of a table of the corpus (recall[dup] credits them)": sum(
            theirs[i].content in contents for i in drawn
        ),
    }
    places = [*((0, i) for i in range(len(base))), *((1, i) for i in drawn)]
    return (
        CorpusView((base, source), places, [*base.ids, *(new_ids[i] for i in drawn)]),
        [(source.ids[i], new_ids[i]) for i in drawn],
        tuple(
            NearCopy(new_ids[i], gold_id, round(similarity, 4))
            for i, (gold_id, similarity) in sorted(near.items())
        ),
        [f"{count} tables {what}" for what, count in counts.items() if count],
    )


def _rename_tables(
    their_ids: Sequence[TableId],
    their_digests: Sequence[Digest],
    our_ids: Sequence[TableId],
    our_digests: Sequence[Digest],
) -> list[TableId]:
    """Return the ids of the source's tables, with another database id where one is taken."""
    # A database is renamed as a whole, so that its tables stay together.
    theirs = dict(zip(their_ids, their_digests, strict=True))
    ours = dict(zip(our_ids, our_digests, strict=True))
    other = {table_id for table_id in ours if theirs.get(table_id) != ours[table_id]}
    taken = {table_id.database_id for table_id in other} - {NO_DATABASE}
    digests_in: dict[str, list[Digest]] = {}
    for table_id, digest in theirs.items():
        digests_in.setdefault(table_id.database_id, []).append(digest)
    tags = {name: _name_tables(digests_in[name]) for name in taken & digests_in.keys()}

    def rename(table_id: TableId) -> TableId:
        tag = tags.get(table_id.database_id)
        if table_id.database_id == NO_DATABASE and table_id in other:
            tag = _name_tables([theirs[table_id]])
        return table_id._replace(database_id=f"{table_id.database_id}~{tag}") if tag else table_id

    return list(map(rename, their_ids))


def _name_tables(digests: Iterable[Digest]) -> str:
    """Return a name for these tables, the same in any order."""
    whole = b"".join(sorted(digest.content for digest in digests))
    return hashlib.blake2b(whole, digest_size=4).hexdigest()


def _hash(seed: int, table_id: TableId) -> bytes:
    """Return a hash that decides whether a table is drawn."""
    text = f"{seed}\0{table_id.database_id}\0{table_id.table_id}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


# Near-copies

LEAST = 0.5
SHORTEST = 3
BANDS = 32
PER_BAND = 2

_LEFT_OUT = re.compile(r"\{\{[^\n]*?\}\}|\([^()\n]*\)")
_NO_WORD = re.compile(r"[^\w\n]+|_+")
_PRIME = 2**31 - 1


class GoldTables:
    """Tables that near-copies are looked for; only sets of hashed cells are held in memory."""

    def __init__(self, tables: Iterable[Table]) -> None:
        random = np.random.default_rng(0)
        shape = (BANDS * PER_BAND, 1)
        self._factors = random.integers(1, _PRIME, shape, dtype=np.uint64)
        self._addends = random.integers(0, _PRIME, shape, dtype=np.uint64)
        self._indexed: list[tuple[TableId, set[int]]] = []
        self._bands: dict[tuple[int, bytes], list[int]] = {}
        for table in tables:
            cells = hash_cells(table)
            for band in self._list_bands(cells):
                self._bands.setdefault(band, []).append(len(self._indexed))
            self._indexed.append((table.id, cells))

    def find_nearest(self, table: Table) -> tuple[TableId, float] | None:
        """Return the table that this one is a near-copy of, and their Jaccard index, or None."""
        cells = hash_cells(table)
        places = {place for band in self._list_bands(cells) for place in self._bands.get(band, ())}
        similar = [(compute_jaccard(cells, self._indexed[place][1]), -place) for place in places]
        index, place = max(similar, default=(0.0, 0))
        return (self._indexed[-place][0], index) if index >= LEAST else None

    def _list_bands(self, cells: set[int]) -> list[tuple[int, bytes]]:
        """Return a key for each band; none for a table without cells."""
        if not cells:
            return []
        values: NDArray[np.uint64] = np.fromiter(cells, dtype=np.uint64, count=len(cells))
        hashes = (self._factors * values + self._addends) % np.uint64(_PRIME)
        least = hashes.min(axis=1).astype(np.uint32).reshape(BANDS, PER_BAND)
        return [(number, band.tobytes()) for number, band in enumerate(least)]


def hash_cells(table: Table) -> set[int]:
    """Return the hashes of the normalised cells of a table, header included."""
    rows = [table.header, *table.rows]
    text = "\n".join(str(cell).replace("\n", " ") for row in rows for cell in row).casefold()
    cells = [cell.strip() for cell in _NO_WORD.sub(" ", _LEFT_OUT.sub(" ", text)).split("\n")]
    kept = [cell for cell in cells if len(cell) >= SHORTEST]
    if not kept and any(cells):
        kept = ["\n".join(cells)]
    return {crc32(cell.encode("utf-8", "surrogatepass")) for cell in kept}


def compute_jaccard(left: set[int], right: set[int]) -> float:
    """Return shared elements / elements of either; 0 for two empty sets."""
    shared = len(left & right)
    return shared / (len(left) + len(right) - shared) if shared else 0.0
