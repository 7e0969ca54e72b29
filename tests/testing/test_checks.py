"""The checks pass what keeps the contract, and name what does not."""

import inspect
from typing import Any
from unittest import SkipTest

import pytest

from target_bench.testing import Report, check_retriever, retriever_checks, run
from tests.testing import broken
from tests.testing.sound import Plain, Sound

BUILT_INS = (
    "bm25",
    "bm25:method=bm25+,fields=[header,rows],format=markdown",
    "bm25:fields=[[title],[header],[rows]],weights=[1,2,3],rows=2,stemmer=none,stopwords=none",
    "bm25:backend=rank-bm25",
    "bm25:backend=rank-bm25,method=plus",
    "tfidf",
    "tfidf:ngram=2",
    "lsa",
    "lsa:dims=3,seed=1",
    "random",
    "random:seed=3",
)
"""Those that need no model."""

N_CHECKS = len(retriever_checks(Sound))

BROKEN = [
    cls
    for cls in vars(broken).values()
    if inspect.isclass(cls) and cls.__module__ == broken.__name__
]


def _report(retriever: Any, **options: Any) -> Report:
    return run("it", retriever_checks(retriever, **options))


@pytest.mark.parametrize("spec", BUILT_INS)
def test_built_ins_keep_the_contract(spec: str) -> None:
    if "rank-bm25" in spec:
        pytest.importorskip("rank_bm25")
    report = check_retriever(spec)
    without = {"batch"} if spec.startswith("random") else set()
    assert {outcome.check for outcome in report.skipped} == without


@pytest.mark.parametrize("check", retriever_checks(Sound, settings={"bonus": 0.5}), ids=str)
def test_checks_are_parameters_for_pytest(check: Any) -> None:
    if check.name == "batch":
        with pytest.raises(SkipTest, match="no retrieve_batch"):
            check()
    else:
        check()


def test_two_methods_are_enough() -> None:
    report = check_retriever(Plain)
    assert {outcome.check for outcome in report.skipped} == {"batch", "save_load"}
    assert len(report.passed) == N_CHECKS - 2


@pytest.mark.parametrize("cls", BROKEN, ids=lambda cls: cls.__name__)
def test_each_fault_is_named(cls: type[Sound]) -> None:
    """The first word of the docstring is the check that fails first; others may follow from it."""
    report = _report(cls)
    assert report.failed[0].check == (cls.__doc__ or "").split(".")[0].split(":")[0], str(report)
    assert len(report.failed[0].detail) > 40


def test_most_checks_share_a_retriever() -> None:
    """Making one may take as long as loading a model."""
    made = []

    class Loaded(Sound):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    report = check_retriever(Loaded, skip={"save_load": "not asked"})
    assert len(report.passed) == N_CHECKS - 2
    assert len(made) <= 20
