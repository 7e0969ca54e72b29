"""A language model that looks again at claims for which rules found no support."""

from typing import Any

from target_bench.models.judges import Wording, last_object
from target_bench.tables.faithfulness import Support

SUPPORT = Wording(
    "support",
    "support-prompt:1",
    "You check claims against a source and say which of them it supports.",
)
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


def support_prompt(source: str, answer: str, support: Support) -> str | None:
    """Return the prompt about the claims that rules do not support; None if there is none.

    Args:
        source: what the answer was written from.
        answer: its text.
        support: what the rules found.
    """
    if not support.doubted:
        return None
    claims = "\n".join(
        f"{n}. {claim.place}: {claim.text}" if claim.place else f"{n}. {claim.text}"
        for n, claim in enumerate(support.doubted, start=1)
    )
    return _PROMPT.format(source=source, answer=answer, claims=claims)


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
