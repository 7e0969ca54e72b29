"""The declaration of a metric: its name, its scale, how it is shown and ordered."""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from target_bench.core.errors import ConfigError

Scale = Literal["share", "percent", "unbounded"]
"""A number from 0 to 1, one from 0 to 100, or one without an upper bound."""

References = Literal["any", "short", "long"]
"""The length of the references for which a metric of text says something."""

RANKINGS = "rankings"
"""``MetricSpec.of`` of the metrics of table retrieval."""

_NAME = re.compile(r"(?P<name>[^@\s]+)(?:@(?P<k>[1-9]\d*))?")
_HIGHEST: dict[Scale, float] = {"share": 1.0, "percent": 100.0, "unbounded": 1.0}


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """The declaration of a metric, from which names, tables, plots and boards follow.

    Attributes:
        name: as it is stored and as users write it, without a cutoff: ``recall``, ``ex[bird]``.
        label: as people call it, without a cutoff: ``R``, ``EX``; default: the name.
        description: the definition in one line.
        source: the paper or the package that it is from; empty where it needs none.
        of: what is scored: ``rankings``, ``texts``, ``labels``, ``SQL`` or a word of a plug-in's
            own; the tasks that name the same word in ``scores`` use it.
        at_k: whether it is read at a cutoff, as ``recall@10``.
        scale: the range of the number.
        highest: the largest value; of an unbounded metric that of a perfect answer. Default: 1, or
            100 on the scale ``percent``.
        digits: decimals that are shown.
        higher_is_better: whether a higher value is better.
        deterministic: whether the same predictions always have the same value.
        needs: what it needs besides predictions: references, databases, an extra to install.
        rank: its place among the metrics that stand for a run, the lowest first; None for a metric
            that stands for a run only where there is no other.
        references: the length of references that it says something about; see
            ``metrics.headlines``.
        decides: whether its value of one query says that the answer is right (1), partly right, or
            wrong (0).
        tolerance: how far a score that is computed again may differ on another machine.
    """

    name: str
    label: str = ""
    description: str = ""
    source: str = ""
    of: str = "answers"
    at_k: bool = False
    scale: Scale = "share"
    highest: float | None = None
    digits: int = 3
    higher_is_better: bool = True
    deterministic: bool = True
    needs: tuple[str, ...] = ()
    rank: int | None = None
    references: References = "any"
    decides: bool = False
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        found = _NAME.fullmatch(self.name)
        if found is None or found["k"]:
            raise ConfigError(
                f"metric {self.name!r}: expected a name without white space and @; a metric at a "
                "cutoff is declared as recall with at_k=True, and printed as recall@10"
            )

    def at(self, k: int | None = None) -> str:
        """Print the name with its cutoff, as ``parse`` reads it: ``recall@10``."""
        return f"{self.name}@{k}" if self.at_k else self.name

    def label_at(self, k: int | str | None = None) -> str:
        """Print the label with its cutoff: ``R@10``."""
        label = self.label or self.name
        return f"{label}@{k}" if self.at_k and k is not None else label

    @property
    def top(self) -> float:
        """The largest value, or that of a perfect answer."""
        return _HIGHEST[self.scale] if self.highest is None else self.highest

    @property
    def range(self) -> str:
        """The values that it can have, in words."""
        return "0 and up" if self.scale == "unbounded" else f"0 to {self.top:.4g}"

    def text(self, value: float | None, signed: bool = False) -> str:
        """Print a value with the decimals of the metric; a dash for NaN and None."""
        if value is None or value != value:
            return "–"
        return f"{value:{'+' if signed else ''}.{self.digits}f}"

    def merit(self, value: float) -> float:
        """Turn a value into a number that is higher for the better one."""
        return value if self.higher_is_better else -value

    def to_json(self) -> dict[str, Any]:
        """Return field name -> value, of the fields that differ from their default."""
        written = asdict(self)
        return {
            field.name: _plain(written[field.name])
            for field in fields(self)
            if field.name == "name" or written[field.name] != field.default
        }

    @classmethod
    def from_json(cls, record: Any) -> "MetricSpec":
        """Read what ``to_json`` wrote; fields that a newer version added are left out.

        Raises:
            ValueError: a field is missing or has a value of another type.
        """
        if not isinstance(record, Mapping) or not isinstance(record.get("name"), str):
            raise ValueError(f"spec: expected an object with a name, found {record!r:.60}")
        known = {field.name for field in fields(cls)}
        given = {name: value for name, value in record.items() if name in known}
        for name, value in given.items():
            if not _FITS[name](value):
                raise ValueError(f"spec.{name}: {value!r:.60} is not a valid value")
        if "needs" in given:
            given["needs"] = tuple(given["needs"])
        try:
            return cls(**given)
        except ConfigError as error:
            raise ValueError(str(error)) from error


def split(name: str) -> tuple[str, int | None]:
    """Read the name and the cutoff of a metric: ``recall@10`` -> ``("recall", 10)``.

    Raises:
        ConfigError: it is not the name of a metric.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise ConfigError(f"metric {name!r}: expected a name, or a name and a cutoff as recall@10")
    return found["name"], int(found["k"]) if found["k"] else None


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


_FITS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("name", "label", "description", "source", "of"),
        lambda value: isinstance(value, str) and len(value) <= 1000,
    ),
    **dict.fromkeys(
        ("at_k", "higher_is_better", "deterministic", "decides"),
        lambda value: isinstance(value, bool),
    ),
    "scale": lambda value: value in get_args(Scale),
    "references": lambda value: value in get_args(References),
    "highest": lambda value: value is None or _is_number(value),
    "tolerance": _is_number,
    "digits": lambda value: type(value) is int and 0 <= value <= 12,
    "rank": lambda value: value is None or (type(value) is int and abs(value) < 10**9),
    "needs": lambda value: isinstance(value, list) and all(isinstance(v, str) for v in value),
}
