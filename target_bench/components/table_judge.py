"""A language model that compares two tables, for the P-Score."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from target_bench.components.generator_calls import answers, check_generator
from target_bench.core import registry
from target_bench.core.schema import Generation, GenerationRequest, Message

VERSION = "p-score-prompt:1"
"""The version of the wording below."""

_SYSTEM = "You compare tables carefully and report how similar they are."
_PROMPT = """\
How similar are these two tables, both written as {kind}? They should have the same content and \
the same structure.

Table A:
```
{first}
```

Table B:
```
{second}
```

First reason about the differences in a few sentences. Then rate two things from 0 to 10:
- content_similarity: 10 if all cells hold the same, 5 if about half of them do, 0 if none do.
- structural_similarity: 10 if rows, columns, their order and alignment are the same; fonts and \
colours do not count.

End with a JSON object in a fenced block:

```json
{{"content_similarity": ..., "structural_similarity": ...}}
```"""


class Pair(NamedTuple):
    """Two tables to compare: an answer and its reference.

    Attributes:
        query_id: the query.
        answer: the text of the answer.
        gold: the reference.
        kind: the format of both.
    """

    query_id: str
    answer: str
    gold: str
    kind: str


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
        found = answers(self.generator, requests)
        return {
            pair.query_id: (found[f"{pair.query_id}#1"], found[f"{pair.query_id}#2"])
            for pair in pairs
        }


def _requests(pair: Pair) -> list[GenerationRequest]:
    orders = ((pair.answer, pair.gold), (pair.gold, pair.answer))
    return [
        GenerationRequest(
            query_id=f"{pair.query_id}#{number}",
            task="p_score",
            messages=(
                Message("system", _SYSTEM),
                Message("user", _PROMPT.format(kind=pair.kind, first=first, second=second)),
            ),
            query="",
        )
        for number, (first, second) in enumerate(orders, start=1)
    ]
