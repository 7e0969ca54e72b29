"""The contracts as test suites that the author of a plug-in runs on a class.

``check_retriever(MyRetriever)`` raises one error that lists every broken promise, or returns a
report. ``retriever_checks(MyRetriever)`` gives the checks one by one, for pytest. So do
``check_corpus`` and ``corpus_checks`` for corpora, ``check_generator`` and ``generator_checks`` for
generators, ``check_task`` and ``task_checks`` for tasks. The same from the command line:
``target-bench check my_file.py:MyRetriever``, ``target-bench check --corpus my_file.py:MyCorpus``.
"""

from target_bench.testing.checks import Check, CheckError, Outcome, Report, run
from target_bench.testing.corpus import check_corpus, corpus_checks
from target_bench.testing.generator import MOST_REQUESTS, check_generator, generator_checks
from target_bench.testing.retriever_checks import TOLERANCE, check_retriever, retriever_checks
from target_bench.testing.task_checks import MOST_JUDGED, check_task, task_checks

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
    "check_retriever",
    "check_task",
    "corpus_checks",
    "generator_checks",
    "retriever_checks",
    "run",
    "task_checks",
]
