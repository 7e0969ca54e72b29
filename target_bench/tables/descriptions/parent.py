"""PARENT of one sentence: n-grams that a reference or the table supports (Dhingra et al. 2019).

As ToTTo's ``totto_parent_eval.py`` computes it: the probability that the table entails an n-gram is
the share of its tokens that are in the table (the word overlap model), the weight between reference
and table is chosen for each reference, and of several references the one with the highest F counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from target_bench.metrics.ngrams import Ngram, ngrams, shared

ORDERS = 4
SMOOTHING = 1e-5

Tokens = Sequence[str]


class Parent(NamedTuple):
    """Precision, recall and F of a sentence, from 0 to 1."""

    precision: float
    recall: float
    f: float


@dataclass
class Sentence:
    """The tokens of a sentence, and which of them a table holds.

    Args:
        tokens: its tokens.
        known: the tokens of the values of the table.
    """

    tokens: Tokens
    known: Set[str]

    @cached_property
    def counts(self) -> list[Counter[Ngram]]:
        """N-gram -> how often it occurs, for each order from 1."""
        return [Counter(ngrams(self.tokens, n)) for n in range(1, ORDERS + 1)]

    @cached_property
    def entailed(self) -> list[float]:
        """Sum of the entailment probabilities of all n-grams, for each order from 1."""
        hits = [0, *accumulate(map(self.known.__contains__, self.tokens))]
        orders = range(1, ORDERS + 1)
        return [(sum(hits[n:]) - sum(hits[: max(len(hits) - n, 0)])) / n for n in orders]

    @cached_property
    def places(self) -> dict[str, int]:
        """Token -> the bits of its places."""
        found: dict[str, int] = {}
        for place, token in enumerate(self.tokens):
            found[token] = found.get(token, 0) | 1 << place
        return found


def parent(
    prediction: Tokens,
    references: Sequence[Tokens],
    known: Set[str],
    wanted: Sequence[Tokens],
    weight: float | None = None,
) -> Parent:
    """Compute PARENT of a prediction against its best reference.

    A value of ``wanted`` without a token counts nowhere. Without any value the table says nothing
    of what a sentence should hold, and recall is that of the reference.

    Args:
        prediction: its tokens.
        references: the tokens of each reference.
        known: the tokens of the values of the whole table.
        wanted: the tokens of each value that a sentence should hold.
        weight: of the table in recall, from 0 to 1 (the paper's lambda is its complement there);
            None: the share of ``wanted`` that the reference does not hold.
    """
    said = Sentence(prediction, known)
    values = [value for value in wanted if value]
    covered = coverage(values, said.places, len(prediction))
    best: Parent | None = None
    for tokens in references:
        reference = Sentence(tokens, known)
        found = _against(said, reference, values, covered, weight)
        if best is None or found.f > best.f:
            best = found
    return best or Parent(0.0, 0.0, 0.0)


def _against(
    said: Sentence,
    reference: Sentence,
    values: Sequence[Tokens],
    covered: float,
    weight: float | None,
) -> Parent:
    precisions, recalls = [], []
    common: Mapping[Ngram, int] = {(): 1}
    for n in range(ORDERS):
        if common:  # of none of this order there is none of a higher one
            common = shared(said.counts[n], reference.tokens, n + 1)
        both = known = 0
        for ngram, times in common.items():
            both += times
            known += times * sum(map(said.known.__contains__, ngram))
        supported = known / (n + 1)
        total = max(len(said.tokens) - n, 0)
        precisions.append((said.entailed[n] + both - supported) / total if total else 0.0)
        weights = reference.entailed[n]
        recalls.append(supported / weights if weights else 1.0)
    precision, in_reference = _mean(precisions), _mean(recalls) or SMOOTHING
    if not values:
        return _with_f(precision, in_reference)
    if weight is None:
        weight = 1 - coverage(values, reference.places, len(reference.tokens))
    recall = in_reference ** (1 - weight) * (covered or SMOOTHING) ** weight
    return _with_f(precision, recall)


def _mean(by_order: Sequence[float]) -> float:
    """Take the geometric mean; an order from 2 with 0 counts as ``SMOOTHING``."""
    product = by_order[0]
    for value in by_order[1:]:
        product *= value or SMOOTHING
    return float(product ** (1 / len(by_order)))


def _with_f(precision: float, recall: float) -> Parent:
    return Parent(precision, recall, 2 * precision * recall / (precision + recall + 1e-8))


def coverage(values: Iterable[Tokens], places: dict[str, int], length: int) -> float:
    """Return the mean share of a value that is, in its order, in a text; 0 without values.

    Args:
        values: the tokens of each value, at least one.
        places: token of the text -> the bits of its places.
        length: tokens of the text.
    """
    shares = [longest_common(value, places, length) / len(value) for value in values]
    return sum(shares) / len(shares) if shares else 0.0


def longest_common(value: Tokens, places: dict[str, int], length: int) -> int:
    """Return the length of the longest common subsequence, by bits (Hyyrö 2004)."""
    found = [token for token in value if token in places]
    if len(found) < 2:
        return len(found)
    whole = (1 << length) - 1
    row = whole
    for token in found:
        matched = row & places[token]
        row = (row + matched) | (row - matched)
    return length - (row & whole).bit_count()
