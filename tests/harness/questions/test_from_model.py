"""Questions that a model writes."""

import json
from collections import Counter
from typing import Any

import pytest

from target_bench import Generation
from target_bench.harness.questions import from_model
from target_bench.harness.questions.from_model import proposals, request
from target_bench.harness.questions.grounding import TableView
from tests.harness.questions.test_grounding import FILMS

VIEW = TableView(FILMS)
GOOD = {
    "question": "Who made the thriller Heat?",
    "answer": ["Michael Mann"],
    "cells": [
        {"row": 2, "column": "Film", "value": "Heat"},
        {"row": 2, "column": "Director(s)", "value": "Michael Mann"},
    ],
}
GROSS = [
    {"row": i + 1, "column": "Gross (US$)", "value": row[2]} for i, row in enumerate(FILMS.rows)
]
TOTAL = {"question": "What did the thrillers of Hollywood earn?", "answer": ["508"], "cells": GROSS}


def _read(*questions: Any, text: str | None = None) -> tuple[list[Any], Counter[str]]:
    dropped: Counter[str] = Counter()
    reply = json.dumps({"questions": questions}) if text is None else text
    return proposals(VIEW, Generation("q", reply), dropped), dropped


def test_the_request_shows_the_table() -> None:
    prompt = request(VIEW).messages[-1].content
    assert "Thrillers of Hollywood" in prompt
    assert "row | Film | Director(s) | Gross (US$) | Year" in prompt
    assert "2 | Heat | Michael Mann | $187 | 1995" in prompt


def test_grounded_questions_are_kept() -> None:
    (heat, total), dropped = _read(GOOD, TOTAL)
    assert not dropped
    assert (heat.text, heat.solution.answer, heat.solution.cells) == (
        "Who made the thriller Heat?",
        ("Michael Mann",),
        ((1, 0), (1, 1)),
    )
    assert heat.ask.values == ("Heat",)
    assert heat.evidence == ("Michael Mann",)
    assert total.solution.answer == ("508",)
    assert total.ask.topic == "hollywood thrillers"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"question": " "}, from_model.INCOMPLETE),
        ({"answer": []}, from_model.INCOMPLETE),
        ({"cells": [{"row": "two"}]}, from_model.INCOMPLETE),
        ({"cells": [GOOD["cells"][0] | {"row": float("inf")}]}, from_model.INCOMPLETE),  # type: ignore[operator]
        ({"cells": [GROSS[0] | {"value": "-$104"}]}, from_model.NO_SUCH_CELL),
        ({"cells": [GOOD["cells"][0] | {"value": "Ran"}]}, from_model.NO_SUCH_CELL),  # type: ignore[operator]
        ({"cells": [GOOD["cells"][0] | {"row": 9}]}, from_model.NO_SUCH_CELL),  # type: ignore[operator]
        ({"cells": [GOOD["cells"][0] | {"column": "Actor"}]}, from_model.NO_SUCH_CELL),  # type: ignore[operator]
        ({"answer": ["Al Pacino"]}, from_model.UNSUPPORTED),
        ({"answer": ["7"]}, from_model.UNSUPPORTED),
        ({"question": "Who made it?"}, from_model.NAMELESS),
    ],
)
def test_others_are_dropped_with_the_reason(change: dict[str, Any], reason: str) -> None:
    questions, dropped = _read(GOOD | change, GOOD)
    assert len(questions) == 1
    assert dropped == {f"questions {reason}": 1}
