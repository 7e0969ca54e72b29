"""The contract, check by check, and what this retriever is for."""

import pytest
from my_retriever import MyRetriever

from target_bench import evaluate
from target_bench.testing import Check, retriever_checks

CHECKS = [
    *retriever_checks(MyRetriever),
    *retriever_checks("my-retriever:rows=0"),  # by its name, with a setting
]


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_contract(check: Check) -> None:
    check()


def test_it_finds_tables(tmp_path) -> None:
    results = evaluate(MyRetriever(), "mini", out=tmp_path, top_k=10)
    assert results.scores["recall@10"].value > 0.5
