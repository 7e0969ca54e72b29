"""The rules in the documents are the checks, with the limits that they have."""

from target_bench.reporting.leaderboard import documents, submission
from target_bench.reporting.leaderboard.checks import CHECKS, readable
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
