"""Settings of plug-ins as users write them: ``key=value,key=value``, values in YAML flow style."""

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from target_bench.core.errors import ConfigError

if TYPE_CHECKING:
    from yaml import SafeLoader


def parse_settings(text: str, whole: str) -> dict[str, Any]:
    """Read ``key=value,key=value``; ``whole`` is the text that an error message quotes.

    Raises:
        ConfigError: a part is not ``key=value``, a key stands twice, or a value is not YAML.
    """
    settings: dict[str, Any] = {}
    for item in _split_at_commas(text, whole):
        key, equals, value = item.partition("=")
        key = key.strip()
        if not equals or not key.isidentifier():
            raise ConfigError(
                f"{whole!r}: expected key=value, found {item!r}. "
                "Settings look like bm25:fields=[title,header],k1=0.9"
            )
        if key in settings:
            raise ConfigError(f"{whole!r}: {key} is set twice")
        try:
            settings[key] = _yaml_value(value)
        except ValueError as error:
            raise ConfigError(
                f"{whole!r}: the value of {key} is not YAML: {value!r}. "
                "Quote text that holds brackets, commas or quotes."
            ) from error
    return settings


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
        raise ConfigError(f"{whole!r}: a bracket or quote is not closed")
    items.append(text[start:])
    return [item for item in items if item.strip()]


def _yaml_value(text: str) -> Any:
    """YAML 1.1 as PyYAML reads it, but ``1e-3`` is a number.

    Raises:
        ValueError: the text is not YAML.
    """
    import yaml

    try:
        return yaml.load(text, _yaml_loader())  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


@cache
def _yaml_loader() -> "type[SafeLoader]":
    from yaml import SafeLoader

    class Loader(SafeLoader):
        pass

    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"),
        list("-+0123456789"),
    )
    return Loader
