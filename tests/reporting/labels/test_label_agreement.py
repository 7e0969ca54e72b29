"""Cohen's kappa as scikit-learn computes it, with an interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from target_bench.core.schema import TableId
from target_bench.metrics.run_scores import interval
from target_bench.reporting.labels.label_agreement import Kappa, agreements
from target_bench.reporting.labels.read_labels import Label, Labels, QuestionLabels, Verdict

LABELS: tuple[Label | None, ...] = ("relevant", "not relevant", "cannot say", None)


def _labels(annotator: str, given: list[list[Label | None]], **verdicts: Verdict) -> Labels:
    return Labels(
        annotator,
        (),
        {
            f"q{i}": QuestionLabels(
                verdicts.get(f"q{i}"),
                None,
                {TableId("0", str(j)): label for j, label in enumerate(of_question)},
            )
            for i, of_question in enumerate(given)
        },
    )


Pair = tuple[Label | None, Label | None]
pairs = st.lists(
    st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), max_size=5), max_size=6
)


@given(pairs)
def test_kappa_is_that_of_scikit_learn(given: list[list[Pair]]) -> None:
    one, other = ([[pair[i] for pair in of] for of in given] for i in (0, 1))
    known = [(a, b) for of in given for a, b in of if {a, b} <= set(LABELS[:2])]
    found = agreements([_labels("a", one), _labels("b", other)])
    assert len(found) == bool(known)
    if not known:
        return
    (agreement,) = found
    assert (agreement.what, agreement.n) == ("tables", len(known))
    assert agreement.same == pytest.approx(np.mean([a == b for a, b in known]))
    if len({label for pair in known for label in pair}) == 1:
        assert agreement.kappa is None
        return
    assert agreement.kappa is not None
    wanted = cohen_kappa_score([a for a, _ in known], [b for _, b in known])
    assert agreement.kappa == pytest.approx(wanted)
    assert agreement.low is not None
    assert agreement.high is not None
    assert -1 <= agreement.low <= agreement.kappa <= agreement.high <= 1


def test_the_interval_holds_the_kappa_of_other_questions() -> None:
    """Of 200 samples of 60 questions, the intervals of at least 90% hold the true kappa."""
    generator = np.random.default_rng(0)
    shares = np.array([0.2, 0.07, 0.03, 0.7])
    true = float(Kappa().value(shares))
    held = 0
    for _ in range(200):
        rows = generator.multinomial(5, shares, size=60).astype(np.float64)
        low, high = interval(Kappa(), rows)
        held += low <= true <= high
    assert held >= 180


def test_verdicts_of_questions_and_three_people() -> None:
    nothing: list[list[Label | None]] = [[], []]
    one = _labels("a", nothing, q0="accepted", q1="rejected")
    two = _labels("b", nothing, q0="accepted", q1="rejected")
    three = _labels("c", nothing, q0="accepted", q1="accepted")
    found = agreements([one, two, three])
    assert [(f.annotators, f.what, f.n, f.same) for f in found] == [
        (("a", "b"), "questions", 2, 1.0),
        (("a", "c"), "questions", 2, 0.5),
        (("b", "c"), "questions", 2, 0.5),
    ]
    assert found[0].kappa == 1.0
    assert agreements([one]) == []
