"""A language model that compares two tables, for the P-Score."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from target_bench.core import registry
from target_bench.core.schema import Generation, GenerationRequest, Message
from target_bench.models.generator_calls import ask_generator, check_generator
from target_bench.tables.answer_tables import TableFormat

VERSION = "p-score-prompt:2"
"""The version of the wording below."""

TEMPERATURE = 0.1
"""How freely the judge draws its words, as in the paper."""

# Wording of Tang et al. (2024), appendix D.1 (CC BY 4.0), which defines the P-Score.
_SYSTEM = "You are a helpful data-processing assistant."
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
{{
  "content_similarity": ...
  "structural_similarity": ...
}}
```

Think carefully, and then output the scores."""
_RAW = ("tables/data structures", "")
_KINDS: dict[TableFormat, tuple[str, str]] = {
    "text": _RAW,
    "html": ("HTML tables/data structures", "html"),
    "latex": ("LaTeX tables", "latex"),
    "csv": _RAW,
    "json": _RAW,
}
"""Format -> what the tables are called, and the mark of fences. The paper has the first three."""


class Pair(NamedTuple):
    """Two tables to compare: an answer and its reference.

    Attributes:
        query_id: the query.
        answer: the text of the answer.
        gold: the reference.
        table_format: how both are written.
    """

    query_id: str
    answer: str
    gold: str
    table_format: TableFormat


class TableJudge:
    """Asks a generator about each pair twice, with the tables in both orders.

    Args:
        generator: as written on the command line, or an object.

    Raises:
        ConfigError: it is not a generator.
    """

    def __init__(self, generator: Any) -> None:
        self.generator = check_generator(registry.part("generator", generator))

    def replies(self, pairs: Sequence[Pair]) -> dict[str, tuple[Generation, Generation]]:
        """Return query id -> both replies, answer first, then gold first; some may have failed.

        Raises:
            TargetBenchError: what the generator raises on purpose, such as for a wrong key.
        """
        requests = [request for pair in pairs for request in _requests(pair)]
        found = ask_generator(self.generator, requests)
        return {
            pair.query_id: (found[f"{pair.query_id}#1"], found[f"{pair.query_id}#2"])
            for pair in pairs
        }


def _requests(pair: Pair) -> list[GenerationRequest]:
    orders = ((pair.answer, pair.gold), (pair.gold, pair.answer))
    kind, mark = _KINDS[pair.table_format]
    return [
        GenerationRequest(
            query_id=f"{pair.query_id}#{number}",
            task="p_score",
            messages=(
                Message("system", _SYSTEM),
                Message("user", _PROMPT.format(kind=kind, mark=mark, first=first, second=second)),
            ),
            query="",
            temperature=TEMPERATURE,
        )
        for number, (first, second) in enumerate(orders, start=1)
    ]
