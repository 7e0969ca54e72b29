"""N-grams of tokens, and which of them two texts share."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

Ngram = tuple[str, ...]


def ngrams(tokens: Sequence[str], n: int) -> Iterator[Ngram]:
    """Yield the n-grams of a text in their order."""
    return zip(*(tokens[i:] for i in range(n)), strict=False)


def count_shared(counts: Counter[Ngram], tokens: Sequence[str], n: int) -> Mapping[Ngram, int]:
    """Return n-gram -> how often it occurs in both of two texts.

    Args:
        counts: how often each occurs in the one.
        tokens: the other.
        n: the order, from 1.
    """
    common = list(filter(counts.__contains__, ngrams(tokens, n)))
    once = dict.fromkeys(common, 1)
    if len(once) == len(common):
        return once
    return {ngram: min(times, counts[ngram]) for ngram, times in Counter(common).items()}


def count_matched(tokens: Sequence[str], references: Sequence[Sequence[str]], n: int) -> int:
    """Count the n-grams that a text shares with references, clipped as in BLEU.

    Each counts at most as often as it occurs in the reference that has it most often.
    """
    mine = set(ngrams(tokens, n))
    if len(mine) == max(len(tokens) - n + 1, 0):  # none occurs twice
        return len(
            mine.intersection(chain.from_iterable(ngrams(reference, n) for reference in references))
        )
    counts, most = Counter(ngrams(tokens, n)), Counter[Ngram]()
    for reference in references:
        most |= Counter(count_shared(counts, reference, n))
    return most.total()
