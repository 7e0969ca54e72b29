"""A judge that checks alignments and texts that differ; numbers stay with the rules."""

import json

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.models.comparison_judge import JudgedComparison, compared_by_model
from target_bench.tables.comparison import compare_tables

REFERENCE = [["city", "country", "people"], ["Vienna", "Austria", "2"], ["Rome", "Italy", "3"]]
PREDICTION = [["Stadt", "land", "people"], ["Wien", "Austria", "2"], ["Rome", "Italia", "4"]]
ALIGNED = {"columns": [[1, 1], [2, 2], [3, 3]], "rows": [[1, 1], [2, 2]]}


class Replies:
    """Replies to the alignment, then to the cells; keeps the requests."""

    def __init__(self, alignment: object, cells: object) -> None:
        self._replies = {"align": alignment, "compare": cells}
        self.asked: list[GenerationRequest] = []

    def generate(self, request: GenerationRequest) -> str | Generation:
        self.asked.append(request)
        reply = self._replies[request.query_id.partition("#")[2]]
        if isinstance(reply, Generation):
            return Generation(request.query_id, "", error=reply.error)
        return reply if isinstance(reply, str) else f"So:\n```json\n{json.dumps(reply)}\n```"


def _judged(alignment: object, cells: object) -> tuple[JudgedComparison, Replies]:
    judge = Replies(alignment, cells)
    return compared_by_model(judge, {"q": (REFERENCE, PREDICTION)})["q"], judge


def test_alignment_and_texts_are_the_model_s_and_numbers_those_of_the_rules() -> None:
    found, judge = _judged(ALIGNED, {"1": "same", "2": "typo"})
    assert [request.query_id for request in judge.asked] == ["q#align", "q#compare"]
    assert '1. "Vienna" / "Wien"' in judge.asked[1].messages[-1].content
    differences = {
        cell.reference: cell.difference.kind
        for cell in found.comparison.cells
        if cell.difference is not None
    }
    assert differences == {"Vienna": "format", "Italy": "typo", "3": "numeric"}
    assert found.unread == ()


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
    found, _ = _judged(alignment, "")
    assert found.comparison == compare_tables(REFERENCE, PREDICTION)
    assert found.unread[0] == "alignment"


@pytest.mark.parametrize(
    "cells", ["", {"1": "same"}, {"1": "same", "2": "wrong"}, {"1": "same", "2": ["typo"]}]
)
def test_cells_of_another_form_change_nothing_and_are_named(cells: object) -> None:
    found, _ = _judged(ALIGNED, cells)
    assert found.unread == ("cells",)
    assert {cell.difference.kind for cell in found.comparison.cells if cell.difference} >= {
        "numeric"
    }


def test_what_is_not_a_generator_is_refused() -> None:
    with pytest.raises(ConfigError, match="is not a generator"):
        compared_by_model(object(), {})
