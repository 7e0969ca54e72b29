"""Which metrics speak for a run."""

from collections.abc import Sequence

from target_bench.results import ANSWER_METRICS


def main_metrics(names: Sequence[str]) -> list[str]:
    """The main ones among metrics: about answers; else recall, of databases too, and MRR."""
    answers = [name for name in ANSWER_METRICS if name in names]
    recalls = [name for name in names if name.startswith(("recall@", "recall[db]@"))]
    return answers or [*recalls, *(name for name in names if name == "mrr")] or list(names)


def headline(names: Sequence[str]) -> str:
    """The one metric to show: the first about answers, else the deepest recall."""
    main = main_metrics(names)
    recalls = [name for name in main if name.startswith("recall@")]
    return recalls[-1] if recalls else main[0]
