"""Text as ToTTo's script evaluates it: tokens as sacreBLEU's, lines of tables, detokenising."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from target_bench.core.grid import GridCell
from target_bench.metrics.descriptions import evaluation_text
from target_bench.metrics.descriptions.description_metrics import (
    JudgedDescriptions,
    description_metrics,
)
from target_bench.metrics.descriptions.detokenised import detokenised
from target_bench.metrics.descriptions.evaluation_text import NULL, Evidence, evidence

THIRTEEN_A: Callable[[str], str] = Tokenizer13a()  # type: ignore[no-untyped-call]
LINES = st.text(alphabet="ab09.,-&;'\"|_ é語\u00a0()$<>\t", max_size=25)


@given(LINES)
def test_tokens_are_those_of_13a(line: str) -> None:
    expected = THIRTEEN_A(line.strip().lower()).split()
    assert evaluation_text.tokens(line) == expected
    assert evaluation_text.known_tokens([line, "x"]) == {*expected, "x"}


@given(LINES)
def test_detokenising_keeps_what_is_not_space(line: str) -> None:
    plain = line.replace("&", "")
    assert detokenised(plain).replace(" ", "") == plain.replace(" ", "")


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
    assert detokenised(line) == expected


@given(st.lists(st.tuples(LINES, st.booleans()), max_size=5), LINES)
def test_every_value_is_read_back(cells: list[tuple[str, bool]], title: str) -> None:
    """No pipe, TAB or line break in a value divides it."""
    row = [GridCell(text, is_header=is_header) for text, is_header in cells]
    about = evidence([row], [], title)
    n = sum(1 for text, _ in cells if text.strip()) + bool(title)
    assert len(evaluation_text.values(about.table)) == n
    assert len(evaluation_text.values(about.wanted)) == bool(title)


def test_a_highlight_that_is_not_in_the_table() -> None:
    with pytest.raises(IndexError):
        evidence([[GridCell("a")]], [[3, 0]])


def test_references_are_padded_and_predictions_are_not_empty() -> None:
    assert evaluation_text.references(["Ann  won ."]) == ["ann won.", NULL, NULL]
    assert len(evaluation_text.references(["a"] * 5)) == 5
    assert evaluation_text.prediction(" \n") == NULL
    assert evaluation_text.prediction("Ann\nwon") == "ann won"


def test_a_failed_answer_is_0_and_an_empty_one_is_null() -> None:
    about = Evidence("cell|||ann", "cell|||ann")
    judged = JudgedDescriptions(
        [None, "", "ann won in may"], [("ann won in may",)] * 3, [about] * 3
    )
    assert judged.parents[0].tolist() == [0, 0, 0]
    assert 0 < judged.parents[1, 2] < 0.01  # of <null> against <null>
    assert judged.parents[2, 2] > 50
    official, cased = (m for m in description_metrics("1") if m.name.startswith("bleu"))
    assert official.statistics(judged).shape == (3, 10)
    assert "nrefs:3" in official.signature
    assert "nrefs:1" in cased.signature
    assert cased.statistics(judged)[0, 0] == 0
