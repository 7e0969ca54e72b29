"""Metrics of generated text against reference texts: BLEU, ROUGE-L, exact match, token F1.

sacreBLEU (Post 2018) and rouge-score do the counting; here the counts of each answer are kept, so
that corpus values, values of single answers and intervals come from the same rows.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, partial
from importlib.metadata import version
from itertools import filterfalse
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric import (
    Floats,
    Metric,
    MetricDefinition,
    MetricSpec,
    RatioMetric,
    by_name,
)
from target_bench.core.schema import Query
from target_bench.metrics.ngrams import count_matched

VERSION = "text:4"
"""The version of these metrics and of BERTScore, for identities: raise it if values can change."""

MOST_CHARACTERS = 100_000  # a longer answer scores 0, as a failed one does

NORMAL_FORM = "normal_form"
"""The entry of a query's metadata with the normal form of its answers: ``ottqa`` or ``plain``."""


@dataclass(frozen=True)
class TextAnswers:
    """Answers and references; n queries.

    Attributes:
        texts: the answers; None for one that failed, which scores 0.
        references: the references of each query, at least one; the best one counts.
        forms: the normal form of each query, one of ``FORMS``. Default: all are ``plain``.
    """

    texts: Sequence[str | None]
    references: Sequence[tuple[str, ...]]
    forms: Sequence[str] = field(default=(), kw_only=True)

    @cached_property
    def readable(self) -> Sequence[str | None]:
        """The answers; None for one that failed or is longer than ``MOST_CHARACTERS``."""
        return [None if t is None or len(t) > MOST_CHARACTERS else t for t in self.texts]


def count_references(references: Sequence[tuple[str, ...]]) -> str:
    """Return how many references each query has; ``var``, as in sacreBLEU, if that differs."""
    numbers = set(map(len, references))
    return str(numbers.pop()) if len(numbers) == 1 else "var"


class SacreBLEU(Metric[TextAnswers]):
    """BLEU of sacreBLEU over a corpus, from 0 to 100 as sacreBLEU prints it.

    A single answer's value is its sentence score, with effective order as sacreBLEU has it.

    Args:
        n_references: how many references a query has (``count_references``), for the signature.
        reading: how the answers were read, for the signature; empty if they are taken whole.
        tokenize: how texts are divided into tokens: ``zh``, ``ja-mecab``, ``char``, ``intl``, ...
        lowercase: whether case is ignored.
    """

    def __init__(
        self,
        n_references: str = "var",
        reading: str = "",
        tokenize: str | None = None,
        lowercase: bool = False,
    ) -> None:
        from sacrebleu.metrics.bleu import BLEU

        self.spec = _BLEU
        self.context = {"n_references": n_references, "reading": reading}
        self._reading = reading
        try:
            self._scorer: Any = BLEU(lowercase, tokenize=tokenize)
            self._sentence: Any = BLEU(lowercase, tokenize=tokenize, effective_order=True)
        except (KeyError, RuntimeError) as error:  # unknown; its package is not installed
            names = ", ".join(sorted(set(BLEU.TOKENIZERS)))
            raise ConfigError(
                f"metric sacrebleu: tokenize={tokenize!r}: expected one of {names}; those of "
                "Japanese and Korean need pip install 'sacrebleu[ja]' or 'sacrebleu[ko]'"
            ) from error
        self._scorer.num_refs = -1 if n_references == "var" else int(n_references)

    @property
    def signature(self) -> str:
        """SacreBLEU's own signature, and how the answers were read."""
        return join_signature(self.name, str(self._scorer.get_signature()), self._reading)

    def statistics(self, examples: TextAnswers) -> Floats:
        """Return (n, m) counts of sacreBLEU for each answer."""
        prepare, rows = self._scorer._preprocess_segment, []
        for text, references in zip(examples.readable, examples.references, strict=True):
            tokens, *others = (prepare(whole).split() for whole in (text or "", *references))
            rows.append(_count_ngrams(tokens, others, self._scorer.max_ngram_order))
        return np.array(rows, dtype=np.float64)

    def value(self, totals: Floats) -> Floats:
        """Return the corpus score of summed counts."""
        return _bleu_scores(self._scorer, totals)

    def per_query(self, statistics: Floats) -> Floats:
        """Return the sentence score of each answer."""
        return _bleu_scores(self._sentence, statistics)

    def bounds(self, statistics: Floats) -> tuple[float, float]:  # noqa: ARG002 (the contract's)
        """Return 0 and 100."""
        return 0.0, self.highest


def _bleu_scores(scorer: Any, totals: Floats) -> Floats:
    rows = totals.astype(np.int64).reshape(-1, totals.shape[-1]).tolist()
    scores = [scorer._compute_score_from_stats(row).score for row in rows]
    return np.array(scores, dtype=np.float64).reshape(totals.shape[:-1])


def _count_ngrams(
    tokens: Sequence[str], references: Sequence[Sequence[str]], orders: int
) -> list[float]:
    """Return the counts of sacreBLEU: both lengths, n-grams in common, n-grams of the answer.

    Of several references the length nearest to the answer's counts, of two as near the shorter.
    """
    correct = [count_matched(tokens, references, n) for n in range(1, orders + 1)]
    length = len(tokens)
    nearest = min(map(len, references), key=lambda other: (abs(other - length), other))
    return [length, nearest, *correct, *(max(length - n, 0) for n in range(orders))]


class MeanOverAnswers(RatioMetric[TextAnswers]):
    """The mean over queries of the value of each answer.

    Args:
        spec: the declaration.
        description: all that changes the value, for the signature.
        measure: examples -> (n,) the value of each answer.
        reading: how the answers were read, for the signature; empty if they are taken whole.
    """

    empty = 0.0

    def __init__(
        self,
        spec: MetricSpec,
        description: str,
        measure: Callable[[Any], Floats],
        reading: str = "",
    ) -> None:
        self.spec = spec
        self._measure = measure
        self._signature = join_signature(spec.name, description, reading)

    @property
    def signature(self) -> str:
        """Name, definition, and how the answers were read."""
        return self._signature

    def statistics(self, examples: TextAnswers) -> Floats:
        """Return (n, 2): the value of each answer, and 1."""
        values = self._measure(examples)
        return np.column_stack([values, np.ones(len(values))])


def join_signature(*parts: str) -> str:
    """Join the parts of a signature that are not empty."""
    return "|".join(filter(None, parts))


def _score_best(compare: Callable[[str, str, str], float], examples: TextAnswers) -> Floats:
    """Return (n,) the value of each answer with its best reference.

    ``compare`` is called with the answer, a reference and the normal form of the query.
    """
    forms = examples.forms or ["plain"] * len(examples.texts)
    queries = zip(examples.readable, examples.references, forms, strict=True)
    best = [
        0.0 if text is None else max(compare(text, reference, form) for reference in references)
        for text, references, form in queries
    ]
    return np.array(best, dtype=np.float64)


def score_rouge_l(text: str, reference: str, _form: str = "") -> float:
    """Return ROUGE-L's F measure as rouge-score has it."""
    # rouge-score's own scorer imports nltk and is slow
    from rapidfuzz.distance import LCSseq
    from rouge_score.tokenize import tokenize

    mine, theirs = tokenize(text, None), tokenize(reference, None)
    shared = LCSseq.similarity(mine, theirs)
    if not shared:
        return 0.0
    precision, recall = shared / len(mine), shared / len(theirs)
    return float(2 * precision * recall / (precision + recall))


_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_ARTICLE_BEFORE_WORD = re.compile(r"(?<!\S)(?:a|an|the)\s+(?=\S)")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_NUMBER = (
    r"(?P<sign>(?<![\w)\]-])-[$€£¥]?)?"  # 3-5 is a range, --5 a dash before a number
    r"(?<!\w)(?<![^\W\d_][.-])(?<!\d[.,])"  # v1.10 and gpt-4.10 are names
    r"(?P<digits>(?>\d+(?:[.,]\d+)*)|(?<!\.)\.\d+)"
    r"(?:(?P<exponent>e[+-]?\d{1,2}(?!\w))|(?![^\W_]*\d))"  # 1e3 is a number, 10rc1 is none
)
_FORM = re.compile(
    rf"(?P<mark>(?<=[^\W\d_])(?:\+\+?|\#|-)(?![\w+\#-]))"  # C++, C#, BBB-
    r"|(?P<between>(?<=\d)(?:[^\w\s]|_)+?(?=-?[$€£¥]?\.?\d))"
    rf"|{_NUMBER}|(?P<other>[^\w\s]|_)"
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_PUNCTUATION_CATEGORIES = frozenset({"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sc"})


def ottqa_form(text: str) -> str:
    """Return OTT-QA's normal form (after SQuAD's): lower case, no ASCII punctuation or articles.

    So 15.72 equals 1572, and "A" and "the" are empty.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def plain_form(text: str) -> str:
    """Return lower case without punctuation and articles, but with numbers.

    A number keeps its sign and its decimal point, and 13.00, 1,572 and 1e3 become 13, 1572 and
    1000; digits in a name, as in v1.10, are no number. Punctuation between two digits becomes a
    space, as in 2:1. The marks of C++, C# and BBB- stay. An article is dropped before a word. Where
    nothing would be left, as of "!", the text stays. Letters are in Unicode's composed form.
    """
    whole = unicodedata.normalize("NFC", text).lower().translate(_DASHES)
    form = " ".join(_FORM.sub(_normalise_match, whole).split())
    return _ARTICLE_BEFORE_WORD.sub("", form) or " ".join(whole.split())


def _normalise_match(match: re.Match[str]) -> str:
    if match["digits"]:
        return _normalise_number(match["sign"] or "", match["digits"], match["exponent"] or "")
    if match["mark"]:
        return match["mark"]
    kept = "".join(filterfalse(_is_punctuation, match[0]))
    return kept or " " * bool(match["between"])


def _normalise_number(sign: str, digits: str, exponent: str) -> str:
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    first, *others = digits.split(",")  # 1.50,2 are two numbers
    numbers = [first, *others]
    if exponent and numbers[-1].count(".") < 2:
        numbers[-1] = format(Decimal(numbers[-1] + exponent), "f")
    numbers = [_strip_zeros(number) for number in numbers]
    return "-" * (bool(sign) and numbers[0] != "0") + " ".join(numbers)


def _strip_zeros(digits: str) -> str:
    if digits.count(".") != 1:  # 1.2.3 is no number
        return digits
    whole, _, decimals = digits.partition(".")
    return f"{whole or '0'}.{decimals}".rstrip("0").rstrip(".")


def _is_punctuation(character: str) -> bool:
    return (
        character in string.punctuation
        or unicodedata.category(character) in _PUNCTUATION_CATEGORIES
    )


FORMS: Mapping[str, Callable[[str], str]] = {"plain": plain_form, "ottqa": ottqa_form}
"""Normal form -> how a text is brought into it."""


def exact_match(text: str, reference: str, form: str = "plain") -> float:
    """Return 1 if the normal forms are equal, else 0."""
    return float(FORMS[form](text) == FORMS[form](reference))


def token_f1(text: str, reference: str, form: str = "plain") -> float:
    """Return F1 of the words of the normal forms, as multisets; 1 if neither has any."""
    mine, theirs = (FORMS[form](each).split() for each in (text, reference))
    if not mine or not theirs:
        return float(not mine and not theirs)
    shared = (Counter(mine) & Counter(theirs)).total()
    return 2 * shared / (len(mine) + len(theirs))


def read_forms(queries: Sequence[Query]) -> list[str]:
    """Return the normal form of the answers to each query."""
    forms = [str(query.metadata.get(NORMAL_FORM, "plain")) for query in queries]
    for query, form in zip(queries, forms, strict=True):
        if form not in FORMS:
            raise DataError(
                f"query {query.id!r:.60}: normal_form: expected {' or '.join(FORMS)}, found "
                f"{form!r:.40}"
            )
    return forms


_spec = partial(MetricSpec, scores="texts", needs=("references",))

_SQUAD = "Rajpurkar et al. 2016; for the corpus ottqa its evaluate_script.py"
_FORM_NAMES = {"plain": "plain normal form", "ottqa": "OTT-QA's normal form"}

_BLEU = _spec(
    "sacrebleu",
    "BLEU",
    "corpus BLEU, 0-100 (Post 2018)",
    "Papineni et al. 2002; Post 2018",
    rank=1,
    references="long",
    scale="percent",
    digits=2,
)
_ROUGE = _spec(
    "rougeL", "ROUGE-L", "mean ROUGE-L F (Lin 2004)", "Lin 2004", rank=2, references="long"
)
_EXACT_MATCH = _spec(
    "exact_match",
    "EM",
    "share of answers that are a reference, in normal form",
    _SQUAD,
    rank=4,
    references="short",
)
_TOKEN_F1 = _spec(
    "token_f1",
    "F1",
    "mean F1 of words, in normal form",
    _SQUAD,
    rank=5,
    decides=True,
    references="short",
)


def _make_rouge(reading: str = "") -> MeanOverAnswers:
    description = f"F measure, best reference|stemmer:none|rouge-score=={version('rouge-score')}"
    return MeanOverAnswers(_ROUGE, description, partial(_score_best, score_rouge_l), reading)


def _define_in_form(
    spec: MetricSpec, compare: Callable[[str, str, str], float]
) -> MetricDefinition:
    def make(reading: str = "", forms: Collection[str] = ("plain",)) -> MeanOverAnswers:
        names = " or ".join(name for form, name in _FORM_NAMES.items() if form in forms)
        measure = partial(_score_best, compare)
        return MeanOverAnswers(spec, f"{names}, best reference", measure, reading)

    return MetricDefinition(spec, make)


DEFINITIONS = by_name(
    MetricDefinition(_BLEU, SacreBLEU),
    MetricDefinition(_ROUGE, _make_rouge),
    _define_in_form(_EXACT_MATCH, exact_match),
    _define_in_form(_TOKEN_F1, token_f1),
)
"""Every metric of generated text, in the order in which scores are recorded."""


def text_metrics(
    n_references: str, reading: str = "", forms: Collection[str] = ("plain",)
) -> list[Metric[TextAnswers]]:
    """Make every metric of generated text."""
    return [
        SacreBLEU(n_references, reading),
        _make_rouge(reading),
        DEFINITIONS["exact_match"].make(reading, forms),
        DEFINITIONS["token_f1"].make(reading, forms),
    ]
