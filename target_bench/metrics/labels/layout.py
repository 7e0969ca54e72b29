"""The parts of an answer that may hold a verdict: JSON, marked answers, and sentences."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from target_bench.metrics.labels.verdicts import alone
from target_bench.metrics.labels.vocabulary import CLAIM, one_of

_MARKS = one_of(
    """answer / verdict / label / conclusion / result / judge?ment / classification / decision
    / determination / assessment / prediction / evaluation / veracity / truth value / rating
    / ruling / output / response / overall"""
)
_MARK = re.compile(
    rf"(?P<final>\bfinal\s)?(?:\b(?:the|my|correct|overall|appropriate)\s){{0,3}}\b{_MARKS}"
    rf"(?:\s(?:for|of|to|on)\s(?:this|the|that)?\s?{CLAIM})?\s*(?:is\s?)?"
    r"(?::|=>|->|→|=|\s[-–—]\s)\s*"
)
_HEADING = re.compile(rf"(?:the |my |final |overall )*{_MARKS}\W*")
_ECHO = re.compile(
    one_of(
        r"""statement / claim / question / hypothesis / premise / sentence / query / input / context
        / passage / evidence / caption / table(?: \d+)?"""
    )
    + r"\s*(?:\d+\s*)?:"
)
"""How a line begins that repeats what was asked."""
_REASON = re.compile(
    one_of("reason(?:ing)? / explanation / justification / rationale / analysis / note / why")
    + r"\s*:\s*"
)
_BOXED = re.compile(
    r"\\boxed\{\s*(?:\\(?:text|textbf|mathrm|mathbf)\s*\{)?\s*(?P<text>[^{}]{1,200})\}"
)
_TAGS = "answer|label|verdict|final_answer|output|response|solution"
_TAGGED = re.compile(rf"<({_TAGS})>(?P<text>.{{0,2000}}?)</\1>", re.DOTALL)
_LAST_TAGGED = re.compile(rf"<(?:{_TAGS})>(?P<text>[^<]{{1,200}})\Z")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+|;\s+")
_QUOTED = re.compile(r'"([^"\n]{1,500})"|(?<!\w)\'([^\'\n]{1,500}?)\'(?!\w)')
_MARKUP = (
    (re.compile("[‘’`´]"), "'"),
    (re.compile("[“”«»„]"), '"'),
    (re.compile(r"\\(?:text|textbf|mathbf|mathrm)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(rf"</?(?:b|i|em|strong|br|p|code|{_TAGS})\s*/?>"), " "),
    (re.compile(r"<\|[a-z_]{1,30}\|>|</?s>|\[/?inst\]"), " "),
    (re.compile(r"[*~#$]+"), ""),
    (re.compile(r"[_ \t\r\f\v\xa0]+"), " "),
    (re.compile(r"\|"), "\n"),
    (re.compile(r"(?m)^ *(?:(?:>|[-•–] |\d{1,2}[.)] |step \d{1,3}[:.]) *)+"), ""),
    (re.compile(r"\bnot\s+enough\s+info"), "not enough info"),
    (re.compile(r"\((true|false)\)"), r"\1"),
    (re.compile(r"\bno\. ?(?=\d)"), "number "),
)

_KEYS = frozenset(
    """label verdict answer final_answer finalanswer result prediction classification judgment
    judgement decision conclusion veracity response output truth_value status truth final_verdict
    final_label predicted_label""".split()  # noqa: SIM905
)
_AFFIRMING = frozenset(
    """is_true is_supported is_correct is_accurate supported correct true valid is_valid is_entailed
    entailed accurate holds istrue is_factual statement_is_true claim_is_true""".split()  # noqa: SIM905
)
_DENYING = frozenset(("is_false", "false", "refuted", "is_refuted", "contradicted", "incorrect"))
_FENCED = re.compile(r"\A\s*```(?:json)?\s*", re.IGNORECASE)
_OBJECT = re.compile(r"\{[^{}]*\}")
_FIELD = re.compile(
    r"""["']?\b(?P<key>[A-Za-z_ ]{1,30})["']?\s*:\s*"""
    r"""(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[\w.-]{1,30}))"""
)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a JSON object that holds a verdict.

    Attributes:
        value: its text, or its number, boolean or null as JSON.
        denies: whether it says that the statement is false (``refuted``).
        flag: whether its name asks a question (``supported``); else it names a label.
    """

    value: str
    denies: bool = False
    flag: bool = False


def fields(text: str) -> list[Field]:
    """Return the verdicts in the JSON objects of a text.

    Broken objects and Python's dicts are read too.
    """
    objects = [match[0] for match in _OBJECT.finditer(text)]
    begun = _FENCED.sub("", text).lstrip()
    if not objects and begun.startswith("{"):
        objects = [begun]
    return [field for body in objects for field in _fields(body)]


def _fields(body: str) -> Iterator[Field]:
    for key, value in _pairs(body):
        name = re.sub(r"[\s-]+", "_", key.strip().lower())
        if name in _KEYS or name in _AFFIRMING or name in _DENYING:
            yield Field(value, name in _DENYING, name not in _KEYS)


def _pairs(body: str) -> Iterator[tuple[str, str]]:
    try:
        record = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        for match in _FIELD.finditer(body):
            values = match.group("double", "single", "bare")
            yield match["key"], next(value for value in values if value is not None)
    else:
        for key, value in record.items():
            yield key, value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True, slots=True)
class Marked:
    r"""The text after "Answer:" and the like.

    Attributes:
        text: up to the end of its line.
        final: whether it is marked as the last word ("Final answer:", ``\boxed``, ``<answer>``).
    """

    text: str
    final: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """An answer that is not JSON, in lower case, without markup, quotations and examples.

    Attributes:
        marked: the answers that are marked as such.
        sentences: all of them.
    """

    marked: tuple[Marked, ...]
    sentences: tuple[str, ...]


def layout(text: str) -> Layout:
    """Return the parts of an answer."""
    marked = [
        Marked(_plain(match["text"]), True)
        for pattern in (_BOXED, _TAGGED, _LAST_TAGGED)
        for match in pattern.finditer(text)
    ]
    lines = _own(_joined(_plain(_BOXED.sub(" ", text)).split("\n")))
    for line in lines:
        places = list(_MARK.finditer(line))
        ends = [*(place.start() for place in places), len(line)][1:]
        marked += [
            Marked(line[place.end() : end].strip(), place["final"] is not None)
            for place, end in zip(places, ends, strict=False)
        ]
    sentences = (part.strip() for line in lines for part in _SENTENCE.split(_REASON.sub("", line)))
    return Layout(
        tuple(found for found in marked if found.text),
        tuple(sentence for sentence in sentences if re.search(r"\w", sentence)),
    )


def _plain(text: str) -> str:
    """Return the text in lower case, with plain quotes and without markup."""
    text = text.replace("```", "\n").lower()
    for pattern, plain in _MARKUP:
        text = pattern.sub(plain, text)
    return _QUOTED.sub(_unquoted, text).strip()


def _unquoted(match: re.Match[str]) -> str:
    """Return a quoted verdict itself; for other quotations the word ``quoted``."""
    inner = match[1] or match[2]
    return "quoted" if alone(inner) is None else inner


def _joined(lines: list[str]) -> list[str]:
    """Return lines that are not empty, a heading such as "Verdict" joined with the next line."""
    joined: list[str] = []
    heading = False
    for line in map(str.strip, lines):
        if not line:
            continue
        if heading:
            joined[-1] = f"{joined[-1].rstrip(' :')}: {line}"
        else:
            joined.append(line)
        heading = not heading and _HEADING.fullmatch(line) is not None
    return joined


def _own(lines: list[str]) -> list[str]:
    """Return lines without the repeated question and further examples that a model makes up."""
    kept: list[str] = []
    answered = False
    for line in lines:
        echo = _ECHO.match(line)
        if echo and alone(line[echo.end() :]) is None:
            if answered:
                break
            mark = _MARK.search(line)
            line = line[mark.start() :] if mark else ""
        elif echo:
            line = line[echo.end() :]
        kept.append(line)
        answered = answered or alone(_MARK.sub("", line, count=1)) is not None
    return kept
