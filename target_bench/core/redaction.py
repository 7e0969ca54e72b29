"""Detection and masking of credentials in names, settings and messages."""

import os
import re
from collections.abc import Iterable

_NAME = re.compile(
    r"(^|_)(\w*key|secrets?|passw(or)?d|authorization|auth|credentials?|cookies?)$"
    r"|(^|(?<!bos)(?<!eos)(?<!pad)(?<!stop)(?<!unk)(?<!sep)(?<!mask)(?<!cls)_)token$"
)
_TEXT = (
    (re.compile(r"(://)[^/@\s]+(?=@)"), r"\1***"),
    (re.compile(r"(\bbearer\s+)[^\s\"',}]+", re.IGNORECASE), r"\1***"),
    (re.compile(r"([?&][\w-]*(?:key|token|secret|password|sig)=)[^&\s\"']+", re.I), r"\1***"),
    (re.compile(r"\b(?:sk-[\w-]{12,}|(?:hf|gsk)_\w{20,}|xai-\w{20,})"), "***"),
)
_SETTING = re.compile(r"([A-Za-z_]\w*)=([^,]+)")
_SHORTEST = 8  # characters of a secret; shorter ones are placeholders, or parts of other words
_LONG = 20  # characters that no placeholder has, even without a digit


def is_secret(name: str) -> bool:
    """Return whether this is the name of a credential, whose value is never shown."""
    return _NAME.search(re.sub(r"[\W_]+", "_", name).lower()) is not None


def looks_secret(text: str) -> bool:
    """Return whether a text has the form of a key, or holds a password."""
    return any(pattern.search(text) for pattern, _ in _TEXT)


def without_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text without credentials.

    These are the secrets given, those of the environment, and what looks like one.
    """
    named = (value for name, value in os.environ.items() if is_secret(name))
    for secret in sorted({*secrets, *named}, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, "***")
    for pattern, replacement in _TEXT:
        text = pattern.sub(replacement, text)
    return text


def may_be_a_word(key: str) -> bool:
    """Return whether a key may be a placeholder, which an answer may hold as a word of its own."""
    return len(key) < (_SHORTEST if any(map(str.isdigit, key)) else _LONG)


def masked_settings(text: str) -> str:
    """Return ``name:key=value,...`` without the values of settings named like secrets."""

    def shown(setting: re.Match[str]) -> str:
        return f"{setting[1]}=***" if is_secret(setting[1]) else setting[0]

    return without_secrets(_SETTING.sub(shown, text))
