"""A language model that looks again at claims for which rules found no support."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from target_bench.core import registry
from target_bench.core.schema import Generation, GenerationRequest, Message
from target_bench.models.generator_calls import ask_generator, check_generator
from target_bench.models.json_replies import last_object
from target_bench.tables.faithfulness import Claim, Support

VERSION = "support-prompt:1"
"""The version of the wording below."""

_SYSTEM = "You check claims against a source and say which of them it supports."
_PROMPT = """\
Source:
```
{source}
```

An answer was written from this source:
```
{answer}
```

Claims of the answer:
{claims}

A claim is supported if the source states it, or if it follows from the source by counting, adding \
or comparing. What you know from elsewhere does not count. First reason in a few sentences. End \
with a JSON object in a fenced block, with the numbers of the claims that are supported:

```json
{{"supported": [...]}}
```"""


class Doubted(NamedTuple):
    """An answer whose claims are looked at again.

    Attributes:
        query_id: the query.
        source: what it was written from.
        answer: the text of the answer.
        support: what the rules found.
    """

    query_id: str
    source: str
    answer: str
    support: Support


class SupportJudge:
    """Asks a generator about the claims that rules do not support; ``with_reply`` reads a reply.

    Args:
        generator: as written on the command line, or an object.

    Raises:
        ConfigError: it is not a generator.
    """

    def __init__(self, generator: Any) -> None:
        self.generator = check_generator(registry.part("generator", generator))

    def replies(self, doubted: Sequence[Doubted]) -> dict[str, Generation]:
        """Return query id -> reply, of the answers with a doubted claim; some may have failed.

        Raises:
            TargetBenchError: what the generator raises on purpose, such as for a wrong key.
        """
        return ask_generator(
            self.generator, [_request(one) for one in doubted if one.support.doubted]
        )


def with_reply(support: Support, reply: str | None) -> Support:
    """Return the support with the claims that the model supports as well.

    What the rules support stays so. A reply that is missing or cannot be read changes nothing.
    """
    numbers = parse_reply(reply or "")
    return support if numbers is None else support.also(numbers)


def parse_reply(text: str) -> frozenset[int] | None:
    """Read the numbers in the last JSON object of a reply; None where it is not of this form."""
    numbers = (last_object(text) or {}).get("supported")
    if not isinstance(numbers, list) or any(type(number) is not int for number in numbers):
        return None
    return frozenset(numbers)


def _request(one: Doubted) -> GenerationRequest:
    claims = "\n".join(f"{n}. {_said(c)}" for n, c in enumerate(one.support.doubted, start=1))
    text = _PROMPT.format(source=one.source, answer=one.answer, claims=claims)
    return GenerationRequest(
        query_id=one.query_id,
        task="support",
        messages=(Message("system", _SYSTEM), Message("user", text)),
        query="",
    )


def _said(claim: Claim) -> str:
    return f"{claim.place}: {claim.text}" if claim.place else claim.text


def judged_record(support: Support, reply: str | None) -> dict[str, Any]:
    """Return the claims of an answer without support, and those that a model supports, as JSON.

    Args:
        support: what the rules found.
        reply: of the model; None where it was not asked.
    """
    judged = with_reply(support, reply)
    pairs = zip(support.claims, judged.claims, strict=True)
    by_judge = [new.text for old, new in pairs if new.supported and not old.supported]
    return {
        "unsupported": [claim.text for claim in judged.doubted],
        "supported by the judge": by_judge,
    }
