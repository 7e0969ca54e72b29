"""Cards: who made a system, from what, and how it may be used.

All of it comes from anybody: nothing is shown before a model here has checked it.
"""

import re
import string
import unicodedata
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from target_bench.core.errors import DataError
from target_bench.core.settings import read_yaml

LARGEST_CARD = 16 * 1024
"""Bytes that the file of a card may have."""

_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_BLANK = "\u2800\u3164\uffa0\u115f\u1160\u00a0\u3000\u200c\u200d\ufe0f\u034f"  # show nothing alone
_JOINERS = "\u200c\u200d"  # format characters that scripts need to be written rightly


def check_visible(text: str) -> str:
    """Return the text, if all of it shows as it is written."""
    for character in text:
        if unicodedata.category(character) in _INVISIBLE and character not in _JOINERS:
            raise ValueError(
                f"holds U+{ord(character):04X}, a character that does not show or changes the "
                "direction of text; leave it out"
            )
    return text


def check_address(url: str) -> str:
    """Return an address that may stand on a page as a link."""
    if not re.fullmatch(r"(?i:https?)://(?![/?#])[!#$%&'()*+,\-./0-9:;=?@A-Z_a-z~\[\]]+", url):
        raise ValueError(
            "expected an address that begins with https:// or http://; percent-encode what an "
            "address cannot hold"
        )
    if "@" in url.split("/")[2]:
        raise ValueError("holds a user name or password")
    return url


def _check_plain(text: str) -> str:
    if "<" in check_visible(text) or ">" in text:
        raise ValueError("holds < or >; a card is plain text without HTML")
    if not text.strip(f"{string.whitespace}{_BLANK}"):
        raise ValueError("is empty")
    return text.strip()


def _read_parameters(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"(\d{1,16}(?:\.\d{1,3})?)\s?([kmbt]?)", value.lower())
    if match is None:
        raise ValueError("expected a number such as 0, 110M or 7.5B, or null if unknown")
    return round(float(match[1]) * 1000 ** " kmbt".index(match[2] or " "))


def _read_yes_or_no(value: object) -> object:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value  # YAML's yes


Text = Annotated[str, Field(max_length=200), AfterValidator(_check_plain)]
Link = Annotated[str, Field(max_length=500), AfterValidator(check_address)]


class Strict(BaseModel):
    """A document without other fields than those named, each of its own type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Card(Strict):
    """Who made a system, from what, and how it may be used; all texts are shown as plain text.

    ```yaml
    name: Our BM25
    authors: [Ann Other]
    kind: lexical
    parameters: 0
    trained_on: {ottqa: no}
    chosen_on: validation
    licence: Apache-2.0
    ```

    Attributes:
        name: of the system, as the board shows it.
        authors: who made it.
        kind: how it finds tables or answers.
        parameters: of all models together, as a number or like ``110M``; 0 for none, None where
            it is not known.
        trained_on: for each corpus of the runs, whether a model was trained on it.
        chosen_on: the split on whose scores the settings were chosen; ``nothing`` where none were.
        licence: under which the system may be used.
        paper: its address.
        code: its address.
        predictions: the address of the predictions, where the authors published them and another
            submits them.
        note: a sentence that a reader of the scores should know.
    """

    name: Annotated[Text, Field(max_length=80)]
    authors: Annotated[tuple[Text, ...], Field(min_length=1, max_length=50, strict=False)]
    kind: Literal[
        "lexical",
        "sparse",
        "dense",
        "late-interaction",
        "hybrid",
        "reranker",
        "generative",
        "other",
    ]
    parameters: Annotated[int | None, Field(ge=0, le=10**15), BeforeValidator(_read_parameters)]
    trained_on: Annotated[
        dict[
            Annotated[str, Field(max_length=60, pattern=r"^[a-z0-9][a-z0-9_.-]*$")],
            Annotated[Literal["yes", "no", "unknown"], BeforeValidator(_read_yes_or_no)],
        ],
        Field(max_length=100),
    ]
    chosen_on: Literal["nothing", "train", "validation", "test", "other data", "unknown"]
    licence: Text
    paper: Link | None = None
    code: Link | None = None
    predictions: Link | None = None
    note: Text | None = None


def read_card(path: Path) -> Card:
    """Return the card in a YAML file."""
    try:
        with path.open("rb") as file:
            return parse_card(file.read(LARGEST_CARD + 1))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        lines = str(error).splitlines()
        raise DataError("\n".join(f"{path}: {line}" for line in lines)) from None


def parse_card(content: bytes) -> Card:
    """Return the card in the bytes of a YAML document."""
    if len(content) > LARGEST_CARD:
        raise ValueError(f"has more than {LARGEST_CARD:,} bytes, which no card needs")
    try:
        fields = read_yaml(content.decode("utf-8-sig"))
    except ValueError as error:
        shown = ascii(" ".join(str(error).split())[:300])[1:-1]
        raise ValueError(f"not valid YAML: {shown}") from None
    if not isinstance(fields, dict):
        raise ValueError("expected fields, as in 'name: My Retriever'")
    try:
        return Card.model_validate(fields)
    except ValidationError as error:
        faults = error.errors(include_url=False)[:20]
        raise ValueError("\n".join(map(_describe_fault, faults))) from None


def describe_first_fault(error: ValidationError) -> str:
    """Describe the first field that is wrong, in printable text of bounded length."""
    return _describe_fault(error.errors(include_url=False)[0])


def _describe_fault(fault: Any) -> str:
    where = ".".join(ascii(str(part))[1:-1][:60] for part in fault["loc"] if part != "[key]")
    message = fault["msg"].removeprefix("Value error, ")[:300]
    texts = {
        "missing": "is missing",
        "extra_forbidden": "there is no such field",
        "tuple_type": "expected a list, as in [Ann Other]",
    }
    if where == "trained_on":
        texts["dict_type"] = "expected yes, no or unknown for each corpus, as in {mini: no}"
    message = ascii(texts.get(fault["type"], message))[1:-1]
    value = fault.get("input")
    shown = f" (found {ascii(value)[:60]})" if isinstance(value, str | int | float) else ""
    return f"{where}: {message[:1].lower()}{message[1:]}{shown}" if where else message + shown
