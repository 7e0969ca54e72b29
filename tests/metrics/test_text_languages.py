"""Metrics of text in other languages than English."""

import importlib.util
from itertools import pairwise

import pytest
from sacrebleu.metrics.bleu import BLEU

from target_bench.core.errors import ConfigError
from target_bench.core.registry import create
from target_bench.core.schema import Query
from target_bench.metrics.text import JudgedAnswers, text_metrics
from target_bench.metrics.text_languages import LANGUAGES, check, text_metrics_of, tokens_of
from target_bench.tasks.question_answering import QuestionAnswering

NEEDED = {"ja": "MeCab", "ko": "mecab_ko"}


def _values(language: str, text: str, reference: str) -> dict[str, float]:
    judged = JudgedAnswers([text], [(reference,)])
    metrics = text_metrics_of(language, "1")
    return {m.name: float(m.value(m.statistics(judged).sum(axis=0))) for m in metrics}


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("zh", "他是《中国》人ABC 123。", ["他", "是", "中", "国", "人", "abc", "123"]),
        ("ko", "사람 3명", ["사", "람", "3", "명"]),
        ("th", "กินข้าว", ["กิ", "น", "ข้", "า", "ว"]),
        ("de", "Der Hund, das Haus.", ["hund", "haus"]),
        ("es", "La casa-grande", ["casagrande"]),
        ("ar", "الولد", ["ولد"]),
        ("fr", "Le chien", ["le", "chien"]),
        ("ru", "Столица России!", ["столица", "россии"]),
        ("hi", "भारत की", ["भारत", "की"]),
    ],
)
def test_tokens(language: str, text: str, tokens: list[str]) -> None:
    assert tokens_of(text, language) == tokens


def test_chinese() -> None:
    """Three of four characters are shared; the English rules see one wrong word, and none."""
    values = _values("zh", "中国人。", "中国人们")
    assert values["exact_match"] == 0.0
    assert values["token_f1"] == pytest.approx(6 / 7)
    assert values["rouge1"] == pytest.approx(6 / 7)
    assert values["rouge2"] == pytest.approx(4 / 5)
    assert values["rougeL"] == pytest.approx(6 / 7)
    assert _values("zh", "《中国人》", "中国人")["exact_match"] == 1.0
    english = _values("en", "中国人。", "中国人们")
    assert english["token_f1"] == english["rouge1"] == 0.0


@pytest.mark.parametrize(("language", "tokens"), [("zh", "zh"), ("th", "char"), ("de", "13a")])
def test_bleu_is_sacrebleus(language: str, tokens: str) -> None:
    text, reference = "他是一个中国人。 Der Hund", "他是中国的人。 Der Hund"
    expected = BLEU(tokenize=tokens).corpus_score([text], [[reference]]).score
    assert _values(language, text, reference)["sacrebleu"] == pytest.approx(expected)


def test_every_language_has_all_metrics_and_signatures_of_its_own() -> None:
    """But chrF's, which is the same in all, and BLEU's where it reads as in English."""
    names = [m.name for m in text_metrics("1")]
    there = [c for c in LANGUAGES if c not in NEEDED]
    by_language = [text_metrics_of(language, "1") for language in there]
    assert all([m.name for m in metrics] == names for metrics in by_language)
    for first, second in pairwise(by_language):
        same = [a.name for a, b in zip(first, second, strict=True) if a.signature == b.signature]
        assert set(same) <= {"chrf", "sacrebleu"}


@pytest.mark.parametrize("language", NEEDED)
def test_what_sacrebleu_lacks_is_said(language: str) -> None:
    if importlib.util.find_spec(NEEDED[language]):
        check(language)
    else:
        with pytest.raises(ConfigError, match=rf"pip install 'sacrebleu\[{language}\]'"):
            create("task", f"qa:language={language}")


@pytest.mark.parametrize(
    ("question", "answer", "language"),
    [
        ("Who won the cup?", "Ann", "en"),
        ("Wer hat den Pokal gewonnen?", "die Mannschaft", "de"),
        ("谁赢得了奖杯?", "中国人们", "zh"),
        ("ใครชนะ?", "กินข้าว", "th"),
        ("Wer hat den Pokal gewonnen?", "Ann 1999", "de"),
        ("Who of the two has won the cup in the end?", "中国", "zh"),
    ],
)
def test_a_task_tells_the_language(question: str, answer: str, language: str) -> None:
    """References come before questions; the signatures name the language that was signatures."""
    queries = [Query(str(n), question, (), answer) for n in range(2)]
    automatic, named = (QuestionAnswering(language=code) for code in ("auto", language))
    signatures = [metric.signature for metric in automatic.metrics(queries)]
    assert signatures == [metric.signature for metric in named.metrics(queries)]
    assert any(f"language:{language}" in signature for signature in signatures) == (
        language != "en"
    )
    assert automatic.metrics([])
