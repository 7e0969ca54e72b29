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
    OF_RANKINGS,
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

_SHOWN_LAST = 1000  # the rank of a ``MetricSpec``: after the metrics of the task


class FunctionMetric(RatioMetric[Outputs]):
    """The mean of a function over queries; call it as the function itself.

    ```python
    from target_bench import metric

    @metric(label="Short")
    def short(answer):
        return float(len(answer.split()) <= 5)

    print(short.name, short.spec.label, short("Paris"))  # short Short 1.0
    ```

    The names of the function's parameters say what it gets:

    * ``answer``: the text of the answer, without reasoning;
    * ``references``: the reference answers, a tuple of texts;
    * ``ranking``: the ids of the retrieved tables, best first; with ``k`` at most k of them;
    * ``gold``: the ids of the gold tables;
    * ``query``: the ``Query``;
    * ``k``: a cutoff; the metric is computed at each, as ``name@10``.

    With ``answer`` it is a metric of answers, else one of rankings. A parameter of another name
    needs a default, which it keeps. The function returns a number; NaN or None leaves the query
    out. A failed query scores 0 where higher is better, and is left out where lower is: what the
    function returns for no output may be the best value.

    Args:
        function: the function.
        **declaration: fields of a ``MetricSpec``. Default: the name is the function's, the
            description the first line of its docstring.

    Raises:
        ConfigError: a parameter has another name and no default, or a field is not of a
            ``MetricSpec``.
    """

    reads_outputs = True

    def __init__(self, function: Callable[..., float | None], **declaration: Any) -> None:
        update_wrapper(self, function)
        name = getattr(function, "__name__", type(function).__name__)
        self._function, self._names = function, _read_parameters(name, function)
        self._code = _identify(function)
        self._k: int | None = None
        derived: dict[str, Any] = {
            "scores": "answers" if "answer" in self._names else OF_RANKINGS,
            "at_k": "k" in self._names,
        }
        fields_to_set = sorted(MetricSpec.__dataclass_fields__.keys() - derived)
        for field in declaration:
            if field not in fields_to_set:
                raise ConfigError(f"metric {name}: {unknown_name('field', field, fields_to_set)}")
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
        """The name as users write it, e.g. ``short`` or ``near@10``."""
        return self.spec.at(self._k)

    @property
    def signature(self) -> str:
        """The name, and the identity of the function."""
        return f"{self.name}|{self._code}"

    def statistics(self, outputs: Outputs) -> Floats:
        """Return (n, 2): the value of each query and 1; zeros for one that is left out."""
        values = [self._measure(query, outputs) for query in outputs.dataset.queries]
        return to_mean_statistics(np.array(values, dtype=np.float64))

    def _measure(self, query: Query, outputs: Outputs) -> float:
        """Return the value of a query; NaN leaves it out."""
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
        if value is None:
            return nan
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = inf
        if isinf(number):
            raise PluginError(
                f"metric {self.name}: returned {show_value(value)} for query {query.id!r}; "
                "expected a finite number, or None to leave the query out"
            )
        return number


def _read_parameters(name: str, function: Callable[..., Any]) -> set[str]:
    """Return the names of the arguments that a function gets; ``FunctionMetric`` lists them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"metric {name}: its parameters cannot be read: {error}") from error
    names = {p.name for p in parameters if p.default is p.empty or p.name in _ARGUMENTS}
    if names - {*_ARGUMENTS} or names.isdisjoint({"answer", "ranking"}):
        raise ConfigError(
            f"metric {name}: expected a parameter answer or ranking, and optionally others of "
            f"{', '.join(_ARGUMENTS)}; found {', '.join(sorted(names)) or 'none'}"
        )
    if {"k", "answer"} <= names:
        raise ConfigError(f"metric {name}: a metric of answers has no cutoff; remove parameter k")
    return names


_UNIQUE: WeakKeyDictionary[Callable[..., Any], str] = WeakKeyDictionary()
"""Function of this process that has no hash -> its ``unique:`` signature."""


def _identify(function: Callable[..., Any]) -> str:
    """Return ``code:`` and a hash of a function: its code, defaults and captured variables.

    Where one of them has no hash this is ``unique:`` and a text that no other function has, so that
    scores by it are never reused.
    """
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
    except ANY_ERROR:  # typed in where no source is kept, or a value is no JSON
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
        ConfigError: as for ``FunctionMetric``, or the value of a field is not valid.
    """
    if function is not None:
        return FunctionMetric(function, **declaration)
    return lambda decorated: FunctionMetric(decorated, **declaration)


def resolve_metric(like: MetricLike) -> Metric[Any]:
    """Return the metric that an object, a function, or a text stands for."""
    if isinstance(like, str):
        like = _load_metric(like)
    if inspect.isroutine(like):
        return FunctionMetric(like)
    if not isinstance(like, Metric) or not isinstance(getattr(like, "spec", None), MetricSpec):
        raise ConfigError(
            f"{show_value(like)} is not a metric: give a function, a Metric with a MetricSpec as "
            "spec, or text such as file.py:short"
        )
    return like


def _load_metric(text: str) -> Any:
    """Return the function that a text names, or the metric, made with its settings."""
    spec = registry.parse("metric", text)
    plugin = registry.resolve("metric", spec.target)
    if isinstance(plugin, Metric) or inspect.isroutine(plugin):
        if spec.settings:
            raise ConfigError(f"metric {text!r}: a function has no settings")
        return plugin
    metric = registry.create("metric", text)
    # A metric of rankings of this package, made without its cutoff, is of no use.
    if getattr(metric, "k", 1) is None and getattr(metric, "name", "").endswith("@None"):
        raise ConfigError(
            f"metric {spec.target!r} has a cutoff: metrics of rankings are computed always, at "
            "the cutoffs of top_k (--top-k)"
        )
    return metric


def read_metrics(value: Any) -> tuple[Any, ...]:
    """Read the metrics of an option, one or a list; paths in texts are made absolute."""
    if value is None:
        return ()
    metrics = []
    for like in value if isinstance(value, list | tuple) else [value]:
        resolve_metric(like)  # raises where it is no metric
        if isinstance(like, str):
            target = registry.parse("metric", like).target
            metrics.append(registry.make_absolute(target) + like.removeprefix(target))
        else:
            metrics.append(like)
    return tuple(metrics)


def can_score(metric: Metric[Any], task: Task[Any]) -> bool:
    """Return whether a metric that was asked for can be computed for a task.

    What a metric scores is ``answers``, of every task about answers, or the word of some tasks.
    """
    if task.answer == "ranking":
        return metric.spec.scores == OF_RANKINGS
    return metric.spec.scores in {task.scores, "answers"} - {OF_RANKINGS, ""}


def combine_metrics(
    task: Task[Any],
    task_metrics: Sequence[Metric[Any]],
    asked: Sequence[MetricLike],
    cutoffs: Sequence[int] = (),
) -> list[Metric[Any]]:
    """Return a task's metrics, with the settings that were asked for, and those to add."""
    settings = {}  # of the metrics of the task: ``--metric sacrebleu:tokenize=zh``
    for like in asked:
        if isinstance(like, str):
            spec = registry.parse("metric", like)
            settings[spec.target] = spec.settings
    metrics = {}
    for metric in task_metrics:
        changed = settings.get(metric.name)
        if changed:
            metric = registry.build("metric", metric.name, {**metric.context, **changed})
        metrics[metric.name] = metric
    for metric in map(resolve_metric, asked):
        if not can_score(metric, task):
            continue
        added = [metric]
        if isinstance(metric, FunctionMetric) and metric.spec.at_k:
            added = [metric.at(k) for k in cutoffs]
        for each in added:
            metrics.setdefault(each.name, each)
    return list(metrics.values())


def check_metrics(metrics: Iterable[MetricLike], tasks: Mapping[str, Any]) -> None:
    """Raise ``ConfigError`` for a metric that none of the tasks can have."""
    has_rankings = any(task.source == "retrieved" for task in tasks.values())
    for metric in map(resolve_metric, metrics):
        if not tasks or any(can_score(metric, task) for task in tasks.values()):
            continue
        if metric.spec.scores == OF_RANKINGS and has_rankings:  # those that answers are built on
            continue
        noun = "task" if len(tasks) == 1 else "tasks"
        raise ConfigError(
            f"metric {metric.spec.name} scores {metric.spec.scores}, which the {noun} "
            f"{', '.join(tasks)} cannot have. A function of answers has a parameter answer, one of "
            "rankings a parameter ranking"
        )
