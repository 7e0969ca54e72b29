"""Cells of tables that are written as lines of ``attribute|||value`` with TABs between."""

_CELLS = frozenset({"cell", "header"})


def cells_as_said(table: str, wanted: str) -> tuple[str, list[str]]:
    """Read what a sentence may say and the cells that it should say.

    Args:
        table: the line of the whole table with its titles.
        wanted: the line of the highlighted cells with the titles, which are left out.

    Returns:
        The values of the table, a line each, and the highlighted cells.
    """
    values = "\n".join(value for _, value in _entries(table))
    return values, [value for name, value in _entries(wanted) if name in _CELLS]


def _entries(line: str) -> list[tuple[str, str]]:
    entries = (entry.partition("|||") for entry in line.split("\t") if entry)
    return [(name, value) for name, _, value in entries]
