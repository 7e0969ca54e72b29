"""Objects of other packages: found by their name, made if they are not there yet, identified."""

import sys
from collections.abc import Mapping
from inspect import Parameter, isclass, signature
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from target_bench.core import registry
from target_bench.core.errors import PASSED_ON, ConfigError, TargetBenchError
from target_bench.core.identity import code_hash
from target_bench.core.model_description import Description
from target_bench.core.settings import without_secrets
from target_bench.core.user_code import described, place


class Foreign:
    """An object that a setting gives or names.

    Args:
        given: the object, or where to find it: ``module:name`` or ``path/file.py:name`` of one, or
            of a function or class that gives one when it is called without arguments.
        setting: the name of the setting, for messages.
        kinds: the classes that it may be of.

    Attributes:
        object: what was found.
        maker: what gives another one when it is called, where it was made by calling.
        secrets: credentials among its settings.
        packages: the installed packages that its classes are from.

    Raises:
        ConfigError: there is no such object.
    """

    def __init__(self, given: object, setting: str, *kinds: type) -> None:
        self._given = given
        self._setting = setting
        self._kinds = kinds
        found = found_at(given, setting) if isinstance(given, str) else given
        self._source = _source_hash(found) if isinstance(given, str) else None
        named = isinstance(given, str) and callable(found) and not isinstance(found, kinds)
        self.maker: Any = found if named else None
        self.object: Any = self.made() if named else self._checked(found)
        self._described = Description(self.object)
        self.secrets = self._described.secrets
        self.packages = tuple(sorted(self._described.packages))

    def made(self) -> Any:
        """Return another object of the function that makes it.

        Raises:
            ConfigError: it raises, or gives something else.
        """
        return self._checked(called(self.maker, f"{self._setting}={self._given}"))

    def config(self) -> Mapping[str, Any]:
        """Return its class and settings, as far as it shows them, without secrets.

        An object that holds what cannot be described (a lambda, say) is identified by the source
        file of the function that makes it.

        Raises:
            TypeError: there is no such function, so nothing identifies the object.
        """
        described = {self._setting: self._described.settings}
        if self._described.problem is None:
            return described
        if self._source is None:
            raise TypeError(
                f"{self._described.problem}; name a function that makes it instead, as in "
                f"{self._setting}=my_module:make"
            )
        return described | {"made_by": self._given, "source": self._source}

    def _checked(self, found: object) -> object:
        if isinstance(found, self._kinds):
            return found
        what = found.__name__ if isclass(found) else f"a {type(found).__name__}"
        wanted = " or ".join(kind.__name__ for kind in self._kinds)
        raise ConfigError(
            f"{self._setting}: {what} is no {wanted} object; pass one, or name one or a function "
            f"that gives one, as in {self._setting}=my_module:make"
        )


def found_at(target: str, setting: str) -> object:
    """Return the object that ``module:name`` or ``path/file.py:name`` names.

    Raises:
        ConfigError: there is nothing of that name.
    """
    try:
        if ":" in target:
            return registry.resolve("generator", target)
    except ConfigError:
        place, _, name = target.rpartition(":")  # the registry has imported it
        for module in [sys.modules.get(place), *_modules_of(place)]:
            if hasattr(module, name):
                return getattr(module, name)
        raise
    raise ConfigError(f"{setting}={target}: expected module:name or path/file.py:name")


def called(make: Any, what: str, *arguments: object) -> Any:
    """Return the result of a call; an error in it becomes a ``ConfigError`` without secrets."""
    try:
        return make(*arguments)
    except TargetBenchError:
        raise
    except ValidationError as error:  # whose text holds the settings
        parts = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        problem = "; ".join(parts)
    except PASSED_ON:
        raise
    except BaseException as error:
        problem = described(error) + place(error)
    raise ConfigError(without_secrets(f"{what}: calling it raised {problem}"))


def n_required(function: Any) -> int:
    """Return the number of arguments that a function cannot be called without.

    Raises:
        ConfigError: it does not tell.
    """
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the arguments of {function!r} cannot be read: {error}") from error
    variable = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return sum(p.default is p.empty and p.kind not in variable for p in parameters)


def _modules_of(place: str) -> list[Any]:
    file = str(Path(place).resolve())
    return [m for m in list(sys.modules.values()) if vars(m).get("__file__") == file]


def _source_hash(found: Any) -> str | None:
    """Return the hash of the code that makes an object; None for an object made already."""
    try:
        return code_hash(found)
    except (OSError, TypeError):
        return None
