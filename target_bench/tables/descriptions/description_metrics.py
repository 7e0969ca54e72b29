"""The metrics of table-to-text, as ToTTo's official script computes them (Parikh et al. 2020)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import Metric, MetricDefinition, MetricSpec, by_name
from target_bench.metrics.text import JudgedAnswers, SacreBLEU
from target_bench.tables.descriptions import evaluation_text
from target_bench.tables.descriptions.evaluation_text import Evidence
from target_bench.tables.descriptions.parent import ORDERS, SMOOTHING, Parent, parent
from target_bench.tables.faithfulness.support import Support, sentence_support
from target_bench.tables.faithfulness.table_lines import cells_as_said

Floats = NDArray[np.float64]

VERSION = "descriptions:2"
"""The version of these metrics, for identities: raise it if values can change."""

OF = "descriptions"
"""What these metrics score: sentences, and the cells that they should describe."""

_VARIES = "var"

RANK = 26
"""The place of PARENT among the metrics that stand for a run."""


@dataclass(frozen=True)
class JudgedDescriptions(JudgedAnswers):
    """Sentences, what is accepted, and the cells that they should describe.

    Attributes:
        evidence: the table and the highlighted cells of each query.
        padded: whether missing references of up to three are ``<null>``, as ToTTo's script has them
            for its own sets: see ``evaluation_text.is_padded``.
    """

    evidence: Sequence[Evidence]
    padded: bool = True

    @cached_property
    def parents(self) -> Floats:
        """(n, 3) precision, recall and F of each sentence, times 100; a failed one has 0."""
        compared = self.compared
        found = [
            Parent(0.0, 0.0, 0.0) if text is None else _parent(text, accepted, about)
            for text, accepted, about in zip(
                compared.texts, compared.references, self.evidence, strict=True
            )
        ]
        return np.array(found, dtype=np.float64).reshape(-1, 3) * 100

    @cached_property
    def supports(self) -> list[Support]:
        """What the table supports of each sentence, and which highlighted cells that says."""
        return [
            sentence_support(text, *cells_as_said(*about))
            for text, about in zip(self.texts, self.evidence, strict=True)
        ]

    @cached_property
    def compared(self) -> JudgedAnswers:
        """The texts as the official script compares them."""
        return JudgedAnswers(
            [None if t is None else evaluation_text.prediction(t) for t in self.texts],
            [tuple(evaluation_text.references(one, self.padded)) for one in self.references],
        )


def _parent(text: str, accepted: Sequence[str], about: Evidence) -> Parent:
    tokens = evaluation_text.tokens
    return parent(
        tokens(text),
        [tokens(one) for one in accepted],
        evaluation_text.known_tokens(evaluation_text.values(about.table)),
        [tokens(value) for value in evaluation_text.values(about.wanted)],
    )


def references_of(n_references: str) -> str:
    """Say in a signature how many references there are, and whether they are padded."""
    return f"nrefs:{n_references}|null:{'none' if n_references == '1' else 'to three'}"


class ParentMetric(Metric[JudgedDescriptions]):
    """The mean over sentences of PARENT's precision, recall or F, from 0 to 100.

    Each sentence is judged against its best reference, the one with the highest F; precision and
    recall are those of that reference. The mean of F is not the F of the means.

    Where an example of the set has several references, as in ToTTo, missing ones of up to three are
    ``<null>``. Where every example has one, that one counts: a ``<null>`` beside it would nearly
    always be the best, since its recall is that of the table alone.

    Args:
        spec: the declaration.
        column: 0 for precision, 1 for recall, 2 for F.
        n_references: how many references a query has, or ``var``, for the signature.
        reading: how the answers were read, for the signature; empty if they are taken whole.
    """

    def __init__(
        self, spec: MetricSpec, column: int, n_references: str = _VARIES, reading: str = ""
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
        parts = (self.name, settings, text, "best reference by F", self._reading)
        return "|".join(part for part in parts if part)

    def statistics(self, examples: JudgedDescriptions) -> Floats:
        """Return (n, 2): the value of each sentence, and 1."""
        values = examples.parents[:, self._column]
        return np.column_stack([values, np.ones(len(values))])

    def value(self, totals: Floats) -> Floats:
        """Return the mean; 0 of nothing."""
        counted = totals[..., 1]
        out: Floats = np.zeros_like(counted)
        np.divide(totals[..., 0], counted, out=out, where=counted != 0)
        return out


class DescriptionBLEU(Metric[JudgedDescriptions]):
    """Corpus BLEU by sacreBLEU, of the text as ToTTo's script prepares it or as it is.

    The script lower-cases and detokenises; missing references of up to three are the text
    ``<null>`` there, which takes part, unless every query has one. So is an empty prediction.

    Args:
        spec: the declaration.
        official: whether the text is prepared as by the script.
        n_references: how many references a query has, or ``var``.
        reading: how the answers were read, for the signature; empty if they are taken whole.
    """

    def __init__(
        self, spec: MetricSpec, official: bool, n_references: str = _VARIES, reading: str = ""
    ) -> None:
        if official and n_references not in ("1", _VARIES):
            n_references = str(max(evaluation_text.ANNOTATORS, int(n_references)))
        self.spec = spec
        self._official = official
        self._reading = reading
        self._bleu = SacreBLEU("sacrebleu", n_references)

    @property
    def signature(self) -> str:
        """SacreBLEU's own signature, what is done to the text before, and how it was read."""
        own = self._bleu.signature.removeprefix("sacrebleu|")
        before = "pre:lc,moses-en,null" if self._official else "pre:none"
        return "|".join(part for part in (self.name, before, own, self._reading) if part)

    def statistics(self, examples: JudgedDescriptions) -> Floats:
        """Return (n, m) counts of sacreBLEU for each sentence."""
        return self._bleu.statistics(examples.compared if self._official else examples)

    def value(self, totals: Floats) -> Floats:
        """Return the corpus score of summed counts."""
        return self._bleu.value(totals)

    def per_query(self, statistics: Floats) -> Floats:
        """Return the sentence score of each answer."""
        return self._bleu.per_query(statistics)

    def bounds(self, _statistics: Floats) -> tuple[float, float]:
        """Return 0 and 100."""
        return 0.0, self.highest


def _spec(name: str, label: str, description: str, source: str, rank: int | None) -> MetricSpec:
    return MetricSpec(
        name,
        label,
        description,
        source,
        of=OF,
        scale="percent",
        digits=2,
        needs=("references", "tables") if "parent" in name else ("references",),
        rank=rank,
        tolerance=0.01,
    )


def _parent_definition(
    name: str, label: str, what: str, column: int, rank: int | None
) -> MetricDefinition:
    source = "Dhingra et al. 2019; ToTTo's totto_parent_eval.py"
    spec = _spec(name, label, f"mean PARENT {what} of sentences, 0-100", source, rank)

    def make(n_references: str = _VARIES, reading: str = "") -> ParentMetric:
        return ParentMetric(spec, column, n_references, reading)

    return MetricDefinition(spec, make)


def _bleu_definition(
    name: str, label: str, what: str, official: bool, rank: int
) -> MetricDefinition:
    source = "Parikh et al. 2020; Post 2018"
    spec = _spec(name, label, f"corpus BLEU of {what}, 0-100", source, rank)

    def make(n_references: str = _VARIES, reading: str = "") -> DescriptionBLEU:
        return DescriptionBLEU(spec, official, n_references, reading)

    return MetricDefinition(spec, make)


PARENT = _parent_definition("parent", "PARENT", "F", 2, RANK)
PARENT_PRECISION = _parent_definition("parent_precision", "PARENT-P", "precision", 0, None)
PARENT_RECALL = _parent_definition("parent_recall", "PARENT-R", "recall", 1, None)
BLEU_TOTTO = _bleu_definition(
    "bleu[totto]", "BLEU", "ToTTo's script: lower-cased, detokenised text", True, RANK + 1
)
BLEU_CASED = _bleu_definition("bleu[cased]", "BLEU (cased)", "the text as it is", False, RANK + 2)

DEFINITIONS = by_name(PARENT, PARENT_PRECISION, PARENT_RECALL, BLEU_TOTTO, BLEU_CASED)
"""Every metric of descriptions, in the order in which scores are recorded."""


def description_metrics(n_references: str, reading: str = "") -> list[Metric[JudgedDescriptions]]:
    """Make PARENT, ToTTo's BLEU, and BLEU of the text as it is.

    Args:
        n_references: how many references a query has, or ``var``.
        reading: how the answers were read, for the signatures; empty if they are taken whole.
    """
    return [definition.make(n_references, reading) for definition in DEFINITIONS.values()]
