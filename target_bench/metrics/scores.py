"""Scores of a run: the declarations of their metrics, and which of them is the main one.

The declaration of a metric of this package is found by its name. That of any other metric is stored
beside the score (``Score.spec``), so that a run can be shown where the plug-in is not installed.

The main metric never depends on the scores: a task declares it (``Task.main``; default: the first
of its metrics), and it is recorded first. ``MetricSpec.rank`` sorts the others. Of a metric of
rankings the largest cutoff counts; between runs (``choose_metric_between_runs``) the smallest where
the largest covers every table of the corpus. A run of answers has the main metric of its answers,
not of its rankings. For question answering the main metric depends on the references. BLEU counts
sequences of up to four words, so it says nothing about answers of one or two: where the median
reference has at most ``MOST_WORDS`` words, exact match is the main metric, else BLEU.
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
    OF_RANKINGS,
    Metric,
    MetricSpec,
    Score,
    drop_package_versions,
    split_cutoff,
)
from target_bench.core.metric_function import FunctionMetric, MetricLike, resolve_metric
from target_bench.core.schema import Query
from target_bench.core.text_tables import count_noun

_EQUAL = 1e-9  # scores as close as this are equal: sums in another order differ by less

MOST_WORDS = 4  # of a short reference: it holds one sequence of four words at most

_NAMES_IN_PAPERS = {
    "table_precision": "set_precision",
    "table_recall": "set_recall",
    "table_f1": "set_f1",
    "perfect_recall": "complete_recall",
}
_NAMES_IN_PAPERS_AT_K = {
    "table_precision": "precision",
    "table_recall": "recall",
    "perfect_recall": "full_recall",
}
"""Names in papers on sets of tables -> names here, of the whole set and at a cutoff."""

ScoresOrNames = Iterable[str] | Mapping[str, Any]
"""Names of metrics, or name -> score: a ``Score``, what ``Score.to_json`` wrote, or a number."""


def definition(signature: str) -> str:
    """Return the part of a signature that defines the metric: no interval, no package versions."""
    return drop_package_versions(signature.partition("|interval:")[0])


# Declarations


def is_built_in(name: str) -> bool:
    """Return whether a name is of a metric of this package, with a cutoff where it needs one."""
    return _find_built_in(name) is not None


def refuse_built_in_names(metrics: Iterable[MetricLike]) -> None:
    """Refuse a metric of a user that has the name of one of this package, or of another column."""
    for metric in map(resolve_metric, metrics):
        is_of_package = type(metric).__module__.startswith("target_bench.")
        if is_of_package and not isinstance(metric, FunctionMetric):
            continue
        name = metric.spec.name  # without a cutoff: a function recall would be recall@10 too
        if registry.built_in_metric(name) or name in _NAMES_IN_PAPERS:
            raise ConfigError(
                f"{name!r} is the name of a metric of target-bench; give yours a name of its own"
            )
        if name in _COLUMNS:
            raise ConfigError(
                f"metric {name!r}: results have a column of this name; give it another, as "
                f"is_{name}"
            )


_COLUMNS = (
    *("corpus", "split", "task", "retriever", "generator", "name"),
    *("query_id", "query", "gold", "ranking", "answer"),
)
"""The columns beside metrics, in ``per_query.parquet`` and ``Results.to_arrow``."""


def find_spec(name: str, score: Any = None) -> MetricSpec:
    """Find the declaration of a metric.

    It is that of this package, else the one stored beside the score, else that of an installed
    plug-in. An unknown metric is taken for a share of which higher is better.
    """
    built_in = _find_built_in(name)
    if built_in is not None:
        return built_in
    stored = score.get("spec") if isinstance(score, Mapping) else getattr(score, "spec", None)
    if isinstance(stored, MetricSpec):
        return stored
    if stored is not None:
        return MetricSpec.from_json(stored)
    return _find_installed(name) or MetricSpec(name.partition("@")[0] or "metric", at_k="@" in name)


def canonical_name(name: str) -> str:
    """Return the name here of a metric that papers call otherwise: ``perfect_recall@5``."""
    family, at, k = name.partition("@")
    if at:
        return f"{_NAMES_IN_PAPERS_AT_K.get(family, family)}@{k}"
    return _NAMES_IN_PAPERS.get(name, name)


def find_specs(scores: ScoresOrNames) -> dict[str, MetricSpec]:
    """Find the declarations of the metrics of a run: name -> declaration, in the run's order."""
    if isinstance(scores, Mapping):
        return {name: find_spec(name, score) for name, score in scores.items()}
    return {name: find_spec(name) for name in scores}


def parse(name: str, needs_cutoff: bool = True) -> tuple[MetricSpec, int | None]:
    """Read the name of a metric as users write it: ``recall@10`` -> its declaration and cutoff.

    ``MetricSpec.at`` prints it again.
    """
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
    """Make the metric of a name with default settings; None if it is unknown or needs a setting.

    It reads stored statistics whatever the settings were: they decide what is counted for a query,
    not how counts become a value.
    """
    if ":" in name:
        return None  # reading a run imports no file that it names
    try:
        spec, k = parse(name)
        metric: Metric[Any] = registry.build("metric", spec.name, {} if k is None else {"k": k})
    except ConfigError:
        return None
    return metric


def hash_metric_code(scores: Iterable[str]) -> dict[str, str]:
    """Return metric without its cutoff -> a hash of the code that computes it here.

    Metrics of users have theirs in their signatures.
    """
    code = {}
    for family in dict.fromkeys(split_cutoff(name)[0] for name in scores):
        if target := registry.built_in_metric(family):
            code[family] = source_hash([target.partition(":")[0]])
    return code


def find_edited_metrics(stored: Mapping[str, str], scores: Iterable[str]) -> list[str]:
    """Return the metrics, without cutoffs, whose code differs from the stored hash."""
    here = hash_metric_code(scores)
    return [name for name in here if stored.get(name, here[name]) != here[name]]


@cache
def _find_built_in(name: str) -> MetricSpec | None:
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


# The main metric


def in_order(scores: Mapping[str, Score], main: str) -> dict[str, Score]:
    """Put the main metric of a task first; the others stay in their order."""
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


def list_answer_metrics(scores: ScoresOrNames, include_long: bool = False) -> list[str]:
    """List the main metrics of answers among those of a run, that of its task first.

    Where the first is for short references, those for long ones are left out, unless
    ``include_long``. Where no metric of answers has a rank, all of them are listed.
    """
    specs = {name: spec for name, spec in find_specs(scores).items() if spec.scores != OF_RANKINGS}
    if all(spec.rank is None for spec in specs.values()):
        return list(specs)
    main, *others = specs
    others = [name for name in others if specs[name].rank is not None]
    others.sort(key=lambda name: _rank(specs[name]))
    if specs[main].references != "short":
        return [main, *others]
    long = [name for name in others if specs[name].references == "long"]
    short = [name for name in others if name not in long]
    return [main, *short, *(long if include_long else [])]


def list_ranking_metrics(scores: ScoresOrNames) -> list[str]:
    """List the main metrics of rankings among those of a run: that of its task, then by rank.

    Each stands at its smallest cutoff first.
    """
    specs = {name: spec for name, spec in find_specs(scores).items() if spec.scores == OF_RANKINGS}
    if all(spec.rank is None for spec in specs.values()):
        return []
    families = {name: _split_cutoff(name) for name in specs}
    main = families[next(iter(specs))][0]

    def sort_key(name: str) -> tuple[bool, float, int]:
        family, k = families[name]
        return family != main, _rank(specs[name]), k

    listed = (n for n, spec in specs.items() if spec.rank is not None or families[n][0] == main)
    return sorted(listed, key=sort_key)


def list_main_metrics(scores: ScoresOrNames) -> list[str]:
    """List the main metrics of answers; without any, those of rankings; without any, all."""
    return list_answer_metrics(scores) or list_ranking_metrics(scores) or list(find_specs(scores))


def find_main_metric(scores: ScoresOrNames, k: int | None = None) -> str:
    """Return the main metric, at cutoff k if it was computed there, else at its largest cutoff."""
    cutoffs = _find_cutoffs(list_main_metrics(scores))
    return cutoffs[k] if k in cutoffs else cutoffs[max(cutoffs)]


def _find_cutoffs(names: Sequence[str]) -> dict[int, str]:
    """Return cutoff -> name, of the first metric of a list at all of its cutoffs."""
    family = _split_cutoff(names[0])[0]
    splits = {name: _split_cutoff(name) for name in names}
    return {k: name for name, (its_family, k) in splits.items() if its_family == family}


def choose_metric_between_runs(
    *groups: Sequence[Mapping[str, Any]], k: int | None = None, n_tables: int | None = None
) -> tuple[str, str | None]:
    """Return the main metric of runs, and a note where it cannot choose between them.

    ``choose_metric_between_runs([run.scores for run in runs])`` is of runs on one set of queries;
    for several sets, give a list for each.

    A metric cannot choose where all runs have the same score, or several the best possible one. A
    cutoff that covers all ``n_tables`` tables makes any complete ranking perfect, so there the
    smallest cutoff decides.
    """
    runs = [scores for group in groups for scores in group]
    main, candidates = find_main_metric(runs[0], k), list_main_metrics(runs[0])
    cutoffs = dict(sorted(_find_cutoffs(candidates).items()))
    smallest = next(iter(cutoffs.values()))

    def covers_corpus(name: str) -> bool:
        return n_tables is not None and _split_cutoff(name)[1] >= n_tables

    def is_complete(name: str) -> bool:
        return not any(isnan(_value(scores.get(name))) for scores in runs)

    def can_choose(name: str) -> bool:
        return not all(_is_saturated([scores[name] for scores in group], name) for group in groups)

    if len(runs) < 2 or not is_complete(main):
        return main, None
    note = None
    if covers_corpus(main) and not covers_corpus(smallest):
        note = f"{main} takes in all {count_noun(n_tables or 0, 'table')}; {smallest} decides"
        main = smallest
    if not is_complete(main) or can_choose(main):
        return main, note
    why = _explain_saturation(main, [[scores[main] for scores in group] for group in groups])
    for name in dict.fromkeys([*cutoffs.values(), *candidates]):
        if name != main and is_complete(name) and not covers_corpus(name) and can_choose(name):
            return main, f"{why}; look at {name}"
    return main, why


def is_perfect(name: str, score: Any) -> bool:
    """Return whether a score is the best possible one; False where a metric has none."""
    spec = find_spec(name, score)
    if not spec.higher_is_better:
        best = 0.0
    elif spec.scale == "unbounded" and spec.highest is None:
        return False
    else:
        best = spec.top
    return abs(_value(score) - best) <= _EQUAL


def _value(score: Any) -> float:
    value = score.get("value") if isinstance(score, Mapping) else getattr(score, "value", score)
    return nan if value is None else float(value)


def _is_saturated(scores: Sequence[Any], name: str) -> bool:
    """Return whether all scores are equal, or several the best possible one."""
    values = list(map(_value, scores))
    return max(values) - min(values) <= _EQUAL or sum(is_perfect(name, s) for s in scores) > 1


def _explain_saturation(name: str, groups: Sequence[Sequence[Any]]) -> str:
    """Say why a metric cannot choose: "recall@10 is 1.000 for both runs: too easy ..."."""
    if len(groups) > 1:
        return f"{name} cannot choose between the best runs on any set of queries"
    scores = groups[0]
    perfect = [score for score in scores if is_perfect(name, score)]
    equal = perfect or scores
    if len(equal) < len(scores):
        runs = f"{len(equal)} of {len(scores)} runs"
    else:
        runs = "both runs" if len(equal) == 2 else f"all {len(equal)} runs"
    value = find_spec(name, scores[0]).text(_value(equal[0]))
    if not perfect:
        return f"{name} is {value} for {runs}: it cannot choose"
    k = _split_cutoff(name)[1]
    return f"{name} is {value} for {runs}: too easy to choose {f'at k = {k}' if k else 'by it'}"


def list_column_metrics(scores: ScoresOrNames, retrieved: bool = True) -> list[str]:
    """List the metrics that get a column in a table of runs.

    Beside those of answers stands one of rankings, unless nothing was retrieved: ``recall[db]``
    where tables are in databases, else the main one at its largest cutoff.
    """
    answers, rankings = list_answer_metrics(scores), list_ranking_metrics(scores)
    if not answers or not rankings:
        return answers or rankings or list(find_specs(scores))
    if not retrieved:
        return answers
    databases = (name for name in rankings if name.startswith("recall[db]@"))
    return [next(databases, None) or find_main_metric(rankings), *answers]


def find_correctness_metric(scores: ScoresOrNames) -> str | None:
    """Choose the metric that says of one answer whether it is right; None where none does."""
    specs = find_specs(scores)
    deciding = (name for name in specs if specs[name].decides)
    return min(deciding, key=lambda name: _rank(specs[name]), default=None)


def _rank(spec: MetricSpec) -> float:
    return inf if spec.rank is None else spec.rank


def _split_cutoff(name: str) -> tuple[str, int]:
    """Return name and cutoff; 0 for no cutoff, and for text that is not the name of a metric."""
    try:
        family, k = split_cutoff(name)
    except ConfigError:
        return name, 0
    return family, k or 0
