"""Near-copies of tables: MinHash (Broder 1997) finds candidates, their Jaccard index decides.

A table is the set of its normalised cells: without templates (``{{...}}``) and text in brackets,
in lower case, words alone. Cells of fewer than ``SHORTEST`` characters are left out: rankings and
results share their small numbers. A table without other cells is one element, its whole text, so
that only copies of it are found. Two tables are near-copies if their sets have a Jaccard index of
at least ``LEAST``. Of each set the least values of ``BANDS`` times ``PER_BAND`` hashes are compared
and only pairs that agree in a band are looked at, so that a pair of index s is met with a
probability of 1 - (1 - s^PER_BAND)^BANDS: .9999 for .5, more above.
"""

import re
from collections.abc import Iterable
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from target_bench.core.schema import Table, TableId

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
