"""chrF of many texts at once is that of each pair, which is sacreBLEU's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu import CHRF

from target_bench.tables.header_cell_scores import character_f, character_f_of_all

TEXTS = st.lists(st.text(alphabet="aab é1", max_size=9), min_size=1, max_size=6)


@given(answers=TEXTS, golds=TEXTS)
def test_many_texts_at_once(answers: list[str], golds: list[str]) -> None:
    found = character_f_of_all(answers, golds)
    assert found.tolist() == [[character_f(one, gold) for one in answers] for gold in golds]


@given(answer=st.text(alphabet="aab é1", max_size=9), gold=st.text(alphabet="aab é1", max_size=9))
def test_a_pair(answer: str, gold: str) -> None:
    expected = CHRF().sentence_score(answer, [gold]).score / 100
    assert character_f(answer, gold) == pytest.approx(expected, abs=1e-12)
