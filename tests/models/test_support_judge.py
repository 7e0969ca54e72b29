"""A judge that looks again at claims without support by rules."""

import pytest

from target_bench.models.support_judge import support_prompt, with_reply
from target_bench.tables.faithfulness import Support, sentence_support

SOURCE = "Oslo\n3\nBergen\n2"


def _support(text: str) -> Support:
    return sentence_support(text, SOURCE, ["Oslo"])


def test_only_doubted_claims_are_asked_about() -> None:
    text = "Oslo and Bergen scored 5, not 7."
    support = _support(text)
    assert "1. 5\n2. 7" in (support_prompt(SOURCE, text, support) or "")
    judged = with_reply(support, 'They add up.\n```json\n{"supported": [1]}\n```')
    assert [(c.text, c.supported) for c in judged.claims] == [
        ("5", True),
        ("7", False),
        ("Oslo Bergen", True),
    ]
    supported = _support("Oslo scored 3.")
    assert support_prompt(SOURCE, "Oslo scored 3.", supported) is None
    assert with_reply(supported, None) == supported


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "yes",
        "```json\n{}\n```",
        '```json\n{"supported": ["1"]}\n```',
        '```json\n{"supported": 1}\n```',
        '```json\n{"supported": [true]}\n```',
        '```json\n{"supported": [1]',
    ],
)
def test_a_reply_that_cannot_be_read_changes_nothing(reply: str) -> None:
    support = _support("Oslo scored 5.")
    assert with_reply(support, reply) == support
