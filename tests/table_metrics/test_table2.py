"""Metrics of tables on mini: agreement with people, known errors, and a model as judge."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.table_metrics import metrics
from benchmarks.table_metrics.changes import LEVELS
from benchmarks.table_metrics.drawing import draw, tables_of
from benchmarks.table_metrics.known_errors import detection
from benchmarks.table_metrics.model_baselines import entailment_by, rubric_score, tabeval
from benchmarks.table_metrics.ranked_tables import RankedSet, ranked_sets, written_sets
from benchmarks.table_metrics.table2 import (
    FILE_ORDER,
    OPEN,
    agreement,
    all_scores,
    judged,
    noted,
    table,
)
from target_bench.core.schema import Dataset, GenerationRequest
from target_bench.data.load import load
from target_bench.tables.answer_tables import AnswerTable
from target_bench.tables.compared_tables import ComparedTables

GOLD = "| a | b |\n|---|---|\n| one | 2 |\n| three | 4 |"
PAIRS = [ComparedTables(text, GOLD, "text") for text in (GOLD, GOLD.replace("three", "no"), "none")]


@pytest.fixture(scope="module")
def mini() -> Dataset:
    return load("mini")


@pytest.fixture(scope="module")
def sets(mini: Dataset) -> list[RankedSet]:
    return ranked_sets(mini)


@pytest.mark.parametrize("name", [*metrics.METRICS, *metrics.OF_PACKAGE])
def test_the_reference_is_best_and_no_table_worst(name: str) -> None:
    values, seconds = metrics.values(name, PAIRS)
    assert values[0] == max(values)
    assert values[2] == min(values) <= 0.0 or name == "rougeL"
    assert seconds >= 0
    if not name.lower().startswith(("h structure", "h_structure")):
        assert values[1] < values[0]


def test_agreement_with_people(sets: list[RankedSet]) -> None:
    assert {len(ranked.pairs) for ranked in sets} == {5}
    assert all(pair.answer.error is None for ranked in sets for pair in ranked.pairs)
    scores, seconds = all_scores(sets)
    rows = {row["metric"]: row for row in table(sets, scores, seconds)}
    assert abs(rows[FILE_ORDER]["spearman"]) < 0.2
    assert rows[FILE_ORDER]["p"] == 1
    assert rows["exact match"]["spearman"] == 0
    rho = {name: round(row["spearman"], 3) for name, row in rows.items()}
    assert [rho["tabxeval"], rho["RMS F1"], rho["cell_f1"]] == [0.649, 0.333, 0.296]
    low, high = rows["tabxeval"]["interval"]
    assert low < rows["tabxeval"]["spearman"] < high


def test_a_set_with_a_table_that_has_no_score_is_left_out(sets: list[RankedSet]) -> None:
    scores = [np.arange(5.0), np.array([1, 2, 3, 4, np.nan]), np.ones(5)]
    measured = agreement(sets[:3], scores)
    assert np.isnan(measured[:, 0]).tolist() == [False, True, False]
    (row,) = [
        row
        for row in table(sets[:3], {"own": scores, FILE_ORDER: [-np.arange(5.0)] * 3}, {})
        if row["metric"] == "own"
    ]
    assert (row["sets"], row["ties"], row["ms"]) == (2, 0.5, None)


class Judge:
    """Says that every pair is half as good as can be, and nothing of the alignment of table 0."""

    def generate(self, request: GenerationRequest) -> str:
        prompt = request.messages[-1].content
        reply: object = {"content_similarity": 5, "structural_similarity": 5}
        if request.query_id.endswith("#align"):
            if request.query_id.startswith("0#"):
                return "I do not know."
            reply = json.loads(prompt.split("first:\n")[1].splitlines()[0])
        elif request.query_id.endswith("#compare"):
            reply = dict.fromkeys(re.findall(r"^(\d+)\. ", prompt, re.MULTILINE), "different")
        elif request.task == "table_rubric":
            return "I see no difference." if request.query_id == "0" else REPLY
        elif request.task == "table_ranking":
            return {"0": "3, 1, 2, 5, 4", "1": "1, 2, 3"}.get(
                request.query_id, "The best:\n5,4,3,2,1"
            )
        return f"```json\n{json.dumps(reply)}\n```"


def test_rules_do_not_stand_in_for_a_model_that_does_not_answer(sets: list[RankedSet]) -> None:
    scores = judged(sets[:4], Judge())
    assert np.isnan(scores["TabXEval (model)"][0]).tolist() == [True, *[False] * 4]
    assert np.concatenate(scores["P content"]).tolist() == [5.0] * 20
    assert np.isnan(scores["Direct-LLM rubric"][0]).tolist() == [True, *[False] * 4]
    assert scores["LLM ranking"][0].tolist() == [-1, -2, 0, -4, -3]
    assert np.isnan(scores["LLM ranking"][1]).all(), "not all tables are named"
    assert scores["LLM ranking"][2].tolist() == [-4, -3, -2, -1, 0]


class Unroller:
    """States each row of a table, under the headings of the paper, but nothing of one table."""

    def generate(self, request: GenerationRequest) -> str:
        rows = [line for line in request.messages[-1].content.splitlines() if line.startswith("|")]
        if rows[2:] and "zebra" in rows[2]:
            return "I see no table."
        lines = [f"{i}. {row}" for i, row in enumerate(rows[2:], start=1)]
        return "\n".join(["<think>1. hm</think>Table:", "Statements:", *lines, "Rows:", "1. a row"])


def test_tabeval_is_f1_of_entailed_statements() -> None:
    head = "| a | b |\n|---|---|\n"
    gold = f"{head}| 1 | 2 |\n| 3 | 4 |"
    answers = [gold, f"{head}| 1 | 2 |", f"{head}| 1 | 2 |\n| 9 | 9 |", f"{head}| zebra | 2 |"]
    ranked = RankedSet(tuple(ComparedTables(text, gold, "text") for text in answers), (0, 1, 2, 3))
    entailed: list[tuple[str, str]] = []

    def equal(pairs: Sequence[tuple[str, str]]) -> list[float]:
        entailed.extend(pairs)
        return [0.9 if premise == hypothesis else 0.1 for premise, hypothesis in pairs]

    (scores,) = tabeval(Unroller(), [ranked], equal)
    recall = (0.9 + 0.1) / 2
    expected = [0.9, 2 * 0.9 * recall / (0.9 + recall), (0.9 + 0.1) / 2, np.nan]
    assert scores == pytest.approx(expected, nan_ok=True)
    assert "1. a row" not in str(entailed)


def test_entailment_is_the_probability_of_the_label_of_that_name(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    import torch

    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n")
    tokenizer = transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"))
    labels = dict(enumerate(("CONTRADICTION", "NEUTRAL", "ENTAILMENT")))
    config = transformers.BertConfig(
        vocab_size=7,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        id2label=labels,
        label2id={name: place for place, name in labels.items()},
    )
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification(config).eval()
    for part in (tokenizer, model):
        part.save_pretrained(tmp_path)
    with torch.no_grad():
        logits = model(**tokenizer("a b", "b", return_tensors="pt")).logits
    probabilities = entailment_by(str(tmp_path))([("a b", "b"), ("b", "a")])
    assert probabilities[0] == pytest.approx(float(logits.softmax(-1)[0, 2]), abs=1e-6)
    assert len(probabilities) == 2


REPLY = """\
1. **Row and Column Stats**
| Type | MI | EI | EM |
|---|---|---|---|
| Row | 1 | 0 | 2 |
| Column | 0 | 1 | 3 |

3. **Detailed Cell Stats**
| Category | Numerical | String | Bool | Date | List | Time | Others |
|---|---|---|---|---|---|---|---|
| MI | 1 | 0 | 0 | 0 | 0 | 0 | 0 |
| EI | 0 | 0 | 0 | 0 | 0 | 0 | 0 |
| Partial | 2 (delta 0.5) | 1 | 0 | 0 | 0 | 0 | 0 |
"""
"""A reply of the Direct-LLM baseline: of 4 rows and 3 columns one row is lost, a column added."""


def test_the_counts_of_a_model_are_scored_as_the_rubric_does() -> None:
    assert rubric_score(REPLY, 4, 3) == pytest.approx(1 - 1 / 4 - 1 / 4 - 4 / 16)
    assert np.isnan(rubric_score(REPLY.replace("| Row |", "| Rows lost |"), 4, 3))
    assert np.isnan(rubric_score(REPLY.partition("| Partial")[0], 4, 3))
    for counts, others in (("| MI | EI |", "| lost | new |"), ("| 1 | 0 | 2 |", "|...|...|...|")):
        assert np.isnan(rubric_score(REPLY.replace(counts, others), 4, 3))


def test_known_errors(mini: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = draw(tables_of(mini), 60, changes=["typo", "transposed"])

    def strict(reference: AnswerTable, answer: AnswerTable) -> float:
        return 1.0 if answer.rows == reference.rows else float("nan")

    def odd(reference: AnswerTable, answer: AnswerTable) -> float:
        return 1.0 if answer.rows == reference.rows else 2.0

    for measure, sensitivity, specificity in ((strict, 1, 0), (odd, 0, 0)):
        monkeypatch.setitem(metrics.METRICS, "own", measure)
        shares = detection(drawn, "own")
        assert (shares["sensitivity"], shares["specificity"]) == (sensitivity, specificity)
        assert shares["auc"] == 0.5
        assert shares["harmonic_mean"] == 0
        assert shares["f1"] == (2 * 30 / (30 + 30 + 30) if sensitivity else 0)
    shares = detection(drawn, "tabxeval")
    assert {shares[name] for name in shares if name not in LEVELS} == {1}


def test_data_without_rankings(mini: Dataset) -> None:
    with pytest.raises(ValueError, match="mini has no tables ranked by people"):
        ranked_sets(replace(mini, queries=mini.queries[:3]))
    rated = [query for query in mini.queries if "rank" in query.metadata]
    with pytest.raises(ValueError, match="its set has the ranks"):
        ranked_sets(replace(mini, queries=tuple(rated[:4])))


def test_tables_written_with_a_ranking_by_rule() -> None:
    sets = written_sets()
    assert sum(len(ranked.pairs) for ranked in sets) >= 40
    assert len({ranked.order for ranked in sets}) > 5, "places say nothing of ranks"
    for ranked, errors in zip(sets, written_sets(errors_alone=True), strict=True):
        texts = [ranked.pairs[place].text for place in ranked.order]
        assert [errors.pairs[place].text for place in errors.order] == texts[1:]
        assert all(pair.answer.strict_error is None for pair in ranked.pairs)
        assert (
            len({len(row) for pair in ranked.pairs for row in pair.reference.tables[0].rows}) == 1
        )


def test_json_says_which_figure_is_of_tables_that_were_seen() -> None:
    rows: list[dict[str, object]] = [{"metric": name} for name in ("tabxeval", "rougeL")]
    assert [row["note"] for row in noted(rows, "tabxbench")] == [OPEN, None]
    assert not any(row["note"] for row in noted(rows, "written"))
