"""Kinds of failed requests, and whether they are retried."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
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
"""First words of a failed answer's error."""

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


class Failure(Exception):  # noqa: N818 (an answer that failed; only the last attempt is an error)
    """A request without an answer; its text begins with the kind.

    Args:
        kind: what went wrong.
        message: in words.
        again: whether another attempt may succeed.
        hopeless: whether every other request will fail like it: the key, the model or the address
            is wrong.
        wait: how many seconds the server asks to wait.
        tokens: of prompt and answer, where the server counted them: they may cost money.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        again: bool = False,
        hopeless: bool = False,
        wait: float | None = None,
        tokens: tuple[int | None, int | None] = (None, None),
    ) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.again = again
        self.hopeless = hopeless
        self.wait = wait
        self.tokens = tokens

    def without(self, secret: str) -> "Failure":
        """Return the same failure, with credentials masked."""
        return Failure(
            self.kind,
            self.message.replace(secret, "***"),
            again=self.again,
            hopeless=self.hopeless,
            wait=self.wait,
            tokens=self.tokens,
        )


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer of a server that is an error.

    Attributes:
        status: of HTTP.
        code: the server's name of the error, or "".
        message: its own words.
        known: whether the body had the form of an error of the API.
        wait: how many seconds it asks to wait.
    """

    status: int
    code: str
    message: str
    known: bool
    wait: float | None

    @classmethod
    def read(cls, status: int, body: object, wait: float | None) -> "Refused":
        """Read a refusal from a body: JSON, text or None."""
        error = body.get("error", body) if isinstance(body, Mapping) else body
        if not isinstance(error, Mapping):
            known = isinstance(body, Mapping)
            return cls(status, "", _short(str(error or "no reason given")), known, wait)
        code = next((str(error[n]) for n in ("code", "type") if error.get(n)), "")
        message = next((error[n] for n in ("message", "detail") if error.get(n)), error)
        return cls(status, code, _short(str(message)), True, wait)

    def failure(self, with_schema: bool = False) -> Failure:
        """Return its meaning.

        Args:
            with_schema: whether a JSON schema was sent along.
        """
        said = f"HTTP {self.status}: {self.message}"
        if self.status == 402:
            return Failure("rate_limit", said, hopeless=True)
        if self.status == 403 and _FLAGGED.search(self.message):
            return Failure("content_filter", said)
        if self.status in (401, 403):
            return Failure("authentication", said, hopeless=True)
        if self.status == 429:
            spent = self.code in ("insufficient_quota", "billing_hard_limit_reached")
            return Failure("rate_limit", said, again=not spent, hopeless=spent, wait=self.wait)
        if self.status == 408:
            return Failure("timeout", said, again=True, wait=self.wait)
        if self.status == 409 or self.status >= 500:
            return Failure("server_error", said, again=True, wait=self.wait)
        return self._final(said, with_schema)

    def _final(self, said: str, with_schema: bool) -> Failure:
        text = f"{self.code} {self.message}"
        if self.status == 413 or self.code == "context_length_exceeded" or _OVERFLOW.search(text):
            return Failure("context_overflow", said)
        if with_schema and _SCHEMA.search(text):
            problem = f"the server does not accept the JSON schema of the answer ({said})"
            return Failure("unsupported_schema", problem, hopeless=True)
        if self.code == "model_not_found" or (self.known and _NO_MODEL.search(self.message)):
            return Failure("unknown_model", said, hopeless=True)
        if "content_filter" in text or "content_policy" in text:
            return Failure("content_filter", said)
        if self.status in (404, 405):
            return Failure("bad_request", f"nothing answers there ({said})", hopeless=True)
        return Failure("bad_request", said)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def error_in(body: Mapping[str, Any]) -> Refused | None:
    """Return the error that some servers send with HTTP status 200."""
    error = body.get("error")
    if not error:
        return None
    code = error.get("code") if isinstance(error, Mapping) else None
    known = isinstance(code, int) and 400 <= code < 600
    return Refused.read(code if known else 500, body, None)  # type: ignore[arg-type]  # an int
