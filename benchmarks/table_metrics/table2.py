"""How far metrics of tables agree with people: Table 2 of TabXEval (Pancholi et al. 2025).

    TARGET_BENCH_DATA=... python -m benchmarks.table_metrics.table2
    python -m benchmarks.table_metrics.table2 --corpus mini
    python -m benchmarks.table_metrics.table2 --corpus written
    python -m benchmarks.table_metrics.table2 --metric bleurt \\
        --metric bertscore:model=MODEL --judge openai:model=NAME --entailment MODEL

Each set has one reference and a ranking of its tables: by people in TabXBench and mini, by a rule
that was fixed before in written_tables.yaml. Of every metric: the mean over the sets of
Spearman's rho with its 95% interval (bootstrap over sets, 10,000 draws, percentile), of Kendall's
tau-b, weighted tau, rank-biased overlap and Spearman's footrule (a distance); the share of sets
with equal scores; milliseconds of processor time a table; p of the paired randomisation test over
the rho of the sets against **file order**, the baseline that scores earlier tables higher. A set
in which a table has no score is left out. ``--judge`` asks a generator twice about every table for
the P-Score, up to three times for TabXEval checked by a model, once for the Direct-LLM rubric, and
once about every set for LLM ranking: that may cost money. With ``--entailment``, a model of natural
language inference, it asks about every table once more, for TabEval. Any generator will do, one
that replays recorded replies included.
"""

import argparse
import json
import os
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.resampling import resampled_totals
from benchmarks.table_metrics import metrics
from benchmarks.table_metrics.model_baselines import direct_rubric, entailment_by, ranking, tabeval
from benchmarks.table_metrics.rank_agreement import MEASURES, agreements
from benchmarks.table_metrics.ranked_tables import RankedSet, ranked_sets, written_sets
from target_bench.core.metric import mean, of_mean
from target_bench.core.reasoning import without_reasoning
from target_bench.data.load import load
from target_bench.metrics.stats import randomization_test
from target_bench.models.comparison_judge import compared_by_model
from target_bench.models.judges import text_of
from target_bench.models.table_judge import PairJudge, p_score, pair_replies, parse_reply

Floats = NDArray[np.float64]
Scores = list[Floats]
"""The scores of the tables of each set; higher is better, NaN where there is none."""

CORPORA = ("tabxbench", "mini", "written", "written-errors")
FILE_ORDER = "file order"
RESAMPLES = 10_000
OPEN = (
    "The rules of TabXEval were corrected while some twenty of these tables lay open: its figure "
    "is none on unseen tables. --corpus written has tables that were ranked before it ran."
)
"""What is said wherever TabXEval by rules is shown on TabXBench."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", choices=CORPORA, default="tabxbench")
    parser.add_argument("--metric", action="append", default=[], help="another of the package")
    parser.add_argument("--judge", metavar="GENERATOR")
    parser.add_argument("--entailment", metavar="MODEL", help="for TabEval, as roberta-large-mnli")
    parser.add_argument("--unrolling", type=Path, metavar="FILE", help="a prompt for TabEval")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    options = parser.parse_args()
    if options.corpus.startswith("written"):
        sets = written_sets(errors_alone=options.corpus.endswith("errors"))
    else:
        sets = ranked_sets(load(options.corpus))
    scores, seconds = all_scores(sets, options.metric)
    if options.judge:
        scores |= judged(sets, options.judge)
        if options.entailment:
            entails = entailment_by(options.entailment)
            scores["TabEval"] = tabeval(options.judge, sets, entails, options.unrolling)
    if options.corpus == "tabxbench":
        scores["TabXEval (released, GPT-4o)"] = released(Path(os.environ["TARGET_BENCH_DATA"]))
    rows = sorted(table(sets, scores, seconds), key=lambda row: -row["spearman"])
    if options.json:
        print(json.dumps(noted(rows, options.corpus), indent=1))
        return
    if options.corpus == "tabxbench":
        print(f"{OPEN}\n")
    names = (
        "metric",
        "Spearman",
        "95%",
        "Kendall",
        "weighted",
        "RBO",
        "footrule",
        "ties",
        "ms",
        "p",
    )
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for row in rows:
        low, high = row["interval"]
        means = (f"{row[name]:.3f}" for name in MEASURES[1:])
        cells = [row["metric"], f"{row['spearman']:.3f}", f"{low:.2f} to {high:.2f}", *means]
        print("|", " | ".join([*cells, f"{row['ties']:.2f}", _ms(row), f"{row['p']:.3f}"]), "|")


def _ms(row: dict[str, float]) -> str:
    return "–" if row["ms"] is None else f"{row['ms']:.2f}"


def all_scores(
    sets: Sequence[RankedSet], more: Sequence[str] = ()
) -> tuple[dict[str, Scores], dict[str, float]]:
    """Score all tables with all metrics that need no model, and others of the package by name.

    Returns:
        Metric -> scores, those of the order of the file among them; metric -> seconds.
    """
    pairs = [pair for ranked in sets for pair in ranked.pairs]
    scores = {FILE_ORDER: [-np.arange(len(ranked.pairs), dtype=float) for ranked in sets]}
    seconds = {}
    for name in dict.fromkeys((*metrics.METRICS, *metrics.OF_PACKAGE, *more)):
        values, seconds[name] = metrics.values(name, pairs)
        scores[name] = _by_set(sets, values)
    return scores, seconds


def table(
    sets: Sequence[RankedSet], scores: dict[str, Scores], seconds: dict[str, float]
) -> list[dict]:  # type: ignore[type-arg]
    """Return a row a metric: its mean agreement with the rankings, and how sure that is."""
    measured = {name: agreement(sets, values_of_pairs) for name, values_of_pairs in scores.items()}
    baseline = measured[FILE_ORDER][:, 0]
    n_tables = sum(len(ranked.pairs) for ranked in sets)
    rows = []
    for name, values in measured.items():
        scored = ~np.isnan(values).any(axis=1)
        rho = values[scored, 0]
        if not len(rho):
            continue
        drawn = mean(resampled_totals(of_mean(rho), RESAMPLES))
        tied = [len(np.unique(np.round(own, _DIGITS))) < len(own) for own in scores[name]]
        rows.append(
            {
                "metric": name,
                "sets": len(rho),
                **dict(zip(MEASURES, values[scored].mean(axis=0).tolist(), strict=True)),
                "interval": np.quantile(drawn, [0.025, 0.975]).tolist(),
                "ties": float(np.mean(np.array(tied)[scored])),
                "ms": 1000 * seconds[name] / n_tables if name in seconds else None,
                "p": randomization_test(rho, baseline[scored])[0],
            }
        )
    return rows


_DIGITS = 9
"""Decimals by which scores are compared: what lies below is rounding."""


def noted(rows: Sequence[dict[str, object]], corpus: str) -> list[dict[str, object]]:
    """Return rows of ``table``, with a ``note`` where the rules saw the tables of the corpus."""
    return [
        {**row, "note": OPEN if (row["metric"], corpus) == ("tabxeval", "tabxbench") else None}
        for row in rows
    ]


def agreement(sets: Sequence[RankedSet], scores: Scores) -> Floats:
    """Return (sets, 5) of ``MEASURES``; a row of NaN for a set with a table without a score."""
    measured = np.full((len(sets), len(MEASURES)), np.nan)
    kept = [i for i, values in enumerate(scores) if not np.isnan(values).any()]
    measured[kept] = agreements(
        [sets[i].order for i in kept], [np.round(scores[i], _DIGITS).tolist() for i in kept]
    )
    return measured


def judged(sets: Sequence[RankedSet], generator: object) -> dict[str, Scores]:
    """Ask a model about every table: P-Score, TabXEval checked by it, and the paper's baselines.

    A table that it does not answer about in the form that was asked for has no score: rules do
    not stand in for it.
    """
    pairs = {str(i): pair for i, pair in enumerate(p for ranked in sets for p in ranked.pairs)}
    replies = pair_replies(
        PairJudge(generator),
        {name: (pair.plain, pair.gold, "text") for name, pair in pairs.items()},
    )
    p_scores = [
        p_score([parse_reply(without_reasoning(text_of(reply) or "")) for reply in replies[name]])
        for name in pairs
    ]
    compared = compared_by_model(
        generator,
        {
            name: (pair.reference.tables[0], pair.answer.tables[0])
            for name, pair in pairs.items()
            if pair.answer.tables
        },
    )
    by_model = [
        0.0
        if name not in compared
        else np.nan
        if compared[name].unread
        else compared[name].comparison.score()
        for name in pairs
    ]
    return {
        "P content": _by_set(sets, np.array([score.content for score in p_scores])),
        "P structure": _by_set(sets, np.array([score.structure for score in p_scores])),
        "TabXEval (model)": _by_set(sets, np.array(by_model)),
        "Direct-LLM rubric": direct_rubric(generator, sets),
        "LLM ranking": ranking(generator, sets),
    }


def released(data: Path) -> Scores:
    """Return the scores that the authors released of TabXBench's tables."""
    path = data / "tabxbench" / "our_scores.json"
    return [
        np.array([record[f"result{place}"] for place in range(5)])
        for record in json.loads(path.read_text())
    ]


def _by_set(sets: Sequence[RankedSet], values: Floats) -> Scores:
    return np.split(values, list(accumulate(len(ranked.pairs) for ranked in sets))[:-1])


if __name__ == "__main__":
    main()
