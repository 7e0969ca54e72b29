"""The rules in the documents are the checks, and their statistics are the textbook's."""

from target_bench.reporting.leaderboard import archive, documents, submission
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
    rule = " ".join(str(readable.__doc__).split())
    for limit in (
        f"at most {archive.LARGEST_ARCHIVE // archive.MEBI} MiB and {archive.MOST_FILES} files",
        f"at most {archive.LARGEST_TOTAL // archive.MEBI} MiB",
        f"{archive.LARGEST_RATIO} times",
        f"a line has at most {archive.LARGEST_LINE // archive.MEBI} MiB",
        f"a document {archive.LARGEST_DOCUMENT // archive.MEBI} MiB",
        f"together {archive.LARGEST_DOCUMENTS // archive.MEBI} MiB",
        f"{archive.MOST_LINES:,} lines",
        f"{documents.LONGEST_ANSWER:,} characters",
        f"{submission.LONGEST_ANSWERS:,} together",
        f"2^{documents.LARGEST_INTEGER.bit_length() - 1}",
        f"{archive.DEEPEST} levels",
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
    theirs, ours = [["g", "a", "b"], ["x", "y", "g"]], [["a", "g", "b"], ["x", "y", "g"]]
    assert alike(theirs, ours, ["g", "g"]) == (4, 1.0, 0.75, 1.0, 0.5)
