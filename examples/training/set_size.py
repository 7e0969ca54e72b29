"""Learn how many tables are a set: the share of the first score that ``adaptive`` should keep.

    python -m examples.training.set_size --corpus bird --keep-out beaver:validation

ranks the questions of a split with a retriever, tries all shares in steps of 0.01 and prints the
one with the largest mean F score of the sets, as the setting of ``adaptive``; of equally good ones
the one with the smallest sets. The share belongs to the scores of that retriever, as it is set.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from examples.training import overlap
from target_bench import ConfigError, evaluate, load
from target_bench.models.set_sizes import shares


def main(arguments: Sequence[str] | None = None) -> None:
    """Rank, try all shares, print the best."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--split", default="validation")
    parser.add_argument("--keep-out", action="append", default=[], metavar="CORPUS:SPLIT")
    parser.add_argument("--shared-tables", action="store_true")
    parser.add_argument("--retriever", default="bm25")
    parser.add_argument("--beta", type=float, default=1.0, help="2: recall counts twice as much")
    parser.add_argument("--depth", type=int, default=50, help="the largest size of a set")
    options = parser.parse_args(arguments)
    scored = [load(*named.rpartition(":")[::2]) for named in options.keep_out]
    whole = load(options.corpus, options.split)
    dataset = overlap.apart(whole, scored, options.shared_tables)
    dataset = replace(dataset, queries=tuple(query for query in dataset.queries if query.gold))
    left_out = len(whole.queries) - len(dataset.queries)
    if not dataset.queries:
        raise ConfigError(f"no question is left: {left_out:,} overlap or have no gold table")
    (run,) = evaluate(options.retriever, dataset, top_k=[options.depth])
    scores = np.zeros((len(dataset.queries), options.depth))
    filled = np.zeros(scores.shape, dtype=bool)
    hits = np.zeros(scores.shape, dtype=bool)
    for i, query in enumerate(dataset.queries):
        ranking = run.rankings[query.id]
        n = len(ranking.tables)
        if n and not ranking.scores:
            raise ConfigError(f"{options.retriever} ranks without scores")
        scores[i, :n], filled[i, :n] = ranking.scores, True
        hits[i, :n] = [table in query.gold for table in ranking.tables]
    n_gold = np.array([len(query.gold) for query in dataset.queries])
    share, f_score, size = best_share(scores, filled, hits, n_gold, options.beta)
    print(
        f"{len(n_gold):,} questions, {left_out:,} left out: mean F {f_score:.3f}, size {size:.1f}"
    )
    name = f"retriever='{options.retriever}'," if options.retriever != "bm25" else ""
    print(f"adaptive:{name}rule=share,share={share:g},depth={options.depth}")


def best_share(
    scores: np.ndarray, filled: np.ndarray, hits: np.ndarray, n_gold: np.ndarray, beta: float = 1.0
) -> tuple[float, float, float]:
    """Return the best share, the mean F score of its sets, and their mean size.

    Args:
        scores: (n, depth), best first.
        filled: (n, depth) where there is a table.
        hits: (n, depth) where it is a gold table.
        n_gold: (n,) how many gold tables there are.
        beta: how many times as much recall counts as precision.
    """
    of_first = np.where(filled, shares(scores, filled), -1.0)
    tried = []
    for share in (np.arange(101) / 100).tolist():
        kept = of_first >= share
        size, correct = kept.sum(axis=1), (hits & kept).sum(axis=1)
        f_score = (1 + beta**2) * correct / (size + beta**2 * n_gold)
        tried.append((round(float(f_score.mean()), 9), -float(size.mean()), share))
    f_score, size, share = max(tried)
    return share, f_score, -size


if __name__ == "__main__":
    main()
