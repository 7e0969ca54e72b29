"""The contracts of plug-ins as checks that the author of one runs on a class.

``check_retriever(MyRetriever)`` returns a report, or raises one error that lists every broken
promise. ``retriever_checks(MyRetriever)`` gives the checks one by one, for pytest::

    @pytest.mark.parametrize("check", retriever_checks(MyRetriever), ids=str)
    def test_contract(check):
        check()

So do ``check_generator``, ``check_corpus``, ``check_task`` and ``check_metric`` with their lists.
From the command line: ``target-bench check my_file.py:MyRetriever``, ``target-bench check --corpus
my_file.py:MyCorpus``.
"""

from target_bench.testing.checks import Check, CheckError, Outcome, Report, run
from target_bench.testing.corpora import check_corpus, corpus_checks
from target_bench.testing.generators import MOST_REQUESTS, check_generator, generator_checks
from target_bench.testing.retrievers import TOLERANCE, check_retriever, retriever_checks
from target_bench.testing.tasks import (
    MOST_JUDGED,
    check_metric,
    check_task,
    metric_checks,
    task_checks,
)

__all__ = [
    "MOST_JUDGED",
    "MOST_REQUESTS",
    "TOLERANCE",
    "Check",
    "CheckError",
    "Outcome",
    "Report",
    "check_corpus",
    "check_generator",
    "check_metric",
    "check_retriever",
    "check_task",
    "corpus_checks",
    "generator_checks",
    "metric_checks",
    "retriever_checks",
    "run",
    "task_checks",
]
