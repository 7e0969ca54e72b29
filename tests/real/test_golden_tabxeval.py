"""Alignment, tuples, statistics and score of TabXEval against vectors of its published code."""

from typing import Any

import pytest

from target_bench.tables.comparison.rubric import RubricWeights, list_terms
from tests.real.golden import TOLERANCE, Case, cases, content, needs_golden
from tests.real.published_tabxeval import (
    Frame,
    PublishedWeights,
    UnscorableTupleError,
    compare_aligned_text,
    fuzzy_prealign,
    parse_tuple,
    published_penalty,
    read_records,
    statistics,
)

pytestmark = needs_golden

FILE = "tabxeval.json"


@pytest.mark.parametrize("case", cases(FILE, "fuzzy_prealign"))
def test_fuzzy_prealign(case: Case) -> None:
    aligned = fuzzy_prealign(case["input"]["table1"], case["input"]["table2"])
    assert aligned == case["expected"]["partial_alignment"]


@pytest.mark.parametrize("case", cases(FILE, "compare"))
def test_compare(case: Case) -> None:
    compared = compare_aligned_text(case["input"]["alignment"])
    expected = case["expected"]
    assert compared.marked == _frame(expected["df_compare"])
    assert compared.unequal == _frame(expected["df_wo_em"])
    assert compared.different == _frame(expected["df_replaced"])


def _frame(table: dict[str, Any]) -> Frame:
    return Frame(table["columns"], table["rows"])


@pytest.mark.parametrize("case", cases(FILE, "parse_tuple"))
def test_parse_tuple(case: Case) -> None:
    assert parse_tuple(case["input"]["text"]) == case["expected"]["parsed"]


@pytest.mark.parametrize("case", cases(FILE, "score"))
def test_score(case: Case) -> None:
    alignment, expected = case["input"]["alignment"], case["expected"]
    tuples = case["input"]["comparison_tuples"] or ""
    if "error" in expected:
        with pytest.raises(UnscorableTupleError):
            statistics(alignment, tuples)
        return
    counted = statistics(alignment, tuples)
    assert counted.types == expected["type_counts"]
    assert counted.empty == expected["empty_cells"]
    assert counted.summary() == expected["partial_cell_delta_stats"]
    assert counted.numerical == pytest.approx(
        expected["partial_scores"]["Numerical"], abs=TOLERANCE
    )
    assert counted.dates == expected["partial_scores"]["Date"]
    compared = compare_aligned_text(alignment)
    shape = [len(compared.unequal.rows), len(compared.unequal.columns)]
    assert shape == expected["df_wo_em_shape"]
    rows = compared.marked.rows
    assert sum(set(row) == {"EM"} for row in rows) == expected["em_rows"]
    assert sum(set(column) == {"EM"} for column in zip(*rows, strict=True)) == expected["em_cols"]
    records = read_records(alignment)
    assert [len(records), len(records[0])] == [expected["n_rows"], expected["n_cols"]]
    for name, given in content(FILE)["weights"].items():
        result = published_penalty(alignment, counted, _weights(given))
        assert result == pytest.approx(expected["score"][name], abs=TOLERANCE)


def _weights(given: dict[str, Any]) -> PublishedWeights:
    penalties = given["penalties"]
    return PublishedWeights(
        cell=penalties["cell"],
        row=penalties["row"],
        column=penalties["col"],
        missing=penalties["MI"],
        extra=penalties["EI"],
        partial=penalties["Partial"],
        types=given["datatype_penalties"],
    )


@pytest.mark.parametrize("case", cases(FILE, "closed_form"))
def test_the_equation_of_the_paper(case: Case) -> None:
    given = case["input"]
    counts = {f"{name.lower()}s": n for name, n in given["counts"].items()}
    weights = RubricWeights(
        **{name.lower(): weight for name, weight in (given["alpha"] | given["beta"]).items()},
        kinds={"numeric": given["omega_p"]},
    )
    shares = {"numeric": sum(given["partial_relative_differences"])}
    terms = list_terms(counts, shares, weights, (given["rows"], given["cols"]))
    assert sum(term.value for term in terms) == pytest.approx(
        case["expected"]["error_score"], abs=TOLERANCE
    )
