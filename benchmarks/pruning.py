"""What MaxScore and block-max could save: BM25's work for a query, counted and timed.

OTT-QA's validation tables among 100,000 of ``wikitables2019``, k = 10. Pruning needs a threshold,
the score of the tenth table. Here it is given the final one from the start, so that the counts are
the least that these two methods can reach. They are means over the questions.

* All weights: those of the query's terms are added up. This is what ``bm25`` does.
* MaxScore (Turtle and Flood 1995): the longest lists whose largest weights together stay below the
  threshold are not read. The tables found in the others are looked up in them, one list after the
  other, as long as they can still reach the threshold. The tables it finds are compared.
* Block-max (Ding and Suel 2011): the largest weight of each term in each block of tables is read,
  then the weights in blocks where the sum of these reaches the threshold.

    TARGET_BENCH_DATA=... python benchmarks/pruning.py [--questions 500]
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as TextTable
from scipy.sparse import hstack
from scipy.sparse._sparsetools import csc_matvec

from target_bench.data.load import folder_of, loader, read, read_tables
from target_bench.data.table_text import distinct
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.bm25 import BM25
from target_bench.search.lexical.products import Sums

K = 10
BLOCKS = (8, 16, 64)

_ONE = np.ones(1)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lists:
    """The lists of a query's terms, the longest first.

    Attributes:
        places: of each term the tables that have it, ascending.
        weights: of each term their weights.
        bounds: of each term the largest weight.
    """

    places: Sequence[NDArray[np.int32]]
    weights: Sequence[Floats]
    bounds: Sequence[float]

    @property
    def n(self) -> int:
        """Number of weights."""
        return sum(map(len, self.weights))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=500)
    weights, queries = _index(parser.parse_args().questions)
    n_tables = weights.shape[1]
    sums, scores_of_all = Sums(queries, weights, K), np.empty(n_tables)
    added, pruned, counts = 0.0, 0.0, []
    for i in range(queries.shape[0]):
        lists = _lists(weights, queries[i].indices)
        start = time.perf_counter()
        places, scores = sums.candidates(i)
        took = time.perf_counter() - start
        if len(places) < K:
            continue
        added += took
        threshold = np.partition(scores, -K)[-K] * (1 - 1e-12)  # rounding
        start = time.perf_counter()
        candidates, read, looked_up = _max_score(lists, threshold, scores_of_all)
        pruned += time.perf_counter() - start
        expected = places[scores >= threshold]
        assert np.array_equal(candidates, expected), f"question {i}: MaxScore found other tables"
        blocks = chain.from_iterable(_block_max(lists, threshold, n_tables, b) for b in BLOCKS)
        counts.append([lists.n, 0, read, looked_up, *blocks])
    _print(np.mean(counts, axis=0).reshape(-1, 2), len(counts), n_tables)
    print(f"MaxScore with numpy takes {pruned / added:.1f} x the time of adding all weights.")


def _index(n_questions: int) -> tuple[Any, Any]:
    """Return (terms, tables) weights and the (questions, terms) matrix."""
    plain = loader("ottqa")
    data = read(plain, folder_of(plain, None), "validation")
    more = loader("wikitables2019")
    tables = [*data.corpus, *read_tables(more, folder_of(more, None), "test").value]
    retriever = BM25()
    retriever.embed_corpus(MemoryCorpus(tables))
    postings = retriever._postings
    chosen = np.random.default_rng(7).permutation(len(data.queries))[:n_questions]
    terms = [distinct(retriever._analyzer(data.queries[i].text)) for i in chosen]
    return hstack(list(postings.shards), format="csr"), postings.queries(terms)


def _lists(weights: Any, terms: NDArray[np.integer[Any]]) -> Lists:
    spans = [slice(*weights.indptr[term : term + 2]) for term in terms]
    spans = sorted(spans, key=lambda span: span.start - span.stop)
    data = [weights.data[span] for span in spans]
    bounds = [float(of_term.max()) for of_term in data]
    return Lists([weights.indices[span] for span in spans], data, bounds)


def _max_score(lists: Lists, threshold: float, scores: Floats) -> tuple[Any, int, int]:
    """Return the tables that reach the threshold, and how much was read and looked up."""
    left_out, room = [], threshold
    for i, bound in enumerate(lists.bounds):
        if bound < room:
            left_out.append(i)
            room -= bound
    read = [i for i in range(len(lists.bounds)) if i not in left_out]
    scores.fill(0.0)
    for i in read:
        places, weights = lists.places[i], lists.weights[i]
        starts = np.array([0, len(places)], dtype=places.dtype)
        csc_matvec(len(scores), 1, starts, places, weights, _ONE, scores)
    candidates = np.flatnonzero(scores)
    known, rest, looked_up = scores[candidates], threshold - room, 0
    for i in sorted(left_out, key=lambda i: -lists.bounds[i]):
        possible = known + rest >= threshold
        candidates, known = candidates[possible], known[possible]
        looked_up += len(candidates)
        places, weights = lists.places[i], lists.weights[i]
        at = np.minimum(np.searchsorted(places, candidates), len(places) - 1)
        known += np.where(places[at] == candidates, weights[at], 0.0)
        rest -= lists.bounds[i]
    return candidates[known >= threshold], sum(len(lists.places[i]) for i in read), looked_up


def _block_max(lists: Lists, threshold: float, n_tables: int, size: int) -> tuple[int, int]:
    """Return how many weights and how many maxima of blocks are read."""
    bounds = np.zeros(-(-n_tables // size))
    inside = np.zeros(len(bounds), dtype=np.int64)
    maxima = 0
    for places, weights in zip(lists.places, lists.weights, strict=True):
        blocks = places // size
        starts = np.flatnonzero(np.diff(blocks, prepend=-1))
        bounds[blocks[starts]] += np.maximum.reduceat(weights, starts)
        inside[blocks[starts]] += np.diff(starts, append=len(blocks))
        maxima += len(starts)
    return int(inside[bounds >= threshold].sum()), maxima


def _print(means: Floats, n: int, n_tables: int) -> None:
    shown = TextTable(title=f"{n} questions, {n_tables:,} tables: means of a question")
    for column in ("", "weights read", "looked up, or maxima read"):
        shown.add_column(column, justify="right" if column else "left")
    names = ["all weights", "MaxScore", *(f"block-max, blocks of {size}" for size in BLOCKS)]
    for name, row in zip(names, means, strict=True):
        shown.add_row(name, *(f"{value:,.0f}" for value in row))
    Console().print(shown)


if __name__ == "__main__":
    main()
