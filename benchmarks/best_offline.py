"""How much the retrievers that need no network find, and how the weights of ``best`` are learned.

    TARGET_BENCH_DATA=... python benchmarks/best_offline.py              # recall, all corpora
    TARGET_BENCH_DATA=... python benchmarks/best_offline.py --distractors ottqa:split=train
    TARGET_BENCH_DATA=... python benchmarks/best_offline.py --ablate     # without one kind each
    TARGET_BENCH_DATA=... python benchmarks/best_offline.py --fit        # learn the weights again

Encoding is done once: embeddings are cached. ``--fit`` learns from validation splits, without the
tables and questions that a scored split has, too. It prints what each corpus alone teaches, and
what the weights find on the validation splits, ties counted as a run counts them.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.optimize import minimize
from scipy.special import logsumexp

from examples.training import overlap
from target_bench import evaluate
from target_bench.core.ranking import top_k
from target_bench.core.schema import Dataset
from target_bench.data.load import load
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.rows import WEIGHTS, Best
from target_bench.search.lexical.table_evidence import KINDS

SCORED = (("ottqa", "validation"), ("fetaqa", "test"), ("tabfact", "test"))
RETRIEVERS = ("bm25", "hybrid", "rows", "best")
LEARNED_FROM = ("fetaqa", "tabfact")
DEPTH = 100
RIDGE = 1e-4

Floats = NDArray[np.float64]


def main() -> None:
    arguments = _arguments()
    if arguments.fit:
        _fit()
        return
    retrievers = arguments.retrievers.split(",")
    if arguments.ablate:
        retrievers = ["best", "best:cosine=0", *(f"best:weights={{{k}: 0}}" for k in KINDS)]
    scored = SCORED[:1] if arguments.distractors else SCORED
    table = Table(title="R@1 / R@10, and seconds of indexing and of asking (embeddings cached)")
    for column in ("retriever", *(f"{name} {split}" for name, split in scored)):
        table.add_column(column)
    for spec in retrievers:
        table.add_row(spec, *(_cell(spec, *named, arguments.distractors) for named in scored))
    Console(width=140).print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--retrievers", default=",".join(RETRIEVERS))
    parser.add_argument("--distractors", action="append", default=[])
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--fit", action="store_true")
    return parser.parse_args()


def _cell(spec: str, corpus: str, split: str, distractors: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as out:
        [result] = evaluate(
            spec, corpus, split=split, top_k=(1, 10), distractors=distractors, out=out
        )
    first, ten = (result.scores[f"recall@{k}"].value for k in (1, 10))
    index, ranking = (result.times.seconds.get(stage) for stage in ("embed_corpus", "retrieve"))
    times = " + ".join("–" if took is None else f"{took:.0f}" for took in (index, ranking))
    return f"{first:.4f} / {ten:.4f}  {times} s"


def _fit() -> None:
    """Print the weights that both corpora teach, and each by itself."""
    scored = [load(*split) for split in SCORED]
    read = {name: _candidates(_clean(load(name, "validation"), scored)) for name in LEARNED_FROM}
    splits = {name: _candidates(load(name, "validation")) for name in (*LEARNED_FROM, "ottqa")}
    table = Table(title="Weights, the cosine counting 1; R@1 / R@10 on the validation splits")
    for column in ("learned from", *KINDS, *splits):
        table.add_column(column)
    for names in (LEARNED_FROM, *((name,) for name in LEARNED_FROM)):
        weights = _learned([read[name] for name in names])
        weights = weights / weights[-1]
        kinds = (f"{weight:.2f}" for weight in weights[:-1])
        table.add_row("+".join(names), *kinds, *(_recall(weights, *splits[n][:2]) for n in splits))
    today = np.array([*WEIGHTS.values(), 1.0])
    kinds = (f"{weight:.2f}" for weight in today[:-1])
    table.add_row("in use", *kinds, *(_recall(today, *splits[n][:2]) for n in splits))
    Console(width=180).print(table)


def _clean(data: Dataset, scored: Sequence[Dataset]) -> Dataset:
    """A split without the questions and tables, copies included, that a scored split has."""
    contents = overlap.contents_of(data)
    gold = frozenset[str]().union(*(overlap.met(dataset).tables for dataset in scored))
    tables = [t for t in data.corpus if contents[t.id] not in gold]
    queries = overlap.apart(data, scored).queries
    print(
        f"{data.info.name} {data.split}: {len(data.corpus) - len(tables)} tables and "
        f"{len(data.queries) - len(queries)} questions are left out, a scored split has them"
    )
    return replace(data, corpus=MemoryCorpus(tables), queries=queries)


def _candidates(data: Dataset) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Features (n, DEPTH, kinds and cosine), the place of the gold table, the query's mass.

    Candidates are the best by the weights of today, in the order of the corpus; a gold table that
    is not among them takes the place of the last.
    """
    start = time.perf_counter()
    retriever = Best()
    retriever.embed_corpus(data.corpus)
    tables = np.asarray(retriever._vectors, dtype=np.float64).T
    today = np.array([*WEIGHTS.values(), 1.0])
    features, gold, masses = [], [], []
    for first in range(0, len(data.queries), 128):
        queries = data.queries[first : first + 128]
        texts = [query.text for query in queries]
        evidence = retriever._evidence
        kinds = evidence.features(texts)
        cosine = retriever._encoding.queries(texts).astype(np.float64) @ tables
        every = np.stack([*kinds, cosine], axis=2)
        right = np.array([data.corpus.positions[query.gold[0]] for query in queries])
        best = np.argsort(-(every @ today), axis=1, kind="stable")[:, :DEPTH]
        missing = ~(best == right[:, None]).any(axis=1)
        best[missing, -1] = right[missing]
        best.sort(axis=1)
        features.append(np.take_along_axis(every, best[:, :, None], axis=1))
        gold.append((best == right[:, None]).argmax(axis=1))
        masses.append(evidence.weigh_queries([evidence._words(text) for text in texts]))
    print(
        f"{data.info.name}: {len(data.queries):,} queries, {time.perf_counter() - start:.0f} s",
        flush=True,
    )
    return np.concatenate(features), np.concatenate(gold), np.concatenate(masses)


def _learned(corpora: Sequence[tuple[Floats, NDArray[np.int64], Floats]]) -> Floats:
    """The weights of the largest mean log-likelihood, every corpus counting the same.

    The likelihood of a gold table is its softmax among the candidates. A query's scores are
    multiplied by its mass, which changes no ranking: more evidence makes a surer choice.
    """
    surer = [(f * mass[:, None, None], gold) for f, gold, mass in corpora]

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, gradient = RIDGE * float(weights @ weights), 2 * RIDGE * weights
        for features, gold in surer:
            scores = features @ weights
            right = np.arange(len(gold)), gold
            total = logsumexp(scores, axis=1)
            shares = np.exp(scores - total[:, None])
            shares[right] -= 1
            value += float((total - scores[right]).mean()) / len(surer)
            slope = np.einsum("qc,qcf->f", shares, features) / len(gold)
            gradient = gradient + slope / len(surer)
        return value, gradient

    start = np.full(len(KINDS) + 1, 0.5)
    learned: Floats = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return learned


def _recall(weights: Floats, features: Floats, gold: NDArray[np.int64]) -> str:
    """R@1 / R@10 by the rule of a run: equal scores keep the order of the corpus."""
    best, _ = top_k(features @ weights, 10)
    hits = best == gold[:, None]
    return f"{hits[:, :1].any(axis=1).mean():.4f} / {hits.any(axis=1).mean():.4f}"


if __name__ == "__main__":
    main()
