"""Metrics: the declaration of each, what a query contributes, and the score over all queries."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from inspect import Signature, signature
from math import isnan, nan
from types import MappingProxyType, NoneType
from typing import Any, ClassVar, Generic, Literal, SupportsFloat, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from target_bench.core import text_tables
from target_bench.core.errors import ConfigError

Scale = Literal["share", "percent", "unbounded"]
"""A number from 0 to 1, one from 0 to 100, or one without an upper bound."""

References = Literal["any", "short", "long"]
"""The length of the references for which a metric of text says something."""

OF_RANKINGS = "rankings"
"""``MetricSpec.scores`` of the metrics of table retrieval."""

Floats = NDArray[np.float64]

_NAME = re.compile(r"(?P<name>[^@\s]+?)(?:@(?P<k>[1-9]\d*))?")

_HIGHEST: dict[Scale, float] = {"share": 1.0, "percent": 100.0, "unbounded": 1.0}


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """The declaration of a metric, from which names, tables, plots and boards follow.

    ```python
    from target_bench import MetricSpec

    spec = MetricSpec("recall", "R", at_k=True)
    print(spec.at(10), spec.top)  # recall@10 1.0
    ```

    Attributes:
        name: as it is stored and as users write it, without a cutoff: ``recall``, ``ex[bird]``.
        label: as people call it, without a cutoff: ``R``, ``EX``; default: the name.
        description: the definition in one line.
        source: the paper or the package that it is from; empty where it needs none.
        scores: what it scores: ``rankings``, ``texts``, ``labels``, ``SQL`` or a word of a plug-in;
            the tasks with the same word in ``scores`` compute it. ``answers``: any task about
            answers.
        at_k: whether it has a cutoff, as ``recall@10``.
        scale: the range of the number.
        highest: the largest value; of an unbounded metric that of a perfect answer. Default: 1, or
            100 on the scale ``percent``.
        digits: decimals that are shown.
        higher_is_better: whether a higher value is better.
        needs: what it needs besides predictions: references, databases, an extra to install.
        rank: where a table has room for few metrics, those of the lowest rank are shown; None for
            one that is shown only where there is no other.
        references: the length of references for which it says something.
        decides: whether its value of one query says how right the answer is: 1 right, 0 wrong.
    """

    name: str
    label: str = ""
    description: str = ""
    source: str = ""
    scores: str = "answers"
    at_k: bool = False
    scale: Scale = "share"
    highest: float | None = None
    digits: int = 3
    higher_is_better: bool = True
    needs: tuple[str, ...] = ()
    rank: int | None = None
    references: References = "any"
    decides: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not _is_valid(field.name, value):
                choices = _CHOICES.get(field.name)
                expected = f"; expected {' or '.join(choices)}" if choices else ""
                raise ConfigError(
                    f"metric {self.name!r}: {field.name}={value!r:.60} is not a valid value"
                    f"{expected}"
                )
        match = _NAME.fullmatch(self.name)
        if match is None or match["k"]:
            raise ConfigError(
                f"metric {self.name!r}: expected a name without white space and @; a metric at a "
                "cutoff is declared as recall with at_k=True, and printed as recall@10"
            )

    def at(self, k: int | None = None) -> str:
        """Return the name with its cutoff, as ``split_cutoff`` reads it: ``recall@10``."""
        return f"{self.name}@{k}" if self.at_k else self.name

    def label_at(self, k: int | str | None = None) -> str:
        """Return the label with its cutoff: ``R@10``."""
        label = self.label or self.name
        return f"{label}@{k}" if self.at_k and k is not None else label

    @property
    def top(self) -> float:
        """The largest value, or that of a perfect answer."""
        return _HIGHEST[self.scale] if self.highest is None else self.highest

    @property
    def range(self) -> str:
        """The values that it can have, in words: ``0 to 1``."""
        if self.scale != "unbounded":
            return f"0 to {self.top:.4g}"
        if not self.higher_is_better:
            return "0 and up"
        # Else the highest value is that of a perfect answer, and others may be higher.
        is_bound = self.highest == 0 or (self.highest is not None and self.at_k)
        return f"up to {self.highest:g}" if is_bound else "unbounded"

    def text(self, value: float | None, signed: bool = False) -> str:
        """Return a value with the decimals of the metric, a share as ``.797``; a dash for none."""
        if value is None or isnan(value):
            return "–"
        return text_tables.score_text(value, self.digits, "+" if signed else "")

    def interval(self, low: float, high: float, between: str = "–", sign: str = "") -> str:
        """Return the bounds of a value in the form of ``text``; see ``text_tables.interval``."""
        return text_tables.interval(low, high, self.digits, between, sign)

    def merit(self, value: float) -> float:
        """Return a number that is higher for a better value, to sort by."""
        return value if self.higher_is_better else -value

    def to_json(self) -> dict[str, Any]:
        """Return field name -> value, of the fields that differ from their default."""
        written = asdict(self)
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field in fields(self)
            if (value := written[field.name]) != field.default or field.name == "name"
        }

    @classmethod
    def from_json(cls, record: Any) -> "MetricSpec":
        """Read the output of ``to_json``; fields that a newer version added are left out."""
        if not isinstance(record, Mapping) or not isinstance(record.get("name"), str):
            raise ValueError(f"spec: expected an object with a name, found {record!r:.60}")
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in record.items() if name in known}
        if isinstance(values.get("needs"), list):
            values["needs"] = tuple(values["needs"])
        try:
            return cls(**values)
        except ConfigError as error:
            raise ValueError(str(error)) from error


_CHOICES = {"scale": get_args(Scale), "references": get_args(References)}
_TYPES = {
    "name": (str,),
    "highest": (int, float, NoneType),
    "rank": (int, NoneType),
}
"""Types of the fields that may have another type than their default."""


def _is_valid(field: str, value: Any) -> bool:
    """Return whether a field may have a value; large ones would flood tables and boards."""
    if field in _CHOICES:
        return value in _CHOICES[field]
    default = MetricSpec.__dataclass_fields__[field].default
    if type(value) not in _TYPES.get(field, (type(default),)):
        return False
    if field == "digits":
        return bool(0 <= value <= 12)
    if isinstance(value, int | float):
        return abs(value) < 1e9
    return len(str(value)) <= 1000 and all(isinstance(part, str) for part in value or ())


def split_cutoff(name: str) -> tuple[str, int | None]:
    """Return the name and the cutoff of a metric: ``recall@10`` -> ``("recall", 10)``."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ConfigError(f"metric {name!r}: expected a name, or a name and a cutoff as recall@10")
    return match["name"], int(match["k"]) if match["k"] else None


_PACKAGE_VERSION = re.compile(r"\|(?:([\w.-]+)==|version:(?=\d+\.\d))([^|]*)")
"""The version of a package in a signature; sacreBLEU calls its own ``version:2.6.0``."""


def drop_package_versions(signature: str) -> str:
    """Return a signature without the versions of packages, which make it no other metric."""
    return _PACKAGE_VERSION.sub("", signature)


ExamplesT = TypeVar("ExamplesT", contravariant=True)


class Metric(ABC, Generic[ExamplesT]):
    """A metric over all queries of a run, not only the mean of a value of each.

    ```python
    import numpy as np

    from target_bench import Metric, MetricSpec

    class Longest(Metric):
        spec = MetricSpec("longest", scale="unbounded", scores="texts")
        signature = "longest|v1"

        def statistics(self, examples):
            return np.array([[len(text), 1] for text in examples], dtype=float)

        def value(self, totals):
            return totals[..., 0] / totals[..., 1]

    print(Longest().per_query(Longest().statistics(["Paris", "Rome"])))  # [5. 4.]
    ```

    A metric reduces every query to a row of sufficient statistics; the score is a function of
    their column sums. So means, pooled ratios and corpus-level scores such as BLEU have the same
    kind of interval (``metrics.stats``), the same tests and the same files.

    Attributes:
        spec: its declaration.
        reads_outputs: whether ``statistics`` gets the answers and rankings of a system
            (``task.Outputs``), and not the examples that a task makes of them.
        context: settings that follow from the data; they stay when a user changes others.
    """

    spec: MetricSpec
    reads_outputs: bool = False
    context: Mapping[str, Any] = MappingProxyType({})

    @property
    def name(self) -> str:
        """The name as users write it, e.g. ``recall@10``."""
        return self.spec.name

    @property
    def highest(self) -> float:
        """The largest value of a score, that of the declaration; the lowest is 0."""
        return self.spec.top

    @property
    @abstractmethod
    def signature(self) -> str:
        """Everything that changes the value, in one string (after sacreBLEU's signatures).

        It holds the version of a package as ``name==version``.
        """

    @abstractmethod
    def statistics(self, examples: ExamplesT) -> Floats:
        """Return (n, m) sufficient statistics, one row per query."""

    @abstractmethod
    def value(self, totals: Floats) -> Floats:
        """Return the metric from (..., m) sums of statistics, shape (...)."""

    def count_queries(self, statistics: Floats) -> int:
        """Return the number of queries in the score. Default: all of them."""
        return len(statistics)

    def per_query(self, statistics: Floats) -> Floats:
        """Return (n,) the value of each query alone, NaN where it has none.

        Default: ``value`` of its row.
        """
        return self.value(statistics)

    def bounds(self, statistics: Floats) -> tuple[float, float]:
        """Return the lowest and the highest value that the score can have.

        Default: 0 and ``highest``, or the value of a query that lies outside of them.
        """
        values = self.per_query(statistics)
        values = values[~np.isnan(values)]
        return float(values.min(initial=0.0)), float(values.max(initial=self.highest))

    def weights(self, statistics: Floats) -> Floats:
        """Return (n,) the weight of each query in the score; 0 for one that is left out.

        Only their ratios matter. Default: all the same.
        """
        return np.ones(len(statistics))

    def leave_one_out(self, total: Floats, rows: Floats) -> Floats:
        """Return (n,) the values for the jackknife: of (m,) sums less each of (n, m) rows.

        Default: ``value`` of the differences. A metric that averages over what occurs among the
        queries, such as labels, holds that fixed.
        """
        return self.value(total - rows)


def compute_score(metric: Any, statistics: Floats) -> float:
    """Return a metric of (n, m) statistics, a function of their sums."""
    return float(metric.value(statistics.sum(axis=0)))


def to_mean_statistics(values: Floats) -> Floats:
    """Return (n, 2) statistics of a mean: each value and 1; two zeros for a NaN, so left out."""
    known = ~np.isnan(values)
    return np.column_stack([np.where(known, values, 0.0), known]).astype(np.float64)


def ratio(numerator: Any, denominator: Any, empty: float = 0.0) -> Floats:
    """Return numerator over denominator, ``empty`` where there is nothing to divide by."""
    numerator, denominator = np.asarray(numerator, dtype=np.float64), np.asarray(denominator)
    out: Floats = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), empty)
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out


def mean(totals: Floats) -> Floats:
    """Return the ratio of the first to the second sum; NaN of nothing."""
    return ratio(totals[..., 0], totals[..., 1], nan)


class RatioMetric(Metric[ExamplesT]):
    """A ratio of two sums; ``statistics`` returns (n, 2) numerators and denominators.

    ```python
    import numpy as np

    from target_bench import MetricSpec, RatioMetric

    class Capitals(RatioMetric):
        spec = MetricSpec("capitals", scores="texts")
        signature = "capitals|v1"

        def statistics(self, examples):
            return np.array([[sum(map(str.isupper, text)), len(text)] for text in examples])

    sums = Capitals().statistics(["USA", "Rome"]).sum(axis=0)
    print(f"{Capitals().value(sums):.3f}")  # 0.571
    ```

    For a mean these are the value of each query and 1, or two zeros where it has none.

    Attributes:
        empty: the value of nothing.
    """

    empty: ClassVar[float] = nan

    def value(self, totals: Floats) -> Floats:
        """Return numerator over denominator; ``empty`` where there is nothing to divide by."""
        return ratio(totals[..., 0], totals[..., 1], self.empty)

    def count_queries(self, statistics: Floats) -> int:
        """Return the number of queries that enter the denominator."""
        return int((statistics[:, 1] > 0).sum())

    def weights(self, statistics: Floats) -> Floats:
        """Return the denominators."""
        return statistics[:, 1]


class MeanOfValues(RatioMetric[Any]):
    """The sum of values over their number; NaN of nothing.

    Args:
        spec: the declaration.
        measure: examples -> for each answer its values: none, one or several.
        sign: returns the signature; called late, as it may import a package for its version.
    """

    def __init__(
        self,
        spec: MetricSpec,
        measure: Callable[[Any], Iterable[Iterable[float]]],
        sign: Callable[[], str],
    ) -> None:
        self.spec = spec
        self._measure = measure
        self._sign = sign

    @property
    def signature(self) -> str:
        """Everything that changes the value."""
        return self._sign()

    def statistics(self, examples: Any) -> Floats:
        """Return (n, 2): the sum of the values of each answer, and their number."""
        values = [list(answer) for answer in self._measure(examples)]
        return np.array([(sum(v), len(v)) for v in values], dtype=np.float64).reshape(-1, 2)

    def bounds(self, statistics: Floats) -> tuple[float, float]:
        """Return the lowest and the highest value; a metric of errors may count 1 at least."""
        lowest, highest = super().bounds(statistics)
        return lowest, highest if self.spec.higher_is_better else max(highest, 1.0)


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """A metric of this package in the registry: its declaration, and how an object is made.

    So metrics are listed without importing what computes them. A plug-in needs none: its class has
    the declaration as ``spec`` and makes objects itself.

    Attributes:
        spec: the declaration.
        make: settings -> the metric.
    """

    spec: MetricSpec
    make: Callable[..., Metric[Any]]

    def __call__(self, *arguments: Any, **settings: Any) -> Metric[Any]:
        """Make the metric."""
        return self.make(*arguments, **settings)

    @property
    def __signature__(self) -> Signature:
        """The settings, as the registry checks them."""
        return signature(self.make)


def by_name(*definitions: MetricDefinition) -> dict[str, MetricDefinition]:
    """Return name -> definition."""
    return {definition.spec.name: definition for definition in definitions}


@dataclass(frozen=True, slots=True)
class Score:
    """One metric over one set of queries: a number that prints its interval.

    ```python
    from target_bench import Score

    score = Score(0.75, 0.5, 0.9, n=40, signature="recall@10")
    print(score, 100 * score, score > 0.7)  # .750 [.500, .900] 75.0 True
    ```

    It is compared and computed with by its value, ``float(score)``; equal scores agree in all.

    Attributes:
        value: the metric, a fraction unless its documentation says otherwise; NaN over no query.
        low: lower bound of the 95% interval (``metrics.stats``; the signature says which).
        high: upper bound of the 95% interval.
        n: how many queries it is over (failed ones included, scored 0).
        signature: everything that changes the value, in one string.
        spec: the declaration of a metric that is not of this package; None of one that is, whose
            declaration is found by its name.
    """

    value: float
    low: float
    high: float
    n: int
    signature: str
    spec: MetricSpec | None = None

    def __float__(self) -> float:
        return self.value

    def __lt__(self, other: SupportsFloat) -> bool:
        return self.value < float(other)

    def __le__(self, other: SupportsFloat) -> bool:
        return self.value <= float(other)

    def __gt__(self, other: SupportsFloat) -> bool:
        return self.value > float(other)

    def __ge__(self, other: SupportsFloat) -> bool:
        return self.value >= float(other)

    def __add__(self, other: SupportsFloat) -> float:
        return self.value + float(other)

    def __sub__(self, other: SupportsFloat) -> float:
        return self.value - float(other)

    def __mul__(self, other: SupportsFloat) -> float:
        return self.value * float(other)

    def __truediv__(self, other: SupportsFloat) -> float:
        return self.value / float(other)

    def __rsub__(self, other: SupportsFloat) -> float:
        return float(other) - self.value

    def __rtruediv__(self, other: SupportsFloat) -> float:
        return float(other) / self.value

    __radd__ = __add__
    __rmul__ = __mul__

    def __round__(self, digits: int = 0) -> float:
        return round(self.value, digits)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        if isnan(self.value):
            return "–"
        known = not (isnan(self.low) or isnan(self.high))
        text = text_tables.score_text
        bounds = f" [{text(self.low)}, {text(self.high)}]" if known else ""
        return f"{text(self.value)}{bounds}"

    def __repr__(self) -> str:
        return f"Score({self}, n={self.n})"

    def __eq__(self, other: object) -> bool:
        """Return whether all is equal, also NaN and NaN."""
        return isinstance(other, Score) and self.to_json() == other.to_json()

    def to_json(self) -> dict[str, Any]:
        """Return field name -> value; NaN is None, as JSON has no NaN; ``spec`` only if set."""
        numbers = (("value", self.value), ("low", self.low), ("high", self.high))
        record: dict[str, Any] = {k: None if v != v else v for k, v in numbers}
        record |= {"n": self.n, "signature": self.signature}
        return record | ({"spec": self.spec.to_json()} if self.spec else {})

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Score":
        """Read the output of ``to_json``."""
        known: dict[str, Any] = {k: nan if value is None else value for k, value in record.items()}
        if "spec" in record:
            known["spec"] = MetricSpec.from_json(record["spec"])
        return cls(**known)


class _JsonCounts:
    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Return field name -> value; ``unlabelled`` only if there are any."""
        counts: dict[str, Any] = asdict(self)  # type: ignore[call-overload]  # the subclasses are
        return {name: n for name, n in counts.items() if n or name != "unlabelled"}


@dataclass(frozen=True, slots=True)
class Counts(_JsonCounts):
    """The denominators of a retrieval run, in queries.

    Attributes:
        asked: all queries of the split (after ``limit``).
        answered: those that got a ranking, an empty or short one included.
        failed: those whose retriever call raised or broke the contract; they score 0.
        empty: answered with no table at all.
        short: answered with fewer tables than asked for (the empty ones included).
        resorted: scored rankings that came in another order than their scores say.
        empty_queries: queries whose text is empty.
        tied: scored rankings in which tables of equal score were put in the order that breaks ties.
        divided_ties: scored rankings in which a cutoff divides tables of equal score.
        unlabelled: queries without gold tables, which are in no score.
    """

    asked: int
    answered: int = 0
    failed: int = 0
    empty: int = 0
    short: int = 0
    resorted: int = 0
    empty_queries: int = 0
    tied: int = 0
    divided_ties: int = 0
    unlabelled: int = 0


@dataclass(frozen=True, slots=True)
class AnswerCounts(_JsonCounts):
    """Counts of the queries that were asked, answered and failed; tokens and cost of answers.

    Attributes:
        asked: all queries of the split that the task is about (after ``limit``).
        answered: those that got an answer.
        failed: those whose generator call failed or whose tables could not be retrieved; they
            count as wrong.
        unparsed: answers in which what the task asks for could not be read; they count as wrong.
        truncated: prompts in which rows or tables were left out for want of room.
        at_token_limit: answers that reached their largest number of tokens.
        input_tokens: tokens of all prompts, as far as the provider counts them; None if it does
            not.
        output_tokens: the same of all answers.
        cost: of all answers, in the currency of the price table; None without one.
        unlabelled: queries without a reference answer. They are in no score, unless no query has
            one and the task has metrics that need none.
    """

    asked: int
    answered: int
    failed: int
    unparsed: int
    truncated: int
    at_token_limit: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    unlabelled: int = 0


def empty_scores(
    scores: Mapping[str, Score], per_query: Mapping[str, Floats]
) -> tuple[dict[str, Score], dict[str, Floats]]:
    """Return scores over no query, and NaN per query, in place of those of rankings without tables.

    They stand beside answers of which nothing was retrieved, as with ``no-context``: there, empty
    rankings say nothing. A run of its own that retrieves nothing scores 0, the lower bound.
    """
    none = {
        name: replace(score, value=nan, low=nan, high=nan, n=0) for name, score in scores.items()
    }
    return none, {name: np.full_like(values, nan) for name, values in per_query.items()}
