"""N-grams that texts share, beside what sacreBLEU counts."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from target_bench.metrics.ngrams import count_matched, count_shared, ngrams
from target_bench.metrics.text import SacreBLEU, TextAnswers

TOKENS = st.lists(st.sampled_from("abc"), max_size=8)


@given(TOKENS, st.lists(TOKENS, min_size=1, max_size=3))
def test_counts_are_those_of_sacrebleu(tokens: list[str], references: list[list[str]]) -> None:
    bleu = BLEU()
    known = bleu._extract_reference_info([*map(" ".join, references)])
    expected = bleu._compute_segment_statistics(" ".join(tokens), known)
    judged = TextAnswers([" ".join(tokens)], [tuple(map(" ".join, references))])
    assert SacreBLEU().statistics(judged).tolist() == [expected]
    assert [count_matched(tokens, references, n) for n in range(1, 5)] == expected[2:6]


@given(TOKENS, TOKENS)
def test_shared_is_the_intersection(first: list[str], second: list[str]) -> None:
    for n in range(1, 4):
        counts = Counter(ngrams(first, n))
        assert Counter(count_shared(counts, second, n)) == counts & Counter(ngrams(second, n))
