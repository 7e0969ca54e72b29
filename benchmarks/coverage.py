"""How often 95% intervals hold the truth.

    python benchmarks/coverage.py                             # shares, computed exactly
    TARGET_BENCH_DATA=... python benchmarks/coverage.py       # and other scores and differences

Shares: the binomial probability of all counts whose interval holds the truth, for n queries of
which a share p would be answered right; beside ours the percentile bootstrap of version 0.1.0, and
other intervals of a proportion. Other scores and differences: samples of n queries, with
replacement, from the queries of real runs, whose score over all queries is the truth; "to .98" has
as many perfect queries mixed in as make the score .98.
"""

import argparse
import gzip
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from scipy import stats

from benchmarks.resampling import resampled_totals
from target_bench import evaluate
from target_bench.core.metric import Metric
from target_bench.harness.score_external import score_file
from target_bench.metrics.classification import LABELS, JudgedLabels, label_metrics
from target_bench.metrics.retrieval import parse
from target_bench.metrics.sql import DEFINITIONS, reward
from target_bench.metrics.stats import interval, interval_of_difference
from target_bench.runs.result import read_run
from target_bench.runs.slicing import read_metric

Floats = NDArray[np.float64]
Intervals = tuple[Floats, Floats]

SIZES = (20, 50, 100, 200, 500, 1000, 2000)
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998)
SAMPLED = (20, 50, 200, 1000)
LEAST, MOST = 0.92, 0.98
TAIL = 0.025
Z = stats.norm.isf(TAIL)
ROUNDING = 1e-6
CONSOLE = Console(width=120)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--trials", type=int, default=200, help="samples a figure")
    trials = arguments.parse_args().trials
    start = time.perf_counter()
    warnings.simplefilter("ignore")  # what is odd about the data
    _shares()
    if "TARGET_BENCH_DATA" not in os.environ:
        CONSOLE.print("no TARGET_BENCH_DATA: shares alone")
        return
    with tempfile.TemporaryDirectory() as folder:
        populations = list(_populations(Path(folder)))
    _scores(populations, trials)
    _differences(populations, trials)
    CONSOLE.print(f"{time.perf_counter() - start:.0f} s")


# -- shares -----------------------------------------------------------------------------------


def _ours(counts: NDArray[np.int64], n: int) -> Intervals:
    """The code that scores runs."""
    hits = (np.arange(n) < counts[:, None]).astype(np.float64)
    rows = (np.column_stack([row, np.ones(n)]) for row in hits)
    low, high = np.array([interval(parse("recall@1"), statistics) for statistics in rows]).T
    return low, high


def _percentile(counts: NDArray[np.int64], n: int) -> Intervals:
    """The percentile bootstrap with infinitely many resamples."""
    return tuple(stats.binom.ppf(q, n, counts / n) / n for q in (TAIL, 1 - TAIL))


def _beta(counts: NDArray[np.int64], n: int, less: float, more: float) -> Intervals:
    """Clopper & Pearson: 0 and 1; Jeffreys: 1/2 and 1/2."""
    with np.errstate(invalid="ignore"):
        low = stats.beta.ppf(TAIL, counts + less, n - counts + more)
        high = stats.beta.ppf(1 - TAIL, counts + more, n - counts + less)
    return np.where(counts == 0, 0.0, low), np.where(counts == n, 1.0, high)


def _agresti_coull(counts: NDArray[np.int64], n: int) -> Intervals:
    share = (counts + Z**2 / 2) / (n + Z**2)
    half = Z * np.sqrt(share * (1 - share) / (n + Z**2))
    return share - half, share + half


def _modified_wilson(counts: NDArray[np.int64], n: int) -> Intervals:
    """Brown, Cai & DasGupta 2001, section 4.1.1."""
    low, high = map(np.copy, _ours(counts, n))
    for few in range(1, 3 if n <= 50 else 4):
        bound = stats.chi2.ppf(0.05, 2 * few) / 2 / n
        low[counts == few], high[counts == n - few] = bound, 1 - bound
    return low, high


def _mid_p(counts: NDArray[np.int64], n: int) -> Intervals:
    """Clopper & Pearson's with half the probability of the count itself."""

    def below(share: Floats, tail: float) -> NDArray[np.bool_]:
        above = stats.binom.sf(counts, n, share) + stats.binom.pmf(counts, n, share) / 2
        less: NDArray[np.bool_] = above < tail
        return less

    low, high = (_bisected(partial(below, tail=tail), n + 1) for tail in (TAIL, 1 - TAIL))
    return np.where(counts == 0, 0.0, low), np.where(counts == n, 1.0, high)


def _bisected(below: Callable[[Floats], NDArray[np.bool_]], n: int) -> Floats:
    low, high = np.zeros(n), np.ones(n)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = np.where(below(middle), middle, low), np.where(below(middle), high, middle)
    return low


WAYS: dict[str, Callable[[NDArray[np.int64], int], Intervals]] = {
    "Wilson (ours)": _ours,
    "percentile bootstrap (0.1.0)": _percentile,
    "Wilson, modified near 0 and 1": _modified_wilson,
    "Jeffreys": partial(_beta, less=0.5, more=0.5),
    "mid-P": _mid_p,
    "Agresti & Coull": _agresti_coull,
    "Clopper & Pearson": partial(_beta, less=0.0, more=1.0),
}


def _coverage(intervals: Intervals, n: int, share: float) -> float:
    low, high = intervals
    held = (low - ROUNDING <= share) & (share <= high + ROUNDING)
    return float(stats.binom.pmf(np.arange(n + 1), n, share)[held].sum())


def _around(share: float) -> Floats:
    """Shares whose odds are within a factor 1.65 of this one's."""
    near: Floats = 1 / (1 + np.exp(-np.log(share / (1 - share)) - np.linspace(-0.5, 0.5, 21)))
    return near


def _shares() -> None:
    coverages, near = {}, {}
    for name, way in WAYS.items():
        made = {n: way(np.arange(n + 1), n) for n in SIZES}
        coverages[name] = np.array([[_coverage(made[n], n, p) for p in SHARES] for n in SIZES])
        near[name] = np.array(
            [
                [np.mean([_coverage(made[n], n, q) for q in _around(p)]) for p in SHARES]
                for n in SIZES
            ]
        )
    for name in list(WAYS)[:2]:
        title = f"Coverage of a share, {name}; in brackets: no interval has 92-98% there"
        table = Table(title=title, box=box.SIMPLE_HEAD)
        for column in ("n", *(f"p = {p:g}" for p in SHARES)):
            table.add_column(column, justify="right")
        for n, row in zip(SIZES, coverages[name], strict=True):
            cells = [
                f"{coverage:.3f}" if _attainable(n, p) else f"({coverage:.3f})"
                for p, coverage in zip(SHARES, row, strict=True)
            ]
            table.add_row(f"{n:,}", *cells)
        CONSOLE.print(table)
    open_ = np.array([[_attainable(n, p) for p in SHARES] for n in SIZES])
    title = f"{open_.size} pairs of n and p, of which {open_.sum()} can have 92-98%"
    table = Table(title=title, box=box.SIMPLE_HEAD)
    for column in ("interval", "of these not", "least", "most", "mean |c - .95|", "around p"):
        table.add_column(column, justify="right" if column != "interval" else "left")
    for name, covered in coverages.items():
        missed = ((covered < LEAST) | (covered > MOST)) & open_
        table.add_row(
            *(name, str(missed.sum()), f"{covered.min():.3f}", f"{covered.max():.3f}"),
            *(
                f"{np.abs(covered - 0.95).mean():.4f}",
                f"{near[name].min():.3f}-{near[name].max():.3f}",
            ),
        )
    CONSOLE.print(table)
    for n, p in zip(*np.nonzero(~open_), strict=True):
        near_by = [f"{c:.3f}" for c in _nearest(SIZES[n], SHARES[p])]
        CONSOLE.print(f"n = {SIZES[n]}, p = {SHARES[p]:g}: attainable {' or '.join(near_by)}")


def _attained(n: int, share: float) -> Floats:
    """The coverages of all sets of consecutive counts: of every interval that grows with them."""
    below = np.concatenate([[0.0], stats.binom.cdf(np.arange(n + 1), n, share)])
    coverages: Floats = (below[None, :] - below[:, None]).ravel()
    return coverages


def _attainable(n: int, share: float) -> bool:
    coverages = _attained(n, share)
    return bool(((coverages >= LEAST) & (coverages <= MOST)).any())


def _nearest(n: int, share: float) -> tuple[float, float]:
    coverages = _attained(n, share)
    return float(coverages[coverages < LEAST].max()), float(coverages[coverages > MOST].min())


# -- other scores, and differences ------------------------------------------------------------


@dataclass(frozen=True)
class Population:
    """Queries to sample from.

    Attributes:
        name: of the metric, and what was done.
        metric: the metric.
        rows: (N, m) statistics of all queries.
        other: the same of a second system; None where there is none.
    """

    name: str
    metric: Metric[Any]
    rows: Floats
    other: Floats | None = None

    def to(self, score: float) -> "Population":
        """With perfect queries mixed in, for a mean or a ratio."""
        rng = np.random.default_rng(1)
        share = (1 - score) / (1 - self.rows[:, 0].sum() / self.rows[:, 1].sum())
        perfect = self.rows[:, [1, 1]]
        places = rng.integers(0, len(perfect), 50_000)
        kept = rng.random(len(places))[:, None] < share
        return Population(
            f"{self.name}, to {score:g}".replace("0.", "."),
            self.metric,
            np.where(kept, self.rows[places], perfect[places]),
        )


def _populations(folder: Path) -> Iterator[Population]:
    pairs: list[tuple[str, tuple[str, ...], list[Path]]] = []
    for corpus, names in (
        ("ottqa", ("recall@10", "mrr", "ndcg@10", "precision@10")),
        ("bird", ("recall@1", "recall@10", "recall_micro@10", "capped_recall[target]@10")),
    ):
        results = evaluate(["bm25", "tfidf"], corpus, out=folder, top_k=[1, 10])
        runs = [result.folder for result in results]
        pairs.append((corpus, names, runs))
    given = Path(os.environ["TARGET_BENCH_DATA"]) / "fetaqa"
    order = _unpacked(given / "t5-test-predictions.feta_id_order.json.gz", folder)
    scored = [
        score_file(
            "question_answering",
            "fetaqa",
            predictions=_unpacked(given / f"t5-{size}-test-predictions.txt.gz", folder),
            order=order,
            out=folder,
        ).folder
        for size in ("base", "small")
    ]
    pairs.append(("fetaqa", ("token_f1", "rougeL", "exact_match", "sacrebleu"), scored))
    for corpus, wanted, folders in pairs:
        first, second = map(read_run, folders)
        for name in wanted:
            measured = read_metric(first, name)
            of_both = measured.statistics, read_metric(second, name).statistics
            yield Population(f"{corpus} {name}", measured.metric, *of_both)
    yield from _labels()
    yield from _times()
    yield from _close()


def _unpacked(path: Path, folder: Path) -> Path:
    plain = folder / path.name.removesuffix(".gz")
    with gzip.open(path) as packed, plain.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return plain


def _labels() -> Iterator[Population]:
    """Labels of given frequencies, and answers of two systems, each label as often right."""
    named = ("f1_weighted", "recall_macro", "f1_macro")
    for name, shares, right in (
        ("2 labels, .75", (2 / 3, 1 / 3, 0), (0.75, 0.75, 1)),
        ("2 labels, .98", (2 / 3, 1 / 3, 0), (0.98, 0.98, 1)),
        ("3 labels, one of 10%, .97", (0.6, 0.3, 0.1), (0.97, 0.97, 0.97)),
        ("3 labels, the rare ones hard", (0.7, 0.2, 0.1), (0.9, 0.7, 0.5)),
    ):
        rng = np.random.default_rng(2)
        gold = rng.choice(3, 20_000, p=shares)
        others, often = (3 if shares[2] else 2), np.array(right)[gold]
        answers = [
            (gold + rng.integers(1, others, len(gold)) * (rng.random(len(gold)) > often)) % others
            for _ in range(2)
        ]
        judged = [
            JudgedLabels([LABELS[a] for a in given], [LABELS[g] for g in gold]) for given in answers
        ]
        for metric in label_metrics():
            if metric.name in named:
                rows, other = (metric.statistics(answers) for answers in judged)
                yield Population(f"{name} {metric.name}", metric, rows, other)


def _times() -> Iterator[Population]:
    """R-VES of statements that are right nine times of ten, and about as fast as the gold."""
    rng, metric = np.random.default_rng(4), DEFINITIONS["r_ves"].make()
    ratios = np.exp(rng.normal(0, 0.2, 20_000))
    right = rng.random(len(ratios)) < 0.9
    values = np.array([100 * reward(ratio) ** 0.5 for ratio in ratios]) * right
    yield Population("r_ves, .9", metric, np.column_stack([values, np.ones(len(values))]))


def _close() -> Iterator[Population]:
    """Soft F1 of queries that are right or nearly so, but for one in fifty or a hundred."""
    rng, metric = np.random.default_rng(5), DEFINITIONS["soft_f1"].make()
    for nearly, shares in ((0.95, (0.5, 0.48, 0.02)), (0.98, (0.94, 0.05, 0.01))):
        values = rng.choice([1.0, nearly, 0.0], 50_000, p=shares)
        rows = np.column_stack([values, np.ones(len(values))])
        yield Population(f"1 ({shares[0]}), {nearly} ({shares[1]}), 0 ({shares[2]})", metric, rows)


CORPUS_LEVEL = ("sacrebleu",)


def _scores(populations: list[Population], trials: int) -> None:
    cases = [*populations]
    for score, named in (
        (0.98, ("ottqa mrr", "bird recall@10", "bird recall_micro@10", "fetaqa token_f1")),
        (0.995, ("ottqa mrr", "bird recall@10", "bird recall_micro@10")),
    ):
        cases += [population.to(score) for population in populations if population.name in named]
    table = _headed("Coverage of scores, simulated: ours / percentile bootstrap")
    least = [1.0, 1.0]
    for case in cases:
        truth = float(case.metric.value(case.rows.sum(axis=0)))
        cells = []
        for n in SAMPLED:
            rng, held = np.random.default_rng(n), np.zeros(2)
            times = _trials(case, trials)
            for _ in range(times):
                rows = case.rows[rng.integers(0, len(case.rows), n)]
                bounds = interval(case.metric, rows), _bootstrapped(case.metric, rows)
                held += [low - ROUNDING <= truth <= high + ROUNDING for low, high in bounds]
            least = np.minimum(least, held / times).tolist()
            cells.append(" / ".join(f"{c:.3f}" for c in held / times))
        table.add_row(escape(case.name), f"{truth:.3f}", *cells)
    CONSOLE.print(table)
    CONSOLE.print("least: {:.3f} / {:.3f}".format(*least))


def _differences(populations: list[Population], trials: int) -> None:
    table = _headed("Coverage of paired differences, simulated: ours / percentile bootstrap")
    least = [1.0, 1.0]
    for case in [*populations, *_shares_of_two()]:
        if case.other is None:
            continue
        both = np.hstack([case.rows, case.other])
        truth = _difference(case.metric, both.sum(axis=0))
        cells = []
        for n in SAMPLED:
            rng, held = np.random.default_rng(n), np.zeros(2)
            times = _trials(case, trials)
            for _ in range(times):
                rows = both[rng.integers(0, len(both), n)]
                totals = resampled_totals(rows, 1000)
                bounds = (
                    interval_of_difference(case.metric, *np.hsplit(rows, 2)),
                    np.quantile(_difference(case.metric, totals), [TAIL, 1 - TAIL]),
                )
                held += [low - ROUNDING <= truth <= high + ROUNDING for low, high in bounds]
            least = np.minimum(least, held / times).tolist()
            cells.append(" / ".join(f"{c:.3f}" for c in held / times))
        table.add_row(escape(case.name), f"{truth:+.3f}", *cells)
    CONSOLE.print(table)
    CONSOLE.print("least: {:.3f} / {:.3f}".format(*least))


def _shares_of_two() -> Iterator[Population]:
    """Systems that are both right for ``both`` of the queries, each alone for the others."""
    for both, first_alone, second_alone in (
        (0.97, 0.01, 0.01),
        (0.98, 0.015, 0),
        (0.9, 0.04, 0.02),
        (0.5, 0.05, 0.05),
    ):
        neither = 1 - both - first_alone - second_alone
        shares = np.array([both, first_alone, second_alone, neither])
        counts = np.round(shares * 10_000).astype(int)
        mine, theirs = (np.repeat(right, counts) for right in ([1.0, 1, 0, 0], [1.0, 0, 1, 0]))
        rows = (np.column_stack([right, np.ones(len(right))]) for right in (mine, theirs))
        yield Population(
            f"shares: both {both:g}, one {first_alone:g}, other {second_alone:g}",
            parse("recall@1"),
            *rows,
        )


def _difference(metric: Metric[Any], totals: Floats) -> Floats:
    first, second = np.split(totals, 2, axis=-1)
    return metric.value(first) - metric.value(second)


def _bootstrapped(metric: Metric[Any], rows: Floats) -> Floats:
    bounds: Floats = np.quantile(metric.value(resampled_totals(rows, 1000)), [TAIL, 1 - TAIL])
    return bounds


def _trials(case: Population, trials: int) -> int:
    """Corpus scores take a hundred times as long."""
    return trials // 8 if case.name.endswith(CORPUS_LEVEL) else trials


def _headed(title: str) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD)
    table.add_column("queries of")
    for column in ("truth", *(f"n = {n:,}" for n in SAMPLED)):
        table.add_column(column, justify="right")
    return table


if __name__ == "__main__":
    main()
