"""The YAML file of a run or a sweep: what it says, and what is wrong with it, entry by entry."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.credentials import mask_settings
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.run_config import check_option_names, read_option
from target_bench.core.settings import parse_settings, split_name, yaml_value

PLUGINS: Mapping[str, registry.Kind] = {
    "tasks": "task",
    "retrievers": "retriever",
    "generators": "generator",
}
"""Entry of a file that lists plug-ins -> their kind."""


@dataclass(frozen=True)
class YamlFile:
    """A YAML file.

    Attributes:
        path: where it is.
        content: what it says.
        sha256: of the file.
        problems: what is wrong with its entries, as lines -> errors.
    """

    path: Path
    content: dict[str, Any]
    sha256: str
    problems: dict[str, ConfigError | DataError] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "YamlFile":
        """Read a file; aliases, which can stand for more than a machine can hold, are refused."""
        try:
            written = path.read_bytes()
            content = yaml_value(written.decode("utf-8-sig"))
        except FileNotFoundError as error:
            raise ConfigError(f"{path}: there is no such file") from error
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            message = " ".join(str(error).split()).replace('in "<unicode string>", ', "")
            raise ConfigError(f"{path}: not valid YAML: {message}") from error
        if not isinstance(content, dict):
            raise ConfigError(f"{path}: expected entries such as corpora: [mini]")
        for key in _keys(content):
            if not isinstance(key, str):
                raise ConfigError(
                    f"{path}: the key {key} is no text; YAML reads on, off, yes and no as true and "
                    "false: write it in quotes"
                )
        return cls(path, content, hashlib.sha256(written).hexdigest())

    def at(self, entry: str, index: int | None = None) -> str:
        """Return ``file: entry``, with the index of a value where the entry is a list."""
        listed = index is not None and isinstance(self.content.get(entry), list)
        return f"{self.path}: {entry}[{index}]" if listed else f"{self.path}: {entry}"

    @contextmanager
    def collecting(self, where: str) -> Iterator[None]:
        """Keep a ``ConfigError`` or ``DataError`` of the block: a user is told all at once."""
        try:
            yield
        except (ConfigError, DataError) as error:
            message = str(error)
            line = message if message.startswith(where) else f"{where}: {message}"
            self.problems.setdefault(line, error)

    def raise_problems(self) -> None:
        """Raise one error with a line for each problem, if there is any."""
        if self.problems:
            data_only = all(isinstance(error, DataError) for error in self.problems.values())
            raise (DataError if data_only else ConfigError)("\n".join(self.problems))


def _keys(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            yield from _keys(each)


def read_config(file: Path) -> dict[str, Any]:
    """Option -> value, of the options that a file names.

    A task, retriever or generator is text as on the command line, or ``{name: bm25, k1: 0.9}``.
    """
    document = YamlFile.read(file)
    options: dict[str, Any] = {}
    for key, value in document.content.items():
        with document.collecting(document.at(key)):
            check_option_names([key])
            options[key] = read_option(key, _with_text(key, value), document.at(key))
    document.raise_problems()
    return options


def _with_text(key: str, value: Any) -> Any:
    """Return the value of an option, plug-ins that are written as a mapping as text."""
    kind = PLUGINS.get(key)
    if kind is None:
        return value
    return [_plugin(kind, plugin) for plugin in (value if isinstance(value, list) else [value])]


def _plugin(kind: registry.Kind, written: Any) -> Any:
    if not isinstance(written, Mapping):
        return written
    settings = {str(name): value for name, value in written.items()}
    name = settings.pop("name", None)
    if not isinstance(name, str):
        raise ConfigError(f"a {kind} is text, or has a name, as in {{name: ..., setting: ...}}")
    called, plain = split_name(name)
    return with_name(called, spec_text(kind, plain, settings))


# Plug-ins with settings as text


def spec_text(kind: registry.Kind, name: str, settings: Mapping[str, Any]) -> str:
    """Return ``name:key=value,...``, which ``registry.parse`` reads back as the same."""
    earlier = registry.parse(kind, name)
    both = earlier.settings.keys() & settings.keys()
    if both:
        raise ConfigError(f"{name}: {min(both)} is set twice")
    whole = {**earlier.settings, **settings}
    text = earlier.target
    if whole:
        text += ":" + ",".join(f"{key}={_write_value(value)}" for key, value in whole.items())
    parsed = registry.parse(kind, text)
    if (parsed.target, parsed.settings) != (earlier.target, whole):
        shown = mask_settings(text)
        raise ConfigError(f"{name}: its settings cannot be written as {shown!r}")
    return text


def with_name(name: str | None, text: str) -> str:
    """Return a plug-in as users write it, with the name that they give it."""
    return text if name is None else f"{name}={text}"


_PLAIN = re.compile(r"[\w./@+-]+(:[\w./@+-]+)*")


def _write_value(value: Any) -> str:
    """Return a value in YAML's flow style; text in quotes where YAML would take it for another."""
    if isinstance(value, list):
        return f"[{', '.join(map(_write_value, value))}]"
    if isinstance(value, dict):
        items = (f"{_write_value(str(key))}: {_write_value(each)}" for key, each in value.items())
        return "{" + ", ".join(items) + "}"
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and parse_settings(f"v={value}", value)["v"] == value:
        return value
    if value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return json.dumps(value)
