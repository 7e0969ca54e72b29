"""Settings as users give them: how they are declared, read, and shown.

An option of a run is a field of a dataclass with its help, flag and reader. Settings of plug-ins
are ``key=value,key=value``, values in YAML flow style. Neither is shown with a credential in it.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from fractions import Fraction
from functools import cache
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args
from urllib.parse import quote, quote_plus, unquote

from target_bench.core.errors import ConfigError

if TYPE_CHECKING:
    from yaml import SafeLoader


Reader = Callable[[str, Any], Any]
"""(name of the option, what a user gave) -> its value; raises ``ConfigError``."""


@dataclass(frozen=True, slots=True)
class OptionInfo:
    """What is known of an option besides its name, type and default.

    Attributes:
        help: what it does, in the words of ``--help``.
        read: reads its value from what the command line, a YAML file or Python gives.
        flag: how it is written on the command line; default: ``--its-name``.
        sweep: what a sweep's file calls it; None where it has an entry of its own there.
        axis: whether a sweep's file lists alternatives of it.
        shown: whether ``--help`` shows its default, where it has one.
    """

    help: str
    read: Reader
    flag: str
    sweep: str | None
    axis: bool
    shown: bool


def option(
    help: str,
    read: Reader,
    *,
    flag: str = "",
    sweep: str | None = None,
    axis: bool = False,
    shown: bool = True,
) -> dict[str, OptionInfo]:
    """Return the metadata of a dataclass field that is an option; arguments as ``OptionInfo``."""
    return {"option": OptionInfo(help, read, flag, sweep, axis, shown)}


def option_info(each: "Field[Any]") -> OptionInfo:
    """Return the metadata of the option that a field declares."""
    declared: OptionInfo = each.metadata["option"]
    return declared


def whole(minimum: int) -> Reader:
    """Read a whole number, or None."""

    def read(name: str, value: Any) -> int | None:
        if value is None:
            return None
        number = whole_number(value)
        if number is None or number < minimum:
            raise ConfigError(f"{name}={value!r}: expected a whole number from {minimum}")
        return number

    return read


def choice(literal: Any) -> Reader:
    """Read one of the words of a ``Literal``."""

    def read(name: str, value: Any) -> Any:
        if not isinstance(value, str) or value not in get_args(literal):
            raise ConfigError(f"{name}={value!r}: expected {' or '.join(get_args(literal))}")
        return value

    return read


def truth(name: str, value: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name}={value!r}: expected true or false")
    return value


def text(name: str, value: Any) -> str | None:
    """Read text, or None."""
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{name}={value!r}: expected text")
    return value


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Read a list of texts; one text is a list of one."""
    listed = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    listed = [] if value is None else listed
    if not all(isinstance(text, str) for text in listed):
        raise ConfigError(f"{name}={value!r}: expected text, or a list of texts")
    return tuple(listed)


def path(name: str, value: Any) -> Path | None:
    """Read a path, or None."""
    if value is not None and not isinstance(value, str | Path):
        raise ConfigError(f"{name}={value!r}: expected a path")
    return None if value is None else Path(value)


def amount(name: str, value: Any) -> int | None:
    """Read an amount of memory in bytes from a number or text such as ``500MB``, or None."""
    try:
        return None if value is None else n_bytes(value)
    except ConfigError as error:
        raise ConfigError(str(error).replace("memory", name, 1)) from error


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_AMOUNT = r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([kmgt]?)(i?)b?\s*"
_BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def n_bytes(amount: int | str) -> int:
    """Return bytes from a number or from text such as ``500MB``, ``1.5 GB`` or ``2GiB``.

    Raises:
        ConfigError: it is not a positive amount.
    """
    if isinstance(amount, int) and not isinstance(amount, bool) and amount > 0:
        return amount
    match = re.fullmatch(_AMOUNT, str(amount)[:50].lower())
    if match and not (match[3] and not match[2]):
        size = int(Fraction(match[1]) * (_BINARY if match[3] else _UNITS)[match[2]])
        if size > 0:
            return size
    raise ConfigError(f"memory={amount!r}: expected an amount such as 500MB or 2GiB")


def cutoffs(name: str, value: Any) -> tuple[int, ...]:
    """Read cutoffs, ascending, from a number, a list of numbers, or text such as ``1,5,10``."""
    listed: Sequence[Any] = [value]
    if isinstance(value, str):
        listed = value.split(",")
        if not all(part.strip().lstrip("+-").isdecimal() for part in listed):
            raise ConfigError(f"{name}={value!r} (--top-k): expected numbers, as in 1,5,10")
        listed = [int(part) for part in listed]
    elif isinstance(value, Sequence):
        listed = value
    numbers = [whole_number(k) for k in listed]
    for cutoff, number in zip(listed, numbers, strict=True):
        if number is None or number < 1:
            raise ConfigError(f"{name}={cutoff!r}: a cutoff is a whole number from 1")
    if not numbers:
        raise ConfigError(f"{name} is empty: name at least one cutoff")
    return tuple(sorted({number for number in numbers if number is not None}))


def whole_number(value: Any) -> int | None:
    """Return a whole number of Python or numpy as an ``int``; None for anything else."""
    try:
        return None if isinstance(value, bool) else index(value)
    except TypeError:
        return None


class Read:
    """Reads each field with the reader of its option once an object is made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]  # the subclasses are dataclasses
            value = option_info(each).read(each.name, getattr(self, each.name))
            object.__setattr__(self, each.name, value)

    def to_json(self) -> dict[str, Any]:
        """Option -> value, paths as absolute text."""
        options = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]  # subclasses are dataclasses
        return {name: _as_json(value) for name, value in options.items()}


def _as_json(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value.resolve())
    if isinstance(value, tuple):
        return [_as_json(each) for each in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return str(getattr(value, "name", None) or getattr(value, "__name__", value))  # a plug-in


_NAMED = re.compile(r"\s*(?P<name>[^=:,'\"\[\]{}\x00-\x1f]*?)\s*=(?P<text>.*)", re.DOTALL)
_LONGEST_NAME = 60


GivenT = TypeVar("GivenT")


def named(plugin: GivenT) -> tuple[str | None, GivenT]:
    """Read ``ours=bm25:k1=0.9`` -> what the plug-in is called, and the plug-in.

    A name begins with a letter; it has no equals sign, colon, comma, bracket or quote. Of a text
    without a name, and of an object, it is None.

    Raises:
        ConfigError: the name is empty, too long or begins otherwise, or nothing follows it.
    """
    match = _NAMED.fullmatch(plugin) if isinstance(plugin, str) else None
    if match is None:
        return None, plugin
    name, text = match["name"], match["text"].strip()
    if not text or not name[:1].isalpha() or len(name) > _LONGEST_NAME:
        raise ConfigError(
            f"{plugin!r}: expected a name of at most {_LONGEST_NAME} characters that begins with a "
            "letter, =, and what is named, as in ours=bm25:k1=0.9"
        )
    return name, cast(GivenT, text)


def check_named_once(texts: Iterable[str]) -> None:
    """See that no two plug-ins of a command are called the same.

    Raises:
        ConfigError: two are; or one plug-in with the same settings has two names.
    """
    seen: dict[str, str] = {}
    for text in texts:
        for called in filter(None, named(text)):
            other = seen.setdefault(called, text)
            if other != text:
                raise ConfigError(
                    f"{other!r} and {text!r}: {called!r} stands for both; name each of them once, "
                    "and by a name of its own"
                )


def parse_settings(text: str, whole: str) -> dict[str, Any]:
    """Read ``key=value,key=value``; ``whole`` is the text that an error message quotes.

    Raises:
        ConfigError: a part is not ``key=value``, a key stands twice, or a value is not YAML.
    """
    settings: dict[str, Any] = {}
    for key, value in written_settings(text, whole).items():
        try:
            settings[key] = yaml_value(value)
        except ValueError as error:
            shown = "***" if is_secret(key) else value
            raise ConfigError(
                f"{masked_settings(whole)!r}: the value of {key} is not YAML: {shown!r}. "
                "Quote text that holds brackets, commas or quotes."
            ) from error
    return settings


def written_settings(text: str, whole: str) -> dict[str, str]:
    """Read ``key=value,key=value`` -> key -> the value as it is written.

    Args:
        text: the settings.
        whole: the text that an error message quotes.

    Raises:
        ConfigError: a part is not ``key=value``, or a key stands twice.
    """
    written: dict[str, str] = {}
    for item in _split_at_commas(text, whole):
        key, equals, value = item.partition("=")
        key = key.strip()
        if not equals or not key.isidentifier():
            raise ConfigError(
                f"{masked_settings(whole)!r}: expected key=value, found {masked_settings(item)!r}. "
                "Settings look like bm25:fields=[title,header],k1=0.9"
            )
        if key in written:
            raise ConfigError(f"{masked_settings(whole)!r}: {key} is set twice")
        written[key] = value.strip()
    return written


def _split_at_commas(text: str, whole: str) -> list[str]:
    """Split at the commas outside brackets and quotes."""
    items, depth, quote, start = [], 0, "", 0
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[{(":
            depth += 1
        elif char in ")}]":
            depth -= 1
        elif char == "," and depth == 0:
            items.append(text[start:i])
            start = i + 1
    if depth or quote:
        raise ConfigError(f"{masked_settings(whole)!r}: a bracket or quote is not closed")
    items.append(text[start:])
    return [item for item in items if item.strip()]


def yaml_value(text: str) -> Any:
    """Read a value: YAML 1.1 as PyYAML reads it, but ``1e-3`` is a number.

    Raises:
        ValueError: the text is not YAML, has a key twice or an alias (``*name``), or is nested
            without end.
    """
    import yaml

    if text.strip() == "***":  # a masked value of a stored run; to YAML it is a broken alias
        return text.strip()
    try:
        return yaml.load(text, _yaml_loader())  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"{place}{error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error)) from error


@cache
def _yaml_loader() -> "type[SafeLoader]":
    from yaml import AliasEvent, SafeLoader
    from yaml.composer import ComposerError
    from yaml.constructor import ConstructorError

    class YamlLoader(SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            # A value may stand within itself by an alias, or be a billion values in a line.
            if self.check_event(AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise ComposerError(problem="an alias (*name) is not read", problem_mark=mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key, _ in node.value:
                name = str(key.value)
                if name in seen:
                    problem = f"{name} is set twice"
                    raise ConstructorError(problem=problem, problem_mark=key.start_mark)
                seen.add(name)
            return super().construct_mapping(node, deep)

    YamlLoader.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"),
        list("-+0123456789"),
    )
    return YamlLoader


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
        settings: of a plug-in: name -> value; or one value.
        name: what the value is called.
    """
    hidden = is_secret(name)
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
    text = _without_long(text, secrets)
    for secret in tuple(_noted):
        if _SHORT <= len(secret) < _SHORTEST and not secret.isalpha() and secret in text:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return text


def _without_long(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without credentials, but for short ones, which words may be alike."""
    hidden = {*secrets, *_of_environment(), *tuple(_noted)}
    return _without(text, (secret for secret in hidden if len(secret) >= _SHORTEST))


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
    """Return an answer without the credentials of plug-ins that it cannot hold by chance."""
    for secret in tuple(_noted):
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
