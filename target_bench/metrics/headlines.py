"""Headline metrics of a run, in the order in which they are shown: from their declarations.

The metrics about answers come before those about rankings, each by its ``rank``. Of answers to
questions, the first one depends on the data: BLEU counts sequences of up to four words, so it says
nothing about answers of one or two. Where the median reference has at most ``MOST_WORDS`` words,
the metrics of short references stand for the run (exact match and token F1), else those of long
ones come first (BLEU and ROUGE-L). The scores of a run are recorded in this order, so whoever has
them needs no data to know it.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from statistics import median

from target_bench.core.errors import ConfigError
from target_bench.core.metric_spec import RANKINGS, MetricSpec, split
from target_bench.core.schema import Query, Score
from target_bench.metrics.named import Scores, specs_of

MOST_WORDS = 4
"""Words of a reference that is short: it holds one sequence of four words at most."""


def in_order(scores: Mapping[str, Score], queries: Sequence[Query]) -> dict[str, Score]:
    """Sort scores of answers in the order in which they are recorded: see the module."""
    if not have_short_answers(queries):
        return dict(scores)
    specs = specs_of(scores)
    ranked = sorted((name for name in scores if specs[name].rank is not None), key=_by_rank(specs))
    first = [name for name in ranked if specs[name].references == "short"]
    return {name: scores[name] for name in [*first, *(n for n in scores if n not in first)]}


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
    """List the main metrics about answers among those of a run.

    Where the references are short, those of long references are not among them. Where no metric
    about answers has a rank, all of them are.

    Args:
        scores: the metrics, in the order in which the run records them.
        every: keep those of long references there too, after the others.
    """
    specs = {name: spec for name, spec in specs_of(scores).items() if spec.of != RANKINGS}
    found = sorted((n for n in specs if specs[n].rank is not None), key=_by_rank(specs))
    if not found:
        return list(specs)
    kinds = [specs[name].references for name in specs if name in found]
    if next((kind for kind in kinds if kind != "any"), "long") == "long":
        return found
    found.sort(key=lambda name: specs[name].references == "long")
    return found if every else [name for name in found if specs[name].references != "long"]


def ranking_metrics(scores: Scores) -> list[str]:
    """List the main metrics about rankings among those of a run, by rank and cutoff."""
    specs = {n: s for n, s in specs_of(scores).items() if s.of == RANKINGS and s.rank is not None}
    return sorted(specs, key=lambda name: (_by_rank(specs)(name), _parts(name)[1]))


def main_metrics(scores: Scores) -> list[str]:
    """List the metrics that stand for a run: about answers; else about rankings; else all."""
    return answer_metrics(scores) or ranking_metrics(scores) or list(specs_of(scores))


def headline(scores: Scores, k: int | None = None) -> str:
    """Choose the one metric to show: the first of the main ones, at its largest cutoff.

    Args:
        scores: the metrics of a run; at least one.
        k: the cutoff to prefer where there is one.
    """
    main = main_metrics(scores)
    family = _parts(main[0])[0]
    cutoffs = {_parts(name)[1]: name for name in main if _parts(name)[0] == family}
    return cutoffs[k] if k in cutoffs else cutoffs[max(cutoffs)]


def table_metrics(scores: Scores, retrieved: bool = True, every: bool = False) -> list[str]:
    """List the metrics of a table of runs.

    Those about answers stand beside one about rankings: of databases if there is one, else the
    first at its largest cutoff.

    Args:
        scores: the metrics of all of its runs.
        retrieved: whether anything was to be ranked for the answers.
        every: as for ``answer_metrics``.
    """
    answers, rankings = answer_metrics(scores, every), ranking_metrics(scores)
    if not answers or not rankings:
        return answers or rankings or list(specs_of(scores))
    specs = specs_of(rankings)
    databases = [name for name in rankings if specs[name].needs]
    beside = databases[0] if databases else headline(rankings)
    return [beside, *answers] if retrieved else answers


def deciding_metric(scores: Scores) -> str | None:
    """Choose the metric that says of one answer whether it is right; None where none does."""
    specs = specs_of(scores)
    ranked = sorted((name for name in specs if specs[name].decides), key=_by_rank(specs))
    return ranked[0] if ranked else None


def _by_rank(specs: Mapping[str, MetricSpec]) -> Callable[[str], float]:
    def rank(name: str) -> float:
        found = specs[name].rank
        return inf if found is None else found

    return rank


def _parts(name: str) -> tuple[str, int]:
    """Return name and cutoff, 0 for none; text that is not the name of a metric has none."""
    try:
        family, k = split(name)
    except ConfigError:
        return name, 0
    return family, k or 0
