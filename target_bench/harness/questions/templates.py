"""Synthetic questions from templates: no model is needed, and a seed decides every one of them.

``templates.yaml`` holds them in English, German, French and Spanish. Those of other languages than
English quote the names of columns as they stand, because their gender and case are not known.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from pathlib import Path
from random import Random
from typing import Any

import yaml

from target_bench.data.languages import Language
from target_bench.data.table_text import stop_words
from target_bench.harness.questions.grounding import (
    BLANK,
    BRACKETS,
    Ask,
    Kind,
    Proposal,
    TableAnswer,
    TableView,
    number_in,
    solve,
    words,
)


def proposals(
    view: TableView,
    rng: Random,
    n: int,
    language: Language = "en",
    used: Counter[str] | None = None,
) -> list[Proposal]:
    """Return questions that a table answers, with different texts.

    Args:
        view: the table.
        rng: draws kinds, columns, rows and words.
        n: how many, at most.
        language: of the templates, one of ``LANGUAGES``.
        used: template -> how often it was drawn already, of other tables too.
    """
    by_text: dict[str, Proposal] = {}
    for proposal in _drawn(view, rng, language, Counter() if used is None else used):
        by_text.setdefault(proposal.text, proposal)
        if len(by_text) == n:
            break
    return list(by_text.values())


_WEIGHTS: dict[Kind, int] = {
    "lookup": 12,
    "count": 2,
    "highest": 2,
    "lowest": 1,
    "total": 1,
    "comparison": 1,
}
_TRIES = 24


def _drawn(
    view: TableView, rng: Random, language: Language, used: Counter[str]
) -> Iterator[Proposal]:
    if not view.columns or not view.rows or not view.whole:
        return
    for _ in range(_TRIES):
        (kind,) = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        ask = _lookup(view, rng) if kind == "lookup" else _other(view, rng, kind)
        solution = None if ask is None else solve(ask, view)
        if ask is not None and solution is not None and _is_fit(ask, solution):
            text = phrase(ask, view, rng, language, used)
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
    number = _number_column(view, rng)
    if number is None:
        return None
    if kind == "total":
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


def _value(view: TableView, row: int, name: str, rng: Random) -> str | None:
    """Return a cell as a person would say it: without brackets, perhaps only its last words."""
    text = " ".join(BRACKETS.sub("", view.cells(name)[row]).split()).strip(" \"'“”*†‡#)(")
    if text in BLANK or len(text) > _LONGEST_VALUE or not words(text):
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
    return " ".join(kept).strip(_AROUND)


_FROM_START = 0.5


def _clean(text: str) -> str:
    """Return a title as a person would say it."""
    parts = [part for part in re.split(r"[\s_]+", BRACKETS.sub("", text)) if part]
    if [part.lower() for part in parts[:2]] == ["list", "of"]:
        parts = parts[2:]
    return " ".join(parts[:_MOST_WORDS]).strip(_AROUND)


_AROUND = " ,;:-–—“”„\"'()[]"

_MOST_WORDS = 8


def phrase(ask: Ask, view: TableView, rng: Random, language: Language, used: Counter[str]) -> str:
    """Return a question as text.

    Args:
        ask: what it asks.
        view: the table.
        rng: draws among the templates that were used least.
        language: of the templates.
        used: template -> how often it was drawn; it is counted here.
    """
    english = language == "en"
    names = [name if english else _as_written(view, name) for name in ask.columns]
    given = names[ask.n_asked :] if ask.kind == "lookup" else []
    values = [_given(*pair, english) for pair in zip_longest(given, ask.values, fillvalue="")]
    if ask.kind == "comparison":
        said = {"v": ask.values[0], "w": ask.values[1]}
    else:
        said = {"v": _AND[language].join(values)}
    ways = _ways(ask, view, rng, language)
    if english:
        names = [_named(name, rng) for name in names]
    way = min(ways, key=lambda way: (used[way], rng.random()))
    used[way] += 1
    for key, name in (("{a}", names[0]), ("{b}", names[-1])):
        if language == "fr" and name[:1].lower() in _VOWELS:
            way = way.replace(f"de {key}", f"d'{key}")
    text = way.format(a=names[0], b=names[-1], **said)
    if not set(words(ask.topic)) <= set(words(text)):
        topics = _TOPICS if english else ("{t}: {q}",)
        text = rng.choice(topics).format(q=text, t=ask.topic)
    start = 1 if text.startswith("¿") else 0
    text = text[:start] + text[start].upper() + text[start + 1 :]
    return f"{text}{_QUESTION_MARKS.get(language, '?')}"


_AND: Mapping[Language, str] = {"en": " and ", "de": " und ", "fr": " et ", "es": " y "}
_QUESTION_MARKS: Mapping[Language, str] = {"fr": "\u00a0?"}
_VOWELS = frozenset("aàâeéèêiîoôuû")


def _ways(ask: Ask, view: TableView, rng: Random, language: Language) -> Sequence[str]:
    """Return the templates that fit what is asked: how many for numbers, who for people."""
    templates, name = _TEMPLATES[language], ask.columns[0]
    if ask.kind != "lookup" or ask.n_asked > 1:
        return templates["two" if ask.n_asked > 1 else ask.kind]
    if len(ask.columns) > 1:
        return templates["which"]
    numbers = [number_in(cell) for cell in view.cells(name)]
    number = all(n is not None and not 1500 <= n.value <= 2100 for n in numbers)
    if language != "en":
        return templates["number" if number else "lookup"]
    last = name.lower().split()[-1]
    if last in _CELLS and rng.random() < _AS_PEOPLE_SAY:
        return _CELLS[last]
    if last == name and _PARTICIPLE.search(name) and any(map(_YEAR.search, view.cells(name))):
        return (f"when was {{v}} {name}", f"in which year was {{v}} {name}")
    if _PLURAL.search(last) and not name.startswith("number"):
        return templates["numbers" if number else "several"]
    return templates["person" if last in _PEOPLE else "lookup"]


_AS_PEOPLE_SAY = 0.8
_PLURAL = re.compile("[^siu]s$")
_PARTICIPLE = re.compile("(ed|born|built)$")
_YEAR = re.compile(r"\b(1[5-9]|20)\d\d\b")


def _as_written(view: TableView, name: str) -> str:
    header = " ".join(view.table.header[view.columns[name]].replace("_", " ").split())
    return BRACKETS.sub("", header).strip(" :*") or header


def _given(column: str, value: str, english: bool) -> str:
    """Return a value; one that says little alone, as ``63``, with its column."""
    is_number = number_in(value) is not None
    column = column.replace("_", " ")
    if not column or (not is_number and len(value) > _SHORT):
        return value
    if english and is_number:
        return f"{value} {column}" if _PLURAL.search(column) else f"{column} of {value}"
    return f"{column} {value}"


_SHORT = 3


def _named(column: str, rng: Random) -> str:
    """Return an English column in its own words or in others."""
    others = _OTHER_WORDS.get(column.lower().split()[-1])
    spoken = column.replace("_", " ")
    return rng.choice(others) if others and rng.random() < _IN_OTHER_WORDS else spoken


_IN_OTHER_WORDS = 0.6
_TOPICS = ("{q} for {t}", "{q} in {t}", "for {t}, {q}", "in {t}, {q}")


def _parts_of(entries: Mapping[str, str]) -> dict[str, Sequence[str]]:
    return {name: text.split(" | ") for name, text in entries.items()}


_DATA: Mapping[str, Any] = yaml.safe_load(
    Path(__file__).with_name("templates.yaml").read_text(encoding="utf-8")
)
_TEMPLATES: Mapping[Language, Mapping[str, Sequence[str]]] = {
    language: _parts_of(entries) for language, entries in _DATA["templates"].items()
}
_CELLS, _OTHER_WORDS = _parts_of(_DATA["cells"]), _parts_of(_DATA["other_words"])
_PEOPLE = frozenset(_DATA["people"].split(" | "))
_NO_AMOUNT = frozenset(_DATA["no_amounts"].split(" | "))

LANGUAGES: Sequence[Language] = tuple(_TEMPLATES)
"""The languages that templates ask in."""
