"""The rules in the documents are the checks."""

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
from target_bench.reporting.leaderboard.checks import CHECKS, at_least, by_chance, readable
from target_bench.reporting.leaderboard.copies import alike
from target_bench.reporting.leaderboard.documents import LARGEST_INTEGER, LONGEST_ANSWER
from target_bench.reporting.leaderboard.submission import LONGEST_ANSWERS
from tests.builders import ROOT


def test_every_check_is_a_rule_in_the_documents() -> None:
    """In short on the page, in full in the reference, which is made of the docstrings."""
    page, reference = (
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("leaderboard.md", "api.md")
    )
    for name in CHECKS:
        assert f"\n| `{name}` | " in page
        assert f"\n::: target_bench.reporting.leaderboard.checks.{name}\n" in reference


def test_limits_are_those_of_the_rules() -> None:
    sizes = " ".join(str(readable.__doc__).split())
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
