"""A corpus whose questions need to be learned: which fruit goes with which city is arbitrary."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.builders import json_lines

PLACES = ["Oslo", "Quito", "Dakar", "Perth", "Hanoi", "Turin"]
PLACES += ["Minsk", "Lagos", "Sofia", "Tunis", "Osaka", "Leeds"]
FRUITS = ["fig", "kiwi", "lime", "plum", "pear", "grape"]
FRUITS += ["mango", "peach", "lemon", "apple", "guava", "melon"]


def shops(folder: Path, extra: Sequence[dict[str, Any]] = (), copies: bool = False) -> Path:
    """Train and validation ask in other words about the same tables, test about tables of its own.

    Args:
        folder: where to.
        extra: more questions.
        copies: whether the table of the first training question is there under another name too,
            and a test question is about that one.
    """
    (folder / "tables").mkdir(parents=True)
    for number, fruit in enumerate(FRUITS):
        _table(folder, fruit, number)
    _table(folder, "coal", 90)
    _table(folder, "iron", 91)
    questions: list[dict[str, Any]] = []
    for place, fruit in zip(PLACES, FRUITS, strict=True):
        questions += [
            _question(f"t-{fruit}", f"the shop in {place}", fruit, "train"),
            _question(f"u-{fruit}", f"what do people buy in {place}?", fruit, "train"),
            _question(f"v-{fruit}", f"trade of {place}", fruit, "validation"),
        ]
    questions.append(_question("s-coal", "who mines it", "coal", "test"))
    if copies:
        _table(folder, "copy", 0)
        questions.append(_question("s-copy", "what is copied", "copy", "test"))
    (folder / "queries.jsonl").write_text(json_lines([*questions, *extra]))
    return folder


def _table(folder: Path, name: str, number: int) -> None:
    rows = f"price,weight\n{number},{number * 7}\n"
    (folder / "tables" / f"{name}.csv").write_text(rows)


def _question(query_id: str, text: str, table: str, split: str) -> dict[str, Any]:
    return {"query_id": query_id, "query": text, "table_id": table, "split": split}
