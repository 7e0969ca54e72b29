"""Plug-ins with one fault each are named: shared by the tests of each kind."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from target_bench.testing import Check, run

Faults = Mapping[str, tuple[str, str, Mapping[str, Any]]]
"""What is wrong -> the check that fails, words of its message, and the members that are so."""


def broken(base: type, faults: Faults) -> list[Any]:
    """Return (class, check, words) of each fault, as parameters of a test.

    A class statement of this module makes each class, so that its source is found.
    """
    return [
        pytest.param(_with_members(base, members), check, words, id=what)
        for what, (check, words, members) in faults.items()
    ]


def _with_members(base: type, members: Mapping[str, Any]) -> type:
    class Broken(base):  # type: ignore[misc]  # the base is a value
        locals().update(members)

    return Broken


def expect_fault(
    checks: Callable[..., Iterable[Check]], plugin: Any, check: str, words: str
) -> None:
    """See that the check of this name fails, or the first one, and says what is wrong."""
    first, *others = checks(plugin)
    report = run("it", [first, *(other for other in others if other.name == check)])
    assert [outcome.check for outcome in report.failed] == [check], str(report)
    assert words in report.failed[0].detail
