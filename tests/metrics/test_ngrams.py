"""N-grams that texts share, beside what sacreBLEU counts."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from target_bench.metrics.ngrams import matched, ngrams, shared
from target_bench.metrics.text import JudgedAnswers, SacreBLEU

TOKENS = st.lists(st.sampled_from("abc"), max_size=8)


@given(TOKENS, st.lists(TOKENS, min_size=1, max_size=3))
def test_counts_are_those_of_sacrebleu(said: list[str], references: list[list[str]]) -> None:
    bleu = BLEU()
    known = bleu._extract_reference_info([" ".join(one) for one in references])
    expected = bleu._compute_segment_statistics(" ".join(said), known)
    judged = JudgedAnswers([" ".join(said)], [tuple(" ".join(one) for one in references)])
    assert SacreBLEU("sacrebleu").statistics(judged).tolist() == [expected]
    assert [matched(said, references, n) for n in range(1, 5)] == expected[2:6]


@given(TOKENS, TOKENS)
def test_shared_is_the_intersection(one: list[str], other: list[str]) -> None:
    for n in range(1, 4):
        counts = Counter(ngrams(one, n))
        assert Counter(shared(counts, other, n)) == counts & Counter(ngrams(other, n))
