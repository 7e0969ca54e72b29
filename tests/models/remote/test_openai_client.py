"""Servers: which are on this machine, and how long they ask to wait."""

import pytest

from target_bench.models.remote.http_client import read_retry_after
from target_bench.models.remote.openai_client import is_local


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://localhost:8000/v1", True),
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


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "-1"}, 0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "later"}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert read_retry_after(headers) == seconds
