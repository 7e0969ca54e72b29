"""Failures of requests to a model: classify the errors of any client."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal, NamedTuple

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
"""The first word of the error of a failed answer."""

_LONGEST = 500  # characters of a server's message
_OVERFLOW = (
    r"context_length_exceeded|context[ _](length|window|size)|maximum context|prompt is too long"
    r"|too many (input )?tokens|input is too long|exceeds? the (model'?s )?max|tokens per request"
    r"|(input|inputs|prompt) must have less than \d+ tokens|input length exceeds"
    r"|batch size \S+ > maximum"
)
_NO_MODEL = (
    r"model_not_found|(no such|unknown|invalid) model\b"
    r"|\bmodel\b[^.:;,]{0,80}(not found|not exist|is unknown|is not supported|no access)"
)
_SCHEMA = re.compile(r"response_format|json_schema|guided|structured output", re.IGNORECASE)


class _Rule(NamedTuple):
    statuses: Collection[int]  # of HTTP
    kind: Kind
    pattern: str = ""  # in the server's message
    hopeless: bool = False  # whether every request fails so


_RULES = (  # the first that matches counts
    _Rule({402}, "rate_limit", hopeless=True),
    _Rule({429}, "rate_limit", "insufficient_quota|billing_hard_limit_reached", hopeless=True),
    _Rule({403}, "content_filter", r"flagged|moderation|content[_ ]polic"),
    _Rule({401, 403}, "authentication", hopeless=True),
    _Rule({408}, "timeout"),
    _Rule({429}, "rate_limit"),
    _Rule({409, *range(500, 600)}, "server_error"),
    _Rule({413}, "context_overflow"),
    _Rule(range(400, 500), "context_overflow", _OVERFLOW),
    _Rule(range(400, 500), "unknown_model", _NO_MODEL, hopeless=True),
    _Rule(range(400, 500), "content_filter", "content_filter|content_policy"),
    _Rule({404, 405}, "bad_request", hopeless=True),
    _Rule(range(400, 500), "bad_request"),
)
_KINDS_BY_CLASS: Mapping[str, Kind] = {  # of OpenAI and similar clients, httpx and requests
    "ContextOverflowError": "context_overflow",
    "APITimeoutError": "timeout",
    "TimeoutError": "timeout",
    "TimeoutException": "timeout",
    "Timeout": "timeout",
    "ConnectTimeout": "timeout",  # of requests, where it is a ConnectionError first
    "APIConnectionError": "connection",
    "ConnectionError": "connection",
    "TransportError": "connection",
}


class Failure(Exception):  # noqa: N818 (an answer that failed, of which the run goes on)
    """A request without an answer; its text begins with the kind.

    Args:
        kind: the kind of failure.
        message: the reason in words.
        hopeless: whether every other request will fail too: key, model or address are wrong.
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


def classify_error(error: BaseException, with_schema: bool = False) -> Failure | None:
    """Classify the error of any provider's client, by its class and its HTTP status.

    Returns:
        The failure; None if neither the error nor one of its causes is of a server or connection.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Failure):
            return cause
        names = [cls.__name__ for cls in type(cause).__mro__]
        kind = next((_KINDS_BY_CLASS[name] for name in names if name in _KINDS_BY_CLASS), None)
        response = getattr(cause, "response", None)  # httpx and requests have the status there
        status = getattr(cause, "status_code", None) or getattr(response, "status_code", None)
        if isinstance(status, int) and 400 <= status < 600:
            body = getattr(cause, "body", None) or _read_json(response) or str(cause)
            failure = classify_reply(status, body, with_schema)
            return Failure(kind, failure.message) if kind else failure
        if kind:
            root = cause
            while root.__cause__ is not None:
                root = root.__cause__
            message = f"{type(root).__name__}: {root}"
            return Failure(kind, message, hopeless=kind == "connection")
        cause = cause.__cause__
    return None


def _read_json(response: Any) -> object:
    """Return the JSON of a response of any client; None if it has none, or was not read."""
    try:
        return response.json()
    except Exception:  # of other people's code
        return None


def classify_reply(status: int, body: object, with_schema: bool = False) -> Failure:
    """Classify an error reply, JSON or text; ``with_schema``: to a request with a JSON schema."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    code, reason = "", error or "no reason given"
    if isinstance(error, Mapping):
        code = next((str(error[name]) for name in ("code", "type") if error.get(name)), "")
        reason = next((error[name] for name in ("message", "detail") if error.get(name)), error)
    reason = " ".join(str(reason).split())[:_LONGEST]
    message, text = f"HTTP {status}: {reason}", f"{code} {reason}"
    for rule in _RULES:
        if status not in rule.statuses or not re.search(rule.pattern, text, re.IGNORECASE):
            continue
        if rule.kind == "unknown_model" and not isinstance(body, Mapping):
            continue  # the page of a proxy may mention models too
        if with_schema and rule.kind in ("unknown_model", "bad_request") and _SCHEMA.search(text):
            problem = f"the server does not accept the JSON schema of the answer ({message})"
            return Failure("unsupported_schema", problem, hopeless=True)
        if not rule.pattern and status in (404, 405):
            message = f"nothing answers there ({message})"
        return Failure(rule.kind, message, hopeless=rule.hopeless)
    return Failure("server_error", message)
