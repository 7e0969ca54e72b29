"""A metric as a function of one answer, or of one ranking.

A function ``short`` below ``@metric`` is used as ``evaluate(..., metrics=[short])`` or, on the
command line, as ``run --metric my_metrics.py:short``.
"""

import hashlib
import inspect
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import update_wrapper
from math import inf, isinf, nan
from types import FunctionType
from typing import Any, overload
from weakref import WeakKeyDictionary

import numpy as np

from target_bench.core import registry
from target_bench.core.errors import ANY_ERROR, ConfigError, PluginError, unknown_name
from target_bench.core.identity import code_hash
from target_bench.core.metric import (
    RANKINGS,
    Floats,
    Metric,
    MetricSpec,
    RatioMetric,
    to_mean_statistics,
)
from target_bench.core.plugin_errors import plugin_error
from target_bench.core.reasoning import without_reasoning
from target_bench.core.schema import Generation, Query, Retrieval
from target_bench.core.task import Outputs, Task
from target_bench.core.user_code import show_value

MetricLike = Metric[Any] | Callable[..., float | None] | str
"""A metric, a function, or text as on the command line: ``file.py:short``, a name of a metric."""

_ARGUMENTS = ("answer", "references", "ranking", "gold", "query", "k")

_SHOWN_LAST = 1000  # its place among the metrics that stand for a run: after the task's own


class FunctionMetric(RatioMetric[Outputs]):
    """The mean of a function over queries; call it as the function itself.

    ```python
    from target_bench import metric

    @metric(label="Short")
    def short(answer):
        return float(len(answer.split()) <= 5)

    print(short.name, short.spec.label, short("Paris"))  # short Short 1.0
    ```

    Args:
        function: what measures one query. The names of its parameters say what it is given:
            ``answer``, its text without a block of reasoning; ``references``, the reference answers
            as a tuple of texts; ``ranking``, the ids of the retrieved tables, best first; ``gold``,
            those of the gold tables; ``query``, a ``Query``; ``k``, a cutoff.
        **declaration: fields of a ``MetricSpec``. Default: the name is the function's, the
            description the first line of its docstring.

    A parameter of another name needs a default, which it keeps; one of these names is given its
    argument, default or not. With ``answer`` it is a metric of answers, else one of rankings. With
    ``k`` it is computed at every cutoff, as ``name@10``, and the ranking holds at most k tables. It
    returns a number; NaN or None leaves the query out. A failed query scores 0 where higher is
    better, and is left out where lower is: what it would get for no output may be the best value.

    Raises:
        ConfigError: a parameter is none of these.
    """

    reads_outputs = True

    def __init__(self, function: Callable[..., float | None], **declaration: Any) -> None:
        update_wrapper(self, function)
        name = getattr(function, "__name__", type(function).__name__)
        self._function, self._names = function, _read_parameters(name, function)
        self._code = _identify(function)
        self._k: int | None = None
        derived: dict[str, Any] = {
            "scores": "answers" if "answer" in self._names else RANKINGS,
            "at_k": "k" in self._names,
        }
        known = sorted(MetricSpec.__dataclass_fields__.keys() - derived)
        for field in declaration.keys() - known:
            raise ConfigError(f"metric {name}: {unknown_name('field', field, known)}")
        first_line = (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")
        fields = {"name": name, "description": first_line, "rank": _SHOWN_LAST, **declaration}
        self.spec = MetricSpec(**fields, **derived)

    def __call__(self, *arguments: Any, **named: Any) -> float | None:
        """Return what the function returns."""
        return self._function(*arguments, **named)

    def at(self, k: int) -> "FunctionMetric":
        """Return the same metric at a cutoff."""
        metric = copy(self)
        metric._k = k
        return metric

    @property
    def name(self) -> str:
        """As users write it, e.g. ``short`` or ``near@10``."""
        return self.spec.at(self._k)

    @property
    def signature(self) -> str:
        """The name, and the hash of the function: its code, defaults and enclosed values.

        Where one of them has no hash it is ``unique:``, equal to that of no other function.
        """
        return f"{self.name}|{self._code}"

    def statistics(self, outputs: Outputs) -> Floats:
        """Return (n, 2): the value of each query and 1; zeros for one that is left out."""
        values = [self._measure(query, outputs) for query in outputs.dataset.queries]
        return to_mean_statistics(np.array(values, dtype=np.float64))

    def _measure(self, query: Query, outputs: Outputs) -> float:
        ranking = outputs.predictions.rankings.get(query.id)
        ranking = ranking or Retrieval(query.id, (), error="none")
        arguments = {
            "query": query,
            "references": query.references,
            "gold": tuple(query.gold),
            "ranking": tuple(ranking.tables)[: self._k],
            "k": self._k,
        }
        output: Retrieval | Generation = ranking
        if "answer" in self._names:
            output = outputs.predictions.answers[query.id]
            arguments["answer"] = without_reasoning(output.text) or ""
        if output.error is not None:
            return 0.0 if self.spec.higher_is_better else nan
        try:
            value = self._function(**{name: arguments[name] for name in self._names})
        except ANY_ERROR as error:
            raise plugin_error(error, f"metric {self.name}", f"query {query.id!r}") from error
        try:
            number = nan if value is None else float(value)
        except (TypeError, ValueError, OverflowError):
            number = inf
        if isinf(number):
            raise PluginError(
                f"metric {self.name}: returned {show_value(value)} for query {query.id!r}; "
                "expected a finite number, or None to leave the query out"
            )
        return number


def _read_parameters(name: str, function: Callable[..., Any]) -> set[str]:
    """Return the parameters that a function is given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"metric {name}: its parameters cannot be read: {error}") from error
    names = {p.name for p in parameters if p.default is p.empty or p.name in _ARGUMENTS}
    if not names <= {*_ARGUMENTS} or not {"answer", "ranking"} & names:
        raise ConfigError(
            f"metric {name}: a function has a parameter answer or ranking, and more of "
            f"{', '.join(_ARGUMENTS)}; it has {', '.join(sorted(names)) or 'none'}"
        )
    if {"k", "answer"} <= names:
        raise ConfigError(f"metric {name}: a metric of answers is read at no cutoff k")
    return names


_UNIQUE: WeakKeyDictionary[Callable[..., Any], str] = WeakKeyDictionary()
"""What identifies each function of this process that has no hash."""


def _identify(function: Callable[..., Any]) -> str:
    """Return ``code:`` and a hash of what decides the values of a function, else ``unique:``."""
    try:
        if not isinstance(function, FunctionType):
            raise TypeError("an object, and so the object of a method, may hold anything")
        code = code_hash(function)
        enclosed = dict(inspect.getclosurevars(function).nonlocals)
        values = [enclosed, function.__defaults__, function.__kwdefaults__]
        if any(values):
            whole = f"{code} {function.__qualname__} {json.dumps(values, sort_keys=True)}"
            code = hashlib.sha256(whole.encode()).hexdigest()
        return f"code:{code[:16]}"
    except ANY_ERROR:  # typed in where no source is kept, or it encloses an object
        unique = f"unique:{uuid.uuid4().hex[:16]}"
        with suppress(TypeError):  # an object that cannot be a key
            return _UNIQUE.setdefault(function, unique)
        return unique


@overload
def metric(function: Callable[..., float | None]) -> FunctionMetric: ...


@overload
def metric(
    function: None = None, **declaration: Any
) -> Callable[[Callable[..., float | None]], FunctionMetric]: ...


def metric(
    function: Callable[..., float | None] | None = None, **declaration: Any
) -> FunctionMetric | Callable[[Callable[..., float | None]], FunctionMetric]:
    """Make a metric of a function, as ``@metric`` or ``@metric(higher_is_better=False)``.

    ```python
    from target_bench import evaluate, metric

    @metric(higher_is_better=True)
    def first_is_gold(ranking, gold):
        return float(ranking[0] in gold)

    results = evaluate("bm25", "mini", metrics=[first_is_gold])
    print(results["bm25"]["first_is_gold"])  # .864 [.819, .900]
    ```

    Args:
        function: see ``FunctionMetric``.
        **declaration: fields of a ``MetricSpec``, as ``label``, ``scale`` and ``digits``.

    Raises:
        ConfigError: a parameter of the function is none that a metric has, or a field or its value
            is not one of a ``MetricSpec``.
    """
    if function is not None:
        return FunctionMetric(function, **declaration)
    return lambda decorated: FunctionMetric(decorated, **declaration)


def resolve_metric(like: MetricLike) -> Metric[Any]:
    """Return a metric that was asked for: an object, a function, or one that text names."""
    if isinstance(like, str):
        spec = registry.parse("metric", like)
        found = registry.resolve("metric", spec.target)
        is_object = isinstance(found, Metric) or inspect.isroutine(found)
        if is_object and spec.settings:
            raise ConfigError(f"metric {like!r}: a function has no settings")
        like = found if is_object else registry.create("metric", like)
        if getattr(like, "k", 1) is None and getattr(like, "name", "").endswith("@None"):
            raise ConfigError(
                f"metric {spec.target!r} has a cutoff: metrics of rankings are computed always, at "
                "the cutoffs of top_k (--top-k)"
            )
    if inspect.isroutine(like):
        return FunctionMetric(like)
    if not isinstance(like, Metric) or not isinstance(getattr(like, "spec", None), MetricSpec):
        raise ConfigError(
            f"{show_value(like)} is not a metric: give a function, a Metric with a MetricSpec as "
            "spec, or text such as file.py:short"
        )
    return like


def read_metrics(name: str, value: Any) -> tuple[Any, ...]:  # noqa: ARG001 (a reader of options)
    """Read the metrics of an option, one or a list; paths in texts are made absolute."""
    listed = list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
    read = []
    for like in listed:
        resolve_metric(like)
        target = registry.parse("metric", like).target if isinstance(like, str) else ""
        read.append(registry.make_absolute(target) + like[len(target) :] if target else like)
    return tuple(read)


def can_score(metric: Metric[Any], task: Task[Any]) -> bool:
    """Return whether a metric that was asked for can be computed for a task."""
    if task.answer == "ranking":
        return metric.spec.scores == RANKINGS
    return metric.spec.scores in {task.scores, "answers"} - {RANKINGS, ""}


def select_metrics(
    asked: Sequence[MetricLike],
    task: Task[Any],
    own: Sequence[Metric[Any]],
    cutoffs: Sequence[int] = (),
) -> list[Metric[Any]]:
    """Return a task's metrics with the settings that were asked for, then the added ones."""
    settings = {}
    for text in (like for like in asked if isinstance(like, str)):
        spec = registry.parse("metric", text)
        settings[spec.target] = spec.settings
    metrics = {
        metric.name: registry.build("metric", metric.name, {**metric.context, **changed})
        if (changed := settings.get(metric.name))
        else metric
        for metric in own
    }
    for metric in map(resolve_metric, asked):
        if can_score(metric, task):
            at_all = [metric]
            if isinstance(metric, FunctionMetric) and metric.spec.at_k:
                at_all = [metric.at(k) for k in cutoffs]
            for each in at_all:
                metrics.setdefault(each.name, each)
    return list(metrics.values())


def check_metrics(metrics: Iterable[MetricLike], tasks: Mapping[str, Any]) -> None:
    """Check that every metric that was asked for is one of some task."""
    for metric in map(resolve_metric, metrics):
        retrieved = metric.spec.scores == RANKINGS and any(
            t.source == "retrieved" for t in tasks.values()
        )
        if tasks and not retrieved and not any(can_score(metric, t) for t in tasks.values()):
            named = f"task{'s' * (len(tasks) > 1)} {', '.join(tasks)}"
            raise ConfigError(
                f"metric {metric.spec.name} scores {metric.spec.scores}, which the {named} cannot "
                "have. A function of answers has a parameter answer, one of rankings a parameter "
                "ranking"
            )
