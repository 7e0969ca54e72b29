"""The rules in the documents are the checks, word for word."""

import re

from target_bench.reporting.leaderboard.archive import (
    DEEPEST,
    LARGEST_ARCHIVE,
    LARGEST_DOCUMENT,
    LARGEST_DOCUMENTS,
    LARGEST_LINE,
    LARGEST_RATIO,
    LARGEST_TOTAL,
    MEBI,
    MOST_FILES,
    MOST_LINES,
)
from target_bench.reporting.leaderboard.checks import CHECKS, at_least, by_chance, rule
from target_bench.reporting.leaderboard.copies import alike
from target_bench.reporting.leaderboard.documents import LARGEST_INTEGER, LONGEST_ANSWER
from target_bench.reporting.leaderboard.submission import LONGEST_ANSWERS
from tests.builders import ROOT

DOCUMENT = (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")


def test_every_check_is_a_rule_in_the_documents() -> None:
    _, _, rules = DOCUMENT.partition("## The rules\n")
    found = re.findall(r"^### (\w+)\n\n(.*?)(?=\n### |\Z)", rules, re.MULTILINE | re.DOTALL)
    assert {name: text.strip() for name, text in found} == {name: rule(name) for name in CHECKS}


def test_limits_are_those_of_the_rules() -> None:
    sizes = " ".join(rule("readable").split())
    for text in (
        f"at most {LARGEST_ARCHIVE // MEBI} MiB and {MOST_FILES} files",
        f"at most {LARGEST_TOTAL // MEBI} MiB",
        f"{LARGEST_RATIO} times",
        f"a line has at most {LARGEST_LINE // MEBI} MiB, a document {LARGEST_DOCUMENT // MEBI} MiB",
        f"together {LARGEST_DOCUMENTS // MEBI} MiB",
        f"{MOST_LINES:,} lines",
        f"{LONGEST_ANSWER:,} characters",
        f"{LONGEST_ANSWERS:,} together",
    ):
        assert text in sizes
    assert LARGEST_INTEGER == 2**53
    assert f"{DEEPEST} levels" in sizes


def test_bounds() -> None:
    """Against closed forms: all of n seen leaves 0.001 ** (1 / n)."""
    assert at_least(0, 10) == 0
    assert abs(at_least(280, 280) - 0.001 ** (1 / 280)) < 1e-9
    assert at_least(30, 30) < 0.8 < at_least(31, 31)
    assert at_least(50, 100) < 0.5
    assert abs(by_chance(2, 2, 2, 4) - 1 / 6) < 1e-12
    assert by_chance(0, 2, 2, 4) == 1


def test_alike() -> None:
    found = alike(
        [["g", "a", "b"], ["x", "y", "g"]], [["a", "g", "b"], ["x", "y", "g"]], ["g", "g"]
    )
    assert found.wrong == 4
    assert (found.shared, found.same_place, found.same_order) == (1.0, 0.75, 1.0)
    assert found.identical == 0.5
