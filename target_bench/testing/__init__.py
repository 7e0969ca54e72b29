"""The contracts as test suites that the author of a plug-in runs on a class.

``check_retriever(MyRetriever)`` raises one error that lists every broken promise, or returns a
report. ``retriever_checks(MyRetriever)`` gives the checks one by one, for pytest. The same from
the command line: ``target-bench check my_file.py:MyRetriever``. ``check_task`` and ``task_checks``
do the same for a task, from the command line with ``target-bench check --task my_file.py:MyTask``.
"""

from target_bench.testing.checks import Check, CheckError, Outcome, Report, run
from target_bench.testing.retriever_checks import TOLERANCE, check_retriever, retriever_checks
from target_bench.testing.task_checks import check_task, task_checks

__all__ = [
    "TOLERANCE",
    "Check",
    "CheckError",
    "Outcome",
    "Report",
    "check_retriever",
    "check_task",
    "retriever_checks",
    "run",
    "task_checks",
]
