"""Errors of any client -> the kind of failure."""

from collections.abc import Callable
from typing import Any

import pytest
import requests

from target_bench.models.remote.failures import classify_error

httpx: Any = pytest.importorskip("httpx")

REQUEST = ("POST", "http://127.0.0.1/v1")
QUOTA = b'{"error": {"code": "insufficient_quota", "message": "You have no credit"}}'


def _catch(response: Any) -> Exception:
    with pytest.raises((httpx.HTTPStatusError, requests.HTTPError)) as caught:
        response.raise_for_status()
    error: Exception = caught.value
    return error


def _of_httpx(status: int, body: bytes) -> Exception:
    response = httpx.Response(status, content=body, request=httpx.Request(*REQUEST))
    return _catch(response)


def _of_an_httpx_stream(status: int, body: bytes) -> Exception:
    """Its body was not read."""
    content = iter([body])
    response = httpx.Response(status, content=content, request=httpx.Request(*REQUEST))
    return _catch(response)


def _of_requests(status: int, body: bytes) -> Exception:
    response = requests.Response()
    response.status_code, response._content = status, body
    return _catch(response)


@pytest.mark.parametrize("make", [_of_httpx, _of_an_httpx_stream, _of_requests])
@pytest.mark.parametrize(
    ("status", "kind", "hopeless"),
    [
        (401, "authentication", True),
        (404, "bad_request", True),
        (429, "rate_limit", False),
        (503, "server_error", False),
    ],
)
def test_a_status_on_the_response(
    make: Callable[[int, bytes], Exception], status: int, kind: str, hopeless: bool
) -> None:
    failure = classify_error(make(status, b""))
    assert failure is not None
    assert (failure.kind, failure.hopeless) == (kind, hopeless)
    assert f"HTTP {status}: " in failure.message


@pytest.mark.parametrize("make", [_of_httpx, _of_requests])
def test_what_the_server_says(make: Callable[[int, bytes], Exception]) -> None:
    failure = classify_error(make(429, QUOTA))
    assert failure is not None
    assert (str(failure), failure.hopeless) == ("rate_limit: HTTP 429: You have no credit", True)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (requests.exceptions.ConnectTimeout("slow"), "timeout"),
        (requests.exceptions.ReadTimeout("slow"), "timeout"),
        (requests.exceptions.ConnectionError("refused"), "connection"),
        (httpx.ConnectTimeout("slow"), "timeout"),
        (httpx.ReadTimeout("slow"), "timeout"),
        (httpx.ConnectError("refused"), "connection"),
        (ConnectionRefusedError("refused"), "connection"),
        (ValueError("of the user's code"), None),
    ],
)
def test_the_class_of_an_error(error: Exception, kind: str | None) -> None:
    failure = classify_error(error)
    assert (failure and failure.kind) == kind
