"""Synthetic questions from templates: no model is needed, and a seed decides every one of them.

``templates.yaml`` holds them in English, German, French and Spanish. They are plain, and a column
whose name does not read as one of a thing (``f/lap``, ``also``, ``PetID``) is not asked about.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
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
        language: of the templates; without any in it there are no questions.
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
    "comparison": 1,
}
_TRIES = 24


def _drawn(
    view: TableView, rng: Random, language: Language, used: Counter[str]
) -> Iterator[Proposal]:
    names = names_of_things(view, language) if language in _TEMPLATES else {}
    if not names or not view.rows or not view.whole:
        return
    for _ in range(_TRIES):
        (kind,) = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        make = _lookup if kind == "lookup" else _other
        ask = make(view, names, rng, kind)
        solution = None if ask is None else solve(ask, view)
        if ask is not None and solution is not None and _is_fit(ask, solution):
            text = phrase(ask, view, names, rng, language, used)
            yield Proposal(view.table.id, text, ask, solution.answer, solution)


def names_of_things(view: TableView, language: Language) -> dict[str, str]:
    """Return column -> its name as a question says it, of columns that a question can name.

    ``release_year`` and ``ReleaseYear`` are said in words; numbers, verbs and abbreviations are
    no names.
    """
    headers = {column: view.table.header[place] for column, place in view.columns.items()}
    is_loud = all(header.isupper() for header in headers.values())
    names = {column: _spoken(name.lower() if is_loud else name) for column, name in headers.items()}
    if language == "en":
        for column, name in names.items():
            name = " ".join(w.lower() if w.istitle() else w for w in name.split())
            names[column] = name.removeprefix("total ").removeprefix("number of ")
    return {column: name for column, name in names.items() if _is_noun(name, language)}


def _spoken(header: str) -> str:
    parted = re.sub(r"(?<=[a-zß-ÿ])(?=[A-Z])|[\s_]+", " ", BRACKETS.sub("", header))
    return parted.strip(" .:*#/-")


def _is_noun(name: str, language: Language) -> bool:
    parts = name.lower().split()
    return (
        _WORDS.fullmatch(name) is not None
        and len(parts) <= _MOST_WORDS // 2
        and _UNASKED.isdisjoint(words(name))
        and stop_words(language).isdisjoint((parts[0], parts[-1]))
        and not (language == "en" and any(map(_NO_NOUN.search, name.split())))
    )


_WORDS = re.compile(r"[^\W\d_]{2,}([ '’-][^\W\d_]+)*")
_NO_NOUN = re.compile(
    r"^(?!(age|car|day|fee|job|of|pet|sex|tax)$).{1,3}$|^(from|with)$|^[A-Z]+$|.[^e]ed$"
)
_MOST_WORDS = 8


def _is_fit(ask: Ask, solution: TableAnswer) -> bool:
    """Whether the answer is one that a person would ask for: one row, and not said already."""
    if ask.kind == "count":
        return solution.answer != ("1",)
    if ask.kind == "comparison":
        return True
    named = set(words(ask.names))
    return len(solution.answer) <= ask.n_asked and not all(
        set(words(value)) <= named for value in solution.answer
    )


def _lookup(view: TableView, names: Mapping[str, str], rng: Random, kind: Kind) -> Ask | None:
    """Ask for cells of a row that is named, or which row has some other cells."""
    key, row = key_column(view, names), rng.randrange(len(view.rows))
    others = [name for name in names if name != key]
    rng.shuffle(others)
    if key is not None and others and rng.random() < _BY_KEY:
        n_asked = 2 if len(others) > 1 and rng.random() < _TWO_CELLS else 1
        wanted_names, named = others[:n_asked], [key]
        needed = wanted_names
    else:
        named = others[: rng.choice((1, 1, 2))]
        rest = [name for name in ([] if key is None else [key]) + list(names) if name not in named]
        wanted_names = rest[:1]
        needed = wanted_names + named
        if not wanted_names or not named or _is_plural(names[wanted_names[0]]):
            return None
    values = tuple(_value(view, row, name) for name in named)
    if "" in values or (needed == wanted_names and not _NAME.match(values[0])):
        return None
    return Ask(kind, tuple(needed), values, len(wanted_names), topic(view, rng))


_BY_KEY = 0.6
_TWO_CELLS = 0.15
_NAME = re.compile(r"[^\W\d_].*[^\W\d_]{2}")


def _other(view: TableView, names: Mapping[str, str], rng: Random, kind: Kind) -> Ask | None:
    """Ask for a count, for the highest or lowest number, or which of two rows has more."""
    if kind == "count":
        name = rng.choice(list(names))
        value = _value(view, rng.randrange(len(view.rows)), name)
        is_name = _NAME.match(value) is not None and not _is_plural(names[name])
        return Ask(kind, (name,), (value,), 1, topic(view, rng)) if is_name else None
    number = _number_column(view, names, rng)
    if number is None:
        return None
    key = key_column(view, names)
    if key is None or len(view.rows) < 2 or _is_plural(names[key]):
        return None
    if kind in ("highest", "lowest"):
        return Ask(kind, (key, number), (), 1, topic(view, rng, always=True))
    values = [_value(view, row, key) for row in rng.sample(range(len(view.rows)), 2)]
    are_names = all(map(_NAME.match, values))
    return Ask(kind, (number,), tuple(values), 1, topic(view, rng)) if are_names else None


def key_column(view: TableView, columns: Iterable[str]) -> str | None:
    """Return the column that names the rows: the first of texts nearly all different, or None."""
    for name in columns:
        texts = [c for c in view.cells(name) if any(map(str.isalpha, c)) and number_in(c) is None]
        is_key = len(texts) == len(view.rows) and len(set(texts)) >= _KEY_SHARE * len(texts)
        if is_key and _NO_AMOUNT.isdisjoint(words(name)):
            return name
    return None


_KEY_SHARE = 0.8


def _number_column(view: TableView, names: Mapping[str, str], rng: Random) -> str | None:
    """Return a column of amounts: no years, no numbers that count the rows, no ranks or ages."""
    for name in rng.sample(list(names), len(names)):
        numbers = [number for number, _ in view.numbers(name)]
        steps = {b - a for a, b in pairwise(numbers)}
        is_year = all(number == int(number) and 1500 <= number <= 2100 for number in numbers)
        if len(steps) > 1 and not is_year and _NO_AMOUNT.isdisjoint(words(names[name])):
            return name
    return None


def _value(view: TableView, row: int, name: str) -> str:
    """Return a cell as a person would say it, without brackets; "" if nobody would."""
    cell = view.cells(name)[row].strip()
    text = _without_marks(cell)
    first = text.partition(" ")[0].lower().rstrip(".")
    is_said = (
        text not in BLANK
        and "\n" not in cell
        and len(text.split()) <= _MOST_WORDS
        and first not in _PREPOSITIONS
        and text not in stop_words("en")
        and words(text) not in ([], words(name))
        and not text.endswith(".0")
    )
    return text if is_said else ""


def _without_marks(text: str) -> str:
    text = re.sub(r"\s+([,;:]|$)", r"\1", BRACKETS.sub("", text))
    return " ".join(text.split()).strip(" \"'“”„*†‡#)(,;:!?-–—")


def topic(view: TableView, rng: Random, *, always: bool = False) -> str:
    """Return title or section, both, or nothing; ``always``: not nothing, where there is one."""
    texts = [_title(text) for text in view.titles]
    texts = [text for text in texts if text and len(text.split()) <= _MOST_WORDS]
    drawn = rng.random()
    if not texts or (drawn < _NO_TOPIC and not always):
        return ""
    return ", ".join(dict.fromkeys(reversed(texts))) if drawn > 1 - _BOTH_TITLES else texts[0]


_NO_TOPIC = 0.3
_BOTH_TITLES = 0.2


def _title(text: str) -> str:
    text = _without_marks(text.replace("_", " "))
    return text[len("list of ") :] if text.lower().startswith("list of ") else text


def phrase(
    ask: Ask,
    view: TableView,
    names: Mapping[str, str],
    rng: Random,
    language: Language,
    used: Counter[str],
) -> str:
    """Return a question as text.

    Args:
        ask: what it asks.
        view: the table.
        names: column -> its name in the question.
        rng: draws among the templates that were used least.
        language: of the templates.
        used: template -> how often it was drawn; it is counted here.
    """
    english = language == "en"
    column_names = [names[column] for column in ask.columns]
    values = list(ask.values)
    if ask.kind == "lookup" and len(column_names) > ask.n_asked:
        pairs = zip(column_names[ask.n_asked :], values, strict=True)
        values = [_AND[language].join(_with_column(*pair, english) for pair in pairs)]
    way = _english_way(ask, view, column_names) if english else _way(ask)
    template = min(_TEMPLATES[language][way], key=lambda text: (used[text], rng.random()))
    used[template] += 1
    v, w = (*values, "", "")[:2]
    text = template.format(a=column_names[0], b=column_names[-1], v=v, w=w)
    if not set(words(ask.topic)) <= set(words(text)):
        as_for = english and rng.random() < _AS_FOR and words(ask.topic)[0] not in _PREPOSITIONS
        start = "for {}, {}" if as_for else "{}: {}"
        text = start.format(ask.topic, text)
    opened = "¿" if text.startswith("¿") else ""
    text = text.removeprefix("¿")
    return f"{opened}{text[0].upper()}{text[1:]}{_QUESTION_MARKS.get(language, '?')}"


_AS_FOR = 0.5
_AND: Mapping[Language, str] = {"en": " and ", "de": " und ", "fr": " et ", "es": " y "}
_QUESTION_MARKS: Mapping[Language, str] = {"fr": "\u00a0?"}


def _way(ask: Ask) -> str:
    """Return the name of the templates for what is asked."""
    if ask.kind != "lookup":
        return ask.kind
    return "two" if ask.n_asked > 1 else "which" if len(ask.columns) > 1 else "lookup"


def _english_way(ask: Ask, view: TableView, names: Sequence[str]) -> str:
    """Return the name of the English templates, which ask for people and many things otherwise."""
    way = _way(ask)
    if way == "lookup" and _is_plural(names[0]):
        cells = view.cells(ask.columns[0])
        return "number" if sum(map(bool, map(number_in, cells))) > len(cells) / 2 else "several"
    if way == "lookup" and names[0].split()[-1] in _PEOPLE:
        return "person"
    return _OF_MANY.get(way, way) if _is_plural(names[-1]) else way


_OF_MANY = {"highest": "most", "lowest": "fewest", "comparison": "more"}


def _is_plural(column: str) -> bool:
    """Whether the name of a column is of several things, as ``guests of honor`` is."""
    return re.search("[^siu]s$", re.split(" (?:of|in|for|per) ", column)[0]) is not None


def _with_column(column: str, value: str, english: bool) -> str:
    """Return a value with what it is a value of."""
    if not english:
        return f"{column} {value}"
    is_count = _is_plural(column) and number_in(value) is not None
    return f"{value} {column}" if is_count else f"the {column} {value}"


def _parts_of(entries: Mapping[str, str]) -> dict[str, Sequence[str]]:
    return {name: text.split(" | ") for name, text in entries.items()}


_DATA: Mapping[str, Any] = yaml.safe_load(
    Path(__file__).with_name("templates.yaml").read_text(encoding="utf-8")
)
_TEMPLATES: Mapping[Language, Mapping[str, Sequence[str]]] = {
    language: _parts_of(entries) for language, entries in _DATA["templates"].items()
}
_PEOPLE, _PREPOSITIONS, _UNASKED, _NO_AMOUNT = (
    frozenset(_DATA[name].split(" | "))
    for name in ("people", "prepositions", "unasked", "no_amounts")
)

LANGUAGES: Sequence[Language] = tuple(_TEMPLATES)
"""The languages that templates ask in."""
