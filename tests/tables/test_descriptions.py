"""PARENT and BLEU of sentences, and text as ToTTo's script evaluates it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.grid import GridCell
from target_bench.tables import totto_text
from target_bench.tables.descriptions import JudgedDescriptions, description_metrics, parent
from target_bench.tables.totto_text import TableEvidence, detokenize, evidence

WORDS = st.lists(st.sampled_from(["a", "b", "c", "12", ","]), max_size=9)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), st.lists(WORDS, max_size=4))
def test_values_are_shares(
    text: list[str], references: list[list[str]], cells: list[list[str]]
) -> None:
    """Whatever is said, every part is between 0 and 1, and F between precision and recall."""
    known = {token for cell in cells for token in cell}
    scores = parent(text, references, known, cells)
    assert all(0 <= value <= 1 + 1e-12 for value in scores)
    assert min(scores[:2]) - 1e-6 <= scores.f <= max(scores[:2]) + 1e-12


LINES = st.text(alphabet="ab09.,-&;'\"|_ é語\u00a0()$<>\t", max_size=25)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a 's", "a's"),
        ("5 's", "5's"),
        ("\u2167 's", "\u2167's"),
        ("\u0915\u093f 's", "\u0915\u093f's"),
        ("\u00bd 'tis", "\u00bd 'tis"),
        ("x\u00b2 's", "x\u00b2 's"),
        ("a '\u00bd", "a '\u00bd"),
    ],
)
def test_letters_and_digits_are_those_of_perl(line: str, expected: str) -> None:
    """As ``detokenizer.perl -q -l en`` (Perl 5.36) prints them."""
    assert detokenize(line) == expected


@given(st.lists(st.tuples(LINES, st.booleans()), max_size=5), LINES)
def test_every_value_is_read_back(cells: list[tuple[str, bool]], title: str) -> None:
    """No pipe, TAB or line break in a value divides it."""
    row = [GridCell(text, is_header=is_header) for text, is_header in cells]
    texts = evidence([row], [], title)
    n = sum(1 for text, _ in cells if text.strip()) + bool(title)
    assert len(totto_text.values(texts.table)) == n
    assert len(totto_text.values(texts.highlighted)) == bool(title)


def test_a_failed_answer_is_0_and_an_empty_one_is_null() -> None:
    texts = TableEvidence("cell|||ann", "cell|||ann")
    judged = JudgedDescriptions(
        [None, "", "ann won in may"], [("ann won in may", "ann won")] * 3, [texts] * 3
    )
    assert judged.parents[0].tolist() == [0, 0, 0]
    assert 0 < judged.parents[1, 2] < 0.01  # of <null> against <null>
    assert judged.parents[2, 2] > 50
    (official,) = (m for m in description_metrics("2") if m.name.startswith("bleu"))
    assert official.statistics(judged).shape == (3, 10)
    assert "nrefs:3" in official.signature
