"""Labels and their metrics against vectors of the original TARGET and scikit-learn."""

import pytest

from target_bench.metrics.classification import DEFINITIONS, JudgedLabels, confusion
from target_bench.metrics.labels import parse_label
from tests.real.golden import TOLERANCE, Case, cases, needs_golden

pytestmark = needs_golden

FILE = "fact_verification.json"
LABELS = {1: "True", 0: "False", -1: "Not Enough Information"}


@pytest.mark.parametrize("case", cases(FILE, "label"))
def test_label(case: Case) -> None:
    assert parse_label(case["input"]["text"], "target") == LABELS[case["expected"]["label"]]


@pytest.mark.parametrize("case", cases(FILE, "corpus"))
def test_corpus(case: Case) -> None:
    expected = case["expected"]
    read = [parse_label(text, "target") for text in case["input"]["predictions"]]
    assert read == [LABELS[label] for label in expected["pred_labels"]]
    gold = [parse_label(text, "target") for text in case["input"]["golds"]]
    assert gold == [LABELS[label] for label in expected["gold_labels"]]
    examples = JudgedLabels(read, [str(label) for label in gold])

    def value(name: str) -> float:
        metric = DEFINITIONS[name].make("strict")
        return float(metric.value(metric.statistics(examples).sum(axis=0)))

    target = expected["target_weighted"]
    assert value("accuracy") == pytest.approx(target["accuracy"], abs=TOLERANCE)
    for part in ("precision", "recall", "f1"):
        assert value(f"{part}_weighted") == pytest.approx(target[part], abs=TOLERANCE)
        # over the labels of the gold; scikit-learn's default, "macro", has predicted ones too
        of_gold = [label[part] for label in expected["per_class"].values() if label["support"]]
        macro = sum(of_gold) / len(of_gold)
        assert value(f"{part}_macro") == pytest.approx(macro, abs=TOLERANCE)
        if len(of_gold) == len(expected["per_class"]):
            assert macro == pytest.approx(expected["macro"][part], abs=TOLERANCE)
        # micro-averaged over single labels, all three are accuracy
        assert value("accuracy") == pytest.approx(expected["micro"][part], abs=TOLERANCE)
    counts = confusion(examples)
    for label, values in expected["per_class"].items():
        place = list(LABELS.values()).index(LABELS[int(label)])
        assert counts[place].sum() == values["support"]
        recall = counts[place, place] / max(1, counts[place].sum())
        precision = counts[place, place] / max(1, counts[:, place].sum())
        assert (precision, recall) == pytest.approx(
            (values["precision"], values["recall"]), abs=TOLERANCE
        )
    both = [
        (counts[i, i] / max(1, counts[:, i].sum()), counts[i, i] / max(1, counts[i].sum()))
        for i in (0, 1)
    ]
    values = expected["macro_labels_0_1"]
    assert sum(p for p, _ in both) / 2 == pytest.approx(values["precision"], abs=TOLERANCE)
    assert sum(r for _, r in both) / 2 == pytest.approx(values["recall"], abs=TOLERANCE)
    f1 = [2 * p * r / (p + r) if p + r else 0.0 for p, r in both]
    assert sum(f1) / 2 == pytest.approx(values["f1"], abs=TOLERANCE)
