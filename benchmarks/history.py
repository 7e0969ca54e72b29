"""Measure how much a log of questions helps a retriever, for the table in docs/retrievers.md.

    TARGET_BENCH_DATA=... python -m benchmarks.history
    ... --corpora beaver --retriever sets:encoder=none,share=0

Every question is asked, and the log is made of the other ones: all of them; a quarter or a tenth,
so that each question is answered from a part that it is not in; and all but those that are nearly
the same (cosine above .5). The authors of the log are the authors of the test, so these figures are
an upper bound: a log of other people's questions helps less. p is that of the paired test against
the retriever alone, corrected for the four differences of a corpus (Holm).
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from retrievers.history import History
from target_bench import Dataset, Query, TableId, load, score_rankings
from target_bench.metrics import stats
from target_bench.plugin_tools import make_part

CORPORA = ("beaver", "spider2-lite", "bird")
K = 20
METRIC = f"full_recall@{K}"
SEED = 0

Rankings = Mapping[str, Sequence[tuple[TableId, float]]]


class Ranked:
    """Gives rankings that were made before, so that the retriever is asked once."""

    def __init__(self, rankings: Mapping[str, Any]) -> None:
        self._rankings = rankings

    def embed_corpus(self, corpus: Any) -> None:
        """Do nothing."""

    def retrieve(self, query: str, top_k: int) -> Any:
        """Return the first tables of the ranking of a text."""
        return self._rankings[query][:top_k]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each corpus and log."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--retriever", default="bm25")
    options = parser.parse_args(arguments)
    print(f"| corpus | log | complete recall@{K} | difference | p |\n|---|---|---|---|---|")
    for name in options.corpora:
        for row in measure(load(name), options.retriever):
            print(f"| {name} | {' | '.join(row)} |", flush=True)


def measure(dataset: Dataset, spec: str) -> list[list[str]]:
    """Return the rows of a corpus: the log, complete recall, difference, p."""
    queries = tuple(query for query in dataset.queries if query.gold)
    dataset = replace(dataset, queries=queries)
    retriever = make_part("retriever", spec)
    retriever.embed_corpus(dataset.corpus)
    texts = [query.text for query in queries]
    alone = dict(zip(texts, map(list, retriever.retrieve_batch(texts, 200)), strict=True))
    logs = {
        "no log": {query.id: alone[query.text] for query in queries},
        "all other questions": answer(dataset, alone, 1),
        "another quarter of them": answer(dataset, alone, 4),
        "another tenth of them": answer(dataset, alone, 10),
        "none above cosine .5": answer(dataset, alone, 1, most_similar=0.5),
    }
    scored = {log: score_rankings(dataset, rankings, K) for log, rankings in logs.items()}
    values = {log: s.per_query[METRIC] for log, s in scored.items()}
    base = values.pop("no log")
    tests = {log: stats.compare(own, base) for log, own in values.items()}
    corrected = stats.holm([test.p for test in tests.values()])
    rows = [["no log", f"{base.mean():.3f}", "", ""]]
    for (log, test), p in zip(tests.items(), corrected, strict=True):
        rows.append([log, f"{values[log].mean():.3f}", f"{test.difference:+.3f}", f"{p:.4f}"])
    return rows


def answer(dataset: Dataset, alone: Mapping[str, Any], n_parts: int, **settings: Any) -> Rankings:
    """Return rankings with a log; of several parts, each question has that after its own."""
    queries = list(dataset.queries)
    Random(SEED).shuffle(queries)
    parts: list[list[Query]] = [queries[number::n_parts] for number in range(n_parts)]
    rankings: dict[str, Any] = {}
    for number, asked in enumerate(parts):
        log = parts[(number + 1) % n_parts]
        history = History(log, Ranked(alone), **settings)
        history.embed_corpus(dataset.corpus)
        answers = history.retrieve_batch([query.text for query in asked], K)
        rankings |= {query.id: list(own) for query, own in zip(asked, answers, strict=True)}
    return rankings


if __name__ == "__main__":
    main()
