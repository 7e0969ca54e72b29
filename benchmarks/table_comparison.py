"""What a comparison of two tables costs: processor seconds on one core.

Tables of names, numbers, words and dates, of which a fifth of the cells and the order of rows are
changed, and two rows are gone.

    OMP_NUM_THREADS=1 python benchmarks/table_comparison.py
"""

import random
import resource
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from target_bench.tables.comparison import compare_tables

Rows = list[list[str]]
SIZES = ((20, 8, 1000), (200, 20, 20), (1000, 50, 1), (2000, 25, 1))
"""Rows, columns, and how many comparisons."""


def cell(rng: random.Random, column: int) -> str:
    """Draw a cell: columns are names, numbers, words, dates, whole numbers."""
    word = "".join(rng.choices("abcdefghij", k=rng.randint(3, 9)))
    kinds: tuple[Callable[[], str], ...] = (
        lambda: f"{word} {word[::-1]}",
        lambda: f"{rng.random() * 1e5:,.1f}",
        lambda: word,
        lambda: f"{rng.randint(1, 28)} March {rng.randint(1900, 2020)}",
        lambda: str(rng.randint(0, 100)),
    )
    return kinds[column % len(kinds)]()


def pair(rng: random.Random, height: int, width: int) -> tuple[Rows, Rows]:
    """Draw a table and a changed one."""
    header = [f"{cell(rng, 2)} {j}" for j in range(width)]
    rows = [[cell(rng, j) for j in range(width)] for _ in range(height)]
    changed = [[cell(rng, j) if rng.random() < 0.2 else c for j, c in enumerate(r)] for r in rows]
    rng.shuffle(changed)
    return [header, *rows], [header, *changed[:-2]]


def main() -> None:
    """Print the table."""
    rng = random.Random(0)
    table = Table("rows × columns", "comparisons", "seconds", "milliseconds each")
    for height, width, count in SIZES:
        pairs = [pair(rng, height, width) for _ in range(count)]
        start = time.process_time()
        for reference, prediction in pairs:
            compare_tables(reference, prediction).score()
        seconds = time.process_time() - start
        each = f"{1000 * seconds / count:,.1f}"
        table.add_row(f"{height:,} × {width}", f"{count:,}", f"{seconds:.2f}", each)
    Console().print(table)
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


if __name__ == "__main__":
    main()
