"""What is told of an exception of other code."""

from target_bench.core.user_code import described, whole_traceback


def test_a_long_message_is_cut() -> None:
    """It is kept for every query, and a server may answer with a whole page."""
    error = ValueError("page " * 1_000_000)
    assert described(error).endswith("page ... (5,000,000 characters)")
    assert len(described(error)) < 30_000
    assert len(whole_traceback(error)) < 30_000
    assert described(ValueError("short")) == "ValueError: short"
