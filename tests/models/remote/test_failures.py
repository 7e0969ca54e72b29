"""What a server's error means."""

import pytest

from target_bench.models.remote.failures import Failure, error_with_status_200, refused


def _failure(status: int, message: str = "no", code: str | None = None) -> Failure:
    body = {"error": {"message": message, "code": code}}
    return refused(status, body, with_schema=True)


@pytest.mark.parametrize(
    ("status", "message", "code", "kind"),
    [
        (401, "bad key", None, "authentication"),
        (403, "not you", None, "authentication"),
        (404, "The model `x` does not exist", "model_not_found", "unknown_model"),
        (400, "unknown model: x", None, "unknown_model"),
        (404, "Not Found", None, "bad_request"),
        (400, "This model's maximum context length is 10", None, "context_overflow"),
        (400, "no", "context_length_exceeded", "context_overflow"),
        (400, "no", "content_filter", "content_filter"),
        (400, "response_format is not supported", None, "unsupported_schema"),
        (422, "wrong", None, "bad_request"),
        (408, "slow", None, "timeout"),
        (409, "busy", None, "server_error"),
        (429, "slow down", "rate_limit_exceeded", "rate_limit"),
        (429, "pay", "insufficient_quota", "rate_limit"),
        (500, "oops", None, "server_error"),
        (529, "overloaded", None, "server_error"),
    ],
)
def test_kinds(status: int, message: str, code: str | None, kind: str) -> None:
    failure = _failure(status, message, code)
    assert failure.kind == kind
    assert str(failure).startswith(f"{kind}: ")
    assert message in str(failure)


def test_a_server_without_schemas_is_named_as_such() -> None:
    failure = _failure(400, "response_format: unknown field")
    assert failure.kind == "unsupported_schema"
    assert failure.hopeless
    said = "'response_format' of type 'json_schema' is not supported with this model"
    assert _failure(400, said).kind == "unsupported_schema"
    assert refused(400, {"message": said}).kind == "bad_request"


def test_errors_that_come_with_status_200() -> None:
    found = error_with_status_200({"error": {"code": 429, "message": "slow"}})
    assert found is not None
    assert found.kind == "rate_limit"
    found = error_with_status_200({"error": "overloaded"})
    assert found is not None
    assert found.kind == "server_error"
    assert error_with_status_200({"choices": []}) is None
