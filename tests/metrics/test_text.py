"""Metrics of generated text: equal to their libraries, bounded, never helped by an empty answer."""

from dataclasses import replace
from decimal import Decimal
from time import process_time

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from target_bench import load, score_answers
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric_function import resolve_metric
from target_bench.metrics.text import (
    DEFINITIONS,
    TextAnswers,
    count_references,
    exact_match,
    plain_form,
    score_rouge_l,
    token_f1,
)

words = st.lists(st.sampled_from(["the", "cat", "sat", "on", "a", "mat", ".", "2,014"]), max_size=8)
texts = words.map(" ".join)
accepted = st.lists(texts, min_size=1, max_size=3).map(tuple)
answers = st.lists(st.tuples(texts, accepted), min_size=1, max_size=6).map(
    lambda pairs: TextAnswers([text for text, _ in pairs], [refs for _, refs in pairs])
)


def _value(name: str, examples: TextAnswers) -> float:
    settings = {"n_references": count_references(examples.references)}
    metric = DEFINITIONS[name].make(**settings if name == "sacrebleu" else {})
    return float(metric.value(metric.statistics(examples).sum(axis=0)))


def _streams(examples: TextAnswers) -> list[list[str | None]]:
    """References as sacreBLEU takes them: a list of the first ones, of the second ones, ..."""
    longest = max(map(len, examples.references))
    return [
        [refs[i] if i < len(refs) else None for refs in examples.references] for i in range(longest)
    ]


@settings(deadline=None)
@given(answers)
def test_corpus_values_are_sacrebleus(examples: TextAnswers) -> None:
    streams = _streams(examples)
    bleu = sacrebleu.corpus_bleu(list(examples.texts), streams).score  # type: ignore[arg-type]
    assert _value("sacrebleu", examples) == pytest.approx(bleu, abs=1e-9)


@settings(deadline=None)
@given(answers, st.data())
def test_a_failed_answer_never_helps(examples: TextAnswers, data: st.DataObject) -> None:
    """Means fall or stay when an answer fails, also where the reference itself has no word."""
    i = data.draw(st.integers(0, len(examples.texts) - 1))
    texts = list(examples.texts)
    texts[i] = None
    failed = TextAnswers(texts, examples.references)
    for name in ("rougeL", "exact_match", "token_f1"):
        assert _value(name, failed) <= _value(name, examples) + 1e-12


@settings(deadline=None)
@given(answers)
def test_bounds_and_copies(examples: TextAnswers) -> None:
    for name in DEFINITIONS:
        top = 100 if name == "sacrebleu" else 1
        assert 0 <= _value(name, examples) <= top + 1e-9
    copied = TextAnswers([refs[0] for refs in examples.references], examples.references)
    assert _value("exact_match", copied) == 1
    assert _value("token_f1", copied) == 1


_TOKENS = st.sampled_from(["a", "b", "The", "x9", "café", "d-e", "10,5", ""])
_TEXTS = st.lists(_TOKENS, max_size=9).map(" ".join) | st.text(max_size=20)


@given(_TEXTS, _TEXTS)
def test_rouge_is_that_of_its_library(text: str, reference: str) -> None:
    (score,) = RougeScorer(["rougeL"]).score(reference, text).values()
    assert score_rouge_l(text, reference) == score.fmeasure


@pytest.mark.parametrize(
    ("text", "reference", "ottqa", "plain"),
    [
        ("The Beatles!", "beatles", (1, 1), (1, 1)),
        ("", "", (1, 1), (1, 1)),
        ("", "cat", (0, 0), (0, 0)),
        ("a cat sat", "cat", (0, 2 / 3), (0, 2 / 3)),
        ("U.S.A", "usa", (1, 1), (1, 1)),
        ("cat cat", "cat", (0, 2 / 3), (0, 2 / 3)),
        ("$1,200", "1200", (1, 1), (1, 1)),
        ("1572", "15.72", (1, 1), (0, 0)),
        ("6176", "-6176", (1, 1), (0, 0)),
        ("−6176", "-6176.0", (0, 0), (1, 1)),
        ("-$5", "-5", (1, 1), (1, 1)),
        ("13", "13.00", (0, 0), (1, 1)),
        (".50", "0.5", (0, 0), (1, 1)),
        ("No.10", "No.1", (0, 0), (0, 0)),
        ("0", "-0.0", (0, 0), (1, 1)),
        ("about 13.0.", "about 13", (0, 1 / 2), (1, 1)),
        ("1,572.50", "1572.5", (0, 0), (1, 1)),
        ("15,72", "1572", (1, 1), (0, 0)),
        ("007", "7", (0, 0), (0, 0)),
        ("v1.10", "v1.1", (0, 0), (0, 1 / 2)),
        ("v1.0", "v1", (0, 0), (0, 2 / 3)),
        ("GPT-4.10", "GPT-4.1", (0, 0), (0, 1 / 2)),
        ("v1.50.20", "v1.50.2", (0, 0), (0, 2 / 3)),
        ("1.10rc1", "1.1rc1", (0, 0), (0, 1 / 2)),
        ("1.10", "1.1", (0, 0), (1, 1)),
        ("1.2.30", "1.2.3", (0, 0), (0, 0)),
        ("10.0.0.1", "100.0.1", (1, 1), (0, 0)),
        ("2.50 kg", "2.5 kg", (0, 1 / 2), (1, 1)),
        ("--5", "-5", (1, 1), (0, 0)),
        ("5", "-5", (1, 1), (0, 0)),
        ("$-5", "-$5.00", (0, 0), (1, 1)),
        ("1e3", "1,000", (0, 0), (1, 1)),
        ("1.5E3", "1500.0", (0, 0), (1, 1)),
        ("1e-3", "1e3", (1, 1), (0, 0)),
        ("1e-3", ".001", (0, 0), (1, 1)),
        ("1e3kg", "1000kg", (0, 0), (0, 0)),
        ("1,5e3", "1,5", (0, 0), (0, 1 / 2)),
        ("1e99", "1e999", (0, 0), (0, 0)),
        ("3-4", "34", (1, 1), (0, 0)),
        ("3-4", "3 -4", (0, 0), (0, 1 / 2)),
        ("10...20", "100.2", (0, 0), (0, 0)),
        ("(3)-5", "35", (1, 1), (0, 0)),
        ("1.5,2.50", "1.50, 2.5", (0, 0), (1, 1)),
        ("2020-01-02", "2020/01/02", (1, 1), (1, 1)),
        ("01.10.2020", "01.1.2020", (0, 0), (0, 0)),
        ("1990--1991", "1990-1991", (1, 1), (1, 1)),
        ("C++", "C#", (1, 1), (0, 0)),
        ("BBB-", "BBB+", (1, 1), (0, 0)),
        ("BBB\u2212", "bbb-", (0, 0), (1, 1)),
        ("21", "2:1", (1, 1), (0, 0)),
        ("1011", "10/11", (1, 1), (0, 0)),
        ("1990–1991", "1990-1991", (0, 0), (1, 1)),
        ("covid-19", "Covid19", (1, 1), (1, 1)),
        ("the", "a", (1, 1), (0, 0)),
        ("Vitamin A", "vitamin", (1, 1), (0, 2 / 3)),
        ("?", "!", (1, 1), (0, 0)),
        ("“Rome”", "Rome", (0, 0), (1, 1)),
        ("Zu\u0308rich", "Z\u00fcrich", (0, 0), (1, 1)),
        ("हिन्दी", "हनद", (0, 0), (0, 0)),
    ],
)
def test_normal_forms(
    text: str, reference: str, ottqa: tuple[float, float], plain: tuple[float, float]
) -> None:
    """By OTT-QA's script a point and a minus are punctuation; elsewhere they are of the number."""
    for form, expected in (("ottqa", ottqa), ("plain", plain)):
        both = exact_match(text, reference, form), token_f1(text, reference, form)
        assert both == pytest.approx(expected), form


@given(st.text(max_size=20) | _TEXTS)
def test_plain_form_of_a_text_with_any_sign_is_not_empty(text: str) -> None:
    assert bool(plain_form(text)) == bool(text.strip())


_DECIMALS = st.decimals(min_value=-(10**6), max_value=10**6, places=3)


@given(_DECIMALS, _DECIMALS | st.just(None))
def test_numbers_are_equal_where_their_values_are(first: Decimal, other: Decimal | None) -> None:
    other = first if other is None else other
    spellings = [f"{first}", f"{first:,}", f"{first}0", f"({first}).", f"{first:.9e}"]
    assert {exact_match(spelt, f"{other}") for spelt in spellings} == {float(first == other)}


_PARTS = st.lists(st.integers(0, 20), min_size=1, max_size=4).map(lambda n: ".".join(map(str, n)))


@given(st.sampled_from(["v", "gpt-", "IPv", "Ch.", "x_"]), _PARTS, _PARTS)
def test_numbers_of_names_are_no_numbers(name: str, first: str, other: str) -> None:
    assert exact_match(name + first, name + other) == (first == other)


def test_a_failed_answer_is_wrong_for_any_reference() -> None:
    """OTT-QA has the answer "A", of which its script leaves no word: a failed one is not it."""
    examples = TextAnswers([None, ""], [("A",), ("A",)], forms=["ottqa", "ottqa"])
    for name in ("exact_match", "token_f1"):
        metric = DEFINITIONS[name].make("1")
        assert metric.per_query(metric.statistics(examples)).tolist() == [0, 1]


def test_form_of_a_corpus_decides_and_stands_in_the_signature() -> None:
    dataset = load("mini")
    queries = tuple(q for q in dataset.queries if q.metadata.get("task") == "question_answering")
    number = replace(queries[0], answer="15.72", metadata={})
    ottqa = replace(number, metadata={"normal_form": "ottqa"})
    for query, value, form in (
        (number, 0, "plain normal form"),
        (ottqa, 1, "OTT-QA's normal form"),
    ):
        scored = score_answers(replace(dataset, queries=(query,)), {query.id: "1572"}, "qa")
        score = scored["exact_match"]
        assert (score.value, score.signature.split("|")[1]) == (value, f"{form}, best reference")
    wrong = replace(number, metadata={"normal_form": "squad"})
    with pytest.raises(DataError, match="normal_form: expected plain or ottqa, found 'squad'"):
        score_answers(replace(dataset, queries=(wrong,)), {number.id: "1"}, "qa")


@pytest.mark.parametrize("unit", ["1 ", "word ", "[", "1,", "(", "a-", "<think>", "the "])
def test_answers_of_10_mb_are_unreadable_and_end(unit: str) -> None:
    dataset = load("mini")
    queries = tuple(q for q in dataset.queries if q.metadata.get("task") == "question_answering")
    answers = {q.id: unit * (10_000_000 // len(unit)) for q in queries[:3]}
    answers |= {q.id: unit * (99_000 // len(unit)) for q in queries[3:6]}
    started = process_time()
    scored = score_answers(replace(dataset, queries=queries[:6]), answers, "qa")
    assert process_time() - started < 20
    assert scored.counts.unparsed >= 3
    assert scored["exact_match"].value == 0


def test_tokens_of_bleu_are_a_setting() -> None:
    """Chinese has no spaces between words: as English text, two sentences share no token."""
    judged = TextAnswers(["我住在北京市中心"], [("我住在北京市东部",)])
    plain, chinese = (DEFINITIONS["sacrebleu"].make(**more) for more in ({}, {"tokenize": "zh"}))
    assert float(plain.value(plain.statistics(judged).sum(axis=0))) == 0
    assert float(chinese.value(chinese.statistics(judged).sum(axis=0))) > 50
    assert "|tok:zh|" in chinese.signature
    with pytest.raises(ConfigError, match="tokenize='xy': expected one of 13a, char"):
        DEFINITIONS["sacrebleu"].make(tokenize="xy")
    # It would change the value, and is in no signature of sacreBLEU.
    with pytest.raises(ConfigError, match="max_ngram_order"):
        resolve_metric("sacrebleu:max_ngram_order=2")


def test_metric_with_settings_replaces_the_same_one_of_the_task() -> None:
    dataset = load("mini")
    answers = {query.id: "a" for query in dataset.queries}
    scored = score_answers(dataset, answers, "qa", metrics=["sacrebleu:tokenize=char"])
    own = score_answers(dataset, answers, "qa")["sacrebleu"].signature
    assert scored["sacrebleu"].signature == own.replace("tok:13a", "tok:char") != own
