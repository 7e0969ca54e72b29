"""Which metrics speak for a run, in the order in which they are shown.

Of answers to questions, the first one depends on the data: BLEU counts sequences of up to four
words, so it says nothing about answers of one or two. Where the median reference has at most
``MOST_WORDS`` words, exact match and token F1 stand for the run, else BLEU and ROUGE-L come first.
The scores of a run are recorded in this order, so whoever has them needs no data to know it.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from target_bench.core.schema import Query, Score

ANSWER_METRICS = (
    "sacrebleu",
    "rougeL",
    "exact_match",
    "token_f1",
    "bertscore",
    "accuracy",
    "f1_weighted",
    "f1_macro",
    "ex[bird]",
    "ex[spider]",
    "ex[multiset]",
    "soft_f1",
    "r_ves",
)
"""The main metrics about answers, in the order that tables show them."""

MOST_WORDS = 4
"""Words of a reference that is short: it holds one sequence of four words at most."""

_OF_SHORT = ("exact_match", "token_f1")
_OF_LONG = ("sacrebleu", "rougeL")


def in_order(scores: Mapping[str, Score], queries: Sequence[Query]) -> dict[str, Score]:
    """Scores of answers in the order in which they are recorded: see the module."""
    first = [name for name in _OF_SHORT if name in scores and have_short_answers(queries)]
    return {name: scores[name] for name in [*first, *(n for n in scores if n not in first)]}


def have_short_answers(queries: Sequence[Query]) -> bool:
    """Whether the references have at most ``MOST_WORDS`` words in the median over queries.

    Of a query with several references its shortest counts. Words are what white space divides.
    """
    words = [
        min(len(reference.split()) for reference in query.references)
        for query in queries
        if query.answer
    ]
    return bool(words) and median(words) <= MOST_WORDS


def answer_metrics(names: Iterable[str], every: bool = False) -> list[str]:
    """The main metrics about answers among those of a run.

    Where the references are short, BLEU and ROUGE-L are not among them. Of a task with metrics of
    its own these are all but those of rankings.

    Args:
        names: metrics in the order in which the run records them.
        every: keep BLEU and ROUGE-L there too, after the others.
    """
    recorded = list(names)
    found = [name for name in ANSWER_METRICS if name in recorded]
    found += [name for name in recorded if not found and not _is_of_rankings(name)]
    if {"exact_match", "sacrebleu"} <= set(found):
        short = recorded.index("exact_match") < recorded.index("sacrebleu")
        found.sort(key=lambda name: short and name not in _OF_SHORT)
        if short and not every:
            found = [name for name in found if name not in _OF_LONG]
    return found


def _is_of_rankings(name: str) -> bool:
    return "@" in name or name.partition("[")[0] in ("mrr", "map", "r_precision")


def main_metrics(names: Sequence[str]) -> list[str]:
    """The main ones among metrics: about answers; else recall, of databases too, and MRR."""
    recalls = [name for name in names if name.startswith(("recall@", "recall[db]@"))]
    found = answer_metrics(names) or [*recalls, *(name for name in names if name == "mrr")]
    return found or list(names)


def headline(names: Sequence[str]) -> str:
    """The one metric to show: the first about answers, else the deepest recall."""
    main = main_metrics(names)
    recalls = [name for name in main if name.startswith("recall@")]
    return recalls[-1] if recalls else main[0]
