"""Judges: their prompts, and what they make of replies in and out of form."""

import json
from time import process_time

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.generators.openai import OpenAI
from target_bench.models.comparison_judge import JudgedComparison, compare_by_model
from target_bench.models.judges import PairJudge, last_object, p_score, parse_reply, ratings
from target_bench.tables.answer_tables import TableFormat
from target_bench.tables.comparison import compare_tables

SUPPORTED = {"supported": [1]}
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
    assert last_object(reply) == SUPPORTED


@pytest.mark.parametrize("part", ["```json { ", "{ ", '{"a": ', "```", "``` { } ", " \n", "a"])
def test_long_replies_take_linear_time(part: str) -> None:
    start = process_time()
    last_object(part * (200_000 // len(part)))
    assert process_time() - start < 1


REPLY = '```json\n{"content_similarity": %s, "structural_similarity": 9}\n```'


@pytest.mark.parametrize(
    "number",
    ["1" + "0" * 400, "NaN", "Infinity", "1e999", "100", "10.1", "-5", "true", "null", '"8"'],
)
def test_a_value_off_the_scale_does_not_count(number: str) -> None:
    parsed = parse_reply(REPLY % number)
    assert parsed is not None
    assert ratings(parsed) is None
    assert p_score([parsed, {"content_similarity": 8, "structural_similarity": 8}]).counted == 0


@pytest.mark.parametrize(("number", "value"), [("0", 0), ("10", 10), ("7.5", 7.5), ("1e1", 10)])
def test_a_value_on_the_scale_does(number: str, value: float) -> None:
    assert ratings(parse_reply(REPLY % number)) == (value, 9)


class Listener:
    def __init__(self) -> None:
        self.requests: list[GenerationRequest] = []

    def generate(self, request: GenerationRequest) -> str:
        self.requests.append(request)
        return "no"


@pytest.mark.parametrize(
    ("table_format", "kind", "mark"),
    [
        ("text", "tables/data structures", ""),
        ("html", "HTML tables/data structures", "html"),
        ("latex", "LaTeX tables", "latex"),
        ("csv", "tables/data structures", ""),
        ("json", "tables/data structures", ""),
    ],
)
def test_each_format_has_its_prompt(table_format: TableFormat, kind: str, mark: str) -> None:
    listener = Listener()
    PairJudge(listener).ask({"q": ("{second}", "gold", table_format)})
    assert [request.query_id for request in listener.requests] == ["q#1", "q#2"]
    orders = (("{second}", "gold"), ("gold", "{second}"))
    for request, (first, second) in zip(listener.requests, orders, strict=True):
        system, user = request.messages
        assert system.content == "You are a helpful data-processing assistant."
        assert user.content.startswith(f"We want to evaluate how similar the following {kind} are.")
        assert f"Table 1:\n\n```{mark}\n{first}\n```" in user.content
        assert f"Table 2:\n\n```{mark}\n{second}\n```" in user.content
        assert user.content.endswith("Think carefully, and then output the scores.")
        assert request.temperature == 0.1


@pytest.mark.parametrize(("own", "sent"), [(0.0, 0.1), (None, None)])
def test_the_temperature_is_that_of_the_request(own: float | None, sent: float | None) -> None:
    """Unless the model takes none."""
    pytest.importorskip("openai")
    listener = Listener()
    PairJudge(listener).ask({"q": ("a", "b", "text")})
    body = OpenAI("m", "http://127.0.0.1:9", temperature=own).body(listener.requests[0])
    assert body.get("temperature") == sent


REFERENCE = [["city", "country", "people"], ["Vienna", "Austria", "2"], ["Rome", "Italy", "3"]]
PREDICTION = [["Stadt", "land", "people"], ["Wien", "Austria", "2"], ["Rome", "Italia", "4"]]
ALIGNED = {"columns": [[1, 1], [2, 2], [3, 3]], "rows": [[1, 1], [2, 2]]}


class Replies:
    """Replies to the alignment, then to the cells; keeps the requests."""

    def __init__(self, alignment: object, cells: object) -> None:
        self._replies = {"align": alignment, "compare": cells}
        self.requests: list[GenerationRequest] = []

    def generate(self, request: GenerationRequest) -> str | Generation:
        self.requests.append(request)
        reply = self._replies[request.query_id.partition("#")[2]]
        if isinstance(reply, Generation):
            return Generation(request.query_id, "", error=reply.error)
        return reply if isinstance(reply, str) else f"So:\n```json\n{json.dumps(reply)}\n```"


def _judged(alignment: object, cells: object) -> tuple[JudgedComparison, Replies]:
    judge = Replies(alignment, cells)
    return compare_by_model(judge, {"q": (REFERENCE, PREDICTION)})["q"], judge


def test_alignment_and_texts_are_the_model_s_and_numbers_those_of_the_rules() -> None:
    judged, judge = _judged(ALIGNED, {"1": "same", "2": "typo"})
    assert [request.query_id for request in judge.requests] == ["q#align", "q#compare"]
    assert '1. "Vienna" / "Wien"' in judge.requests[1].messages[-1].content
    differences = {
        cell.reference: cell.difference.kind
        for cell in judged.comparison.cells
        if cell.difference is not None
    }
    assert differences == {"Vienna": "format", "Italy": "typo", "3": "numeric"}
    assert judged.unread == ()


@pytest.mark.parametrize(
    "alignment",
    [
        "",
        "yes",
        Generation("q", "", error="timeout"),
        "```json\n[1]\n```",
        {"columns": [[1, 1]]},
        ALIGNED | {"rows": [[1, 1], [1, 2]]},
        ALIGNED | {"rows": [[1, 3]]},
        ALIGNED | {"rows": [[0, 1]]},
        ALIGNED | {"rows": [["1", 1]]},
        ALIGNED | {"rows": [[True, 1]]},
        ALIGNED | {"rows": [[1, 1, 1]]},
    ],
)
def test_an_alignment_of_another_form_changes_nothing_and_is_named(alignment: object) -> None:
    judged, _ = _judged(alignment, "")
    assert judged.comparison == compare_tables(REFERENCE, PREDICTION)
    assert judged.unread[0] == "alignment"


@pytest.mark.parametrize(
    "cells", ["", {"1": "same"}, {"1": "same", "2": "wrong"}, {"1": "same", "2": ["typo"]}]
)
def test_cells_of_another_form_change_nothing_and_are_named(cells: object) -> None:
    judged, _ = _judged(ALIGNED, cells)
    assert judged.unread == ("cells",)
    assert {cell.difference.kind for cell in judged.comparison.cells if cell.difference} >= {
        "numeric"
    }


def test_what_is_not_a_generator_is_refused() -> None:
    with pytest.raises(ConfigError, match="is not a generator"):
        compare_by_model(object(), {})
