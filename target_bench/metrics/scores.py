"""Scores of a run: the declarations of their metrics, and which of them is the main one.

The declaration of a metric of this package is found by its name. Of any other metric it stands
beside the score (``Score.spec``), so that a run is shown right where the plug-in is not installed.

A task declares its main metric (``Task.main``), whatever the scores are: it is recorded first, and
of metrics of rankings the largest cutoff counts, or the smallest where that takes in every table.
Metrics about answers come before those about rankings, the others each by its ``rank``. Of answers
to questions, the main one depends on the references: BLEU counts sequences of up to four words, so
it says nothing about answers of one or two. Where the median reference has at most ``MOST_WORDS``
words, exact match is the main metric, else BLEU.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import inf, isnan, nan
from statistics import median
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.identity import source_hash
from target_bench.core.metric import (
    RANKINGS,
    Metric,
    MetricSpec,
    Score,
    drop_package_versions,
    split_cutoff,
)
from target_bench.core.metric_function import MetricLike, resolve_metric
from target_bench.core.schema import Query
from target_bench.core.text_tables import count_noun

_EQUAL = 1e-9  # scores that are as close are equal: sums in another order differ by less

MOST_WORDS = 4  # of a short reference: it holds one sequence of four words at most

ALIASES = {
    "table_precision": ("precision", "set_precision"),
    "table_recall": ("recall", "set_recall"),
    "table_f1": (None, "set_f1"),
    "perfect_recall": ("full_recall", "complete_recall"),
}
"""Name in papers on sets of tables -> the metric at a cutoff, and that of the whole set."""

Scores = Iterable[str] | Mapping[str, Any]
"""Names of metrics, or name -> score: a ``Score``, what ``Score.to_json`` wrote, or a number."""


def definition(signature: str) -> str:
    """Return what a score's signature says of the metric, without interval and packages."""
    return drop_package_versions(signature.partition("|interval:")[0])


def is_built_in(name: str) -> bool:
    """Say whether this is the name of a metric of this package, with a cutoff or without."""
    return _built_in(name) is not None


def check_names(metrics: Iterable[MetricLike]) -> None:
    """See that no metric of a user's has the name of one of this package, which would hide it."""
    for made in map(resolve_metric, metrics):
        is_own = type(made).__module__.startswith("target_bench.") and not made.reads_outputs
        name = made.spec.name  # without a cutoff: a function recall would be recall@10 too
        if (registry.built_in_metric(name) or name in ALIASES) and not is_own:
            raise ConfigError(
                f"{name!r} is the name of a metric of target-bench; give yours a name of its own"
            )


def find_spec(name: str, score: Any = None) -> MetricSpec:
    """Find the declaration of a metric.

    It is that of the metric of this package, else the one stored beside the score, else that of an
    installed plug-in; a metric that none of them knows is taken for a share of which higher is
    better.
    """
    built_in = _built_in(name)
    if built_in is not None:
        return built_in
    stored = score.get("spec") if isinstance(score, Mapping) else getattr(score, "spec", None)
    if isinstance(stored, MetricSpec):
        return stored
    if stored is not None:
        return MetricSpec.from_json(stored)
    return _find_installed(name) or MetricSpec(name.partition("@")[0] or "metric", at_k="@" in name)


def canonical_name(name: str) -> str:
    """Return the name of a metric, of which papers may have another: ``perfect_recall@5``."""
    family, at, k = name.partition("@")
    at_k, whole = ALIASES.get(family, (None, None))
    return (f"{at_k}@{k}" if at and at_k else None if at else whole) or name


def find_specs(scores: Scores) -> dict[str, MetricSpec]:
    """Find the declarations of the metrics of a run: name -> declaration, in the run's order."""
    if isinstance(scores, Mapping):
        return {name: find_spec(name, score) for name, score in scores.items()}
    return {name: find_spec(name) for name in scores}


def parse(name: str, needs_cutoff: bool = True) -> tuple[MetricSpec, int | None]:
    """Read a metric as users write it: ``recall@10`` -> its declaration and its cutoff.

    ``MetricSpec.at`` prints it again. A class of a plug-in is written ``file.py:Class`` or
    ``module:Class``.
    """
    if ":" in name:
        return find_declaration(registry.resolve("metric", name), name), None
    family, k = split_cutoff(canonical_name(name))
    spec = find_declaration(registry.resolve("metric", family), family)
    if spec.at_k and k is None and needs_cutoff:
        raise ConfigError(f"metric {name!r}: write it with a cutoff, as in {spec.at(10)}")
    if not spec.at_k and k is not None:
        raise ConfigError(f"metric {name!r}: it has no cutoff; write it as {spec.at()}")
    return spec, k


def find_declaration(plugin: Any, name: str) -> MetricSpec:
    """Return the declaration of a class or object that the registry found."""
    spec = getattr(plugin, "spec", None)
    if not isinstance(spec, MetricSpec):
        raise ConfigError(
            f"{name!r} is not a metric: its class has no attribute `spec` with a MetricSpec"
        )
    return spec


def all_specs() -> list[MetricSpec]:
    """Return every registered metric: those of this package, then installed plug-ins."""
    return [find_declaration(registry.resolve("metric", n), n) for n in registry.names("metric")]


def make_default_metric(name: str) -> Metric[Any] | None:
    """Make the metric of a name with default settings; None where that cannot be done.

    Settings such as how labels are read change what is counted for a query, and are in the stored
    statistics; ``value`` is the same under all of them. A metric of an unknown plug-in, or one that
    needs a setting, is None.
    """
    if ":" in name:
        return None  # reading a run imports no file that it names
    try:
        spec, k = parse(name)
        made: Metric[Any] = registry.build("metric", spec.name, {} if k is None else {"k": k})
    except ConfigError:
        return None
    return made


def hash_code(scores: Iterable[str]) -> dict[str, str]:
    """Return metric without its cutoff -> a hash of the code that computes it here.

    Metrics of users have theirs in their signatures.
    """
    code = {}
    for name in scores:
        family = split_cutoff(name)[0]
        if family not in code and (found := registry.built_in_metric(family)):
            code[family] = source_hash([found.partition(":")[0]])
    return code


def find_edited_metrics(stored: Mapping[str, str], scores: Iterable[str]) -> list[str]:
    """Return the metrics that other code computed than the one here, without cutoffs."""
    here = hash_code(scores)
    return [name for name in here if stored.get(name, here[name]) != here[name]]


@cache
def _built_in(name: str) -> MetricSpec | None:
    """Return the declaration of a metric of this package."""
    try:
        family, k = split_cutoff(name)
    except ConfigError:
        return None
    if registry.built_in_metric(family) is None:
        return None
    spec = find_declaration(registry.resolve("metric", family), family)
    return spec if spec.at_k == (k is not None) else None


def _find_installed(name: str) -> MetricSpec | None:
    if ":" in name:
        return None  # reading a run imports no file that it names
    try:
        return parse(name)[0]
    except ConfigError:
        return None


def in_order(scores: Mapping[str, Score], main: str) -> dict[str, Score]:
    """Put the main metric of a task first, as scores of answers are recorded."""
    first = [name for name in scores if _split_cutoff(name)[0] == main]
    return {name: scores[name] for name in dict.fromkeys([*first, *scores])}


def have_short_answers(queries: Sequence[Query]) -> bool:
    """Return whether references have at most ``MOST_WORDS`` words in the median over queries.

    Of a query with several references its shortest counts. Words are what white space divides.
    """
    words = [
        min(len(reference.split()) for reference in query.references)
        for query in queries
        if query.answer
    ]
    return bool(words) and median(words) <= MOST_WORDS


def answer_metrics(scores: Scores, every: bool = False) -> list[str]:
    """List the main metrics about answers among those of a run, that of its task first.

    Where the main one is for short references, those of long ones are not among them. Where no
    metric about answers has a rank, all of them are.
    """
    specs = {name: spec for name, spec in find_specs(scores).items() if spec.scores != RANKINGS}
    ranked = [name for name in specs if specs[name].rank is not None]
    if not ranked:
        return list(specs)
    main, *others = ranked
    others.sort(key=lambda name: _rank(specs[name]))
    if specs[main].references != "short":
        return [main, *others]
    others.sort(key=lambda name: specs[name].references == "long")
    return [main, *(n for n in others if every or specs[n].references != "long")]


def ranking_metrics(scores: Scores) -> list[str]:
    """List the main metrics about rankings among those of a run, by rank and cutoff."""
    specs = find_specs(scores)
    ranked = [n for n, s in specs.items() if s.scores == RANKINGS and s.rank is not None]
    return sorted(ranked, key=lambda name: (_rank(specs[name]), _split_cutoff(name)[1]))


def main_metrics(scores: Scores) -> list[str]:
    """List the metrics that stand for a run: about answers; else about rankings; else all."""
    return answer_metrics(scores) or ranking_metrics(scores) or list(find_specs(scores))


def headline(scores: Scores, k: int | None = None) -> str:
    """Return the main metric: the first of the main ones, at its largest cutoff."""
    main = main_metrics(scores)
    family = _split_cutoff(main[0])[0]
    cutoffs = {_split_cutoff(name)[1]: name for name in main if _split_cutoff(name)[0] == family}
    return cutoffs[k] if k in cutoffs else cutoffs[max(cutoffs)]


def leading(
    *groups: Sequence[Mapping[str, Any]], k: int | None = None, n_tables: int | None = None
) -> tuple[str, str | None]:
    """Return the main metric, and say so where it cannot choose between runs.

    Use: ``leading([run.scores for run in runs])``.

    It never depends on the scores. A cutoff that takes in every table makes any complete ranking
    perfect, so there the smallest one is the main one. A metric cannot choose where all runs have
    the same score or several the best possible one.
    """
    runs = [scores for group in groups for scores in group]
    main, others = headline(runs[0], k), main_metrics(runs[0])
    family = [name for name in others if _split_cutoff(name)[0] == _split_cutoff(main)[0]]
    family.sort(key=lambda name: _split_cutoff(name)[1])

    def lists_all(name: str) -> bool:
        return n_tables is not None and _split_cutoff(name)[1] >= n_tables

    def is_complete(name: str) -> bool:
        return not any(isnan(_value(scores.get(name))) for scores in runs)

    def can_choose(name: str) -> bool:
        return not all(_is_saturated([scores[name] for scores in group], name) for group in groups)

    if len(runs) < 2 or not is_complete(main):
        return main, None
    note = None
    if lists_all(main) and not lists_all(family[0]):
        note = f"{main} takes in all {count_noun(n_tables or 0, 'table')}; {family[0]} decides"
        main = family[0]
    if not is_complete(main) or can_choose(main):
        return main, note
    why = _why_saturated(main, [[scores[main] for scores in group] for group in groups])
    for name in dict.fromkeys([*family, *others]):
        if name != main and is_complete(name) and not lists_all(name) and can_choose(name):
            return main, f"{why}; look at {name}"
    return main, why


def is_perfect(name: str, score: Any) -> bool:
    """Return whether a score is the best possible one; False where a metric has none."""
    spec = find_spec(name, score)
    best = spec.top if spec.higher_is_better else 0.0
    if spec.higher_is_better and spec.scale == "unbounded" and spec.highest is None:
        best = inf
    return abs(_value(score) - best) <= _EQUAL


def _value(score: Any) -> float:
    value = score.get("value") if isinstance(score, Mapping) else getattr(score, "value", score)
    return nan if value is None else float(value)


def _is_saturated(scores: Sequence[Any], name: str) -> bool:
    """Return whether all scores are equal, or several the best possible one."""
    values = list(map(_value, scores))
    return max(values) - min(values) <= _EQUAL or sum(is_perfect(name, s) for s in scores) > 1


def _why_saturated(name: str, groups: Sequence[Sequence[Any]]) -> str:
    if len(groups) > 1:
        return f"{name} cannot choose between the best runs on any set of queries"
    (scores,), spec, k = groups, find_spec(name, groups[0][0]), _split_cutoff(name)[1]
    perfect = [score for score in scores if is_perfect(name, score)]
    alike = perfect or scores
    runs = "both runs" if len(alike) == 2 else f"all {len(alike)} runs"
    if len(alike) < len(scores):
        runs = f"{len(alike)} of {len(scores)} runs"
    easy = f"too easy to choose {f'at k = {k}' if k else 'by it'}"
    value = spec.text(_value(alike[0]))
    return f"{name} is {value} for {runs}: {easy if perfect else 'it cannot choose'}"


def table_metrics(scores: Scores, retrieved: bool = True, every: bool = False) -> list[str]:
    """List the metrics of a table of runs.

    Those about answers stand beside one about rankings: of databases if there is one, else the
    first at its largest cutoff.
    """
    answers, rankings = answer_metrics(scores, every), ranking_metrics(scores)
    if not answers or not rankings:
        return answers or rankings or list(find_specs(scores))
    specs = find_specs(rankings)
    databases = [name for name in rankings if specs[name].needs]
    beside = databases[0] if databases else headline(rankings)
    return [beside, *answers] if retrieved else answers


def deciding_metric(scores: Scores) -> str | None:
    """Choose the metric that says of one answer whether it is right; None where none does."""
    specs = find_specs(scores)
    deciding = (name for name in specs if specs[name].decides)
    return min(deciding, key=lambda name: _rank(specs[name]), default=None)


def _rank(spec: MetricSpec) -> float:
    return inf if spec.rank is None else spec.rank


def _split_cutoff(name: str) -> tuple[str, int]:
    """Return name and cutoff, 0 for none; text that is not the name of a metric has none."""
    try:
        family, k = split_cutoff(name)
    except ConfigError:
        return name, 0
    return family, k or 0
