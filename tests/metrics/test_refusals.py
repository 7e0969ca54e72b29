"""Refusals, as SQuAD 2.0's script and scikit-learn count them."""

import re
import string
from dataclasses import replace

import numpy as np
import pytest

from target_bench import score_answers
from target_bench.core.schema import Dataset
from target_bench.corpora import load

ANSWERS = ["4", "No answer.", "None", "", "no table says so", "Not enough information is provided"]


def _data() -> tuple[Dataset, dict[str, str]]:
    """Sixty questions, half of them unanswerable, with answers of all kinds."""
    dataset, rng = load("mini"), np.random.default_rng(0)
    queries = [q for q in dataset.queries if q.metadata.get("task") == "question_answering"][:60]
    none = {"unanswerable": True, "task": "question_answering"}
    changed = [
        replace(q, gold=(), answer="", metadata=none) if i % 2 else q for i, q in enumerate(queries)
    ]
    given = [str(rng.choice([*ANSWERS, q.references[0]])) for q in changed]
    answers = {q.id: text for q, text in zip(changed, given, strict=True)}
    return replace(dataset, queries=tuple(changed)), answers


def _squad(text: str, reference: str) -> int:
    """``compute_exact`` of SQuAD 2.0's evaluation script."""
    parts = []
    for part in (text, reference):
        part = "".join(ch for ch in part.lower() if ch not in set(string.punctuation))
        parts.append(" ".join(re.sub(r"\b(a|an|the)\b", " ", part).split()))
    return int(parts[0] == parts[1])


def test_as_squad_and_scikit_learn() -> None:
    dataset, answers = _data()
    scored = score_answers(dataset, answers, "qa")
    # SQuAD's files have an empty text for a question that is not answered.
    refused = {i: t if t in ("4", "no table says so") else "" for i, t in answers.items()}
    refused |= {q.id: answers[q.id] for q in dataset.queries if answers[q.id] in q.references}
    exact = [max(_squad(refused[q.id], r) for r in q.references) for q in dataset.queries]
    assert scored.scores["exact_match[none]"].value == pytest.approx(np.mean(exact))
    assert scored.counts.unanswerable == 30
    assert scored.scores["exact_match"].n == scored.scores["sacrebleu"].n == 30
    metrics = pytest.importorskip("sklearn.metrics")
    pairs = [q.unanswerable for q in dataset.queries], [not refused[q.id] for q in dataset.queries]
    expected = metrics.precision_recall_fscore_support(*pairs, average="binary")[:3]
    values = [scored.scores[f"refusal_{name}"].value for name in ("precision", "recall", "f1")]
    assert values == pytest.approx(list(expected))


def test_the_others_are_as_without_unanswerable_questions() -> None:
    dataset, answers = _data()
    known = tuple(query for query in dataset.queries if not query.unanswerable)
    alone = score_answers(
        replace(dataset, queries=known), {q.id: answers[q.id] for q in known}, "qa"
    )
    scored = score_answers(dataset, answers, "qa").scores
    assert "refusal_f1" not in alone.scores
    for name, score in alone.scores.items():
        assert scored[name] == score
