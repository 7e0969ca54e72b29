"""What the first of two runs passed is left out of the second, and nothing else is."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import os
import pytest

@pytest.mark.parametrize("text", ["a", "line\\nbreak"])
def test_passes(text):
    pass

@pytest.mark.everywhere
def test_of_what_is_installed():
    pass

def test_needs_an_extra():
    if "EXTRA" not in os.environ:
        pytest.skip("no extra")

def test_fails():
    assert "EXTRA" in os.environ

@pytest.fixture
def broken():
    yield
    assert "EXTRA" in os.environ

def test_teardown_fails(broken):
    pass
"""


def test_second_run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makeconftest(Path(__file__).with_name("once.py").read_text(encoding="utf-8"))
    pytester.makepyfile(TESTS)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plug-ins take seconds
    record = ("--record-passed", "passed.txt")
    first = pytester.runpytest_subprocess("-p", "xdist", "-n", "2", *record)
    first.assert_outcomes(passed=4, skipped=1, failed=1, errors=1)
    monkeypatch.setenv("EXTRA", "1")
    second = pytester.runpytest_subprocess("--leave-out", "passed.txt")
    second.assert_outcomes(passed=4)
    names = (pytester.path / "passed.txt").read_text(encoding="utf-8").splitlines()
    assert len(names) == 3
    assert sum("test_passes" in name for name in names) == 2
