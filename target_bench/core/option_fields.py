"""How an option is declared: a field of a dataclass with its help, flag and reader."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from operator import index
from pathlib import Path
from typing import Any, TypeVar, get_args

from target_bench.core.errors import ConfigError
from target_bench.core.memory import n_bytes

Reader = Callable[[str, Any], Any]
"""(name of the option, what a user gave) -> its value; raises ``ConfigError``."""


@dataclass(frozen=True, slots=True)
class About:
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
) -> dict[str, About]:
    """Return the metadata of a dataclass field that is an option; arguments as ``About``."""
    return {"option": About(help, read, flag, sweep, axis, shown)}


def about(each: "Field[Any]") -> About:
    """Return what is known of the option that a field is."""
    found: About = each.metadata["option"]
    return found


def whole(minimum: int) -> Reader:
    """Read a whole number, or None."""

    def read(name: str, value: Any) -> int | None:
        if value is None:
            return None
        number = _whole_number(value)
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
    listed = [value] if isinstance(value, str) else list(value or ())
    if not all(isinstance(one, str) for one in listed):
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
    numbers = [_whole_number(k) for k in listed]
    for given, number in zip(listed, numbers, strict=True):
        if number is None or number < 1:
            raise ConfigError(f"{name}={given!r}: a cutoff is a whole number from 1")
    if not numbers:
        raise ConfigError(f"{name} is empty: name at least one cutoff")
    return tuple(sorted({number for number in numbers if number is not None}))


def _whole_number(value: Any) -> int | None:
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
            value = about(each).read(each.name, getattr(self, each.name))
            object.__setattr__(self, each.name, value)

    def to_json(self) -> dict[str, Any]:
        """Option -> value, paths as absolute text."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {name: _as_json(value) for name, value in found.items()}


def _as_json(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value.resolve())
    return list(value) if isinstance(value, tuple) else value


def options_of(*groups: type) -> "dict[str, Field[Any]]":
    """Name -> field of every option of these dataclasses."""
    return {each.name: each for group in groups for each in fields(group)}


def default_of(group: type, name: str) -> Any:
    """Return the default of an option."""
    found = options_of(group)[name].default
    assert found is not MISSING
    return found


OptionsT = TypeVar("OptionsT", bound=Read)


def of(group: type[OptionsT], given: Mapping[str, Any]) -> OptionsT:
    """Return the options of a dataclass among those that were given; defaults for all others.

    Raises:
        ConfigError: an invalid value.
    """
    return group(**{name: given[name] for name in options_of(group) if name in given})
