"""Judges: what a generator must be, and the JSON object at the end of a reply."""

from time import process_time

import pytest

from target_bench.models.judges import last_object

FOUND = {"supported": [1]}
JSON = '{"supported": [1]}'


@pytest.mark.parametrize(
    "reply",
    [
        JSON,
        f"{JSON} These follow.",
        f"They add up: {JSON}",
        f"```json\n{JSON}\n```",
        f"```JSON\n{JSON}\n```\nDone.",
        f"```\n{JSON}\n```",
        f"```json {JSON} ```",
        f"```json\n{JSON}",
        f"A draft:\n```json\n{{}}\n```\nThe claims:\n```json\n{JSON}\n```",
        f"See `{{x}}` and ```python\nprint(1)\n``` first.\n```json\n{JSON}\n```",
        f"{JSON}\n<think>or rather\n```json\n{{}}\n```",
    ],
)
def test_an_object_is_found(reply: str) -> None:
    assert last_object(reply) == FOUND


@pytest.mark.parametrize("part", ["```json { ", "{ ", '{"a": ', "```", "``` { } ", " \n", "a"])
def test_long_replies_take_linear_time(part: str) -> None:
    start = process_time()
    last_object(part * (200_000 // len(part)))
    assert process_time() - start < 1
