"""Seeded pairs of tables that differ as answers do, for metrics beside their official algorithm."""

import random
from collections.abc import Iterator

Grid = list[list[str]]

WORDS = ("", "a", "ab", "ac", "abcd", "north", "south", "Oslo", "Bern", "New York", "York", "x y")


def table_pairs(count: int, seed: int) -> Iterator[tuple[Grid, Grid]]:
    """Yield tables of up to 3 × 3 cells, each beside one with other cells, rows or columns.

    A third of the pairs has keys that repeat, because names are drawn from few words.
    """
    draw = random.Random(seed)
    for _ in range(count):
        n, m = draw.randint(1, 3), draw.randint(1, 3)
        grid = [[_cell(draw) for _ in range(m)] for _ in range(n)]
        other = [[_changed(draw, cell) for cell in row] for row in grid]
        if draw.random() < 0.3:
            draw.shuffle(other)
        if draw.random() < 0.2:
            other = [list(column) for column in zip(*other, strict=True)]
        if draw.random() < 0.2:
            other.append([_cell(draw) for _ in other[0]])
        if draw.random() < 0.2:
            other = [row[:1] for row in other]
        yield grid, other


def _cell(draw: random.Random) -> str:
    if draw.random() < 0.4:
        number = draw.choice((draw.randint(0, 30), round(draw.uniform(0, 9), 1)))
        return f"{number}{draw.choice(('', '%'))}"
    return draw.choice(WORDS)


def _changed(draw: random.Random, cell: str) -> str:
    kind = draw.random()
    if kind < 0.6:
        return cell
    if kind < 0.75 and cell:
        place = draw.randrange(len(cell))
        return cell[:place] + draw.choice(("", "z", "1")) + cell[place + 1 :]
    return _cell(draw)
