"""The official H-Score of tables in plain text (Struc-Bench, Tang et al. 2023).

A text holds a Team and a Player table. They are cut out by the first word ``team``, the first
``player`` after it, and the bars around them; where a word is missing, places count from the end.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from target_bench.tables.official_sides import HScore, similarities

Rows = Sequence[Sequence[str]]

_SEPARATOR = "-="


class _Side(NamedTuple):
    n_rows: int
    n_columns: int
    names: tuple[str, ...]
    cells: tuple[str, ...]


def has_both_tables(text: str) -> bool:
    """Return whether a text names a team and after it a player, which the H-Score looks for."""
    words = text.lower()
    team = words.find("team")
    return team >= 0 and "player" in words[team:]


def h_score_text(answer: str, gold: str) -> HScore:
    """Score a text as the official code does: the mean over the Team and the Player table.

    Args:
        answer: the text of the answer.
        gold: the reference, whose line ends may be written ``<NEWLINE>``.
    """
    pairs = zip(_tables(answer), _tables(gold), strict=True)
    return _mean([_compared(*pair) for pair in pairs])


def h_score_of_table(answer: Rows, gold: Rows) -> HScore:
    """Score one table by the official sub-scores, for which the official code asks for two.

    Args:
        answer: rows of equal length, the header first.
        gold: those of the reference.
    """
    return _mean([_compared(_of_rows(answer), _of_rows(gold))])


def _mean(tables: Sequence[dict[str, float]]) -> HScore:
    sub = {name: sum(one[name] for one in tables) / len(tables) for name in tables[0]}
    content = sub["data_levenshtein_score"] + sub["data_difflib_score"]
    structure = (
        sub["num_rows_match"]
        + sub["num_cols_match"]
        + sub["columns_levenshtein_score"]
        + sub["columns_difflib_score"]
    )
    return HScore(sub, content, structure)


def _compared(answer: _Side, gold: _Side) -> dict[str, float]:
    return {
        "num_rows_match": float(answer.n_rows == gold.n_rows),
        "num_cols_match": float(answer.n_columns == gold.n_columns),
        **similarities("columns", answer.names, gold.names),
        **similarities("data", answer.cells, gold.cells),
    }


@lru_cache(maxsize=2048)
def _tables(text: str) -> tuple[_Side, _Side]:
    words = text.lower()
    team = words.find("team")
    player = _after(words, team, "player")
    team_end = text[:player].rfind("|") + 1
    team_text = text[_after(words, team, "|") : team_end]
    player_text = text[_after(words, player, "|") : text.rfind("|") + 1]
    return _side(team_text), _side(player_text)


def _after(text: str, start: int, wanted: str) -> int:
    """Return the place of a word from ``start`` on (-1: from the last character), or -1."""
    begin = max(len(text) + start, 0) if start < 0 else start
    return text.find(wanted, begin)


def _side(text: str) -> _Side:
    lines = text.replace("<NEWLINE>", "\n").replace("<newline>", "\n").split("\n")
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    rows = [row for row in rows if "".join(row).strip(_SEPARATOR)]
    if not any(row[0] for row in rows):
        rows = [row[1:] for row in rows]
    if not any(row[-1] for row in rows):
        rows = [row[:-1] for row in rows]
    return _of_rows(rows)


def _of_rows(rows: Rows) -> _Side:
    if not rows:
        return _Side(0, 0, (), ())
    cells = tuple(cell for row in rows[1:] for cell in row)
    return _Side(len(rows), max(map(len, rows)), tuple(rows[0]), cells)
