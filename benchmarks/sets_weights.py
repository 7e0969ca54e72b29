"""Learn the weights of the retriever ``sets``, and measure its sets at a chosen mean size.

    TARGET_BENCH_DATA=... python -m benchmarks.sets_weights --learn
    TARGET_BENCH_DATA=... python -m benchmarks.sets_weights --corpus spider --size 2.6
    ... --corpus bird --size 5 --evidence                 # questions with BIRD's evidence added
    ... --corpus spider --size 2.6 --distractors spider:split=train --retriever sets:weights=bird
    ... --retriever sets:encoder=none                     # other settings
    ... --best                                            # the share with the best F2, too

``--learn`` learns from the validation splits of Spider, of BIRD, and of both, each with vectors of
MiniLM and without, and writes all into the package. A corpus that is scored gets weights that were
learned from none of its tables (``weights=auto``), and each line of figures names them.

The share of the first probability at which sets have the given mean size is found from the
probabilities alone; gold tables are only counted. Ridge and weight of gold tables are the same for
all weights. They were chosen by the figures of Spider with the weights of BIRD, and the other way.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from retrievers import sets
from target_bench.core.registry import create
from target_bench.core.schema import Corpus, Dataset
from target_bench.data.load import load

TITLES = {"spider": "Spider validation", "bird": "BIRD validation"}
FIRST_RIDGE, DATABASE_RIDGE, TABLE_RIDGE = 1e-4, 1e-4, 1e-2
GOLD_WEIGHT = 5.0
"""How much a gold table counts, another table of its database counting 1."""
BETA = 2.0
"""Of the F score by which the default share is chosen: recall counts twice as much."""

SHARES = np.arange(1, 100) / 100

Floats = NDArray[np.float64]


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn, or measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("-o", "--out", default=Path(sets.__file__).parent / sets.WEIGHTS_FILE)
    parser.add_argument("--corpus")
    parser.add_argument("--retriever", default="sets")
    parser.add_argument("--size", type=float, action="append", default=[])
    parser.add_argument("--best", action="store_true", help="measure the share with the best F2")
    parser.add_argument("--evidence", action="store_true", help="append BIRD's evidence")
    parser.add_argument("--distractors", action="append", default=[])
    options = parser.parse_args(arguments)
    if options.learn:
        learned = learn()
        Path(options.out).write_text(json.dumps(learned, indent=0) + "\n", encoding="ascii")
    if options.corpus:
        dataset = load(options.corpus, distractors=options.distractors)
        if options.evidence:
            dataset = with_evidence(dataset)
        for line in measured(dataset, options.retriever, options.size, options.best):
            print(json.dumps(line))


def with_evidence(dataset: Dataset) -> Dataset:
    """Return BIRD with the evidence of each question after it."""
    queries = (replace(q, text=f"{q.text} {q.metadata['evidence']}") for q in dataset.queries)
    return replace(dataset, queries=tuple(queries))


def measured(
    dataset: Dataset, spec: str, sizes: Sequence[float], best: bool = False
) -> list[dict[str, Any]]:
    """Return the figures of the default share, of those of mean sizes, and of the best by F2."""
    retriever = create("retriever", spec)
    retriever.embed_corpus(dataset.corpus)
    texts = [query.text for query in dataset.queries]
    evidence = list(retriever.evidence(texts))
    model = retriever.model
    logs = [model.log_probabilities(e, retriever.databases, retriever.joined) for e in evidence]
    shares = np.exp(np.concatenate(logs))
    shares /= shares.max(axis=1, keepdims=True)
    gold = gold_of(dataset)
    lines = []
    wanted = [model.share if retriever.share is None else retriever.share]
    wanted += [np.sort(shares.ravel())[-round(size * len(shares))] for size in sizes]
    if best:
        wanted.append(SHARES[np.argmax(f_scores(shares, gold))])
    for least in wanted:
        kept = shares >= least
        hits, n, n_gold = (kept & gold).sum(axis=1), kept.sum(axis=1), gold.sum(axis=1)
        figures = {
            "complete_recall": hits == n_gold,
            "set_recall": hits / n_gold,
            "set_precision": hits / n,
            "set_f1": 2 * hits / (n + n_gold),
            "set_size": n,
        }
        means = {name: round(float(np.mean(value)), 4) for name, value in figures.items()}
        lines.append({"share": round(float(least), 5), **means, "weights": retriever.learned_from})
    return lines


def gold_of(dataset: Dataset) -> NDArray[np.bool_]:
    """Return (queries, tables) whether a table is gold."""
    gold = np.zeros((len(dataset.queries), len(dataset.corpus)), dtype=bool)
    for i, query in enumerate(dataset.queries):
        gold[i, [dataset.corpus.positions[table] for table in query.gold]] = True
    return gold


def learn() -> dict[str, object]:
    """Return all weights, with the digests of the tables that they were learned from."""
    datasets = {name: load(name) for name in TITLES}
    weights: dict[str, dict[str, object]] = {name: {} for name in sets.WEIGHTS}
    for encoder in ("minilm", "none"):
        read = {name: Examples.read(dataset, encoder) for name, dataset in datasets.items()}
        for name, of_name in weights.items():
            of_name[encoder] = learned_from([read[part] for part in name.split("+")])
    digests = {n: sorted(set(map(sets.schema_digest, d.corpus))) for n, d in datasets.items()}
    return {"titles": TITLES, "tables": digests, "weights": weights}


class Learner(sets.Sets):
    """The evidence of a corpus, with no weights yet."""

    def choose_weights(self, corpus: Corpus) -> None:
        """Take none."""


def learned_from(read: Sequence["Examples"]) -> dict[str, object]:
    """Return the weights that the questions of some data sets teach, each set counting the same."""
    first = logistic([each.first() for each in read], FIRST_RIDGE)
    database = softmax([each.database(first) for each in read], DATABASE_RIDGE)
    table = logistic([each.table(first) for each in read], TABLE_RIDGE, GOLD_WEIGHT)
    model = sets._Regressions(0.0, first, database, table)
    f_scores = np.mean([each.f_scores(model) for each in read], axis=0)
    share = float(SHARES[np.argmax(f_scores)])
    rounded = {
        n: [float(f"{w:.5g}") for w in v] for n, v in model._asdict().items() if n != "share"
    }
    return {"share": share, **rounded}


class Examples(NamedTuple):
    """The evidence of the questions of a data set, and (queries, tables) which tables are gold."""

    evidence: sets._QueryEvidence
    databases: sets._TablesByDatabase
    joined: sets._Joined
    gold: NDArray[np.bool_]

    @classmethod
    def read(cls, dataset: Dataset, encoder: str) -> "Examples":
        """Index the tables and ask the questions."""
        learner = Learner(encoder)
        learner.embed_corpus(dataset.corpus)
        parts = list(learner.evidence([query.text for query in dataset.queries]))
        both = (
            {kind: np.concatenate([part[i][kind] for part in parts]) for kind in parts[0][i]}
            for i in (0, 1)
        )
        return cls(sets._QueryEvidence(*both), learner.databases, learner.joined, gold_of(dataset))

    def first(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the inputs of all tables, and which are gold."""
        inputs = sets.first_inputs(self.evidence.tables)
        return inputs.reshape(-1, inputs.shape[-1]), self.gold.ravel()

    def scores(self, first: Floats) -> Floats:
        """Return the first scores."""
        return sets.linear(sets.first_inputs(self.evidence.tables), first)

    def right(self) -> NDArray[np.int64]:
        """Return the place of each question's database."""
        places: NDArray[np.int64] = self.databases.of_tables[self.gold.argmax(axis=1)]
        return places

    def database(self, first: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Return the inputs of all databases, and which is right."""
        scores, evidence = self.scores(first), self.evidence.databases
        return sets.database_inputs(scores, evidence, self.databases), self.right()

    def table(self, first: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the inputs of the tables of each question's database, and which are gold."""
        scores, tables = self.scores(first), self.evidence.tables
        inputs = sets.table_inputs(scores, tables, self.databases, self.joined)
        inside = self.databases.of_tables == self.right()[:, None]
        return inputs[inside], self.gold[inside]

    def f_scores(self, model: sets._Regressions) -> Floats:
        """Return the mean F score of the sets of each of ``SHARES``."""
        logs = model.log_probabilities(self.evidence, self.databases, self.joined)
        return f_scores(np.exp(logs - logs.max(axis=1, keepdims=True)), self.gold)


def f_scores(of_first: Floats, gold: NDArray[np.bool_]) -> Floats:
    """Return the mean F score at each of ``SHARES`` of probabilities divided by the largest."""
    means = []
    for least in SHARES:
        kept = of_first >= least
        hits, n, n_gold = (each.sum(axis=1) for each in (kept & gold, kept, gold))
        means.append(np.mean((1 + BETA**2) * hits / (n + BETA**2 * n_gold)))
    return np.array(means)


def logistic(
    examples: Sequence[tuple[Floats, NDArray[np.bool_]]], ridge: float, gold_weight: float = 1.0
) -> Floats:
    """Return the weights of a logistic regression on standardised inputs, the constant last."""
    inputs = np.concatenate([each for each, _ in examples])
    gold = np.concatenate([each for _, each in examples]).astype(np.float64)
    counts = np.concatenate([np.full(len(each), 1 / len(each)) for _, each in examples])
    counts *= np.where(gold > 0, gold_weight, 1.0)
    counts /= counts.sum()
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0) + 1e-9
    standard = np.hstack([(inputs - mean) / spread, np.ones((len(inputs), 1))])

    def loss(weights: Floats) -> tuple[float, Floats]:
        sums, penalty = standard @ weights, np.append(weights[:-1], 0.0)
        value = counts @ (np.logaddexp(0, sums) - gold * sums) + ridge * penalty @ penalty
        return value, standard.T @ (counts * (expit(sums) - gold)) + 2 * ridge * penalty

    weights = _smallest(loss, standard.shape[1])
    own = weights[:-1] / spread
    return np.append(own, weights[-1] - mean @ own)


def softmax(examples: Sequence[tuple[Floats, NDArray[np.int64]]], ridge: float) -> Floats:
    """Return the weights that make the right databases most probable."""
    spread = np.mean([inputs.std(axis=(0, 1)) for inputs, _ in examples], axis=0) + 1e-9

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, slope = ridge * weights @ weights, 2 * ridge * weights
        for inputs, right in examples:
            standard, rows = inputs / spread, np.arange(len(right))
            logs = log_softmax(standard @ weights, axis=1)
            value -= logs[rows, right].mean() / len(examples)
            off = np.exp(logs)
            off[rows, right] -= 1
            slope = slope + np.einsum("nd,ndk->k", off, standard) / len(right) / len(examples)
        return float(value), slope

    weights: Floats = _smallest(loss, len(spread)) / spread
    return weights


def _smallest(loss: Callable[[Floats], tuple[float, Floats]], n: int) -> Floats:
    options = {"maxiter": 300}
    weights: Floats = minimize(loss, np.zeros(n), jac=True, method="L-BFGS-B", options=options).x
    return weights


if __name__ == "__main__":
    main()
