"""The metrics of sentences about cells of a table: PARENT and BLEU, as ToTTo's script has them.

Parikh et al. (2020) for ToTTo and its ``totto_eval.sh``; Dhingra et al. (2019) for PARENT, which
counts the n-grams of a sentence that a reference or the table supports.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz.distance import LCSseq

from target_bench.core.metric import (
    Floats,
    Metric,
    MetricDefinition,
    MetricSpec,
    RatioMetric,
    by_name,
)
from target_bench.metrics.ngrams import Ngram, count_shared, ngrams
from target_bench.metrics.text import SacreBLEU, TextAnswers, join_signature
from target_bench.tables import totto_text
from target_bench.tables.totto_text import TableEvidence, known_tokens, tokens, values

VERSION = "descriptions:2"
"""The version of these metrics, for identities: raise it if values can change."""

OF = "descriptions"
"""What these metrics score: sentences, and the cells that they should describe."""


@dataclass(frozen=True)
class JudgedDescriptions(TextAnswers):
    """Sentences, what is accepted, and the cells that they should describe.

    Attributes:
        evidence: the table and the highlighted cells of each query.
        padded: whether missing references of up to three are ``<null>``, as ToTTo's script has them
            for its own sets: see ``totto_text.is_padded``.
    """

    evidence: Sequence[TableEvidence]
    padded: bool = True

    @cached_property
    def compared(self) -> TextAnswers:
        """The texts as the official script compares them; too long ones count as failed."""
        return TextAnswers(
            [None if t is None else totto_text.prediction(t) for t in self.readable],
            [tuple(totto_text.references(texts, self.padded)) for texts in self.references],
        )

    @cached_property
    def parents(self) -> Floats:
        """(n, 3) precision, recall and F of each sentence, times 100; a failed one has 0."""
        scores = []
        queries = zip(self.compared.texts, self.compared.references, self.evidence, strict=True)
        for text, accepted, source in queries:
            if text is None:
                scores.append(_NOTHING)
                continue
            references = list(map(tokens, accepted))
            highlighted = list(map(tokens, values(source.highlighted)))
            table = known_tokens(values(source.table))
            scores.append(parent(tokens(text), references, table, highlighted))
        return np.array(scores, dtype=np.float64).reshape(-1, 3) * 100


def references_of(n_references: str) -> str:
    """Say in a signature how many references there are, and whether they are padded."""
    return f"nrefs:{n_references}|null:{'none' if n_references == '1' else 'to three'}"


class ParentMetric(RatioMetric[JudgedDescriptions]):
    """The mean over sentences of a column of ``JudgedDescriptions.parents``.

    Precision and recall are those of the reference with the highest F. The mean of F is not the F
    of the means.
    """

    empty = 0.0

    def __init__(
        self, spec: MetricSpec, column: int, n_references: str = "var", reading: str = ""
    ) -> None:
        self.spec = spec
        self._column = column
        self._references = references_of(n_references)
        self._reading = reading

    @property
    def signature(self) -> str:
        """Name, the settings of PARENT, and how the answers were read."""
        settings = f"orders:{ORDERS}|smooth:{SMOOTHING}|lambda:per reference|entailment:overlap"
        text = f"case:lc|detok:moses-en|tok:13a|{self._references}"
        return join_signature(self.name, settings, text, "best reference by F", self._reading)

    def statistics(self, examples: JudgedDescriptions) -> Floats:
        """Return (n, 2): the value of each sentence, and 1."""
        column = examples.parents[:, self._column]
        return np.column_stack([column, np.ones(len(column))])


class DescriptionBLEU(SacreBLEU):
    """Corpus BLEU by sacreBLEU, of the text as ToTTo's script prepares it.

    An empty prediction is ``<null>``; missing references of up to three are, too, and take part.
    """

    def __init__(self, spec: MetricSpec, n_references: str = "var", reading: str = "") -> None:
        if n_references not in ("1", "var"):
            n_references = str(max(totto_text.ANNOTATORS, int(n_references)))
        super().__init__(n_references, reading)
        self.spec = spec

    @property
    def signature(self) -> str:
        """SacreBLEU's own signature, what is done to the text before, and how it was read."""
        official = str(self._scorer.get_signature())
        return join_signature(self.name, "pre:lc,moses-en,null", official, self._reading)

    def statistics(self, examples: TextAnswers) -> Floats:
        """Return (n, m) counts of sacreBLEU for each sentence."""
        if isinstance(examples, JudgedDescriptions):
            examples = examples.compared
        return super().statistics(examples)


_spec = partial(MetricSpec, scores=OF, scale="percent", digits=2)


def _define_parent(ending: str, label: str, kind: str, column: int) -> MetricDefinition:
    spec = _spec(
        f"parent{ending}",
        label,
        f"mean PARENT {kind} of sentences, 0-100",
        "Dhingra et al. 2019; ToTTo's totto_parent_eval.py",
        needs=("references", "tables"),
        rank=None if ending else 26,
    )
    return MetricDefinition(spec, partial(ParentMetric, spec, column))


_BLEU = _spec(
    "bleu[totto]",
    "BLEU",
    "corpus BLEU of ToTTo's script: lower-cased, detokenised text, 0-100",
    "Parikh et al. 2020; Post 2018",
    needs=("references",),
    rank=27,
)

DEFINITIONS = by_name(
    _define_parent("", "PARENT", "F", 2),
    _define_parent("_precision", "PARENT-P", "precision", 0),
    _define_parent("_recall", "PARENT-R", "recall", 1),
    MetricDefinition(_BLEU, partial(DescriptionBLEU, _BLEU)),
)
"""Every metric of descriptions, in the order in which scores are recorded."""


def description_metrics(n_references: str, reading: str = "") -> list[Metric[Any]]:
    """Make PARENT and ToTTo's BLEU.

    Args:
        n_references: how many references a query has, or ``var``.
        reading: how the answers were read, for the signatures; empty if they are taken whole.
    """
    return [definition.make(n_references, reading) for definition in DEFINITIONS.values()]


# PARENT of a sentence.

ORDERS = 4
SMOOTHING = 1e-5

Tokens = Sequence[str]


class Parent(NamedTuple):
    """Precision, recall and F of a sentence, from 0 to 1."""

    precision: float
    recall: float
    f: float


_NOTHING = Parent(0.0, 0.0, 0.0)


def parent(
    prediction: Tokens,
    references: Sequence[Tokens],
    table: Set[str],
    highlighted: Sequence[Tokens],
    weight: float | None = None,
) -> Parent:
    """Compute PARENT of a prediction against its best reference, as ``totto_parent_eval.py`` does.

    The probability that the table entails an n-gram is the share of its tokens that are in the
    table (the word overlap model); of several references the one with the highest F counts.

    A value of ``highlighted`` without a token counts nowhere. Without any value the table says
    nothing of what a sentence should hold, and recall is that of the reference.

    Args:
        prediction: its tokens.
        references: the tokens of each reference.
        table: the tokens of the values of the whole table.
        highlighted: the tokens of each value that a sentence should hold.
        weight: of the table in recall, from 0 to 1 (the paper's lambda is its complement there);
            None: the share of ``highlighted`` that the reference does not hold.
    """
    cells = [value for value in highlighted if value]
    entailed = _sum_entailment(prediction, table)
    counts = [Counter(ngrams(prediction, n)) for n in range(1, ORDERS + 1)]
    covered = coverage(cells, prediction)
    best: Parent | None = None
    for accepted in references:
        table_weight = 1 - coverage(cells, accepted) if weight is None else weight
        precisions, recalls = [], []
        common: Mapping[Ngram, int] = {(): 1}
        reference_entailed = _sum_entailment(accepted, table)
        for n in range(ORDERS):
            if common:  # of none of this order there is none of a higher one
                common = count_shared(counts[n], accepted, n + 1)
            both = sum(common.values())
            both_entailed = sum(
                times * sum(map(table.__contains__, ngram)) for ngram, times in common.items()
            ) / (n + 1)
            total = max(len(prediction) - n, 0)
            precisions.append((entailed[n] + both - both_entailed) / total if total else 0.0)
            recalls.append(both_entailed / reference_entailed[n] if reference_entailed[n] else 1.0)
        precision, recall = _average(precisions), _average(recalls) or SMOOTHING
        if cells:
            recall = recall ** (1 - table_weight) * (covered or SMOOTHING) ** table_weight
        f = 2 * precision * recall / (precision + recall + 1e-8)
        if best is None or f > best.f:
            best = Parent(precision, recall, f)
    return best or _NOTHING


def _sum_entailment(text: Tokens, table: Set[str]) -> list[float]:
    """Return the sum of the entailment probabilities of all n-grams, for each order from 1."""
    hits = [0, *accumulate(map(table.__contains__, text))]
    orders = range(1, ORDERS + 1)
    return [(sum(hits[n:]) - sum(hits[: max(len(hits) - n, 0)])) / n for n in orders]


def _average(by_order: Sequence[float]) -> float:
    """Return the geometric mean; an order from 2 with 0 counts as ``SMOOTHING``."""
    first, *others = by_order
    return float(prod((value or SMOOTHING for value in others), start=first) ** (1 / len(by_order)))


def coverage(cells: Sequence[Tokens], text: Tokens) -> float:
    """Return the mean share of a value that is, in its order, in a text; 0 without values.

    Args:
        cells: the tokens of each value, at least one a value.
        text: the tokens of the text.
    """
    shares = [LCSseq.similarity(value, text) / len(value) for value in cells]
    return sum(shares) / len(shares) if shares else 0.0
