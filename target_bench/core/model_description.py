"""A model object of another package as JSON, and the credentials in it."""

import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import partial
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

from pydantic import BaseModel, SecretBytes, SecretStr

from target_bench.core.contract import constructor_arguments
from target_bench.core.identity import code_hash
from target_bench.core.registry import class_name, installed_version
from target_bench.core.settings import is_secret, without_secrets

_CHANGES_NO_ANSWER = frozenset(
    (
        "cache",
        "callback_manager",
        "callbacks",
        "max_retries",
        "metadata",
        "num_workers",
        "rate_limiter",
        "request_timeout",
        "tags",
        "timeout",
        "verbose",
    )
)
_CHANGES_ANSWERS = frozenset(
    ("completion_to_prompt", "messages_to_prompt", "output_parser", "query_wrapper_prompt")
)
"""Fields that their package leaves out when it stores a model, though they matter."""


class Description:
    """A model object as JSON, without its secrets.

    Attributes:
        settings: its class, the source hash of one that may be edited, and fields, and those of
            what it holds.
        packages: the installed packages that its classes are from.
        secrets: what was left out.
        problem: why that is not all that determines its answers, or None.
    """

    def __init__(self, model: object) -> None:
        self.secrets: set[str] = set()
        self.packages: set[str] = set()
        self.problem: str | None = None
        self._within: list[object] = []
        self._json(model)  # finds the secrets, which may stand in more than one place
        self.settings: Any = self._json(model)

    def _json(self, value: Any) -> Any:
        if isinstance(value, Enum):
            return self._json(value.value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str | Path):
            return without_secrets(str(value), self.secrets)
        if isinstance(value, SecretStr | SecretBytes):
            return self._hide(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list | tuple):
            return [self._json(item) for item in value]
        if isinstance(value, set | frozenset):
            return sorted((self._json(item) for item in value), key=str)
        return self._other(value)

    def _mapping(self, mapping: Mapping[Any, Any], hidden: Iterable[str] = ()) -> dict[str, Any]:
        found = {}
        for name, value in mapping.items():
            if is_secret(str(name)) or name in hidden or isinstance(value, SecretStr | SecretBytes):
                self._hide(value)
            else:
                found[str(name)] = self._json(value)
        return found

    def _hide(self, value: Any) -> None:
        if isinstance(value, SecretStr | SecretBytes):
            value = value.get_secret_value()
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        if isinstance(value, str):
            self.secrets.update((value, value.removeprefix("Bearer ")))
        elif isinstance(value, Mapping | list | tuple):
            for item in value.values() if isinstance(value, Mapping) else value:
                self._hide(item)

    def _other(self, value: object) -> Any:
        """Return a class, a function or an object."""
        if any(value is other for other in self._within):
            return self._unknown("it holds itself")
        try:
            if isinstance(value, type | FunctionType):
                return self._code(value)
            if isinstance(value, MethodType):
                return {"method": value.__name__, "of": self._json(value.__self__)}
            if isinstance(value, partial):
                bound = {"args": self._json(value.args), "keywords": self._json(value.keywords)}
                return {"function": self._json(value.func)} | bound
            self._within.append(value)
            try:
                return self._code(type(value)) | {"settings": self._settings(value)}
            finally:
                self._within.pop()
        except (AttributeError, OSError, TypeError, ValueError) as error:
            return self._unknown(f"it holds a {type(value).__name__} ({error})")

    def _unknown(self, problem: str) -> None:
        self.problem = self.problem or without_secrets(problem, self.secrets)

    def _settings(self, value: object) -> dict[str, Any]:
        if not isinstance(value, BaseModel):
            return self._mapping(constructor_arguments(value))
        fields = dict(value.model_extra or {})
        addresses = _addresses(value)
        if addresses:
            fields["addresses"] = addresses
        for name, field in type(value).model_fields.items():
            kept = name in _CHANGES_ANSWERS or not field.exclude
            if (kept and name not in _CHANGES_NO_ANSWER) or is_secret(name):
                fields[name] = getattr(value, name)
        hidden = getattr(value, "lc_secrets", None)
        return self._mapping(fields, hidden if isinstance(hidden, Mapping) else ())

    def _code(self, thing: type | FunctionType) -> dict[str, Any]:
        """Return the name of a class or a function, and a hash of its source if it may be edited.

        Raises:
            OSError: it has no source file.
            TypeError: it has no name, or depends on variables around it.
        """
        if isinstance(thing, FunctionType) and (thing.__closure__ or "<" in thing.__qualname__):
            raise TypeError("a function without a name of its own")
        name = {"class": class_name(thing)}
        package = _package(thing)
        if package is None:
            return name | {"code": code_hash(thing)}
        self.packages.add(package)
        return name


def _addresses(model: BaseModel) -> list[str]:
    """Return where the clients of a model send requests, though its fields do not say so.

    A client may have it from the environment. Clients are private attributes, or fields that their
    package leaves out when it stores a model.
    """
    cls = type(model)
    left_out = [name for name, field in cls.model_fields.items() if field.exclude]
    fields = [getattr(model, name) for name in cls.model_fields.keys() - left_out]
    kept = [value.rstrip("/") for value in fields if isinstance(value, str)]
    clients = [getattr(model, name, None) for name in left_out]
    clients += (model.__pydantic_private__ or {}).values()
    inner = [c if hasattr(c, "base_url") else getattr(c, "_client", None) for c in clients]
    found = {str(getattr(client, "base_url", "")).rstrip("/") for client in inner}
    return sorted(url for url in found if url.startswith("http") and url not in kept)


def _package(thing: type | FunctionType) -> str | None:
    """Return the installed package it is from; None for code that may be edited."""
    parts = thing.__module__.split(".")
    file = Path(getattr(sys.modules.get(thing.__module__), "__file__", None) or "")
    if not {"site-packages", "dist-packages"} & set(file.parts):
        return None
    names = ("-".join(parts[:n]).replace("_", "-") for n in range(min(3, len(parts)), 0, -1))
    return next((name for name in names if installed_version(name) is not None), None)
