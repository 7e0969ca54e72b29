"""Replies of a judge count only with two numbers on the scale."""

import pytest

from target_bench.models.table_judge import p_score, parse_reply, ratings

REPLY = '```json\n{"content_similarity": %s, "structural_similarity": 9}\n```'


@pytest.mark.parametrize(
    "said",
    ["1" + "0" * 400, "NaN", "Infinity", "1e999", "100", "10.1", "-5", "true", "null", '"8"'],
)
def test_a_value_off_the_scale_does_not_count(said: str) -> None:
    parsed = parse_reply(REPLY % said)
    assert parsed is not None
    assert ratings(parsed) is None
    assert p_score([parsed, {"content_similarity": 8, "structural_similarity": 8}]).counted == 0


@pytest.mark.parametrize(("said", "value"), [("0", 0), ("10", 10), ("7.5", 7.5), ("1e1", 10)])
def test_a_value_on_the_scale_does(said: str, value: float) -> None:
    assert ratings(parse_reply(REPLY % said)) == (value, 9)
