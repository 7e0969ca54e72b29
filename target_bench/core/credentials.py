"""Credentials among settings: by which names and forms they are known, and how texts lose them.

Nothing that is stored, printed or sent elsewhere holds one: settings go through ``mask_config``,
texts through ``without_secrets``.
"""

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote

_MASK = "***"
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
# Names that no setting about tables or text has, unlike ``key``, ``token`` and ``headers``.
_CERTAIN = re.compile(
    r"passw|passphrase|pwd|secret|authorization|credential|cookie|(^|[._-])auth([._-]|$)"
    r"|(api|access|auth|client|private|account|subscription|licen[cs]e)[_-]?(key|token)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(://)(?!\*\*\*@)([^/?#\s\"'<>]+)(?=@)")
_IN_ADDRESS = re.compile(
    r"([?&][\w-]*(?:key|token|secret|passw(?:or)?d|pwd|auth|credential|sig|signature)=)"
    r"(?!\*\*\*)([^&\s\"'#,]+)",
    re.IGNORECASE,
)
_ASSIGNED = r"(?:passw(?:or)?d|pwd|secret|(?:api|access|auth)[_-]?(?:key|token))"
_TEXT = (
    _ADDRESS,
    _IN_ADDRESS,
    re.compile(
        r"(\b(?:authorization\W+basic|bearer)\s+)(?!\*\*\*)[^\s\"',}]+",
        re.IGNORECASE,
    ),
    re.compile(rf"(\b{_ASSIGNED}=)(?!\*\*\*)[^\s\"',;&)\]}}]+", re.IGNORECASE),
    re.compile(  # as code or JSON writes it, which tracebacks and answers of servers quote
        rf"({_ASSIGNED}[\"']?(?:\]?\s*=|:)\s*(?P<quote>[\"']))(?!\*\*\*)[^\"'\n]+(?=(?P=quote))",
        re.IGNORECASE,
    ),
    re.compile(r"()\b(?:sk-[\w-]{12,}|(?:hf|gsk)_\w{20,}|xai-\w{20,})"),
)
_SETTING = re.compile(
    r"""(?P<quote>["']?)(?P<name>[A-Za-z_][\w-]*)(?P=quote)(?P<sign>\s*=|:\s+|(?<=["']):)"""
)
_SHORTEST = 8  # characters of a secret; shorter ones are placeholders, or parts of other words
_SHORT = 4  # characters of a secret that holds more than letters, and is a word of its own
_LONG = 20  # characters that no placeholder has, even without a digit
_USUAL_HEADERS = frozenset(("accept", "connection", "content", "host", "referer", "user"))
_MOST_ENTRIES = 100  # of a list or a mapping that is searched: settings have fewer, data more

_noted: set[str] = set()  # credentials among the settings of the plug-ins of this process


def is_secret(name: str) -> bool:
    """Return whether this is the name of a credential, whose value is never shown."""
    if name == "PWD":  # a shell's folder
        return False
    plain = re.sub(r"[\W_]+", "_", name).lower()
    return bool(_NAME.search(plain)) and not _NO_SECRET.search(plain)


def looks_secret(text: str) -> bool:
    """Return whether a text has the form of a key, or holds a password.

    ```python
    from target_bench.plugin_tools import looks_secret

    print(looks_secret("sk-" + "a1B2" * 10), looks_secret("moons"))  # True False
    ```
    """
    return any(pattern.search(text) for pattern in _TEXT)


def note_secrets(settings: Any, name: str = "") -> None:
    """Remember the credentials among settings, which ``without_secrets`` masks from now on.

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
        secrets = [value for _, value in _IN_ADDRESS.findall(text)]
        if hidden and not (text.isalpha() and _may_be_ordinary(name, text)):
            secrets.append(text)
        for _, login in _ADDRESS.findall(text):
            user, _, password = login.partition(":")
            secrets.append(password or user)
        for secret in secrets:
            plain = re.sub(r"^(bearer|basic)\s+", "", secret.strip(), flags=re.IGNORECASE)
            for form in (secret.strip(), plain, unquote(plain)):
                _noted.update(_spellings(form))


def _spellings(secret: str) -> Iterator[str]:
    """Yield a credential as it stands in a text, a ``repr``, JSON and an address."""
    yield from (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1])
    yield from (quote(secret), quote(secret, safe=""), quote_plus(secret))


def without_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text, such as that of an error, without credentials: each is ``***``.

    ```python
    from target_bench.plugin_tools import without_secrets

    print(without_secrets("wrong key Xy12345678", secrets=["Xy12345678"]))  # wrong key ***
    ```

    Use it on everything that may hold the words of a plug-in and is stored or shown. Credentials
    are those given, those of the environment and of the settings of plug-ins (``note_secrets``),
    and what looks like one.
    """
    hidden = [secret for secret in (*secrets, *_credentials()) if len(secret) >= _SHORTEST]
    text = _mask(text, hidden)
    for secret in tuple(_noted):
        if _SHORT <= len(secret) < _SHORTEST and not secret.isalpha() and secret in text:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", _MASK, text)
    return text


def mask_answer(text: str) -> str:
    """Return an answer without credentials of plug-ins and environment, unless by chance there."""
    for secret in _credentials():
        if secret in text and not may_be_a_word(secret):
            text = text.replace(secret, _MASK)
    return text


def mask_warnings() -> None:
    """Have this process show Python's warnings without secrets: a plug-in may warn with its key."""
    show = warnings.showwarning
    if getattr(show, "is_masked", False):
        return

    def show_masked(message: Any, *where: Any, **more: Any) -> None:
        show(without_secrets(str(message)), *where, **more)

    show_masked.is_masked = True  # type: ignore[attr-defined]
    warnings.showwarning = show_masked


def mask_config(value: Any, name: str = "") -> Any:
    """Return JSON without credentials: settings named like secrets at any depth, and in texts.

    Args:
        value: settings as JSON.
        name: what leads to the value: names with dots between them.
    """
    if isinstance(value, dict):
        return {key: mask_config(item, f"{name}.{key}".lstrip(".")) for key, item in value.items()}
    if isinstance(value, list):
        return [mask_config(item, name) for item in value]
    if any(map(is_secret, name.split("."))) and not _is_shown(name, value):
        return _MASK
    return _mask_setting(value) if isinstance(value, str) else value


def mask_settings(text: str) -> str:
    """Return ``name:key=value,...`` without the values of settings named like secrets."""
    shown, end = [], 0
    for setting in _SETTING.finditer(text):
        begin = setting.end()
        in_address = text[: setting.start()].endswith(("?", "&"))  # has a pattern of its own
        if begin <= end or in_address or not is_secret(setting["name"]):
            continue
        stop = _find_end(text, begin)
        if not _is_shown(setting["name"], text[begin:stop].strip()):
            shown += [text[end:begin], _MASK]
            end = stop
    return _mask_setting("".join(shown) + text[end:])


def _find_end(text: str, begin: int) -> int:
    """Return where a value ends: at a comma, the end of what it stands in, or the next setting."""
    around, quote, depth = "", "", 0
    for char in text[:begin]:
        if char in "'\"":
            around = "" if char == around else around or char
    for i, char in enumerate(text[begin:], begin):
        if quote:
            quote = "" if char == quote else quote
        elif char == around or (char in ",)]}" and not depth):
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


def _mask_setting(text: str) -> str:
    # A word stays: ``fields=[description]`` is no other setting once a password is "description".
    return _mask(text, [secret for secret in _credentials() if not may_be_a_word(secret)])


def _mask(text: str, secrets: Iterable[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _MASK)
    for pattern in _TEXT:
        text = pattern.sub(rf"\1{_MASK}", text)
    return text


def _credentials() -> set[str]:
    return {value for name, value in os.environ.items() if is_secret(name)} | set(_noted)


def may_be_a_word(key: str) -> bool:
    """Return whether a key may be a placeholder, a date or a number, which an answer may hold."""
    mixed = any(map(str.isdigit, key)) and any(map(str.isalpha, key))
    return len(key) < (_SHORTEST if mixed else _LONG)


def _may_be_ordinary(name: str, text: str) -> bool:
    return may_be_a_word(text) and not _CERTAIN.search(name)


def _is_shown(name: str, value: Any) -> bool:
    # Retrievers with ``key=title`` and ``key=header`` are two, which a mask would hide.
    is_truth = isinstance(value, bool) or value in ("", "true", "false")
    return is_truth or _may_be_ordinary(name, str(value))
