"""All the tables of the corpus, in corpus order."""

from __future__ import annotations

from . import football, geography, medals, people, science, sports
from .model import Table


def tables() -> dict[str, Table]:
    """Every table under its identifier; raises ValueError on a repetition."""
    made: dict[str, Table] = {}
    contents: set[tuple[tuple[str, ...], ...]] = set()
    for module in (medals, football, sports, science, geography, people):
        for one in module.tables():
            if one.table_id in made or one.rows in contents:
                raise ValueError(f"repeated table: {one.table_id}")
            made[one.table_id] = one
            contents.add(one.rows)
    return made
