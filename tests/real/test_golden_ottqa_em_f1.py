"""Exact match and token F1 against vectors of OTT-QA's official script."""

import pytest

from target_bench.metrics.text import (
    DEFINITIONS,
    TextAnswers,
    exact_match,
    ottqa_form,
    token_f1,
)
from tests.real.golden import TOLERANCE, Case, cases, needs_golden

pytestmark = needs_golden

FILE = "ottqa_em_f1.json"


@pytest.mark.parametrize("case", cases(FILE, "em_f1"))
def test_pair(case: Case) -> None:
    gold, predicted, expected = case["input"]["gold"], case["input"]["pred"], case["expected"]
    assert ottqa_form(gold) == expected["gold_normalized"]
    assert ottqa_form(predicted).split() == expected["pred_tokens"]
    assert exact_match(predicted, gold, "ottqa") == expected["em"]
    assert token_f1(predicted, gold, "ottqa") == pytest.approx(expected["f1"], abs=TOLERANCE)


@pytest.mark.parametrize("case", cases(FILE, "corpus"))
def test_corpus(case: Case) -> None:
    """Missing questions count 0, and the last answer to a question counts; there x 100."""
    given = {p["question_id"]: p["pred"] for p in case["input"]["predictions"]}
    reference, expected = case["input"]["reference"], case["expected"]
    answered = {question: given[question] for question in reference if question in given}
    assert len(reference) == expected["total"]
    for name, theirs in (("exact_match", "total exact"), ("token_f1", "total f1")):
        metric = DEFINITIONS[name].make("1", forms=["ottqa"])
        references = [(reference[question],) for question in answered]
        examples = TextAnswers(
            list(answered.values()), references, forms=["ottqa"] * len(references)
        )
        total = metric.statistics(examples)[:, 0].sum() if examples.texts else 0.0
        assert 100 * total / len(reference) == pytest.approx(expected[theirs], abs=TOLERANCE)
