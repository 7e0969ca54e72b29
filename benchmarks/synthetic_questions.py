"""Do synthetic questions rank retrievers as the questions of people do?

    TARGET_BENCH_DATA=... python benchmarks/synthetic_questions.py            # what is reported
    TARGET_BENCH_DATA=... python benchmarks/synthetic_questions.py --tuning   # tuned on these

Nine retrievers rank the tables of a corpus by both kinds of questions (MiniLM reads 128 tokens of
a table in all three that use it). Kendall's tau-b compares the two orders by mean reciprocal rank,
and for comparison by recall@1. Synthetic questions are about the gold tables of people's. The
interval is a bootstrap over questions, both kinds resampled; the one for other retrievers is
Fieller's, as if these nine were drawn at random. ``halves`` is the mean tau
between two random halves of people's questions: no set of questions can be expected to agree much
better. ``clear`` counts the pairs of retrievers that people's questions tell apart (95% interval of
the paired difference), and those of them that synthetic questions put in the same order.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.stats import kendalltau

from target_bench import TARGET, ask
from target_bench.core.metric import SYNTHETIC
from target_bench.core.schema import Dataset
from target_bench.data.load import load
from target_bench.metrics.correlation import correlations

REPORTED = (("fetaqa", "test"), ("wtq", "test"))
TUNING = (("fetaqa", "validation"), ("wtq", "validation"))
_DENSE = "dense:encoder=minilm:max_tokens=128"
RETRIEVERS = (
    "bm25",
    "bm25:fields=[title,section,header]",
    "tfidf",
    "lsa",
    "rows",
    _DENSE,
    f"hybrid:retrievers=[bm25,'{_DENSE}']",
    "best",
)
HELP = "separated by semicolons, as 'bm25; tfidf' (commas separate settings); default: nine"
METRICS = ("mrr", "recall@1")
DEPTH = 100
RESAMPLES = 2000

Floats = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tuning", action="store_true")
    parser.add_argument("--corpus", help="only this one")
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--difficulty", default="mixed")
    parser.add_argument("--retrievers", default="; ".join(RETRIEVERS), help=HELP)
    given = parser.parse_args()
    for name, split in TUNING if given.tuning else REPORTED:
        if given.corpus in (None, name):
            _report(name, split, given)


def _report(name: str, split: str, given: argparse.Namespace) -> None:
    dataset = load(name, split)
    gold = {table for query in dataset.queries for table in query.gold}
    questions = ask(dataset, given.n, given.seed, given.difficulty, tables=gold).queries
    both = replace(dataset, queries=(*dataset.queries, *questions))
    retrievers = [spec.strip() for spec in given.retrievers.split(";")]
    values = _values(both, retrievers)
    print(f"{name} {split}: {len(dataset.queries):,} of people, {len(questions):,} synthetic")
    _print_scores(retrievers, values)
    for metric in METRICS:
        print(agreement(metric, values[metric], values[metric + SYNTHETIC]))


def _values(dataset: Dataset, retrievers: Sequence[str]) -> dict[str, Floats]:
    """Metric -> (retrievers, questions of its kind) values."""
    by_metric: dict[str, list[Floats]] = {}
    with tempfile.TemporaryDirectory() as out:
        target = TARGET(("retrieval", dataset), out=out)
        for spec in retrievers:
            per_query = target.run(spec, top_k=(1, 10, DEPTH))[0].per_query
            for metric in (name + mark for name in METRICS for mark in ("", SYNTHETIC)):
                of_kind = per_query[metric]
                by_metric.setdefault(metric, []).append(of_kind[~np.isnan(of_kind)])
    return {metric: np.array(rows) for metric, rows in by_metric.items()}


def _print_scores(retrievers: Sequence[str], values: dict[str, Floats]) -> None:
    table = Table(box=None)
    for column in ("retriever", *values):
        table.add_column(column.replace("[", "\\["))
    for i, spec in enumerate(retrievers):
        scores = (f"{of_metric[i].mean():.3f}" for of_metric in values.values())
        table.add_row(spec.replace("[", "\\["), *scores)
    Console(width=140).print(table)


def agreement(metric: str, people: Floats, synthetic: Floats) -> str:
    rng = np.random.default_rng(0)
    means = people.mean(axis=1), synthetic.mean(axis=1)
    tau = kendalltau(*means)
    drawn = [_tau(_resampled(people, rng), _resampled(synthetic, rng)) for _ in range(RESAMPLES)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    halves = np.mean([_tau(*_halves(people, rng)) for _ in range(RESAMPLES // 10)])
    clear, same = clear_pairs(people, synthetic)
    return (
        f"{metric}: tau {tau.statistic:.2f} ({low:.2f} to {high:.2f}), "
        f"for other retrievers {correlations(*means).kendall}, "
        f"exact p {tau.pvalue:.4f}, halves {halves:.2f}, clear {same} of {clear}"
    )


def _tau(first: Floats, second: Floats) -> float:
    return float(kendalltau(first, second, method="asymptotic").statistic)


def _resampled(values: Floats, rng: np.random.Generator) -> Floats:
    n = values.shape[1]
    means: Floats = values[:, rng.integers(n, size=n)].mean(axis=1)
    return means


def _halves(values: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    order = rng.permutation(values.shape[1])
    middle = len(order) // 2
    return values[:, order[:middle]].mean(axis=1), values[:, order[middle:]].mean(axis=1)


def clear_pairs(people: Floats, synthetic: Floats) -> tuple[int, int]:
    clear = same = 0
    for first, second in combinations(range(len(people)), 2):
        difference = people[first] - people[second]
        if abs(difference.mean()) <= 1.96 * difference.std(ddof=1) / np.sqrt(len(difference)):
            continue
        clear += 1
        same += difference.mean() * (synthetic[first].mean() - synthetic[second].mean()) > 0
    return clear, same


if __name__ == "__main__":
    main()
