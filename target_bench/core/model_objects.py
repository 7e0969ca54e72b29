"""Objects of other packages: found by their name, made if they are not there yet, and as JSON."""

import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from enum import Enum
from functools import partial
from inspect import Parameter, isclass, signature
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

from target_bench.core import registry
from target_bench.core.contract import get_constructor_arguments
from target_bench.core.credentials import is_secret, mask_config, note_secrets, without_secrets
from target_bench.core.errors import PASSED_ON, ConfigError, TargetBenchError
from target_bench.core.identity import code_hash
from target_bench.core.registry import class_name, installed_version
from target_bench.core.user_code import describe_with_line, is_installed


class ExternalObject:
    """An object that a setting gives or names.

    Args:
        target: the object, or where to find it: ``module:name`` or ``path/file.py:name`` of one, or
            of a function or class that gives one when it is called without arguments.
        setting: the name of the setting, for messages.
        kinds: the classes that it may be of.

    Attributes:
        object: the object itself.
        is_made: whether a call made it, so that ``make_another`` can.
        packages: the installed packages that its classes are from.
    """

    def __init__(self, target: object, setting: str, *kinds: type) -> None:
        self._target = target
        self._setting = setting
        self._kinds = kinds
        self._source: str | None = None
        self.is_made = False
        self.object: Any = target
        if isinstance(target, str):
            self.object = self._maker = load_object(target, setting)
            with suppress(OSError, TypeError):  # of an object that is made already
                self._source = code_hash(self.object)
            self.is_made = callable(self.object) and not isinstance(self.object, kinds)
        if self.is_made:
            self.make_another()
        else:
            self._check()
        self._described = ModelDescription(self.object)
        self.packages = tuple(sorted(self._described.packages))

    def make_another(self) -> None:
        """Call the function again that makes the object."""
        self.object = call(self._maker, f"{self._setting}={self._target}")
        self._check()

    def config(self) -> Mapping[str, Any]:
        """Return its class and settings, as far as it shows them, without secrets.

        An object that holds what cannot be described (a lambda, say) is identified by the source
        file of the function that makes it.

        Raises:
            TypeError: there is no such function, so nothing identifies the object.
        """
        config = {self._setting: self._described.settings}
        problem = self._described.problem
        if problem is None:
            return config
        if self._source is None:
            raise TypeError(
                f"{problem}; name a function that makes it instead, as in "
                f"{self._setting}=my_module:make"
            )
        return config | {"made_by": self._target, "source": self._source}

    def _check(self) -> None:
        if isinstance(self.object, self._kinds):
            return
        is_class = isclass(self.object)
        what = self.object.__name__ if is_class else f"a {type(self.object).__name__}"
        kinds = " or ".join(kind.__name__ for kind in self._kinds)
        raise ConfigError(
            f"{self._setting}: {what} is not a {kinds}; pass one, or name one or a function "
            f"that returns one, as in {self._setting}=my_module:make"
        )


def load_object(target: str, setting: str) -> Any:
    """Import the object that ``module:name`` or ``path/file.py:name`` names."""
    if ":" not in target:
        raise ConfigError(f"{setting}={target}: expected module:name or path/file.py:name")
    return registry.resolve("generator", target, only_callable=False)


def call(make: Any, what: str, *arguments: object) -> Any:
    """Call a function of the user's; an error in it becomes a ``ConfigError`` without secrets."""
    try:
        return make(*arguments)
    except (*PASSED_ON, TargetBenchError):
        raise
    except ValidationError as error:  # whose text holds the settings
        problem = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
    except BaseException as error:
        problem = describe_with_line(error)
    raise ConfigError(without_secrets(f"{what}: calling it raised {problem}"))


def count_required(function: Any) -> int:
    """Count the arguments that a function cannot be called without."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the arguments of {function!r} cannot be read: {error}") from error
    variable = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return sum(p.default is p.empty and p.kind not in variable for p in parameters)


_CHANGES_NO_ANSWER = frozenset(
    {
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
    }
)
# Fields that their package leaves out when it stores a model, though they matter.
_CHANGES_ANSWERS = frozenset(
    ("completion_to_prompt", "messages_to_prompt", "output_parser", "query_wrapper_prompt")
)


class ModelDescription:
    """A model object as JSON, without its credentials, which ``without_secrets`` knows from now on.

    Attributes:
        settings: its class, the source hash of one that may be edited, and fields, and those of
            what it holds.
        packages: the installed packages that its classes are from.
        problem: why that is not all that determines its answers, or None.
    """

    def __init__(self, model: object) -> None:
        self.packages: set[str] = set()
        self.problem: str | None = None
        self._within: list[object] = []
        self._describe(model)  # finds credentials, which may stand in more than one place
        self.settings: Any = self._describe(model)

    def _describe(self, value: Any) -> Any:
        if isinstance(value, Enum):
            value = value.value
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str | Path):
            return mask_config(str(value))  # but for words, which tell two prompts apart
        if isinstance(value, SecretStr | SecretBytes):
            return note_secrets(value, "secret")
        if isinstance(value, Mapping):
            return self._describe_mapping(value)
        if isinstance(value, list | tuple):
            return [self._describe(item) for item in value]
        if isinstance(value, set | frozenset):
            return sorted((self._describe(item) for item in value), key=str)
        if any(value is other for other in self._within):
            self.problem = self.problem or "it holds itself"
            return None
        self._within.append(value)
        try:
            if isinstance(value, type | FunctionType):
                return self._describe_code(value)
            if isinstance(value, MethodType):
                return {"method": value.__name__, "of": self._describe(value.__self__)}
            if isinstance(value, partial):
                return self._describe([value.func, value.args, value.keywords])
            return self._describe_code(type(value)) | {"settings": self._describe_fields(value)}
        except (AttributeError, OSError, TypeError, ValueError) as error:
            problem = without_secrets(f"it holds a {type(value).__name__} ({error})")
            self.problem = self.problem or problem
            return None
        finally:
            self._within.pop()

    def _describe_mapping(
        self, mapping: Mapping[Any, Any], hidden: Collection[str] = ()
    ) -> dict[str, Any]:
        shown = {}
        for name, value in mapping.items():
            if is_secret(str(name)) or name in hidden or isinstance(value, SecretStr | SecretBytes):
                note_secrets(value, "secret")
            else:
                shown[str(name)] = self._describe(value)
        return shown

    def _describe_fields(self, value: object) -> dict[str, Any]:
        if not isinstance(value, BaseModel):
            return self._describe_mapping(get_constructor_arguments(value))
        fields = dict(value.model_extra or {})
        addresses = _find_addresses(value)
        if addresses:
            fields["addresses"] = addresses
        for name, field in type(value).model_fields.items():
            kept = name in _CHANGES_ANSWERS or not field.exclude
            if (kept and name not in _CHANGES_NO_ANSWER) or is_secret(name):
                fields[name] = getattr(value, name)
        secrets = getattr(value, "lc_secrets", None)  # of LangChain: setting -> variable
        return self._describe_mapping(fields, secrets if isinstance(secrets, Mapping) else ())

    def _describe_code(self, thing: type | FunctionType) -> dict[str, Any]:
        """Return the name of a class or function, and a hash of its source if it may be edited."""
        if isinstance(thing, FunctionType) and (thing.__closure__ or "<" in thing.__qualname__):
            raise TypeError("a function without a name of its own")
        package = _find_package(thing)
        if package is None:
            return {"class": class_name(thing), "code": code_hash(thing)}
        self.packages.add(package)
        return {"class": class_name(thing)}


def _find_addresses(model: BaseModel) -> list[str]:
    """List where the clients of a model send requests, though its fields do not say so."""
    # A client, which may have its address from the environment, is a private attribute, or a field
    # that its package leaves out when it stores a model.
    cls = type(model)
    excluded = {name for name, field in cls.model_fields.items() if field.exclude}
    fields = [getattr(model, name) for name in cls.model_fields.keys() - excluded]
    kept = [value.rstrip("/") for value in fields if isinstance(value, str)]
    clients = [getattr(model, name, None) for name in excluded]
    clients += (model.__pydantic_private__ or {}).values()
    inner = [c if hasattr(c, "base_url") else getattr(c, "_client", None) for c in clients]
    addresses = {str(getattr(client, "base_url", "")).rstrip("/") for client in inner}
    return sorted(url for url in addresses if url.startswith("http") and url not in kept)


def _find_package(thing: type | FunctionType) -> str | None:
    """Return the installed package it is from; None for code that may be edited."""
    parts = thing.__module__.split(".")
    file = Path(getattr(sys.modules.get(thing.__module__), "__file__", None) or "")
    if not is_installed(file):
        return None
    names = ("-".join(parts[:n]).replace("_", "-") for n in range(min(3, len(parts)), 0, -1))
    return next((name for name in names if installed_version(name) is not None), None)
