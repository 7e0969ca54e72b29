"""Synthetic questions from templates: no model is needed, and a seed decides every one of them."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random

from target_bench.data.table_text import stop_words
from target_bench.harness.questions.grounding import (
    BRACKETS,
    Ask,
    Kind,
    Proposal,
    TableAnswer,
    TableView,
    is_blank,
    number_in,
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
    by_text: dict[str, Proposal] = {}
    for proposal in _drawn(view, rng):
        by_text.setdefault(proposal.text, proposal)
        if len(by_text) == n:
            break
    return list(by_text.values())


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
        solution = solve(ask, view)
        if solution is not None and _is_fit(ask, solution):
            text = phrase(ask, rng, keyed)
            yield Proposal(view.table.id, text, ask, solution.answer, solution)


def _is_fit(ask: Ask, solution: TableAnswer) -> bool:
    """Whether the answer is one that a person would ask for: one row, unless it is a list."""
    most = {"lookup": ask.n_asked, "next": 1, "highest": 1, "lowest": 1}.get(ask.kind)
    asked_words = set(words(ask.names))
    is_said = all(set(words(value)) <= asked_words for value in solution.answer)
    if ask.kind == "count":
        return solution.answer != ("1",)
    return (most is None or len(solution.answer) <= most) and (
        ask.kind == "comparison" or not is_said
    )


Drawn = tuple[Ask, bool] | None


def _lookup(view: TableView, rng: Random) -> Drawn:
    key = key_column(view)
    others = [name for name in view.columns if name != key]
    row = rng.randrange(len(view.rows))
    if key is None or not others or rng.random() < _BY_PROPERTY:
        return _by_property(view, rng, row)
    value = _value(view, row, key, rng)
    target_columns = rng.sample(others, 2 if len(others) > 1 and rng.random() < _TWO_CELLS else 1)
    if value is None:
        return None
    ask = Ask("lookup", tuple(target_columns), (value,), len(target_columns), topic(view, rng))
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


def _extreme(view: TableView, rng: Random, kind: Kind) -> Drawn:
    key, number = key_column(view), _number_column(view, rng)
    if key is None or number is None or number == key:
        return None
    return Ask(kind, (key, number), (), 1, topic(view, rng)), False


def _aggregate(view: TableView, rng: Random, kind: Kind) -> Drawn:
    name = _number_column(view, rng)
    if name is None or not _NO_TOTAL.isdisjoint(words(name)):
        return None
    return Ask(kind, (name,), (), 1, topic(view, rng)), False


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
    "highest": partial(_extreme, kind="highest"),
    "lowest": partial(_extreme, kind="lowest"),
    "total": partial(_aggregate, kind="total"),
    "mean": partial(_aggregate, kind="mean"),
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


_CELLS: dict[str, Sequence[str]] = {
    "director": ("who directed {v}", "who was {v} directed by"),
    "writer": ("who wrote {v}",),
    "author": ("who wrote {v}",),
    "winner": ("who won {v}", "who was the winner of {v}"),
    "champion": ("who won {v}",),
    "role": ("what role was played in {v}", "which character was it in {v}"),
    "year": ("in which year was {v}", "when was {v}", "what year did {v} take place"),
    "date": ("when was {v}", "on which date was {v}", "when did {v} take place"),
    "venue": ("where was {v} held", "where did {v} take place"),
    "location": ("where is {v}", "where was {v}"),
    "place": ("where was {v}",),
    "city": ("which city is {v} in", "where is {v}"),
    "population": ("how many people live in {v}",),
    "price": ("how much does {v} cost", "what does {v} cost"),
    "result": ("how did {v} end", "what was the outcome of {v}"),
    "score": ("what was the final score of {v}",),
    "album": ("which album was {v} on",),
    "label": ("which label released {v}",),
    "network": ("which channel broadcast {v}",),
    "party": ("which party did {v} belong to",),
    "country": ("which country is {v} from", "where does {v} come from"),
    "nationality": ("which country is {v} from",),
    "nation": ("which country did {v} represent",),
    "team": ("who did {v} play for", "which side did {v} play for"),
    "club": ("who did {v} play for",),
    "opponent": ("who was the opponent in {v}", "who was played against in {v}"),
    "position": ("where did {v} finish", "what was {v} ranked"),
    "rank": ("where did {v} finish",),
    "age": ("how old was {v}",),
    "length": ("how long was {v}",),
    "height": ("how tall is {v}",),
    "title": ("what was the name of {v}",),
    "artist": ("who performed {v}", "who sang {v}"),
    "award": ("which prize was given for {v}",),
    "votes": ("how many people voted for {v}",),
    "attendance": ("how many people attended {v}", "how big was the crowd at {v}"),
    "capacity": ("how many people fit into {v}",),
    "wins": ("how many times did {v} win",),
    "points": ("how many points were scored by {v}", "how many points did {v} get"),
    "goals": ("how many goals were scored by {v}",),
}
"""Last word of the name of a column -> how people ask for its cell."""

_OTHER_WORDS: dict[str, Sequence[str]] = {
    "year": ("time", "season"),
    "date": ("day", "time"),
    "film": ("movie", "picture"),
    "title": ("work", "production", "one"),
    "album": ("record", "release"),
    "song": ("track", "tune"),
    "single": ("track", "song"),
    "artist": ("musician", "performer"),
    "role": ("part", "character"),
    "award": ("prize", "honour"),
    "category": ("kind of prize", "class"),
    "result": ("outcome", "ending"),
    "score": ("outcome", "final tally"),
    "team": ("squad", "side"),
    "club": ("side", "squad"),
    "opponent": ("rival", "other side"),
    "opposition": ("rival", "other side"),
    "player": ("athlete", "sportsman"),
    "name": ("person", "one"),
    "winner": ("champion", "victor"),
    "points": ("tally", "marks"),
    "rank": ("standing", "placing"),
    "position": ("standing", "placing"),
    "competition": ("contest", "meeting"),
    "tournament": ("competition", "contest"),
    "event": ("contest", "occasion"),
    "venue": ("place", "site"),
    "location": ("place", "spot"),
    "country": ("nation", "land"),
    "nation": ("country", "land"),
    "city": ("town", "place"),
    "candidate": ("politician", "contender"),
    "party": ("political group", "side"),
    "population": ("number of inhabitants", "people"),
    "area": ("size", "extent"),
    "network": ("channel", "broadcaster"),
    "director": ("filmmaker",),
    "author": ("writer",),
    "notes": ("remarks", "details"),
    "length": ("duration", "extent"),
    "price": ("cost", "amount charged"),
    "attendance": ("crowd", "number of spectators"),
    "driver": ("racer",),
    "school": ("place of learning",),
}
"""Last word of the name of a column -> other words for it."""

_ANY_CELL = (
    "what is the {a} of {v}",
    "what was the {a} for {v}",
    "which {a} does {v} have",
    "what {a} did {v} have",
    "which {a} is listed for {v}",
)
_TWO = ("what are the {a} and {b} of {v}", "which {a} and which {b} does {v} have")
_WHICH = (
    "which {a} has {v}",
    "which {a} is listed with {v}",
    "what is the {a} with {v}",
    "what {a} goes with {v}",
)
_BOTH = " and "
_COUNT = (
    "how many times does {v} appear",
    "how many have {v}",
    "what is the number of {a} entries with {v}",
    "how often is {v} listed",
)
_NEXT = (
    "which {a} comes after {v}",
    "what {a} is listed after {v}",
    "which {a} is next after {v}",
    "what is the {a} below {v}",
)
_HIGHEST = (
    "which {a} has the highest {b}",
    "which {a} has the most {b}",
    "what {a} had the greatest {b}",
    "what is the top {a} by {b}",
)
_LOWEST = (
    "which {a} has the lowest {b}",
    "which {a} has the least {b}",
    "what {a} had the smallest {b}",
)
_TOTAL = ("what is the total {a}", "how many {a} are there altogether", "what is the sum of {a}")
_MEAN = ("what is the average {a}", "what is the mean {a}")
_COMPARISON = (
    "which has more {a}, {v} or {w}",
    "who has the higher {a}, {v} or {w}",
    "is the {a} greater for {v} or for {w}",
)
_COLUMNS = (
    "what are all the {a} entries",
    "list every {a}",
    "which {a} entries are there",
)
_OF_KIND = {
    "next": _NEXT,
    "count": _COUNT,
    "highest": _HIGHEST,
    "lowest": _LOWEST,
    "total": _TOTAL,
    "mean": _MEAN,
    "comparison": _COMPARISON,
    "columns": _COLUMNS,
}
_TOPICS = ("{q} for {t}", "{q} in {t}", "for {t}, {q}", "in {t}, {q}")


def phrase(ask: Ask, rng: Random, keyed: bool) -> str:
    """Return a question as text.

    Args:
        ask: what it asks.
        rng: draws the words.
        keyed: whether its value names a row, as *Heat* does in a list of films; else it is a
            property of the row, as *1995*.
    """
    named = ask.columns[ask.n_asked :]
    column_names = named if ask.kind == "lookup" and named else [""] * len(ask.values)
    joined = _BOTH.join(map(_given, column_names, ask.values))
    names = {"a": _named(ask.columns[0], rng), "b": _named(ask.columns[-1], rng), "v": joined}
    if ask.kind == "comparison":
        names |= {"v": ask.values[0], "w": ask.values[1]}
    text = rng.choice(_ways(ask, rng, keyed)).format(**names)
    if ask.topic:
        text = rng.choice(_TOPICS).format(q=text, t=ask.topic)
    return f"{text[:1].upper()}{text[1:]}?"


def _named(column: str, rng: Random) -> str:
    """Return a column in its own words or in others."""
    others = _OTHER_WORDS.get(column.lower().split()[-1])
    return rng.choice(others) if others and rng.random() < _IN_OTHER_WORDS else column


_IN_OTHER_WORDS = 0.6


def _given(column: str, value: str) -> str:
    """Return a value; one that says little alone, as ``63``, with its column."""
    if not column or (number_in(value) is None and len(value) > _SHORT):
        return value
    return f"{column} {value}"


_SHORT = 3


def _ways(ask: Ask, rng: Random, keyed: bool) -> Sequence[str]:
    if ask.kind != "lookup":
        return _OF_KIND[ask.kind]
    if ask.n_asked > 1:
        return _TWO
    if not keyed:
        return _WHICH
    known = _CELLS.get(ask.columns[0].lower().split()[-1])
    return known if known and rng.random() < _AS_PEOPLE_SAY else _ANY_CELL


_AS_PEOPLE_SAY = 0.8
