"""The YAML file of a run or a sweep: its entries, and every problem with them in one error."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.credentials import mask_settings
from target_bench.core.errors import ConfigError, DataError, PluginError, TargetBenchError
from target_bench.core.run_config import check_option_names, read_option
from target_bench.core.settings import parse_settings, read_yaml, split_name

PLUGINS: Mapping[str, registry.Kind] = {
    "tasks": "task",
    "retrievers": "retriever",
    "generators": "generator",
}
"""Entry of a file that lists plug-ins -> their kind."""


@dataclass(frozen=True)
class YamlFile:
    """A YAML file, and what is wrong with it.

    Attributes:
        path: where it is.
        content: entry -> value.
        problems: line of the message -> the error that it tells.
    """

    path: Path
    content: dict[str, Any]
    problems: dict[str, TargetBenchError] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "YamlFile":
        """Read a file; aliases, which can stand for more than a machine can hold, are refused."""
        try:
            content = read_yaml(path.read_text(encoding="utf-8-sig"))
        except FileNotFoundError as error:
            raise ConfigError(f"{path}: there is no such file") from error
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            message = " ".join(str(error).split()).replace('in "<unicode string>", ', "")
            raise ConfigError(f"{path}: not valid YAML: {message}") from error
        if not isinstance(content, dict):
            raise ConfigError(f"{path}: expected entries such as corpora: [mini]")
        for key in _iterate_keys(content):
            if not isinstance(key, str):
                raise ConfigError(
                    f"{path}: the key {key} is not text; YAML reads on, off, yes and no as true "
                    "and false: write it in quotes"
                )
        return cls(path, content)

    def locate(self, entry: str, index: int | None = None) -> str:
        """Return ``file: entry``, with the index of a value where the entry is a list."""
        if index is None or not isinstance(self.content.get(entry), list):
            return f"{self.path}: {entry}"
        return f"{self.path}: {entry}[{index}]"

    @contextmanager
    def collect_problems(self, where: str) -> Iterator[None]:
        """Keep an error of the block for ``raise_problems``: a user is told all at once."""
        try:
            yield
        except (ConfigError, DataError, PluginError) as error:
            self.add_problem(where, error)

    def add_problem(self, where: str, error: TargetBenchError) -> None:
        """Keep an error for ``raise_problems``."""
        message = str(error)
        line = message if message.startswith(where) else f"{where}: {message}"
        self.problems.setdefault(line, error)

    def raise_problems(self) -> None:
        """Raise one error with a line for each problem, if there is any."""
        if self.problems:
            for kind in (DataError, PluginError):
                if all(isinstance(error, kind) for error in self.problems.values()):
                    raise kind("\n".join(self.problems))
            raise ConfigError("\n".join(self.problems))


def _iterate_keys(value: Any) -> Iterator[Any]:
    """Yield the keys of a mapping and of those within it."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _iterate_keys(item)


def read_config(path: Path) -> dict[str, Any]:
    """Return option -> value, of the options of ``run`` that a file sets.

    A task, retriever or generator is text as on the command line, or ``{name: bm25, k1: 0.9}``.
    """
    file = YamlFile.read(path)
    options: dict[str, Any] = {}
    for entry, value in file.content.items():
        where = file.locate(entry)
        with file.collect_problems(where):
            check_option_names([entry])
            if kind := PLUGINS.get(entry):
                listed = value if isinstance(value, list) else [value]
                value = [spell_plugin(kind, plugin) for plugin in listed]
            options[entry] = read_option(entry, value, where)
    file.raise_problems()
    return options


def spell_plugin(kind: registry.Kind, plugin: Any) -> Any:
    """Return ``{name: bm25, k1: 0.9}`` as ``bm25:k1=0.9``; text, or anything else, as it is.

    Raises:
        ConfigError: it has no name, or settings that ``registry.parse`` would not read back.
    """
    if not isinstance(plugin, Mapping):
        return plugin
    settings = {str(key): value for key, value in plugin.items()}
    name = settings.pop("name", None)
    if not isinstance(name, str):
        raise ConfigError(f"a {kind} is text, or has a name, as in {{name: ..., setting: ...}}")
    users_name, text = split_name(name)
    return add_name(users_name, add_settings(kind, text, settings))


def add_name(users_name: str | None, text: str) -> str:
    """Return a plug-in as ``split_name`` reads it: ``ours=bm25:k1=0.9``."""
    return text if users_name is None else f"{users_name}={text}"


def add_settings(kind: registry.Kind, text: str, settings: Mapping[str, Any]) -> str:
    """Return a plug-in with more settings, ``bm25:k1=0.9,b=0.4``, as ``registry.parse`` reads it.

    Raises:
        ConfigError: a setting is set twice, or cannot be written so that it is read as the same.
    """
    spec = registry.parse(kind, text)
    if twice := spec.settings.keys() & settings.keys():
        raise ConfigError(f"{text}: {min(twice)} is set twice")
    all_settings = {**spec.settings, **settings}
    if not all_settings:
        return spec.target
    written = ",".join(f"{key}={_write_value(value)}" for key, value in all_settings.items())
    result = f"{spec.target}:{written}"
    parsed = registry.parse(kind, result)
    if (parsed.target, parsed.settings) != (spec.target, all_settings):
        raise ConfigError(f"{text}: its settings cannot be written as {mask_settings(result)!r}")
    return result


_PLAIN = re.compile(r"[\w./@+-]+(:[\w./@+-]+)*")


def _write_value(value: Any) -> str:
    """Return a value in YAML's flow style; text in quotes where YAML would take it for another."""
    if isinstance(value, list):
        return f"[{', '.join(map(_write_value, value))}]"
    if isinstance(value, dict):
        items = (f"{_write_value(str(key))}: {_write_value(each)}" for key, each in value.items())
        return "{" + ", ".join(items) + "}"
    if not isinstance(value, str):
        try:
            return json.dumps(value, ensure_ascii=False)
        except TypeError as error:  # YAML reads 2024-01-01 as a date
            raise ConfigError(f"{value}: write it in quotes, as '{value}'") from error
    if _PLAIN.fullmatch(value) and parse_settings(f"v={value}", value)["v"] == value:
        return value
    if value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return json.dumps(value, ensure_ascii=False)
