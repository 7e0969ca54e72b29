"""Metrics for which a model is asked, on tables that people ranked: P-Score and TabXEval."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from target_bench.core.metric import MetricSpec
from target_bench.core.reasoning import without_reasoning
from target_bench.harness.arena.comparison_sets import ComparisonSet
from target_bench.harness.arena.human_agreement import HumanAgreement, agreement_of
from target_bench.models import comparison_judge
from target_bench.models.comparison_judge import ComparisonJudge, JudgedComparison, TablePair
from target_bench.models.model_judgements import text_of
from target_bench.models.table_judge import Pair, TableJudge
from target_bench.tables.p_score import p_score, parse_reply
from target_bench.tables.table_metrics import OF, P_CONTENT, P_STRUCTURE

TABXEVAL = MetricSpec(
    "tabxeval[judge]",
    "TabXEval (model)",
    "1 less weighted shares of what is missing, extra, wrong; a model checks what rules found",
    "Pancholi et al. 2025",
    of=OF,
    deterministic=False,
    needs=("a model as judge",),
)

SPECS = (P_CONTENT.spec, P_STRUCTURE.spec, TABXEVAL)

REQUESTS = 2 + comparison_judge.REQUESTS
"""Requests for a table at most: two for the P-Score, the others for TabXEval."""


def judged_agreement(sets: Sequence[ComparisonSet], generator: Any) -> list[HumanAgreement]:
    """Ask a generator about every table, and compare what it says with the order of people.

    A table that it does not answer about in the form that was asked for has no score, and its set
    is left out.

    Args:
        sets: tables ranked by people.
        generator: as written on the command line, or an object.

    Raises:
        ConfigError: it is not a generator.
    """
    pairs = {f"{one.id}#{i}": pair for one in sets for i, pair in enumerate(one.pairs)}
    replies = TableJudge(generator).replies(
        [Pair(name, pair.said, pair.gold, "text") for name, pair in pairs.items()]
    )
    p_scores = [
        p_score([parse_reply(without_reasoning(text_of(reply) or "")) for reply in replies[name]])
        for name in pairs
    ]
    compared = ComparisonJudge(generator).compared(
        [
            TablePair(name, pair.reference.tables[0], pair.answer.tables[0])
            for name, pair in pairs.items()
            if pair.answer.tables
        ]
    )
    values = (
        [one.content for one in p_scores],
        [one.structure for one in p_scores],
        [_score(compared[name]) if name in compared else 0.0 for name in pairs],
    )
    ends = list(accumulate(len(one.pairs) for one in sets))[:-1]
    return [
        agreement_of(spec.name, sets, np.split(np.array(found), ends), 0.0)
        for spec, found in zip(SPECS, values, strict=True)
    ]


def _score(judged: JudgedComparison) -> float:
    """Return the score; NaN where rules stand in for a reply."""
    return np.nan if judged.unread else judged.comparison.score()
