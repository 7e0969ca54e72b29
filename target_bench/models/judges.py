"""Models as judges, and the P-Score of tables (Struc-Bench, Tang et al. 2023)."""

import json
import re
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

from target_bench.core import registry
from target_bench.core.contract import check_generator
from target_bench.core.identity import plugin_identity
from target_bench.core.reasoning import without_reasoning
from target_bench.core.schema import Generation, GenerationRequest, Message
from target_bench.models.generator_calls import ask_generator
from target_bench.tables.answer_tables import TableFormat


class Wording(NamedTuple):
    """What a judge is told."""

    task: str  # what it judges, for generators that tell tasks apart
    version: str  # of the wording, system message and prompts
    system: str
    temperature: float | None = None  # None to leave it to the generator


class ModelJudge:
    """A generator that judges.

    Args:
        generator: as written on the command line, or an object.
        wording: what it is told.

    Attributes:
        generator: the object.
    """

    def __init__(self, generator: Any, wording: Wording) -> None:
        self._spec = generator
        self._wording = wording
        self.generator = check_generator(registry.make_part("generator", generator))

    def replies(self, prompts: Mapping[str, str]) -> dict[str, Generation]:
        """Return name of each prompt -> the reply to it; some may have failed."""
        task, _, system, temperature = self._wording
        requests = [
            GenerationRequest(
                query_id=name,
                task=task,
                messages=(Message("system", system), Message("user", prompt)),
                query="",
                temperature=temperature,
            )
            for name, prompt in prompts.items()
        ]
        return ask_generator(self.generator, requests)

    def setting(self) -> str:
        """Return the entry of the judge in the settings of a task."""
        spec = self._spec
        if not isinstance(spec, str):
            spec = json.dumps(_describe(plugin_identity(self.generator)[0]))
        return f"judge:{spec}|{self._wording.version}"


def _describe(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return class and settings of a plug-in and of its parts."""
    entries = {name: identity[name] for name in ("class", "config", "unique") if name in identity}
    parts = {name: _describe(part) for name, part in identity.get("parts", {}).items()}
    return entries | ({"parts": parts} if parts else {})


_FENCE = "```"
_LANGUAGE = re.compile(r"\s*[A-Za-z]*\s*")
_FLAT = re.compile(r"\{[^{}]*\}")


def last_object(reply: str) -> dict[str, Any] | None:
    """Read the last JSON object of a reply; None where there is none, or it is not JSON.

    It is that of the last fenced block, of any language or none, that begins with an object. A
    reply that begins with one may do without a fence. Where there is neither, it is the last object
    in the text that has no other one within. Blocks of reasoning are left out.
    """
    text = without_reasoning(reply)
    parts = (_LANGUAGE.sub("", part, count=1) for part in text.split(_FENCE))
    objects = [part for part in parts if part.startswith("{")] or _FLAT.findall(text)
    try:
        read, _ = json.JSONDecoder().raw_decode(objects[-1])
    except (IndexError, ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


# The P-Score. Wording and temperature of Tang et al. (2024), appendix D.1 (CC BY 4.0).

_P_SCORE = Wording(
    "p_score", "p-score-prompt:2", "You are a helpful data-processing assistant.", temperature=0.1
)
_PROMPT = """\
We want to evaluate how similar the following {kind} are.

Table 1:

```{mark}
{first}
```

Table 2:

```{mark}
{second}
```

Based on the above, we wanted to determine if the above tables are similar. Ideally they should \
have identical content and structure. Score the "content similarity" and "structural similarity" \
between 0 and 10.

- Content similarity: 10 if the contents of the table cells are identical, 0 if they are entirely \
different. If about 50% of the cells have the same data, the score should be 5.
- Structural similarity: 10 if the tables have the same structure (e.g. same column and rows with \
identical ordering, same alignment, etc) although text formatting differences can be ignored (e.g. \
colors, font).

Output a JSON object such as the following:

```json
{
  "content_similarity": ...
  "structural_similarity": ...
}
```

Think carefully, and then output the scores."""
_FIELD = re.compile(r"\{(?:kind|mark|first|second)\}")
_RAW = ("tables/data structures", "")
# Format -> what the tables are called, and the mark of fences. The paper has the first three.
_KINDS: dict[TableFormat, tuple[str, str]] = {
    "text": _RAW,
    "html": ("HTML tables/data structures", "html"),
    "latex": ("LaTeX tables", "latex"),
    "csv": _RAW,
    "json": _RAW,
}
_KEYS = ("content_similarity", "structural_similarity")
_OPENING = "```json"
_HIGHEST = 10  # what a judge says of equal tables


class PairJudge(ModelJudge):
    """A generator that compares two tables, as written on the command line or an object."""

    def __init__(self, generator: Any) -> None:
        super().__init__(generator, _P_SCORE)

    def ask(
        self, pairs: Mapping[str, tuple[str, str, TableFormat]]
    ) -> dict[str, tuple[Generation, Generation]]:
        """Ask about each pair of tables twice, in both orders.

        Args:
            pairs: id of a query -> answer, reference, and how both are written.

        Returns:
            Id of a query -> both replies, answer first, then reference first; some may have failed.
        """
        prompts = {}
        for name, (answer, gold, table_format) in pairs.items():
            prompts[f"{name}#1"] = _write_prompt(answer, gold, table_format)
            prompts[f"{name}#2"] = _write_prompt(gold, answer, table_format)
        replies = self.replies(prompts)
        return {name: (replies[f"{name}#1"], replies[f"{name}#2"]) for name in pairs}


def _write_prompt(first: str, second: str, table_format: TableFormat) -> str:
    kind, mark = _KINDS[table_format]
    fields = {"{kind}": kind, "{mark}": mark, "{first}": first, "{second}": second}
    # In one pass: a table may hold the marks of the fields.
    return _FIELD.sub(lambda field: fields[field[0]], _PROMPT)


class PScore(NamedTuple):
    """The P-Score of some pairs of tables: means of the replies in both orders, 0 to 10 or NaN."""

    content: float
    structure: float
    counted: int  # replies that count, two for each pair


def p_score(replies: Sequence[Any]) -> PScore:
    """Average parsed replies; those at 2i and 2i + 1 are of one pair, in both orders.

    A pair counts only where both were read.
    """
    read: list[tuple[float, float]] = []
    for i in range(0, len(replies) - 1, 2):
        first, second = ratings(replies[i]), ratings(replies[i + 1])
        if first is not None and second is not None:
            read += [first, second]
    if not read:
        return PScore(nan, nan, 0)
    content, structure = (sum(values) / len(read) for values in zip(*read, strict=True))
    return PScore(content, structure, len(read))


def parse_reply(text: str) -> dict[str, Any] | None:
    """Read the reply of a judge as the official code does: the first block fenced as ``json``.

    Returns:
        The JSON object; None where there is none or a similarity is missing.
    """
    _, opened, rest = text.partition(_OPENING)
    # Before a second opening, whose backticks do not close the first block.
    inside, closed, _ = rest.partition(_OPENING)[0].partition(_FENCE)
    if not opened or not closed:
        return None
    try:
        reply = json.loads(inside)
    except (ValueError, RecursionError):
        return None
    return reply if isinstance(reply, dict) and all(key in reply for key in _KEYS) else None


def ratings(reply: Any) -> tuple[float, float] | None:
    """Return content and structural similarity; None unless both are numbers from 0 to 10.

    The official code for plain text and LaTeX stops with an error at a similarity that is null or
    text, and takes any number; here a reply with another value does not count.
    """
    values: list[Any] = [reply.get(key) for key in _KEYS] if isinstance(reply, dict) else [None]
    # the type of true is not int, and NaN is not on the scale
    if any(type(value) not in (int, float) or not 0 <= value <= _HIGHEST for value in values):
        return None
    return float(values[0]), float(values[1])
