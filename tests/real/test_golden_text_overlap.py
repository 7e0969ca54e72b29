"""BLEU, chrF and ROUGE against vectors of sacreBLEU and rouge-score.

The vectors hold more than the package has (TER, chrF++, ROUGE-Lsum, stemming): what ``METRICS``
and ``ROUGES`` name is compared.
"""

from typing import Any

import pytest

from target_bench.metrics.text import JudgedAnswers, MeanOverAnswers, SacreBLEU, rouge
from tests.real.golden import TOLERANCE, Case, cases, needs_golden

pytestmark = needs_golden

FILE = "text_overlap.json"

METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "bleu": ("sacrebleu", {}),
    "bleu_lc": ("sacrebleu", {"lowercase": True}),
    "bleu_lc_exp": ("sacrebleu", {"lowercase": True}),
    "bleu_none": ("sacrebleu", {"tokenize": "none"}),
    "bleu_intl": ("sacrebleu", {"tokenize": "intl"}),
    "bleu_char": ("sacrebleu", {"tokenize": "char"}),
    "bleu_floor": ("sacrebleu", {"smooth_method": "floor"}),
    "bleu_addk": ("sacrebleu", {"smooth_method": "add-k"}),
    "chrf": ("chrf", {}),
    "chrf_lc": ("chrf", {"lowercase": True}),
    "chrf_eps": ("chrf", {"eps_smoothing": True}),
}
ROUGES = ("rouge1", "rouge2", "rougeL")


def _corpus_value(metric: SacreBLEU | MeanOverAnswers, examples: JudgedAnswers) -> float:
    return float(metric.value(metric.statistics(examples).sum(axis=0)))


def _same_signature(metric: SacreBLEU, expected: str) -> None:
    assert metric.signature.partition("|")[2] == expected


@pytest.mark.parametrize("case", cases(FILE, "sentence"))
def test_sentence(case: Case) -> None:
    """Values of single answers; BLEU has effective order there, as sacreBLEU's sentences do."""
    references = tuple(case["input"]["refs"])
    examples = JudgedAnswers([case["input"]["hyp"]], [references])
    expected = dict(case["expected"])
    plain = expected.pop("bleu_no_eff")
    whole = SacreBLEU("sacrebleu", str(len(references)))
    assert _corpus_value(whole, examples) == pytest.approx(plain["score"], abs=TOLERANCE)
    _same_signature(whole, plain["signature"])
    for name in ROUGES:
        f_measure = expected["rouge"][name][-1]
        value = _corpus_value(rouge(name), JudgedAnswers(examples.texts, [references[:1]]))
        assert value == pytest.approx(f_measure, abs=TOLERANCE), name
    for name in METRICS.keys() & expected.keys():
        kind, settings = METRICS[name]
        metric = SacreBLEU(kind, str(len(references)), **settings)
        alone = metric.per_query(metric.statistics(examples))
        assert alone == pytest.approx([expected[name]["score"]], abs=TOLERANCE), name


@pytest.mark.parametrize("case", cases(FILE, "corpus"))
def test_corpus(case: Case) -> None:
    streams = case["input"]["refs"]
    examples = JudgedAnswers(case["input"]["hyps"], list(zip(*streams, strict=True)))
    expected = dict(case["expected"])
    rouge_l = rouge("rougeL")
    only_first = JudgedAnswers(examples.texts, [accepted[:1] for accepted in examples.references])
    assert _corpus_value(rouge_l, only_first) == pytest.approx(
        expected.pop("rougeL_mean_f"), abs=TOLERANCE
    )
    for name in METRICS.keys() & expected.keys():
        kind, settings = METRICS[name]
        metric = SacreBLEU(kind, str(len(streams)), **settings)
        value = expected[name]
        assert _corpus_value(metric, examples) == pytest.approx(value["score"], abs=TOLERANCE)
        _same_signature(metric, value["signature"])


@pytest.mark.parametrize("case", cases(FILE, "tokenize"))
def test_tokenize(case: Case) -> None:
    """The tokens behind BLEU and ROUGE are those of their libraries."""
    from rouge_score.tokenizers import DefaultTokenizer

    text = case["input"]["text"]
    prepared = SacreBLEU("sacrebleu")._scorer._preprocess_segment(text)
    assert prepared.split() == case["expected"]["13a"]
    assert DefaultTokenizer(use_stemmer=False).tokenize(text) == case["expected"]["rouge"]
