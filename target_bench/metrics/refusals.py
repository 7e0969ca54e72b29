"""Refusals: answers that say that there is no answer, which is right for unanswerable questions.

Only what is a refusal as a whole is one (``REFUSALS``): a sentence that explains itself is none.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from target_bench.core.metric import MetricDefinition, MetricSpec, by_name
from target_bench.metrics.means import Floats, RatioMetric
from target_bench.metrics.text import JudgedAnswers, exact_match, normalised

REFUSALS = frozenset(
    {
        "",
        "none",
        "no answer",
        "unanswerable",
        "not enough information",
        "not enough information provided",
        "not enough information is provided",
    }
)
"""Answers that refuse, in the normal form of exact match; the last are of TARGET's own prompts."""

Measure = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]
"""(refused, unanswerable, right) of each query, 0 or 1 -> numerators and denominators."""


class RefusalMetric(RatioMetric[JudgedAnswers]):
    """A ratio over questions with and without an answer; those without have no reference text.

    Args:
        spec: the declaration.
        measure: what it counts.
        reading: how the answers were read, for the signature.
    """

    of_unanswerable = True
    empty = 0.0

    def __init__(self, spec: MetricSpec, measure: Measure, reading: str = "") -> None:
        self.spec = spec
        self._measure = measure
        self._reading = reading

    @property
    def signature(self) -> str:
        """Name, definition, and how the answers were read."""
        return f"{self.name}|{self.spec.description}|{self._reading}".rstrip("|")

    def statistics(self, examples: JudgedAnswers) -> Floats:
        """Return (n, 2) numerators and denominators."""
        pairs = list(zip(examples.texts, examples.references, strict=True))
        right = [t is not None and max(exact_match(t, r) for r in rs) == 1 for t, rs in pairs]
        unanswerable = [not any(references) for _, references in pairs]
        refused = [
            text is not None and normalised(text) in REFUSALS and (nothing or not matches)
            for (text, _), nothing, matches in zip(pairs, unanswerable, right, strict=True)
        ]
        counts = (np.array(part, dtype=np.float64) for part in (refused, unanswerable, right))
        return np.column_stack(self._measure(*counts))

    def per_query(self, statistics: Floats) -> Floats:
        """Return (n,) the ratio of each query; NaN where it does not enter."""
        return np.where(statistics[:, 1] > 0, self.value(statistics), np.nan)


def _define(name: str, label: str, description: str, measure: Measure) -> MetricDefinition:
    needs = ("questions that no table answers",)
    spec = MetricSpec(name, label, description, "Rajpurkar et al. 2018", "texts", needs=needs)
    return MetricDefinition(spec, partial(RefusalMetric, spec, measure))


DEFINITIONS = by_name(
    _define(
        "refusal_precision",
        "refusal P",
        "refused unanswerable questions / refused questions",
        lambda refused, unanswerable, _right: (refused * unanswerable, refused),
    ),
    _define(
        "refusal_recall",
        "refusal R",
        "refused unanswerable questions / unanswerable questions",
        lambda refused, unanswerable, _right: (refused * unanswerable, unanswerable),
    ),
    _define(
        "refusal_f1",
        "refusal F1",
        "harmonic mean of refusal_precision and refusal_recall",
        lambda refused, unanswerable, _right: (2 * refused * unanswerable, refused + unanswerable),
    ),
    _define(
        "exact_match[none]",
        "EM (none)",
        "exact match over all questions, where a refusal is right for an unanswerable one",
        lambda refused, unanswerable, right: (
            np.where(unanswerable > 0, refused, right),
            np.ones(len(right)),
        ),
    ),
)
"""Every metric of refusals."""
