"""A judge that looks again at claims without support by rules."""

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.models.support_judge import Doubted, SupportJudge, parse_reply, with_reply
from target_bench.tables.faithfulness import sentence_support

SOURCE = "Oslo\n3\nBergen\n2"


class Replies:
    """Gives one reply to everything, and keeps the requests."""

    def __init__(self, reply: str | Generation) -> None:
        self.reply = reply
        self.asked: list[GenerationRequest] = []

    def generate(self, request: GenerationRequest) -> str | Generation:
        self.asked.append(request)
        return self.reply


def _doubted(text: str, query_id: str = "q") -> Doubted:
    return Doubted(query_id, SOURCE, text, sentence_support(text, SOURCE, ["Oslo"]))


def test_only_doubted_claims_are_asked_about() -> None:
    judge = Replies('They add up.\n```json\n{"supported": [1]}\n```')
    given = [_doubted("Oslo and Bergen scored 5, not 7."), _doubted("Oslo scored 3.", "r")]
    replies = SupportJudge(judge).replies(given)
    assert list(replies) == ["q"]
    assert [one.query_id for one in judge.asked] == ["q"]
    assert "1. 5\n2. 7" in judge.asked[0].messages[-1].content
    judged = with_reply(given[0].support, replies["q"].text)
    assert [(c.text, c.supported) for c in judged.claims] == [
        ("5", True),
        ("7", False),
        ("Oslo Bergen", True),
    ]
    assert with_reply(given[1].support, None) == given[1].support


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
    given = _doubted("Oslo scored 5.")
    replies = SupportJudge(Replies(reply)).replies([given])
    assert with_reply(given.support, replies["q"].text) == given.support


def test_the_last_block_counts() -> None:
    text = '```json\n{"supported": [1]}\n```\nno:\n```json\n{"supported": [2, 3]}\n```'
    assert parse_reply(text) == frozenset({2, 3})


def test_a_reply_that_failed_is_not_one() -> None:
    failed = Generation("q", "", error="timeout")
    assert SupportJudge(Replies(failed)).replies([_doubted("Oslo scored 5.")]) == {"q": failed}


def test_a_judge_is_a_generator() -> None:
    with pytest.raises(ConfigError, match="generate"):
        SupportJudge(object())
