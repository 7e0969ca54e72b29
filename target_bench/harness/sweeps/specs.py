"""Plug-ins with settings as text, as the command line writes them."""

import json
import re
from collections.abc import Mapping
from inspect import signature
from typing import Any

from target_bench.core import registry
from target_bench.core.credentials import masked_settings
from target_bench.core.errors import ConfigError
from target_bench.core.settings import parse_settings

PLUGINS: Mapping[str, registry.Kind] = {
    "tasks": "task",
    "retrievers": "retriever",
    "generators": "generator",
}
"""Entry of a file that lists plug-ins -> their kind."""

_PLAIN = re.compile(r"[\w./@+-]+(:[\w./@+-]+)*")


def spec_text(kind: registry.Kind, name: str, settings: Mapping[str, Any]) -> str:
    """``name:key=value,...``, which ``registry.parse`` reads back as the same."""
    earlier = registry.parse(kind, name)
    both = earlier.settings.keys() & settings.keys()
    if both:
        raise ConfigError(f"{name}: {min(both)} is set twice")
    whole = {**earlier.settings, **settings}
    text = earlier.target
    if whole:
        text += ":" + ",".join(f"{key}={_value(value)}" for key, value in whole.items())
    parsed = registry.parse(kind, text)
    if (parsed.target, parsed.settings) != (earlier.target, whole):
        shown = masked_settings(text)
        raise ConfigError(f"{name}: its settings cannot be written as {shown!r}")
    return text


def with_name(name: str | None, text: str) -> str:
    """Return a plug-in as users write it, with the name that they give it."""
    return text if name is None else f"{name}={text}"


def takes(kind: registry.Kind, text: str, setting: str) -> bool:
    """Whether a plug-in has a setting that the text leaves open."""
    try:
        spec = registry.parse(kind, text)
        parameters = signature(registry.resolve(kind, spec.target)).parameters
    except (ConfigError, TypeError, ValueError):  # reported where the plug-in is built
        return False
    return setting in parameters and setting not in spec.settings


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(str(k))}: {_value(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


def _text(value: str) -> str:
    """Return a word as it is; anything else, or what YAML would take for a number, in quotes."""
    if _PLAIN.fullmatch(value) and parse_settings(f"v={value}", value)["v"] == value:
        return value
    if value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return json.dumps(value)
