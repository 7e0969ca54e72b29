"""The rules in the documents are the checks, and their statistics are the textbook's."""

from target_bench.reporting.leaderboard import documents, submission
from target_bench.reporting.leaderboard.checks import CHECKS, at_least, by_chance, readable
from target_bench.reporting.leaderboard.copies import alike
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
    rule, limits = " ".join(str(readable.__doc__).split()), submission
    for limit in (
        f"at most {limits.LARGEST_ARCHIVE // limits.MEBI} MiB and {limits.MOST_FILES} files",
        f"at most {limits.LARGEST_TOTAL // limits.MEBI} MiB",
        f"{limits.LARGEST_RATIO} times",
        f"a line has at most {limits.LARGEST_LINE // limits.MEBI} MiB",
        f"a document {limits.LARGEST_DOCUMENT // limits.MEBI} MiB",
        f"together {limits.LARGEST_DOCUMENTS // limits.MEBI} MiB",
        f"{limits.MOST_LINES:,} lines",
        f"{documents.LONGEST_ANSWER:,} characters",
        f"{limits.LONGEST_ANSWERS:,} together",
        f"2^{documents.LARGEST_INTEGER.bit_length() - 1}",
        f"{limits.DEEPEST} levels",
    ):
        assert limit in rule


def test_bounds() -> None:
    """Against closed forms: all of n seen leaves 0.001 ** (1 / n)."""
    assert at_least(0, 10) == 0
    assert abs(at_least(280, 280) - 0.001 ** (1 / 280)) < 1e-9
    assert at_least(30, 30) < 0.8 < at_least(31, 31)
    assert at_least(50, 100) < 0.5
    assert abs(by_chance(2, 2, 2, 4) - 1 / 6) < 1e-12
    assert by_chance(0, 2, 2, 4) == 1


def test_alike() -> None:
    rankings = [(["g", "a", "b"], ["a", "g", "b"], "g"), (["x", "y", "g"], ["x", "y", "g"], "g")]
    assert alike(rankings) == (4, 1.0, 0.75, 1.0, 0.5)
    assert alike([(["x", "y"], ["x"], "g"), ([], ["x"], "g")]) == (1, 1.0, 1.0, 0.0, 0.5)
