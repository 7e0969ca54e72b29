"""The card of a submission: who made what, from what, and how it may be used.

It is read from YAML, which may come from anybody: no aliases, no tags, no great depth.
"""

import re
import unicodedata
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from yaml import (
    AliasEvent,
    Event,
    MappingNode,
    Node,
    SafeLoader,
    ScalarEvent,
    ScalarNode,
    SequenceNode,
    YAMLError,
    compose,
    parse,
)
from yaml.events import CollectionEndEvent, CollectionStartEvent

from target_bench.core.errors import DataError

Kind = Literal[
    "lexical", "sparse", "dense", "late-interaction", "hybrid", "reranker", "generative", "other"
]
"""Kind of a retriever."""

Trained = Literal["yes", "no", "unknown"]
"""Whether a model saw questions or tables of a corpus in training."""

_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
"""Unicode categories of control and format characters (those for bidirectional text among them),
half characters, private ones, and line and paragraph separators."""

_JOINERS = "\u200c\u200d"
"""Format characters that scripts need to be written rightly."""


def visible(text: str) -> str:
    """Return the text, if all of it shows as it is written.

    Raises:
        ValueError: it holds a control character, or one that does not show or turns text around.
    """
    for character in text:
        if unicodedata.category(character) in _INVISIBLE and character not in _JOINERS:
            raise ValueError(
                f"holds U+{ord(character):04X}, a character that does not show or changes the "
                "direction of text; leave it out"
            )
    return text


def _plain(text: str) -> str:
    if "<" in visible(text) or ">" in text:
        raise ValueError("holds < or >; a card is plain text without HTML")
    if not text.strip():
        raise ValueError("is empty")
    return text.strip()


def _link(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        raise ValueError(f"is not an address ({error})") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("should be an address that begins with https:// or http://")
    if not re.fullmatch(r"[!#$%&'()*+,\-./0-9:;=?@A-Z_a-z~\[\]]+", url):
        raise ValueError("holds characters that an address cannot have; percent-encode them")
    if "@" in parts.netloc:
        raise ValueError("holds a user name or password")
    return url


_SCALES = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}


def _number(value: object) -> object:
    """``110M`` as 110,000,000; anything but text as it is."""
    if not isinstance(value, str) or re.fullmatch(r"[0-9]{1,16}", value):
        return value
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s?([kKmMbBtT])", value)
    if match is None:
        raise ValueError("should be a number such as 0, 110M or 7.5B; unknown is null")
    return round(float(match[1]) * _SCALES[match[2].lower()])


def _trained(value: object) -> object:
    """YAML reads ``yes`` and ``no`` as truth values."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def _of(longest: int) -> Any:
    return Annotated[str, Field(max_length=longest), AfterValidator(_plain)]


def is_link(url: str) -> bool:
    """Return whether an address may stand on a page as a link."""
    try:
        return bool(_link(url))
    except ValueError:
        return False


Link = Annotated[str, Field(max_length=500), AfterValidator(_link)]
Corpus = Annotated[str, Field(max_length=60, pattern=r"^[a-z0-9][a-z0-9_.-]*$")]


class Card(BaseModel):
    """Card of a submission; all texts are the submitter's and shown as plain text.

    Attributes:
        name: of the system, as the leaderboard shows it.
        authors: who made it.
        retriever_kind: how it finds tables.
        parameters: of all models together, as a number or like ``110M``; 0 for none, None where
            it is not known.
        training_data: for each corpus of the runs, whether a model was trained on it.
        hardware: what it ran on.
        licence: under which the system may be used.
        open_weights: whether its weights can be had; true for a system without any.
        paper: its address.
        code: its address.
        contact: how to reach the authors.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: _of(80)  # type: ignore[valid-type]  # made by a function
    authors: Annotated[tuple[_of(100), ...], Field(min_length=1, max_length=50, strict=False)]  # type: ignore[valid-type]  # made by a function
    retriever_kind: Kind
    parameters: Annotated[int | None, Field(ge=0, le=10**15), BeforeValidator(_number)]
    training_data: Annotated[
        dict[Corpus, Annotated[Trained, BeforeValidator(_trained)]], Field(max_length=100)
    ]
    hardware: _of(200)  # type: ignore[valid-type]  # made by a function
    licence: _of(100)  # type: ignore[valid-type]  # made by a function
    open_weights: bool
    paper: Link | None = None
    code: Link | None = None
    contact: _of(200) | None = None  # type: ignore[valid-type]  # made by a function


def faults(error: ValidationError) -> list[tuple[tuple[str | int, ...], str]]:
    """Describe an error in a card: its place and its reason."""
    return [(one["loc"], _words(one)) for one in error.errors(include_url=False)]


def _words(one: Any) -> str:
    where = ".".join(str(part)[:60] for part in one["loc"] if part != "[key]") or "the card"
    if one["type"] == "extra_forbidden":
        return f"{where}: there is no such field; known: {', '.join(Card.model_fields)}"
    message = one["msg"].removeprefix("Value error, ")
    if one["type"] == "missing":
        return f"{where}: is missing"
    found = one.get("input")
    shown = f" (found {ascii(found)[:60]})" if isinstance(found, str | int | float) else ""
    return f"{where}: {message[:1].lower()}{message[1:]}{shown}"


ASKED = {
    "name": "Name of the system",
    "authors": "Authors, with commas",
    "retriever_kind": f"How it finds tables ({', '.join(get_args(Kind))})",
    "parameters": "Parameters of all models, as in 110M (0: none, unknown)",
    "hardware": "Hardware it ran on",
    "licence": "Licence",
    "open_weights": "Are its weights open, or has it none (yes, no)",
    "paper": "Address of the paper (may be empty)",
    "code": "Address of the code (may be empty)",
    "contact": "Contact (may be empty)",
}
"""Field -> the question for it; the training data are asked for corpus by corpus."""


def answer(name: str, text: str, key: str | None = None) -> Any:
    """Return the value of a field as somebody typed it.

    Args:
        name: of the field.
        text: what was typed.
        key: the corpus, for ``training_data``.

    Raises:
        DataError: it cannot be a value of the field.
    """
    text = text.strip()
    value: Any = text or None
    if name == "authors":
        value = [author.strip() for author in text.split(",") if author.strip()]
    elif name == "parameters":
        value = None if text.lower() == "unknown" else int(text) if text.isdecimal() else text
    elif name == "open_weights":
        value = {"yes": True, "y": True, "no": False, "n": False}.get(text.lower(), text)
    elif key is not None:
        value = text.lower()
    given = {name: value if key is None else {key: value}}
    try:
        Card.model_validate(given)
    except ValidationError as error:
        messages = [message for at, message in faults(error) if at[0] == name]
        if messages:
            raise DataError("; ".join(messages)) from None
    return value


LARGEST = 64 * 1024
"""Bytes that the file of a card may have."""

_DEEPEST = 4


def read_card(path: Path) -> Card:
    """Return the card in a YAML file.

    Raises:
        DataError: it cannot be read, or does not hold a card; every fault stands with its line.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    if len(raw) > LARGEST:
        raise DataError(f"{path}: has more than {LARGEST:,} bytes, which no card needs")
    try:
        text = raw.decode("utf-8-sig")
        _check_events(text, path)
        node = compose(text, SafeLoader)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not valid UTF-8") from error
    except YAMLError as error:
        raise DataError(f"{path}{_line_of(error)}: not valid YAML: {_first_words(error)}") from None
    if not isinstance(node, MappingNode):
        raise DataError(f"{path}: expected fields, as in 'name: My Retriever'")
    lines: dict[tuple[str | int, ...], int] = {}
    values = _value(node, (), lines, path)
    try:
        return Card.model_validate(values)
    except ValidationError as error:
        messages = [_with_line(loc, message, lines) for loc, message in faults(error)]
        raise DataError("\n".join(f"{path}{one}" for one in messages)) from None


def _check_events(text: str, path: Path) -> None:
    """See that nothing is there that grows, or makes objects, when it is read."""
    depth = 0
    for event in parse(text, SafeLoader):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        problem = _problem(event)
        if depth > _DEEPEST:
            problem = f"is nested deeper than {_DEEPEST} levels"
        if problem:
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise DataError(f"{path}, line {line}: {problem}")


def _problem(event: Event) -> str | None:
    if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
        return "holds an anchor or alias (& or *), which a card cannot have; quote the text"
    if isinstance(event, CollectionStartEvent | ScalarEvent) and event.tag is not None:
        return f"holds the tag {event.tag[:60]!r}, which a card cannot have"
    return None


def _value(node: Node, at: tuple[str | int, ...], lines: dict[Any, int], path: Path) -> Any:
    """Return the value of a node; ``lines`` gets the line of everything in it."""
    lines[at] = node.start_mark.line + 1
    if isinstance(node, SequenceNode):
        return [_value(item, (*at, i), lines, path) for i, item in enumerate(node.value)]
    if isinstance(node, MappingNode):
        found: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode):
                raise DataError(f"{path}, line {line}: a field needs a name")
            if key.value in found:
                raise DataError(f"{path}, line {line}: {key.value[:60]!r} is there twice")
            found[key.value] = _value(value, (*at, key.value), lines, path)
        return found
    try:
        return SafeLoader("").construct_object(node)
    except (YAMLError, ValueError) as error:
        line = node.start_mark.line + 1
        raise DataError(f"{path}, line {line}: {_first_words(error)}") from None


def _with_line(at: tuple[str | int, ...], message: str, lines: dict[Any, int]) -> str:
    while at and at not in lines:
        at = at[:-1]
    return f", line {lines[at]}: {message}" if at else f": {message}"


def _line_of(error: YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f", line {mark.line + 1}" if mark else ""


def _first_words(error: Exception) -> str:
    return str(getattr(error, "problem", None) or error).split("\n")[0][:200]
