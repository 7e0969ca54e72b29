"""Synthetic questions from templates: no model is needed, and a seed decides every one of them.

There are templates in English, German, French and Spanish. Those of other languages than English
quote the names of columns as they stand, because their gender and case are not known.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from random import Random

from target_bench.data.languages import Language
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


def proposals(view: TableView, rng: Random, n: int, language: Language = "en") -> list[Proposal]:
    """Return questions that a table answers, with different texts.

    Args:
        view: the table.
        rng: draws kinds, columns, rows and words.
        n: how many, at most.
        language: of the templates, one of ``LANGUAGES``.
    """
    by_text: dict[str, Proposal] = {}
    for proposal in _drawn(view, rng, language):
        by_text.setdefault(proposal.text, proposal)
        if len(by_text) == n:
            break
    return list(by_text.values())


_WEIGHTS: dict[Kind, int] = {
    "lookup": 9,
    "list": 3,
    "count": 2,
    "highest": 2,
    "lowest": 1,
    "total": 1,
    "mean": 1,
    "comparison": 1,
}
_TRIES = 24


def _drawn(view: TableView, rng: Random, language: Language) -> Iterator[Proposal]:
    if not view.columns or not view.rows or not view.whole:
        return
    for _ in range(_TRIES):
        (kind,) = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        ask = _lookup(view, rng) if kind == "lookup" else _other(view, rng, kind)
        solution = None if ask is None else solve(ask, view)
        if ask is not None and solution is not None and _is_fit(ask, solution):
            text = phrase(ask, view, rng, language)
            yield Proposal(view.table.id, text, ask, solution.answer, solution)


def _is_fit(ask: Ask, solution: TableAnswer) -> bool:
    """Whether the answer is one that a person would ask for: one row, and not said already."""
    if ask.kind == "count":
        return solution.answer != ("1",)
    if ask.kind == "comparison":
        return True
    said = set(words(ask.names))
    most = {"lookup": ask.n_asked, "highest": 1, "lowest": 1}.get(ask.kind, len(solution.answer))
    return len(solution.answer) <= most and not all(
        set(words(value)) <= said for value in solution.answer
    )


def _lookup(view: TableView, rng: Random) -> Ask | None:
    """Ask for cells of a row that is named, or which row has some other cells."""
    key, row = key_column(view), rng.randrange(len(view.rows))
    others = [name for name in view.columns if name != key]
    rng.shuffle(others)
    if key is not None and others and rng.random() < _BY_KEY:
        n_asked = 2 if len(others) > 1 and rng.random() < _TWO_CELLS else 1
        columns, named = tuple(others[:n_asked]), [key]
    else:
        named = others[: rng.choice((1, 1, 2))]
        asked = key or next((name for name in view.columns if name not in named), None)
        if asked is None or not named:
            return None
        columns, n_asked = (asked, *named), 1
    values = [_value(view, row, name, rng) for name in named]
    known = tuple(value for value in values if value is not None)
    if len(known) < len(named):
        return None
    return Ask("lookup", columns, known, n_asked, topic(view, rng))


_BY_KEY = 0.6
_TWO_CELLS = 0.15


def _other(view: TableView, rng: Random, kind: Kind) -> Ask | None:
    """Ask for a count, for the highest or lowest number, a sum, or which of two rows has more."""
    if kind == "count":
        name = rng.choice(list(view.columns))
        value = _value(view, rng.randrange(len(view.rows)), name, rng)
        return None if value is None else Ask("count", (name,), (value,), 1, topic(view, rng))
    if kind == "list":  # of a table that is named
        named = topic(view, rng)
        return Ask(kind, (rng.choice(list(view.columns)),), (), 1, named) if named else None
    number = _number_column(view, rng)
    if number is None:
        return None
    if kind in ("total", "mean"):
        return Ask(kind, (number,), (), 1, topic(view, rng))
    key = key_column(view)
    if key is None or len(view.rows) < 2:
        return None
    if kind in ("highest", "lowest"):
        return Ask(kind, (key, number), (), 1, topic(view, rng))
    drawn = (_value(view, row, key, rng) for row in rng.sample(range(len(view.rows)), 2))
    values = tuple(value for value in drawn if value is not None)
    return Ask(kind, (number,), values, 1, topic(view, rng)) if len(values) == 2 else None


def key_column(view: TableView) -> str | None:
    """Return the column that names the rows: the first of texts nearly all different, or None."""
    for name in view.columns:
        texts = [c for c in view.cells(name) if any(map(str.isalpha, c)) and number_in(c) is None]
        if len(texts) == len(view.rows) and len(set(texts)) >= _KEY_SHARE * len(texts):
            return name
    return None


_KEY_SHARE = 0.8


def _number_column(view: TableView, rng: Random) -> str | None:
    """Return a column of amounts: no years, no numbers that count the rows, no ranks or ages."""
    names = list(view.columns)
    rng.shuffle(names)
    for name in names:
        numbers = [number for number, _ in view.numbers(name)]
        steps = {b - a for a, b in pairwise(numbers)}
        is_year = all(number == int(number) and 1500 <= number <= 2100 for number in numbers)
        if len(steps) > 1 and not is_year and _NO_AMOUNT.isdisjoint(words(name)):
            return name
    return None


_NO_AMOUNT = frozenset(
    {"age", "date", "day", "division", "id", "level", "no", "number", "place", "pos", "position"}
    | {"rank", "ranking", "rnd", "round", "season", "seed", "tier", "time", "week", "year", "years"}
    | {"alter", "datum", "jahr", "nr", "nummer", "plz", "rang", "annee", "ano"}
)


def _value(view: TableView, row: int, name: str, rng: Random) -> str | None:
    """Return a cell as a person would say it: without brackets, perhaps only its last words."""
    text = " ".join(BRACKETS.sub("", view.cells(name)[row]).split()).strip(" \"'“”*†‡#")
    if is_blank(text) or len(text) > _LONGEST_VALUE or not words(text):
        return None
    parts = text.split()
    if 1 < len(parts) <= 3 and text.istitle() and rng.random() < _SURNAME:
        return parts[-1]
    return text


_LONGEST_VALUE = 60
_SURNAME = 0.3


def topic(view: TableView, rng: Random) -> str:
    """Return words of title or section: all, some of those that stand together, or none."""
    texts = [cleaned for text in view.titles if (cleaned := _clean(text))]
    drawn = rng.random()
    if not texts or drawn < _NO_TOPIC:
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
    """Return a title as a person would say it."""
    parts = [part for part in re.split(r"[\s_]+", BRACKETS.sub("", text)) if part]
    if [part.lower() for part in parts[:2]] == ["list", "of"]:
        parts = parts[2:]
    return " ".join(parts[:_MOST_WORDS])


_MOST_WORDS = 8


def phrase(ask: Ask, view: TableView, rng: Random, language: Language) -> str:
    """Return a question as text."""
    english = language == "en"
    names = [name if english else _as_written(view, name) for name in ask.columns]
    named = names[ask.n_asked :]
    given = named if ask.kind == "lookup" and named else [""] * len(ask.values)
    ways = _TEMPLATES[language][_way_of(ask)]
    if english and _way_of(ask) == "lookup" and rng.random() < _AS_PEOPLE_SAY:
        ways = _CELLS.get(ask.columns[0].lower().split()[-1], ways)
    values = {"v": _AND[language].join(map(_given, given, ask.values))}
    if ask.kind == "comparison":
        values = {"v": ask.values[0], "w": ask.values[1]}
    if english:
        names = [_named(name, rng) for name in names]
    text = rng.choice(ways).format(a=names[0], b=names[-1], **values)
    if ask.topic:
        topics = _TOPICS if english else ("{t}: {q}",)
        text = rng.choice(topics).format(q=text, t=ask.topic)
    start = 1 if text.startswith("¿") else 0
    text = text[:start] + text[start].upper() + text[start + 1 :]
    return f"{text}{_QUESTION_MARKS.get(language, '?')}"


_AS_PEOPLE_SAY = 0.8
_AND: Mapping[Language, str] = {"en": " and ", "de": " und ", "fr": " et ", "es": " y "}
_QUESTION_MARKS: Mapping[Language, str] = {"fr": "\u00a0?"}


def _way_of(ask: Ask) -> str:
    if ask.kind != "lookup":
        return ask.kind
    return "two" if ask.n_asked > 1 else "which" if len(ask.columns) > 1 else "lookup"


def _as_written(view: TableView, name: str) -> str:
    header = " ".join(view.table.header[view.columns[name]].replace("_", " ").split())
    return BRACKETS.sub("", header) or header


def _given(column: str, value: str) -> str:
    """Return a value; one that says little alone, as ``63``, with its column."""
    if not column or (number_in(value) is None and len(value) > _SHORT):
        return value
    return f"{column} {value}"


_SHORT = 3


def _named(column: str, rng: Random) -> str:
    """Return an English column in its own words or in others."""
    others = _OTHER_WORDS.get(column.lower().split()[-1])
    spoken = column.replace("_", " ")
    return rng.choice(others) if others and rng.random() < _IN_OTHER_WORDS else spoken


_IN_OTHER_WORDS = 0.6
_TOPICS = ("{q} for {t}", "{q} in {t}", "for {t}, {q}", "in {t}, {q}")

_TEMPLATES: Mapping[Language, Mapping[str, Sequence[str]]] = {
    "en": {
        "lookup": (
            "what is the {a} of {v}",
            "what was the {a} for {v}",
            "which {a} does {v} have",
            "which {a} is listed for {v}",
        ),
        "two": ("what are the {a} and {b} of {v}", "which {a} and which {b} does {v} have"),
        "which": (
            "which {a} has {v}",
            "which {a} is listed with {v}",
            "what {a} goes with {v}",
        ),
        "list": ("what are all the {a} entries", "list every {a}"),
        "count": ("how many have {v}", "how many are there with {v}", "how often is {v} listed"),
        "highest": (
            "which {a} has the highest {b}",
            "which {a} has the most {b}",
            "what is the top {a} by {b}",
        ),
        "lowest": ("which {a} has the lowest {b}", "which {a} has the least {b}"),
        "total": ("what is the total {a}", "what is the sum of {a}"),
        "mean": ("what is the average {a}", "what is the mean {a}"),
        "comparison": (
            "which has more {a}, {v} or {w}",
            "is the {a} greater for {v} or for {w}",
        ),
    },
    "de": {
        "lookup": ("was steht bei {v} unter {a}", "was ist für {v} als {a} angegeben"),
        "two": ("was steht bei {v} unter {a} und {b}",),
        "which": ("was steht unter {a} bei {v}", "was gehört unter {a} zu {v}"),
        "list": ("was steht alles unter {a}",),
        "count": ("wie oft kommt {v} vor", "wie viele Einträge gibt es mit {v}"),
        "highest": ("wo ist {b} am höchsten", "was hat unter {a} den höchsten Wert bei {b}"),
        "lowest": ("wo ist {b} am niedrigsten", "was hat unter {a} den niedrigsten Wert bei {b}"),
        "total": ("wie hoch ist die Summe von {a}", "was ergibt {a} insgesamt"),
        "mean": ("wie hoch ist {a} im Durchschnitt",),
        "comparison": ("wo ist {a} höher, bei {v} oder bei {w}",),
    },
    "fr": {
        "lookup": ("qu'est-ce qui est indiqué pour {v} sous {a}", "pour {v}, que dit {a}"),
        "two": ("qu'est-ce qui est indiqué pour {v} sous {a} et {b}",),
        "which": ("sous {a}, qu'est-ce qui correspond à {v}",),
        "list": ("qu'est-ce qui est indiqué sous {a}",),
        "count": ("combien de fois trouve-t-on {v}", "combien y en a-t-il avec {v}"),
        "highest": ("sous {a}, qu'est-ce qui a la plus grande valeur de {b}",),
        "lowest": ("sous {a}, qu'est-ce qui a la plus petite valeur de {b}",),
        "total": ("quel est le total de {a}",),
        "mean": ("quelle est la moyenne de {a}",),
        "comparison": ("pour {a}, qui a la plus grande valeur, {v} ou {w}",),
    },
    "es": {
        "lookup": ("¿qué figura para {v} en {a}",),
        "two": ("¿qué figura para {v} en {a} y {b}",),
        "which": ("¿qué figura en {a} con {v}", "¿qué corresponde en {a} a {v}"),
        "list": ("¿qué figura en {a}",),
        "count": ("¿cuántas veces aparece {v}", "¿cuántos hay con {v}"),
        "highest": ("¿qué figura en {a} con el valor más alto de {b}",),
        "lowest": ("¿qué figura en {a} con el valor más bajo de {b}",),
        "total": ("¿cuál es el total de {a}",),
        "mean": ("¿cuál es el promedio de {a}",),
        "comparison": ("¿dónde es mayor {a}, en {v} o en {w}",),
    },
}
LANGUAGES: Sequence[Language] = tuple(_TEMPLATES)
"""The languages that templates ask in."""

_CELLS: Mapping[str, Sequence[str]] = {
    "director": ("who directed {v}", "who was {v} directed by"),
    "writer": ("who wrote {v}",),
    "author": ("who wrote {v}",),
    "role": ("what role was played in {v}", "which character was it in {v}"),
    "year": ("in which year was {v}", "when was {v}"),
    "date": ("when was {v}", "on which date was {v}"),
    "venue": ("where was {v} held", "where did {v} take place"),
    "location": ("where is {v}", "where was {v}"),
    "city": ("which city is {v} in",),
    "population": ("how many people live in {v}",),
    "price": ("how much does {v} cost", "what does {v} cost"),
    "result": ("how did {v} end", "what was the outcome of {v}"),
    "album": ("which album was {v} on",),
    "label": ("which label released {v}",),
    "network": ("which channel broadcast {v}",),
    "party": ("which party did {v} belong to",),
    "country": ("which country is {v} from", "where does {v} come from"),
    "nationality": ("which country is {v} from",),
    "team": ("who did {v} play for", "which side did {v} play for"),
    "club": ("who did {v} play for",),
    "opponent": ("who was the opponent in {v}",),
    "position": ("where did {v} finish", "what was {v} ranked"),
    "rank": ("where did {v} finish",),
    "age": ("how old was {v}",),
    "height": ("how tall is {v}",),
    "artist": ("who performed {v}", "who sang {v}"),
    "votes": ("how many people voted for {v}",),
    "attendance": ("how many people attended {v}", "how big was the crowd at {v}"),
    "wins": ("how many times did {v} win",),
    "points": ("how many points did {v} get",),
}
"""Last word of the name of a column -> how people ask for its cell."""

_OTHER_WORDS: Mapping[str, Sequence[str]] = {
    "film": ("movie",),
    "album": ("record",),
    "song": ("track",),
    "single": ("track", "song"),
    "artist": ("musician", "performer"),
    "role": ("part", "character"),
    "award": ("prize",),
    "result": ("outcome",),
    "team": ("squad", "side"),
    "club": ("team",),
    "opponent": ("rival",),
    "player": ("athlete",),
    "winner": ("champion",),
    "venue": ("place",),
    "location": ("place",),
    "country": ("nation",),
    "nation": ("country",),
    "city": ("town",),
    "candidate": ("politician",),
    "population": ("number of inhabitants",),
    "network": ("channel", "broadcaster"),
    "author": ("writer",),
    "length": ("duration",),
    "price": ("cost",),
    "attendance": ("crowd", "number of spectators"),
}
"""Last word of the name of a column -> other words for it."""
