"""Settings of servers: which are on this machine, and therefore cost nothing."""

import pytest

from target_bench.models.remote.openai_client import is_local


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://localhost:8000/v1", True),
        ("http://LOCALHOST/v1", True),
        ("http://127.0.0.1:8000/v1", True),
        ("http://127.8.0.1/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://0.0.0.0:8000/v1", True),
        ("http://models.localhost/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://localhost.example.com/v1", False),
        ("https://127.0.0.1.example.com/v1", False),
        ("http://192.168.0.7:8000/v1", False),
        ("http://[::", False),
        ("", False),
        (None, False),
    ],
)
def test_servers_of_this_machine(address: str | None, expected: bool) -> None:
    assert is_local(address) is expected
