"""A language model that compares two tables, for the P-Score (Struc-Bench, Tang et al. 2023)."""

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Generation
from target_bench.models.judges import ModelJudge, Wording
from target_bench.tables.answer_tables import TableFormat

# Wording and temperature of Tang et al. (2024), appendix D.1 (CC BY 4.0), who define the P-Score.
P_SCORE = Wording(
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
_KINDS: dict[TableFormat, tuple[str, str]] = {
    "text": _RAW,
    "html": ("HTML tables/data structures", "html"),
    "latex": ("LaTeX tables", "latex"),
    "csv": _RAW,
    "json": _RAW,
}
"""Format -> what the tables are called, and the mark of fences. The paper has the first three."""


class PairJudge(ModelJudge):
    """A generator that compares two tables.

    Args:
        generator: as written on the command line, or an object.
        prompt_file: a text in place of the paper's prompts, with ``{first}`` and ``{second}`` for
            the tables and perhaps ``{kind}`` and ``{mark}`` for what they are called and the mark
            of fences; None for the paper's.

    Raises:
        ConfigError: it is not a generator; the file cannot be read or has no place for a table.
    """

    def __init__(self, generator: Any, prompt_file: str | None = None) -> None:
        self.prompt = (
            _PROMPT if prompt_file is None else _read_prompt(Path(prompt_file).expanduser())
        )
        version = P_SCORE.version
        if prompt_file is not None:
            version = f"p-score-prompt:{sha256(self.prompt.encode()).hexdigest()[:12]}"
        super().__init__(generator, P_SCORE._replace(version=version))


def _read_prompt(path: Path) -> str:
    try:
        prompt = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"p_score_prompt={path}: cannot be read: {error}") from error
    for field in ("{first}", "{second}"):
        if field not in prompt:
            raise ConfigError(f"p_score_prompt={path}: expected {field} where a table goes")
    return prompt


def pair_replies(
    judge: PairJudge, pairs: Mapping[str, tuple[str, str, TableFormat]]
) -> dict[str, tuple[Generation, Generation]]:
    """Ask a judge about each pair of tables twice, in both orders.

    Args:
        judge: who is asked.
        pairs: id of a query -> answer, reference, and how both are written.

    Returns:
        Id of a query -> both replies, answer first, then reference first; some may have failed.
    """
    prompts = {}
    for name, (answer, gold, table_format) in pairs.items():
        kind, mark = _KINDS[table_format]
        for number, (first, second) in enumerate(((answer, gold), (gold, answer)), start=1):
            fields = {"{kind}": kind, "{mark}": mark, "{first}": first, "{second}": second}
            prompts[f"{name}#{number}"] = _FIELD.sub(
                lambda field, fields=fields: fields[field[0]],  # type: ignore[misc]
                judge.prompt,
            )
    replies = judge.replies(prompts)
    return {name: (replies[f"{name}#1"], replies[f"{name}#2"]) for name in pairs}


class PScore(NamedTuple):
    """The P-Score of some pairs of tables.

    Attributes:
        content: the mean of the replies in both orders, 0 to 10; NaN where no pair counts.
        structure: the same of the structure.
        counted: replies that count, two for each pair.
    """

    content: float
    structure: float
    counted: int


def p_score(replies: Sequence[Any]) -> PScore:
    """Average parsed replies; those at 2i and 2i + 1 are of one pair, in both orders.

    A pair counts only where both were read.
    """
    pairs = [tuple(map(ratings, replies[i : i + 2])) for i in range(0, len(replies), 2)]
    read = [
        scores for pair in pairs if len(pair) == 2 and None not in pair for scores in pair if scores
    ]
    if not read:
        return PScore(nan, nan, 0)
    content, structure = (sum(values) / len(read) for values in zip(*read, strict=True))
    return PScore(content, structure, len(read))


_KEYS = ("content_similarity", "structural_similarity")
_OPENING, _CLOSING = "```json", "```"
_HIGHEST = 10
"""What a judge says of equal tables."""


def parse_reply(text: str) -> dict[str, Any] | None:
    """Read the reply of a judge as the official code does.

    Only what stands in the first block fenced as ``json`` is read; both similarities have to be
    there.

    Returns:
        The JSON object; None where there is none or a similarity is missing.
    """
    _, opened, rest = text.partition(_OPENING)
    inside, closed, _ = rest.partition(_OPENING)[0].partition(_CLOSING)
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
