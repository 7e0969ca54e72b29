"""What goes wrong when a model is asked: kinds of failures, read from the errors of its client."""

import re
from collections.abc import Mapping
from typing import Any, Literal

Kind = Literal[
    "authentication",
    "unknown_model",
    "bad_request",
    "unsupported_schema",
    "context_overflow",
    "rate_limit",
    "timeout",
    "connection",
    "server_error",
    "empty_answer",
    "refusal",
    "truncated",
    "invalid_json",
    "content_filter",
]
"""First word of the error of a failed answer."""

_LONGEST = 500  # characters of a server's own words
_OVERFLOW = re.compile(
    r"context[ _](length|window|size)|maximum context|prompt is too long|too many (input )?tokens"
    r"|input is too long|exceeds? the (model'?s )?max|tokens per request"
    r"|(input|inputs|prompt) must have less than \d+ tokens|input length exceeds"
    r"|batch size \S+ > maximum",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"\bmodel\b[^.:;,]{0,80}(not found|not exist|is unknown|is not supported|no access)"
    r"|(no such|unknown|invalid) model\b",
    re.IGNORECASE,
)
_FLAGGED = re.compile(r"flagged|moderation|content[_ ]polic", re.IGNORECASE)
_SCHEMA = re.compile(r"response_format|json_schema|guided|structured output", re.IGNORECASE)
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached")

_CLASSES: tuple[tuple[Kind, frozenset[str]], ...] = (
    ("context_overflow", frozenset(("ContextOverflowError",))),
    ("timeout", frozenset(("APITimeoutError", "TimeoutError", "TimeoutException", "Timeout"))),
    ("connection", frozenset(("APIConnectionError", "ConnectionError", "TransportError"))),
)
"""Names of errors of OpenAI and similar clients, httpx and requests."""


class Failure(Exception):  # noqa: N818 (an answer that failed, of which the run goes on)
    """A request without an answer; its text begins with the kind.

    Args:
        kind: what went wrong.
        message: in words.
        hopeless: whether every other request will fail like it: key, model or address are wrong.
        tokens: of prompt and answer, where the server counted them: they may cost money.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        hopeless: bool = False,
        tokens: tuple[int | None, int | None] = (None, None),
    ) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.hopeless = hopeless
        self.tokens = tokens


def failure_of(error: BaseException, with_schema: bool = False) -> Failure | None:
    """Classify the error of a client by its class and its HTTP status.

    Args:
        error: what the client of any provider raised; they name their errors alike.
        with_schema: whether a JSON schema was sent along.

    Returns:
        None if neither it nor one of its causes is an error of a server or a connection.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Failure):
            return cause
        names = {cls.__name__ for cls in type(cause).__mro__}
        kind = next((kind for kind, known in _CLASSES if names & known), None)
        status = getattr(cause, "status_code", None)
        if isinstance(status, int) and 400 <= status < 600:
            body = getattr(cause, "body", None) or str(cause)
            failure = refused(status, body, with_schema)
            return Failure(kind, failure.message) if kind else failure
        if kind:
            return Failure(kind, _root(cause), hopeless=kind == "connection")
        cause = cause.__cause__
    return None


def refused(status: int, body: object, with_schema: bool = False) -> Failure:
    """Return what an error of a server means.

    Args:
        status: of HTTP.
        body: JSON, text or None.
        with_schema: whether a JSON schema was sent along.
    """
    error = body.get("error", body) if isinstance(body, Mapping) else body
    code, words = "", error or "no reason given"
    if isinstance(error, Mapping):
        code = next((str(error[name]) for name in ("code", "type") if error.get(name)), "")
        words = next((error[name] for name in ("message", "detail") if error.get(name)), error)
    words = " ".join(str(words).split())[:_LONGEST]
    message, text = f"HTTP {status}: {words}", f"{code} {words}"
    if status == 402 or (status == 429 and code in _NO_CREDIT):
        return Failure("rate_limit", message, hopeless=True)
    if status == 403 and _FLAGGED.search(words):
        return Failure("content_filter", message)
    if status in (401, 403):
        return Failure("authentication", message, hopeless=True)
    if status in (408, 429):
        return Failure("timeout" if status == 408 else "rate_limit", message)
    if status == 409 or status >= 500:
        return Failure("server_error", message)
    if status == 413 or code == "context_length_exceeded" or _OVERFLOW.search(text):
        return Failure("context_overflow", message)
    if with_schema and _SCHEMA.search(text):
        problem = f"the server does not accept the JSON schema of the answer ({message})"
        return Failure("unsupported_schema", problem, hopeless=True)
    is_json = isinstance(body, Mapping)  # a page of a proxy may speak of models too
    if code == "model_not_found" or (is_json and _NO_MODEL.search(words)):
        return Failure("unknown_model", message, hopeless=True)
    if "content_filter" in text or "content_policy" in text:
        return Failure("content_filter", message)
    if status in (404, 405):
        return Failure("bad_request", f"nothing answers there ({message})", hopeless=True)
    return Failure("bad_request", message)


def error_with_status_200(body: Mapping[str, Any]) -> Failure | None:
    """Return the error that some servers send as if it were an answer."""
    error = body.get("error")
    if not error:
        return None
    code = error.get("code") if isinstance(error, Mapping) else None
    return refused(code if isinstance(code, int) and 400 <= code < 600 else 500, body)


def _root(error: BaseException) -> str:
    """Return the words of what an error goes back to."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"
