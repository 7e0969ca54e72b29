"""Do retrievers know when no table answers?

    TARGET_BENCH_DATA=... python -m benchmarks.unanswerable > benchmarks/unanswerable.md

Reads EHRSQL and OTT-QA.
"""

import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory

from target_bench import evaluate
from target_bench.core.observer import Observer

CORPORA = ("ehrsql", "ottqa:unanswerable=0.2")
RETRIEVERS = (
    "bm25",
    "tfidf",
    "lsa",
    "rows",
    "joins",
    "adaptive",
    "adaptive:rule=share",
    "chunks:retriever=bm25",
    "within-database",
    "sets:encoder=none",
    "dense:encoder=minilm",
    "hybrid",
    "best",
    "sets",
    "random",
    "oracle",
)
METRICS = (
    "recall@10",
    "false_retrieval@10",
    "none_precision",
    "none_recall",
    "none_f1",
    "nauc_recall[max]@10",
    "nauc_recall[std]@10",
    "nauc_recall[diff1]@10",
)


class _Quiet(Observer):
    def warning(self, message: str) -> None:
        print(message, file=sys.stderr)


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# Questions without an answer"
    yield ""
    yield "What retrievers make of questions that no table answers ([what is"
    yield "measured](../docs/metrics.md#questions-without-an-answer)): those that EHRSQL calls"
    yield "impossible, and questions of OTT-QA whose tables are left out. Lower is better for"
    yield "`false_retrieval`, where .5 is chance; 0 is chance for `nauc`. `rerank` is missing, as"
    yield "no cross-encoder was at hand, and `langchain` and `llama-index`, which wrap others."
    for corpus in CORPORA:
        yield from _table(corpus)
    yield ""
    yield "Written by `python -m benchmarks.unanswerable`."


def _table(corpus: str) -> Iterator[str]:
    with TemporaryDirectory() as out:
        retrievers = [name for name in RETRIEVERS if _serves(name, corpus)]
        runs = evaluate(
            retrievers, corpus, task="retrieval", top_k=[1, 10], out=out, observer=_Quiet()
        )
        counts = runs[retrievers[0]].counts
        yield ""
        yield f"## `{corpus}`"
        yield ""
        yield f"{counts.unanswerable:,} of {counts.asked:,} questions have no answer."
        yield ""
        yield f"| retriever | {' | '.join(f'`{metric}`' for metric in METRICS)} |"
        yield "|---" * (len(METRICS) + 1) + "|"
        for name in retrievers:
            yield f"| `{name}` | {' | '.join(str(runs[name].scores[m]) for m in METRICS)} |"


def _serves(retriever: str, corpus: str) -> bool:
    return corpus == "ehrsql" or retriever not in ("within-database", "sets:encoder=none", "sets")


if __name__ == "__main__":
    print("\n".join(page()))
