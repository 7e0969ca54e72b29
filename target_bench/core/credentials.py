"""Credentials among settings: by which names and forms they are known, and how texts lose them.

Nothing that is stored, printed or sent elsewhere holds one: settings are ``masked``, texts go
through ``without_secrets``.
"""

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote

_NAME = re.compile(
    r"(^|_)(\w*key|\w*passw(or)?ds?|passphrase|pwd|secrets?|authorization|auth|credentials?"
    r"|cookies?|headers|(api|access|auth|private)_?(keys|tokens?))$"
    r"|(^|_)(secrets?|passw(or)?d|(api|access|auth|private)_?(key|token)s?)_"
    r"|(^|(?<!bos)(?<!eos)(?<!pad)(?<!stop)(?<!unk)(?<!sep)(?<!mask)(?<!cls)_)token$"
)
_NO_SECRET = re.compile(
    r"_(env|file|path|dir|folder|name|field|column)$"  # where it is, or what it is called
    r"|^(n|num)_"  # how many
    r"|(^|_)(primary|foreign|join|sort|group)_key$"  # of tables
)
_CERTAIN = re.compile(
    r"passw|passphrase|pwd|secret|authorization|credential|cookie|(^|[._-])auth([._-]|$)"
    r"|(api|access|auth|client|private|account|subscription|licen[cs]e)[_-]?(key|token)",
    re.IGNORECASE,
)
"""Names that a setting about tables or text does not have, other than ``key`` and ``token``."""
_ADDRESS = re.compile(r"(://)(?!\*\*\*@)([^/?#\s\"'<>]+)(?=@)")
_IN_ADDRESS = re.compile(
    r"([?&][\w-]*(?:key|token|secret|passw(?:or)?d|pwd|auth|credential|sig|signature)=)"
    r"(?!\*\*\*)([^&\s\"'#,]+)",
    re.IGNORECASE,
)
_TEXT = (
    (_ADDRESS, r"\1***"),
    (_IN_ADDRESS, r"\1***"),
    (re.compile(r"(\bauthorization\W+basic\s+)(?!\*\*\*)[\w+/=]+", re.IGNORECASE), r"\1***"),
    (re.compile(r"(\bbearer\s+)(?!\*\*\*)[^\s\"',}]+", re.IGNORECASE), r"\1***"),
    (
        re.compile(
            r"(\b(?:passw(?:or)?d|pwd|secret|(?:api|access|auth)[_-]?(?:key|token))=)"
            r"(?!\*\*\*)[^\s\"',;&)\]}]+",
            re.IGNORECASE,
        ),
        r"\1***",
    ),
    (
        # As a line of code or JSON writes it, which a traceback or an answer of a server quotes.
        re.compile(
            r"((?:passw(?:or)?d|pwd|secret|(?:api|access|auth)[_-]?(?:key|token))"
            r"[\"']?(?:\]?\s*=|:)\s*(?P<quote>[\"']))(?!\*\*\*)[^\"'\n]+(?=(?P=quote))",
            re.IGNORECASE,
        ),
        r"\1***",
    ),
    (re.compile(r"\b(?:sk-[\w-]{12,}|(?:hf|gsk)_\w{20,}|xai-\w{20,})"), "***"),
)
_SETTING = re.compile(
    r"""(?P<quote>["']?)(?P<name>[A-Za-z_][\w-]*)(?P=quote)(?P<sign>\s*=|:\s+|(?<=["']):)"""
)
_SHORTEST = 8  # characters of a secret; shorter ones are placeholders, or parts of other words
_SHORT = 4  # characters of a secret that holds more than letters, and is a word of its own
_LONG = 20  # characters that no placeholder has, even without a digit
_USUAL_HEADERS = frozenset(("accept", "connection", "content", "host", "referer", "user"))
_FOLDER = "PWD"  # of a shell: a variable of the environment
_MOST_ENTRIES = 100  # of a list or a mapping that is searched: settings have fewer, data more

_noted: set[str] = set()
"""Credentials among the settings of the plug-ins of this process."""


def is_secret(name: str) -> bool:
    """Return whether this is the name of a credential, whose value is never shown."""
    plain = re.sub(r"[\W_]+", "_", name).lower()
    return bool(_NAME.search(plain)) and not _NO_SECRET.search(plain) and name != _FOLDER


def looks_secret(text: str) -> bool:
    """Return whether a text has the form of a key, or holds a password."""
    return any(pattern.search(text) for pattern, _ in _TEXT)


def note_secrets(settings: Any, name: str = "") -> None:
    """Remember the credentials among settings: ``without_secrets`` masks them from now on.

    These are the values of settings named like secrets, at any depth, and passwords and keys in
    addresses.

    Args:
        settings: of a plug-in: name -> value; or one value, perhaps a ``SecretStr`` of pydantic.
        name: what the value is called.
    """
    hidden = is_secret(name)
    if hasattr(settings, "get_secret_value"):
        settings = settings.get_secret_value()
    if isinstance(settings, bytes):
        settings = settings.decode(errors="replace")
    if isinstance(settings, Mapping) and len(settings) <= _MOST_ENTRIES:
        for key, value in settings.items():
            inner = str(key)
            if hidden and re.split(r"[\W_]", inner.lower())[0] not in _USUAL_HEADERS:
                inner = name
            note_secrets(value, inner)
    elif isinstance(settings, list | tuple | set) and len(settings) <= _MOST_ENTRIES:
        for value in settings:
            note_secrets(value, name)
    elif isinstance(settings, str | int) and not isinstance(settings, bool):
        text = str(settings)
        secrets = [text] if hidden and not (text.isalpha() and _may_be_ordinary(text, name)) else []
        for _, login in _ADDRESS.findall(text):
            user, colon, password = login.partition(":")
            secrets.append(password if colon and password else user)
        secrets += [value for _, value in _IN_ADDRESS.findall(text)]
        for secret in secrets:
            plain = re.sub(r"^(bearer|basic)\s+", "", secret.strip(), flags=re.IGNORECASE)
            for form in (secret.strip(), plain, unquote(plain)):
                _noted.update((form, *_as_errors_write(form)))


def _as_errors_write(secret: str) -> Iterator[str]:
    """Yield a credential as it stands in a ``repr``, in JSON and in an address."""
    yield repr(secret)[1:-1]
    yield json.dumps(secret)[1:-1]
    yield from (quote(secret), quote(secret, safe=""), quote_plus(secret))


def without_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text, such as that of an error, without credentials: each is ``***``.

    Use it on everything that may hold the words of a plug-in and is stored or shown. Credentials
    are those given, those of the environment and of the settings of plug-ins (``note_secrets``),
    and what looks like one.
    """
    hidden = {*secrets, *_of_environment(), *tuple(_noted)}
    text = _without(text, (secret for secret in hidden if len(secret) >= _SHORTEST))
    for secret in tuple(_noted):
        if _SHORT <= len(secret) < _SHORTEST and not secret.isalpha() and secret in text:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return text


def mask_warnings() -> None:
    """Have this process show Python's warnings without secrets: a plug-in may warn with its key."""
    show = warnings.showwarning
    if getattr(show, "is_masked", False):
        return

    def masked_warning(message: Any, *place: Any, **more: Any) -> None:
        show(without_secrets(str(message)), *place, **more)

    masked_warning.is_masked = True  # type: ignore[attr-defined]
    warnings.showwarning = masked_warning


def _of_settings(text: str) -> str:
    """Return the text of a setting without credentials, but for those that may be a word.

    Else ``fields=[description]`` would be another setting once a password is "description".
    """
    hidden = {*_of_environment(), *tuple(_noted)}
    return _without(text, (secret for secret in hidden if not may_be_a_word(secret)))


def _of_environment() -> Iterator[str]:
    return (value for name, value in os.environ.items() if is_secret(name))


def _without(text: str, secrets: Iterable[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    for pattern, replacement in _TEXT:
        text = pattern.sub(replacement, text)
    return text


def may_be_a_word(key: str) -> bool:
    """Return whether a key may be a placeholder, a date or a number, which an answer may hold."""
    mixed = any(map(str.isdigit, key)) and any(map(str.isalpha, key))
    return len(key) < (_SHORTEST if mixed else _LONG)


def _may_be_ordinary(text: str, name: str) -> bool:
    """Return whether a value is a word, and its name that of a setting about tables or text."""
    return may_be_a_word(text) and not _CERTAIN.search(name)


def answer_without_secrets(text: str) -> str:
    """Return an answer without credentials of plug-ins and environment, unless by chance there."""
    for secret in (*tuple(_noted), *_of_environment()):
        if secret in text and not may_be_a_word(secret):
            text = text.replace(secret, "***")
    return text


def masked_settings(text: str) -> str:
    """Return ``name:key=value,...`` without the values of settings named like secrets."""
    shown, end = [], 0
    for setting in _SETTING.finditer(text):
        begin = setting.end()
        in_address = text[: setting.start()].endswith(("?", "&"))  # has a pattern of its own
        if begin <= end or in_address or not is_secret(setting["name"]):
            continue
        stop = _end_of_value(text, begin)
        if not _is_shown(setting["name"], text[begin:stop].strip()):
            shown += [text[end:begin], "***"]
            end = stop
    return _of_settings("".join(shown) + text[end:])


def _is_shown(name: str, value: Any) -> bool:
    """Return whether a setting named like a secret is none, as in ``key=title, headers=3``.

    Two retrievers with ``key=title`` and ``key=header`` are two, which a mask would hide.
    """
    is_truth = isinstance(value, bool) or value in ("", "true", "false")
    return is_truth or _may_be_ordinary(str(value), name)


def _end_of_value(text: str, begin: int) -> int:
    """Return where a value ends: at a comma, the end of what it stands in, or the next setting."""
    around, quote, depth = "", "", 0
    for char in text[:begin]:
        if char in "'\"":
            around = "" if char == around else around or char
    for i, char in enumerate(text[begin:], begin):
        if quote:
            quote = "" if char == quote else quote
        elif char == around or (char in ")]}" and not depth) or (char == "," and not depth):
            return i
        elif char in "'\"":
            quote = char
        elif char in "[{(":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == " " and not depth and re.match(r" +[A-Za-z_]\w*=", text[i:]):
            return i
    return len(text)


def masked(value: Any, name: str = "") -> Any:
    """Return JSON without credentials: settings named like secrets at any depth, and in texts.

    Args:
        value: settings as JSON.
        name: what leads to the value: names with dots between them.
    """
    if isinstance(value, dict):
        return {key: masked(item, f"{name}.{key}".lstrip(".")) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item, name) for item in value]
    if any(map(is_secret, name.split("."))) and not _is_shown(name, value):
        return "***"
    return _of_settings(value) if isinstance(value, str) else value
