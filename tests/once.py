"""A suite in two environments without running a test twice.

The first run records what passed (``--record-passed FILE``), the second leaves that out
(``--leave-out FILE``): what was skipped, failed or not collected in the first runs in the second.
A test whose outcome depends on what is installed, such as one of what an import brings along, has
the marker ``everywhere`` and runs in both.
"""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-passed", metavar="FILE", help="Write the ids of passed tests.")
    parser.addoption("--leave-out", metavar="FILE", help="Run no test whose id is in the file.")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "everywhere: its outcome depends on what is installed")
    file = config.getoption("--record-passed")
    if file and not hasattr(config, "workerinput"):  # workers of xdist report to one process
        config.pluginmanager.register(_Recorder(Path(file)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    file = config.getoption("--leave-out")
    if not file:
        return
    passed = set(Path(file).read_text(encoding="utf-8").splitlines())
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        again = item.get_closest_marker("everywhere") or _line(item.nodeid) not in passed
        (kept if again else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


class _Recorder:
    """The ids of the tests that passed, setup and teardown included."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._called: set[str] = set()
        self._not_passed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self._not_passed.add(report.nodeid)
        elif report.when == "call":
            self._called.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        passed = sorted(map(_line, self._called - self._not_passed))
        self._file.write_text("".join(f"{line}\n" for line in passed), encoding="utf-8")


def _line(nodeid: str) -> str:
    """The id on one line; parameters may hold line breaks and lone surrogates."""
    return ascii(nodeid)
