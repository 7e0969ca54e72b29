"""What every plug-in promises about its settings: they are known, and make the same one again."""

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any
from unittest import SkipTest

from target_bench.core.contract import constructor_arguments
from target_bench.core.identity import plugin_identity
from target_bench.testing.checks import CheckError, Maker, calling

_KEEP = (
    "Keep constructor arguments as attributes of the same names, unchanged and with JSON values, "
    "or define config()."
)


def expect_identity(make: Maker, work: Callable[[Any], object]) -> None:
    """Fail unless a plug-in can be identified, and work leaves its identity as it was.

    Args:
        make: makes the plug-in.
        work: has it do what it is for.
    """
    plugin = make()
    if isinstance(getattr(plugin, "packages", ()), str):
        raise CheckError(
            f"packages is a text; write a tuple of names, as in ({plugin.packages!r},)"
        )
    before = identity(plugin)
    if (another := identity(make())) != before:
        raise CheckError(f"two that are made the same way differ: {_difference(before, another)}")
    work(plugin)
    if (after := identity(plugin)) != before:
        raise CheckError(
            f"its work changes what identifies it: {_difference(before, after)}. A run is found "
            "again by what was asked for: keep what is learned under other names than settings."
        )


def identity(plugin: object) -> dict[str, Any]:
    """Return the identity of a plug-in; fails if it has none."""
    with calling("identifying it", _KEEP):
        found, warning = plugin_identity(plugin)
    if warning:
        raise CheckError(warning)
    return found


def remade(plugin: Any) -> Any:
    """Return the plug-in that its settings make, read back from JSON.

    Raises:
        CheckError: the settings make none, or one with other settings.
        SkipTest: ``config`` describes the plug-in in its own way.
    """
    with calling("config()", _KEEP):
        config, parts = _config(plugin), _parts(plugin)
    parameters = inspect.signature(type(plugin)).parameters
    unknown = [name for name in config if name not in parameters]
    needed = [n for n, p in parameters.items() if p.default is p.empty and n not in config]
    if unknown or needed:
        names = ", ".join(unknown or needed)
        what = "are not arguments of" if unknown else "are missing for"
        raise SkipTest(f"config() describes it in its own way: {names} {what} the constructor")
    plain = {name: value for name, value in config.items() if name not in parts}
    with calling("making another one from config() as JSON", _KEEP):
        whole = {**json.loads(json.dumps(plain)), **{n: config[n] for n in parts if n in config}}
        again = type(plugin)(**whole)
    before, after = identity(plugin), identity(again)
    if before != after:
        raise CheckError(
            f"one that is made from config() has other settings: {_difference(before, after)}. "
            f"{_KEEP}"
        )
    return again


def _config(plugin: Any) -> Mapping[str, Any]:
    own = getattr(plugin, "config", None)
    config: Mapping[str, Any] = own() if callable(own) else constructor_arguments(plugin)
    return config


def _parts(plugin: Any) -> Mapping[str, object]:
    own = getattr(plugin, "parts", None)
    parts: Mapping[str, object] = own() if callable(own) else {}
    return parts


def _difference(one: Mapping[str, Any], other: Mapping[str, Any], prefix: str = "") -> str:
    """Return the entries in which two identities differ."""
    found = []
    for name in sorted({*one, *other}):
        mine, theirs = one.get(name), other.get(name)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            found.append(_difference(mine, theirs, f"{prefix}{name}."))
        elif mine != theirs:
            found.append(f"{prefix}{name} is {mine!r:.80}, then {theirs!r:.80}")
    return "; ".join(filter(None, found))
