"""The card of a submission: who made what, from what, and how it may be used."""

import re
import unicodedata
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from target_bench.core.errors import DataError

Kind = Literal[
    "lexical", "sparse", "dense", "late-interaction", "hybrid", "reranker", "generative", "other"
]
"""How a retriever finds tables."""

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


Link = Annotated[str, Field(max_length=500), AfterValidator(_link)]
Corpus = Annotated[str, Field(max_length=60, pattern=r"^[a-z0-9][a-z0-9_.-]*$")]


class Card(BaseModel):
    """What a submission says of itself; every text is the submitter's, and shown as plain text.

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
    """Return what is wrong with a card: where in it, and why, in plain words."""
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
