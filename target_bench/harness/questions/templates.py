"""Synthetic questions from templates: no model is needed, and a seed decides every one of them."""

import re
from collections.abc import Callable, Iterator
from random import Random

from target_bench.data.table_text import stop_words
from target_bench.harness.questions.numbers import is_blank, number_in
from target_bench.harness.questions.phrasing import phrase
from target_bench.harness.questions.solving import (
    BRACKETS,
    Ask,
    Found,
    Kind,
    Proposal,
    TableView,
    solve,
    words,
)

_WEIGHTS: dict[Kind, int] = {
    "lookup": 8,
    "next": 1,
    "count": 2,
    "highest": 2,
    "lowest": 1,
    "total": 1,
    "mean": 1,
    "comparison": 1,
    "columns": 3,
}
_TRIES = 24
_LONGEST_VALUE = 60
_MOST_WORDS = 8
_KEY_SHARE = 0.8
_NO_TOTAL = frozenset(
    {"age", "date", "day", "division", "id", "level", "no", "number", "place", "pos", "position"}
    | {"rank", "ranking", "rnd", "round", "season", "seed", "tier", "time", "week", "year", "years"}
)


def proposals(view: TableView, rng: Random, n: int) -> list[Proposal]:
    """Return questions that a table answers, with different texts.

    Args:
        view: the table.
        rng: draws kinds, columns, rows and words.
        n: how many, at most.
    """
    found: dict[str, Proposal] = {}
    for proposal in _drawn(view, rng):
        found.setdefault(proposal.text, proposal)
        if len(found) == n:
            break
    return list(found.values())


def _drawn(view: TableView, rng: Random) -> Iterator[Proposal]:
    if not view.columns or not view.rows or not view.whole:
        return
    kinds = list(_WEIGHTS)
    weights = list(_WEIGHTS.values())
    for _ in range(_TRIES):
        (kind,) = rng.choices(kinds, weights)
        drawn = _DRAWN[kind](view, rng)
        if drawn is None:
            continue
        ask, keyed = drawn
        found = solve(ask, view)
        if found is not None and _is_fit(ask, found):
            text = phrase(ask, rng, keyed)
            yield Proposal(view.table.id, text, ask, found.answer, found)


def _is_fit(ask: Ask, found: Found) -> bool:
    """Whether the answer is one that a person would ask for: one row, unless it is a list."""
    most = {"lookup": ask.asked, "next": 1, "highest": 1, "lowest": 1}.get(ask.kind)
    said = set(words(ask.names))
    is_said = all(set(words(value)) <= said for value in found.answer)
    if ask.kind == "count":
        return found.answer != ("1",)
    return (most is None or len(found.answer) <= most) and (ask.kind == "comparison" or not is_said)


Drawn = tuple[Ask, bool] | None


def _lookup(view: TableView, rng: Random) -> Drawn:
    key = key_column(view)
    others = [name for name in view.columns if name != key]
    row = rng.randrange(len(view.rows))
    if key is None or not others or rng.random() < _BY_PROPERTY:
        return _by_property(view, rng, row)
    value = _value(view, row, key, rng)
    asked = rng.sample(others, 2 if len(others) > 1 and rng.random() < _TWO_CELLS else 1)
    if value is None:
        return None
    ask = Ask("lookup", tuple(asked), (value,), len(asked), topic(view, rng))
    return ask, True


_BY_PROPERTY = 0.4
_TWO_CELLS = 0.15


def _by_property(view: TableView, rng: Random, row: int) -> Drawn:
    """Ask which one has one or two other cells of its row."""
    names = list(view.columns)
    rng.shuffle(names)
    key = key_column(view) or names[0]
    given = [name for name in names if name != key][: rng.choice((1, 1, 2))]
    values = [_value(view, row, name, rng) for name in given]
    if not given or None in values:
        return None
    known = tuple(value for value in values if value is not None)
    return Ask("lookup", (key, *given), known, 1, topic(view, rng)), False


def _next(view: TableView, rng: Random) -> Drawn:
    key = key_column(view)
    if key is None or len(view.rows) < 3:
        return None
    value = _value(view, rng.randrange(len(view.rows) - 1), key, rng)
    return None if value is None else (Ask("next", (key,), (value,), 1, topic(view, rng)), True)


def _count(view: TableView, rng: Random) -> Drawn:
    name = rng.choice(list(view.columns))
    value = _value(view, rng.randrange(len(view.rows)), name, rng)
    return None if value is None else (Ask("count", (name,), (value,), 1, topic(view, rng)), False)


def _extreme(kind: Kind) -> "Callable[[TableView, Random], Drawn]":
    def drawn(view: TableView, rng: Random) -> Drawn:
        key, number = key_column(view), _number_column(view, rng)
        if key is None or number in (None, key):
            return None
        return Ask(kind, (key, str(number)), (), 1, topic(view, rng)), False

    return drawn


def _aggregate(kind: Kind) -> "Callable[[TableView, Random], Drawn]":
    def drawn(view: TableView, rng: Random) -> Drawn:
        name = _number_column(view, rng)
        if name is None or not _NO_TOTAL.isdisjoint(words(name)):
            return None
        return Ask(kind, (name,), (), 1, topic(view, rng)), False

    return drawn


def _comparison(view: TableView, rng: Random) -> Drawn:
    key, number = key_column(view), _number_column(view, rng)
    if key is None or number in (None, key) or len(view.rows) < 2:
        return None
    values = [_value(view, row, key, rng) for row in rng.sample(range(len(view.rows)), 2)]
    if None in values:
        return None
    known = tuple(value for value in values if value is not None)
    return Ask("comparison", (str(number),), known, 1, topic(view, rng)), True


def _columns(view: TableView, rng: Random) -> Drawn:
    return Ask("columns", (rng.choice(list(view.columns)),), (), 1, topic(view, rng)), False


_DRAWN: "dict[Kind, Callable[[TableView, Random], Drawn]]" = {
    "lookup": _lookup,
    "next": _next,
    "count": _count,
    "highest": _extreme("highest"),
    "lowest": _extreme("lowest"),
    "total": _aggregate("total"),
    "mean": _aggregate("mean"),
    "comparison": _comparison,
    "columns": _columns,
}


def key_column(view: TableView) -> str | None:
    """Return the column that names the rows: the first of texts nearly all different, or None."""
    for name in view.columns:
        cells = [cell for cell in view.cells(name) if not is_blank(cell)]
        texts = [cell for cell in cells if number_in(cell) is None]
        if len(texts) == len(view.rows) and len(set(texts)) >= _KEY_SHARE * len(texts):
            return name
    return None


def _number_column(view: TableView, rng: Random) -> str | None:
    names = list(view.columns)
    rng.shuffle(names)
    return next((name for name in names if view.numbers(name)), None)


def _value(view: TableView, row: int, name: str, rng: Random) -> str | None:
    """Return a cell as a person would say it: without brackets, perhaps only its last words."""
    text = " ".join(BRACKETS.sub("", view.cells(name)[row]).split()).strip(" \"'“”*†‡#")
    if is_blank(text) or len(text) > _LONGEST_VALUE or not words(text):
        return None
    parts = text.split()
    if 1 < len(parts) <= 3 and text.istitle() and rng.random() < _SURNAME:
        return parts[-1]
    return text


_SURNAME = 0.3


def topic(view: TableView, rng: Random) -> str:
    """Return words of title or section: all, some of those that stand together, or none."""
    texts = [cleaned for text in view.titles if (cleaned := _clean(text))]
    if not texts:
        return ""
    drawn = rng.random()
    if drawn < _NO_TOPIC:
        return ""
    if drawn < _NO_TOPIC + _BOTH_TITLES and len(texts) > 1:
        return " ".join(dict.fromkeys(reversed(texts)))
    return _part(texts[0], rng) if rng.random() < _PART else texts[0]


_NO_TOPIC = 0.15
_BOTH_TITLES = 0.15
_PART = 0.35


def _part(text: str, rng: Random) -> str:
    """Return half of the words of a text or more, from its beginning or its end."""
    parts = text.split()
    n = max(1, (len(parts) + 1) // 2)
    kept = parts[:n] if rng.random() < _FROM_START else parts[-n:]
    while len(kept) > 1 and kept[0].lower() in stop_words("en"):
        kept = kept[1:]
    while len(kept) > 1 and kept[-1].lower() in stop_words("en"):
        kept = kept[:-1]
    return " ".join(kept).strip(" ,;:-–—")


_FROM_START = 0.5


def _clean(text: str) -> str:
    """Return a title as a person would say it; a path without its separators."""
    parts = re.split(r"[\s/_]+", BRACKETS.sub("", text))
    kept = [part for part in parts if part]
    if [part.lower() for part in kept[:2]] == ["list", "of"]:
        kept = kept[2:]
    return " ".join(kept[:_MOST_WORDS])
