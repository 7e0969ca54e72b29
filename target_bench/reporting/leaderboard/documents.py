"""What may stand in a submission: its card, its index, its runs, and a line of predictions.

All of it comes from anybody: nothing is believed or shown before a model here has checked it.
"""

import datetime
import re
import string
import unicodedata
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import DataError
from target_bench.core.settings import yaml_value

MOST_RUNS = 100
MOST_TABLES = 1000
"""The largest cutoff; a ranking holds no more."""

LONGEST_ANSWER = 20_000
LARGEST_INTEGER = 2**53
LARGEST_CARD = 64 * 1024
"""Bytes that the file of a card may have."""
MILLISECONDS = "ms"
"""What the time of retrieval, a query, is called in the place of a metric."""
LARGEST_NUMBER = 1e10
"""Of seconds, milliseconds and costs; sums of more might be infinite."""

Kind = Literal[
    "lexical", "sparse", "dense", "late-interaction", "hybrid", "reranker", "generative", "other"
]
"""How a retriever finds tables."""

_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
"""Unicode categories of control and format characters (those for bidirectional text among them),
half characters, private ones, and line and paragraph separators."""

_BLANK = "\u2800\u3164\uffa0\u115f\u1160\u00a0\u3000\u200c\u200d\ufe0f\u034f"
"""Letters and marks that show nothing by themselves."""

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


_TOMORROW = datetime.timedelta(days=1)
"""What time zones may add to a day."""


def _plain(text: str) -> str:
    if "<" in visible(text) or ">" in text:
        raise ValueError("holds < or >; a card is plain text without HTML")
    if not text.strip(f"{string.whitespace}{_BLANK}"):
        raise ValueError("is empty")
    return text.strip()


def _day(text: str) -> str:
    if text and datetime.date.fromisoformat(text) > datetime.date.today() + _TOMORROW:
        raise ValueError("is in the future")
    return text


def web_address(url: str) -> str:
    """Return an address that may stand on a page as a link.

    Raises:
        ValueError: it is none of http or https, or holds a login.
    """
    if not re.fullmatch(r"(?i:https?)://(?![/?#])[!#$%&'()*+,\-./0-9:;=?@A-Z_a-z~\[\]]+", url):
        raise ValueError(
            "should be an address that begins with https:// or http://; percent-encode what an "
            "address cannot hold"
        )
    if "@" in url.split("/")[2]:
        raise ValueError("holds a user name or password")
    return url


def _parameters(value: object) -> object:
    """Read ``110M`` as 110,000,000; anything but text as it is."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"(\d{1,16}(?:\.\d{1,3})?)\s?([kmbt]?)", value.lower())
    if match is None:
        raise ValueError("should be a number such as 0, 110M or 7.5B; unknown is null")
    return round(float(match[1]) * 1000 ** " kmbt".index(match[2] or " "))


def _trained(value: object) -> object:
    """YAML reads ``yes`` and ``no`` as truth values."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


Text = Annotated[str, Field(max_length=100), AfterValidator(_plain)]
Line = Annotated[str, Field(max_length=200), AfterValidator(_plain)]
Link = Annotated[str, Field(max_length=500), AfterValidator(web_address)]
Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(visible)]
Label = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(visible)]
Id = Annotated[str, Field(max_length=500)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]
Amount = Annotated[float, Field(strict=False, ge=0, le=LARGEST_NUMBER)]
Times = Annotated[dict[Name, Amount], Field(max_length=20)]


class Strict(BaseModel):
    """A document without other fields than those named, each of its own type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Card(Strict):
    """Who made a system, from what, and how it may be used; all texts are shown as plain text.

    Attributes:
        name: of the system, as the leaderboard shows it.
        authors: who made it.
        retriever_kind: how it finds tables.
        parameters: of all models together, as a number or like ``110M``; 0 for none, None where
            it is not known.
        training_data: for each corpus of the runs, whether a model was trained on it.
        chosen_on: the split on whose scores the settings were chosen; ``nothing`` where none were.
        hardware: what it ran on.
        licence: under which the system may be used.
        open_weights: whether its weights can be had; true for a system without any.
        paper: its address.
        code: its address.
        contact: how to reach the authors.
        predictions: the address of the predictions, where the authors published them and another
            submits them.
        note: what a reader of the scores should know.
    """

    name: Annotated[Text, Field(max_length=80)]
    authors: Annotated[tuple[Text, ...], Field(min_length=1, max_length=50, strict=False)]
    retriever_kind: Kind
    parameters: Annotated[int | None, Field(ge=0, le=10**15), BeforeValidator(_parameters)]
    training_data: Annotated[
        dict[
            Annotated[str, Field(max_length=60, pattern=r"^[a-z0-9][a-z0-9_.-]*$")],
            Annotated[Literal["yes", "no", "unknown"], BeforeValidator(_trained)],
        ],
        Field(max_length=100),
    ]
    chosen_on: Literal["nothing", "train", "validation", "test", "other data", "unknown"]
    hardware: Line
    licence: Text
    open_weights: bool
    paper: Link | None = None
    code: Link | None = None
    contact: Line | None = None
    predictions: Link | None = None
    note: Line | None = None


class RunFields(Strict):
    """Fields of a run in submissions and on boards.

    Attributes:
        corpus: registered name of the corpus.
        split: full name of the split.
        task: short name of the task.
        about: the task whose queries were ranked, or None for all of the split.
        distractors: what was mixed in, each as it was asked for.
        retriever: label of the retriever; None where nothing was retrieved.
        generator: label of the generator; None for a run of rankings.
        cutoffs: ascending; none without a retriever.
        corpus_fingerprint: of the tables.
        queries_fingerprint: of queries and gold tables, of answers of the references too.
        environment: interpreter, processors and package versions.
        seconds: stage -> wall-clock seconds, of stages of which nothing came out of a cache.
        timed_queries: how many queries the seconds of ``retrieve`` cover.
        latency_ms: of single queries, or None.
        date: the day it was run.
        sets: whether the tables returned are a set that the retriever chose, scored as one too.
    """

    corpus: Name
    split: Name
    task: Name
    about: Name | None
    distractors: Annotated[list[Label], Field(max_length=20)]
    retriever: Label | None
    generator: Label | None
    cutoffs: Annotated[list[Annotated[int, Field(ge=1, le=MOST_TABLES)]], Field(max_length=20)]
    corpus_fingerprint: Hash
    queries_fingerprint: Hash
    environment: dict[str, Any]
    seconds: Times
    timed_queries: Count
    latency_ms: Times | None
    date: Annotated[str, Field(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$"), AfterValidator(_day)]
    sets: bool = False


class RunDocument(RunFields):
    """``run.json``: what a run is of, and what its manifest says.

    Attributes:
        retrieval: for answers to retrieved tables, the place of their rankings among the runs.
        files: SHA-256 of every source file of the data, by name.
        identity: of ``retriever``, ``generator`` and ``prompt``: class, settings, versions.
        cold: that times of which something came out of a cache were left out.
    """

    retrieval: Annotated[int, Field(ge=0, lt=MOST_RUNS)] | None
    files: dict[str, Hash]
    identity: dict[Name, dict[str, Any]]
    cold: Literal[True]

    @model_validator(mode="after")
    def _fits(self) -> "RunDocument":
        if sorted(set(self.cutoffs)) != self.cutoffs:
            raise ValueError("cutoffs should be ascending")
        if (self.retriever is None) == bool(self.cutoffs):
            raise ValueError("cutoffs belong to runs with a retriever, and to all of them")
        if self.generator is None and (self.retriever is None or self.retrieval is not None):
            raise ValueError("a run without a generator has a retriever and names no other run")
        if self.sets and self.task != RANKING_TASK:
            raise ValueError(f"sets: only a run about {RANKING_TASK} is scored as sets of tables")
        if self.generator is not None and self.task == RANKING_TASK:
            raise ValueError(f"a run about {self.task} has no generator")
        if self.generator is not None and (self.retriever is None) != (self.retrieval is None):
            raise ValueError("answers name a retriever and the run of its rankings, or neither")
        return self


class Index(Strict):
    """``submission.json``: how many runs there are, and the hash of every other file."""

    format: Literal[3]
    written_by: Name
    runs: Annotated[int, Field(ge=1, le=MOST_RUNS)]
    files: dict[str, Hash]


class RankingLine(Strict):
    """A line of ``retrieval.jsonl``: the tables of a query, best first, as (database, table)."""

    query_id: Id
    tables: Annotated[
        list[Annotated[list[Id], Field(min_length=2, max_length=2)]],
        Field(max_length=MOST_TABLES),
    ]
    error: Id | None = None
    resorted: bool = False
    tied: bool = False
    cut: bool | None = None


class AnswerLine(Strict):
    """A line of ``generations.jsonl``."""

    query_id: Id
    text: Annotated[str, Field(max_length=LONGEST_ANSWER)]
    error: Id | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost: Amount | None = None
    seconds: Amount | None = None
    finish_reason: Id | None = None
    cached: bool = False
    truncated: bool = False


def read_card(path: Path) -> Card:
    """Return the card in a YAML file.

    Raises:
        DataError: it cannot be read, or does not hold a card; every fault stands with its field.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_CARD + 1)
        if len(raw) > LARGEST_CARD:
            raise DataError(f"{path}: has more than {LARGEST_CARD:,} bytes, which no card needs")
        fields = yaml_value(raw.decode("utf-8-sig"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        message = ascii(" ".join(str(error).split())[:300])[1:-1]
        raise DataError(f"{path}: not valid YAML: {message}") from None
    if not isinstance(fields, dict):
        raise DataError(f"{path}: expected fields, as in 'name: My Retriever'")
    try:
        return Card.model_validate(fields)
    except ValidationError as error:
        faults = error.errors(include_url=False)[:20]
        raise DataError("\n".join(f"{path}: {_fault(fault)}" for fault in faults)) from None


def first_fault(error: ValidationError) -> str:
    """Describe the first field that is wrong, in printable text of bounded length."""
    return _fault(error.errors(include_url=False)[0])


def _fault(fault: Any) -> str:
    where = ".".join(ascii(str(part))[1:-1][:60] for part in fault["loc"] if part != "[key]")
    message = fault["msg"].removeprefix("Value error, ")[:300]
    texts = {"missing": "is missing", "extra_forbidden": "there is no such field"}
    message = texts.get(fault["type"], message)
    given = fault.get("input")
    shown = f" (found {ascii(given)[:60]})" if isinstance(given, str | int | float) else ""
    return f"{where}: {message[:1].lower()}{message[1:]}{shown}" if where else message + shown
