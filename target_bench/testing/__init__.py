"""The contracts of retrievers and generators as checks that their authors run on a class.

``check_retriever(MyRetriever)`` returns a report, or raises one error that lists every broken
promise. ``retriever_checks(MyRetriever)`` gives the checks one by one, for pytest::

    @pytest.mark.parametrize("check", retriever_checks(MyRetriever), ids=str)
    def test_contract(check):
        check()

``check_generator`` does the same for a generator. From the command line:
``target-bench check my_file.py:MyRetriever``.
"""

from target_bench.testing.checks import Check, CheckError, Contract, Report, run
from target_bench.testing.systems import GeneratorContract, RetrieverContract

check_retriever, retriever_checks = RetrieverContract.check, RetrieverContract.checks
check_generator, generator_checks = GeneratorContract.check, GeneratorContract.checks

CONTRACTS: dict[str, type[Contract]] = {c.kind: c for c in Contract.__subclasses__()}
"""Kind of plug-in -> its contract."""

__all__ = ["Check", "CheckError", "Report", "run"]
