"""Several requests at a time: none that was paid for is lost."""

from collections.abc import Iterator
from threading import Event

import pytest

from target_bench.models.remote.threads import imap_unordered


@pytest.mark.parametrize("failing", ["prompt", "request"])
def test_an_error_waits_for_the_requests_in_flight(failing: str) -> None:
    is_failing, kept = Event(), []

    def write_prompts() -> Iterator[str]:
        yield from ("slow", "request")
        if failing == "prompt":
            is_failing.set()
            raise ValueError("no prompt")

    def ask(prompt: str) -> str:
        if prompt == "request" and failing == "request":
            is_failing.set()
            raise ValueError("no answer")
        assert is_failing.wait(timeout=60)
        kept.append(prompt)
        return prompt

    yielded: list[str] = []
    with pytest.raises(ValueError, match="no "):
        yielded += imap_unordered(ask, write_prompts(), width=3)
    assert kept.count("slow") == yielded.count("slow") == 1
