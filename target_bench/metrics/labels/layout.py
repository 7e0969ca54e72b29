"""The parts of an answer that may hold a verdict: JSON, marked answers, and sentences."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from target_bench.metrics.labels.sentences import alone

_MARKED = (
    r"answer|verdict|label|conclusion|result|judg(?:e)?ment|classification|decision|determination"
    r"|assessment|prediction|evaluation|veracity|truth value|rating|ruling|final answer|output|response"
)
_MARK = re.compile(
    rf"(?P<final>\bfinal\s)?(?:\b(?:the|my|correct|overall|appropriate)\s)*\b(?:{_MARKED})"
    r"(?:\s(?:for|of|to|on)\s(?:this|the|that)?\s?(?:statement|claim|question))?\s*(?:is\s?)?"
    r"(?::|=>|->|→|=|\s[-–—]\s)\s*"
)
_HEADING = re.compile(rf"(?:the |my |final |overall )*(?:{_MARKED})\W*")
_ECHO = re.compile(
    r"(?:statement|claim|question|hypothesis|premise|sentence|query|input|context|passage|evidence"
    r"|caption|table(?: \d+)?)\s*(?:\d+\s*)?:"
)
_REASON = re.compile(
    r"(?:reason(?:ing)?|explanation|justification|rationale|analysis|note|evidence|why)\s*:\s*"
)
_BOXED = re.compile(r"\\boxed\{\s*(?:\\(?:text|textbf|mathrm|mathbf)\s*\{)?\s*([^{}]{1,200})\}")
_ANSWER_TAG = re.compile(
    r"<(answer|label|verdict|final_answer|output|response|solution)>(.{0,2000}?)</\1>", re.DOTALL
)
_LAST_ANSWER_TAG = re.compile(r"<(?:answer|label|verdict|final_answer)>([^<]{1,200})\Z")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+|;\s+")
_QUOTED = re.compile(r'"([^"\n]{1,500})"|(?<!\w)\'([^\'\n]{1,500}?)\'(?!\w)')

_KEYS = frozenset(
    "label verdict answer final_answer finalanswer result prediction classification judgment"
    " judgement decision conclusion veracity response output truth_value status truth"
    " final_verdict final_label predicted_label".split()
)
_AFFIRMING = frozenset(
    "is_true is_supported is_correct is_accurate supported correct true valid is_valid is_entailed"
    " entailed accurate holds istrue is_factual statement_is_true claim_is_true isaccurate".split()
)
_DENYING = frozenset("is_false false refuted is_refuted contradicted incorrect".split())
_OBJECT = re.compile(r"\{[^{}]*\}")
_FIELD = re.compile(
    r"""["']?\b(?P<key>[A-Za-z_ ]{1,30})["']?\s*:\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'"""
    r"""|(?P<bare>[\w.-]{1,30}))"""
)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a JSON object that holds a verdict.

    Attributes:
        value: its text, or that of its number, null or boolean.
        truth: whether a boolean says that the statement is true (``is_true``), is false
            (``refuted``), or None where the value is the verdict.
    """

    value: str
    truth: bool | None


def fields(text: str) -> list[Field] | None:
    """The verdicts in the JSON objects of a text, broken ones included; None without any object."""
    objects = [match[0] for match in _OBJECT.finditer(text)]
    begun = re.sub(r"\A\s*```(?:json)?\s*", "", text, flags=re.IGNORECASE)
    if not objects and begun.lstrip().startswith("{"):
        objects = [begun]
    found = [field for body in objects for field in _fields(body)]
    return found or None


def _fields(body: str) -> Iterator[Field]:
    for key, value in _pairs(body):
        name = re.sub(r"[\s-]+", "_", key.strip().lower())
        if name in _AFFIRMING or name in _DENYING:
            yield Field(value, name in _AFFIRMING)
        elif name in _KEYS:
            yield Field(value, None)


def _pairs(body: str) -> list[tuple[str, str]]:
    try:
        record = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return [
            (m["key"], next(v for v in m.group("double", "single", "bare") if v is not None))
            for m in _FIELD.finditer(body)
        ]
    return [
        (key, value if isinstance(value, str) else json.dumps(value))
        for key, value in record.items()
    ]


@dataclass(frozen=True, slots=True)
class Marked:
    """What stands behind "Answer:" and the like.

    Attributes:
        text: up to the end of its line.
        final: whether it is marked as the last word ("Final answer:", ``\\boxed``, ``<answer>``).
    """

    text: str
    final: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """An answer that is not JSON, in lower case and without markup.

    Attributes:
        marked: the answers that are marked as such.
        sentences: all of them, quotations taken out.
    """

    marked: tuple[Marked, ...]
    sentences: tuple[str, ...]


def layout(text: str) -> Layout:
    """The parts of an answer."""
    boxed = [Marked(_plain(m[1]), True) for m in _BOXED.finditer(text)]
    tagged = [Marked(_plain(m[2]), True) for m in _ANSWER_TAG.finditer(text)]
    tagged += [Marked(_plain(m[1]), True) for m in _LAST_ANSWER_TAG.finditer(text)]
    lines = _joined([line for line in _plain(_BOXED.sub(" ", text)).split("\n") if line.strip()])
    lines = _own(lines)
    marked = [*boxed, *tagged]
    for line in lines:
        places = list(_MARK.finditer(line))
        ends = [*(m.start() for m in places[1:]), len(line)][: len(places)]
        for place, end in zip(places, ends, strict=True):
            marked.append(Marked(line[place.end() : end].strip(), bool(place["final"])))
    sentences = (s.strip() for line in lines for s in _SENTENCE.split(_REASON.sub("", line)))
    return Layout(
        tuple(m for m in marked if m.text), tuple(s for s in sentences if re.search(r"\w", s))
    )


def _plain(text: str) -> str:
    """Lower case, plain quotes, and no markup."""
    text = re.sub("[‘’`´]", "'", text.replace("```", "\n"))
    text = re.sub("[“”«»„]", '"', text)
    text = re.sub(r"\\(?:text|textbf|mathbf|mathrm)\s*\{([^{}]*)\}|\$", lambda m: m[1] or " ", text)
    text = re.sub(
        r"</?(?:b|i|em|strong|br|p|answer|label|verdict|final_answer|output|response|solution|code)\s*/?>",
        " ",
        text,
    )
    text = re.sub(r"<\|[a-z_]{1,30}\|>|</s>|<s>|\[/?INST\]", " ", text)
    text = re.sub(r"[*~#]+", "", text.replace("_", " "))
    text = re.sub(r"[ \t\r\f\v ]+", " ", text.replace("|", "\n"))
    text = re.sub(r"(?m)^\s*(?:>|[-•–]\s|\d{1,2}[.)]\s|step \d+[:.]\s?)+\s*", "", text.lower())
    text = re.sub(r"\bnot\s+enough\s+info", "not enough info", text)
    text = re.sub(r"\((true|false)\)", r"\1", text)
    return _QUOTED.sub(_unquoted, text).strip()


def _unquoted(match: re.Match[str]) -> str:
    """A quoted verdict itself; for other quotations the word ``quoted``."""
    inner = match[1] or match[2]
    return inner if alone(inner) is not None else "quoted"


def _joined(lines: list[str]) -> list[str]:
    """Lines, a heading such as "Verdict" put before the line under it."""
    joined: list[str] = []
    for line in map(str.strip, lines):
        if joined and joined[-1].endswith("\0"):
            joined[-1] = f"{joined[-1][:-1].rstrip(' :')}: {line}"
        elif _HEADING.fullmatch(line):
            joined.append(f"{line}\0")
        else:
            joined.append(line)
    return [line.rstrip("\0") for line in joined]


def _own(lines: list[str]) -> list[str]:
    """Lines without the repeated question, and without further examples that a model makes up."""
    kept: list[str] = []
    for line in lines:
        echo = _ECHO.match(line)
        if echo and alone(line[echo.end() :]) is not None:
            kept.append(line[echo.end() :])
        elif echo:
            if any(alone(_MARK.sub("", k, count=1)) is not None for k in kept):
                break
            mark = _MARK.search(line)
            if mark:
                kept.append(line[mark.start() :])
        else:
            kept.append(line)
    return kept
