"""Tables made of the sentences of a text, by rules and without any model."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

_SENTENCE_END = re.compile(r"(?<!\b[A-Z])[.!?]\s+(?=[^\W_a-z])")
_TOKEN = re.compile(r"[^\W_]+(?:[-'’.,:/–][^\W_]+)*[#+%]*|[^\w\s.-]")
_NUMBER = re.compile(r"\d[\d.,:/–-]*%?")
_YEAR = re.compile(r"1\d{3}|20\d\d")
_JOINED = frozenset({"", " ", "-", " - ", ". "})
_LABEL_WORDS = 2

Fields = dict[str, str]


def rows_of(text: str) -> list[list[str]]:
    """Put the names and numbers of a text into a table, the header first.

    The first name or year of a sentence is what the sentence is about: a row. Its other names and
    numbers are cells. The column of a number is the word after it (``17 points``); that of any
    other value is the two words before it, function words left out. Without such words it is
    ``year`` or ``value``. A sentence without a name or year is about the same as the one before.
    Of several rows only the columns that two of them have are kept, if there are any. One row
    becomes a table of two columns: what a value is, and the value. In a text without capitals
    a name is what stands between two function words.

    Returns:
        Rows of equal length; none of a text that says nothing.
    """
    by_subject: dict[str, Fields] = {}
    subject = ""
    for sentence in _SENTENCE_END.split(text):
        named, fields = _row(list(_values(sentence, has_capitals=text != text.lower())))
        subject = named or subject
        if subject:
            known = by_subject.setdefault(subject, {})
            known.update((name, value) for name, value in fields.items() if name not in known)
    key = "year" if by_subject and all(map(_YEAR.fullmatch, by_subject)) else "name"
    if len(by_subject) == 1:
        ((subject, fields),) = by_subject.items()
        return [[key, subject], *([name, value] for name, value in fields.items())]
    columns = _columns(by_subject.values())
    kept = [[name, *(fields.get(c, "") for c in columns)] for name, fields in by_subject.items()]
    rows = [row for row in kept if any(row[1:]) or not columns]
    return [[name.capitalize() for name in (key, *columns)], *rows] if rows else []


def _columns(rows: Iterable[Fields]) -> list[str]:
    """List the names that two rows have, or, where there are none, all."""
    seen = Counter(name for row in rows for name in row)
    return [name for name, times in seen.items() if times > 1] or list(seen)


def _row(values: list[tuple[str, str, bool]]) -> tuple[str, Fields]:
    """Return the subject of a sentence, perhaps empty, and its other values by name."""
    subjects = (i for i, (value, _, counted) in enumerate(values) if _is_subject(value, counted))
    first = next(subjects, None)
    fields: Fields = {}
    carried = ""
    for i, (value, name, _) in enumerate(values):
        if i == first:
            carried = name
            continue
        name = name or carried or ("year" if _YEAR.fullmatch(value) else "value")
        carried = ""
        fields.setdefault(name, value)
    return ("" if first is None else values[first][0]), fields


def _is_subject(value: str, counted: bool) -> bool:
    return not counted and bool(_YEAR.fullmatch(value) or not _NUMBER.fullmatch(value))


def _values(sentence: str, has_capitals: bool) -> Iterator[tuple[str, str, bool]]:
    """Yield every name and number, the words that name it, and whether it is counted by them."""
    before: list[str] = []
    tokens = list(_grouped(sentence, has_capitals))
    skipped = -1
    for i, (kind, text) in enumerate(tokens):
        if kind == "word" and i != skipped:
            before.append(text)
        elif kind == "value":
            after = tokens[i + 1 : i + 2]
            counted = bool(_NUMBER.fullmatch(text) and after and after[0][0] == "word")
            skipped = i + 1 if counted else skipped
            yield text, after[0][1] if counted else " ".join(before[-_LABEL_WORDS:]), counted
            before = []


def _grouped(sentence: str, has_capitals: bool) -> Iterator[tuple[str, str]]:
    """Yield tokens with their kind; neighbouring words of a name are one."""
    start = end = 0
    for match in _TOKEN.finditer(sentence):
        kind = _kind(match[0], has_capitals)
        if kind == "name" and start < end and sentence[end : match.start()] in _JOINED:
            end = match.end()
            continue
        if start < end:
            yield "value", sentence[start:end]
        start, end = match.span() if kind == "name" else (0, 0)
        if kind != "name":
            yield kind, match[0]
    if start < end:
        yield "value", sentence[start:end]


def _kind(word: str, has_capitals: bool) -> str:
    if _NUMBER.fullmatch(word):
        return "value"
    if not word[0].isalnum():
        return "mark"
    is_letter = len(word) == 1 and word.isupper() and word != "A"
    if not is_letter and re.split("['’]", word.lower())[0] in _function_words():
        return "function word"
    return "name" if not has_capitals or not word[0].islower() else "word"


@cache
def _function_words() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return frozenset(STOPWORDS_EN_PLUS)
