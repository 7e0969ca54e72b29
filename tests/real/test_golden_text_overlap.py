"""BLEU and ROUGE-L against vectors of sacreBLEU and rouge-score.

The vectors hold more than the package has (chrF, TER, smoothing, other ROUGE, stemming): what
``METRICS`` names, and ROUGE-L, is compared.
"""

from typing import Any

import pytest

from target_bench.core.metric import Metric
from target_bench.metrics.text import DEFINITIONS, SacreBLEU, TextAnswers, score_rouge_l
from tests.real.golden import TOLERANCE, Case, cases, needs_golden

pytestmark = needs_golden

FILE = "text_overlap.json"

METRICS: dict[str, dict[str, Any]] = {
    "bleu": {},
    "bleu_lc": {"lowercase": True},
    "bleu_lc_exp": {"lowercase": True},
    "bleu_none": {"tokenize": "none"},
    "bleu_intl": {"tokenize": "intl"},
    "bleu_char": {"tokenize": "char"},
}


def _corpus_value(metric: Metric[TextAnswers], examples: TextAnswers) -> float:
    return float(metric.value(metric.statistics(examples).sum(axis=0)))


def _same_signature(metric: SacreBLEU, expected: str) -> None:
    assert metric.signature.partition("|")[2] == expected


@pytest.mark.parametrize("case", cases(FILE, "sentence"))
def test_sentence(case: Case) -> None:
    """Values of single answers; BLEU has effective order there, as sacreBLEU's sentences do."""
    references = tuple(case["input"]["refs"])
    examples = TextAnswers([case["input"]["hyp"]], [references])
    expected = dict(case["expected"])
    plain = expected.pop("bleu_no_eff")
    whole = SacreBLEU(str(len(references)))
    assert _corpus_value(whole, examples) == pytest.approx(plain["score"], abs=TOLERANCE)
    _same_signature(whole, plain["signature"])
    f_measure = expected["rouge"]["rougeL"][-1]
    assert score_rouge_l(case["input"]["hyp"], references[0]) == pytest.approx(
        f_measure, abs=TOLERANCE
    )
    for name in METRICS.keys() & expected.keys():
        metric = SacreBLEU(str(len(references)), **METRICS[name])
        alone = metric.per_query(metric.statistics(examples))
        assert alone == pytest.approx([expected[name]["score"]], abs=TOLERANCE), name


@pytest.mark.parametrize("case", cases(FILE, "corpus"))
def test_corpus(case: Case) -> None:
    streams = case["input"]["refs"]
    examples = TextAnswers(case["input"]["hyps"], list(zip(*streams, strict=True)))
    expected = dict(case["expected"])
    rouge_l = DEFINITIONS["rougeL"].make()
    only_first = TextAnswers(examples.texts, [accepted[:1] for accepted in examples.references])
    assert _corpus_value(rouge_l, only_first) == pytest.approx(
        expected.pop("rougeL_mean_f"), abs=TOLERANCE
    )
    for name in METRICS.keys() & expected.keys():
        metric = SacreBLEU(str(len(streams)), **METRICS[name])
        value = expected[name]
        assert _corpus_value(metric, examples) == pytest.approx(value["score"], abs=TOLERANCE)
        _same_signature(metric, value["signature"])


@pytest.mark.parametrize("case", cases(FILE, "tokenize"))
def test_tokenize(case: Case) -> None:
    """The tokens behind BLEU and ROUGE are those of their libraries."""
    from rouge_score.tokenizers import DefaultTokenizer

    text = case["input"]["text"]
    prepared = SacreBLEU()._scorer._preprocess_segment(text)
    assert prepared.split() == case["expected"]["13a"]
    assert DefaultTokenizer(use_stemmer=False).tokenize(text) == case["expected"]["rouge"]
