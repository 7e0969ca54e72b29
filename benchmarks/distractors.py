"""Recall as real Wikipedia tables are mixed in: the tables of benchmarks/retrievers.md.

    TARGET_BENCH_DATA=... python benchmarks/distractors.py
    TARGET_BENCH_DATA=... python benchmarks/distractors.py --corpora ottqa --sizes 0,1000 \
        --retrievers bm25 best

Runs are kept under ``--out``: a second call repeats none that is finished, so the table can be
completed bit by bit. Needs the release files of the corpora and of ``wikitables2019``.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from target_bench import evaluate
from target_bench.core.errors import TargetBenchError

CORPORA = "ottqa,fetaqa,tabfact"
SIZES = "0,1000,10000,100000"
RETRIEVERS = ("bm25", "tfidf", "lsa", "rows")


def main() -> None:
    arguments = _arguments()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    texts: dict[tuple[str, str, int], str] = {}
    for corpus in arguments.corpora.split(","):
        for size in sizes:
            for retriever, text in _cells(corpus, size, arguments):
                texts[corpus, retriever, size] = text
                print(f"{corpus} + {size:,}: {retriever}: {text}", flush=True)
    for corpus in arguments.corpora.split(","):
        print(f"\n| {corpus} | " + " | ".join(f"{size:,}" for size in sizes) + " |")
        print("|---|" + "---|" * len(sizes))
        for retriever in arguments.retrievers:
            cells = [texts[corpus, retriever, size] for size in sizes]
            print(f"| `{retriever}` | {' | '.join(cells)} |")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpora", default=CORPORA)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--retrievers", nargs="+", default=RETRIEVERS)
    parser.add_argument("--limit", type=int, help="only the first questions of each corpus")
    parser.add_argument("--near-copies", choices=("out", "kept"), default="out")
    parser.add_argument("--out", type=Path, default=Path("runs/distractors"))
    return parser.parse_args()


def _cells(corpus: str, size: int, arguments: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield (retriever, R@1 / R@10)."""
    spec = f"wikitables2019:n={size},seed=7,near_copies={arguments.near_copies}"
    drawn, limit = [spec] if size else [], arguments.limit
    for retriever in arguments.retrievers:
        try:
            [result] = evaluate(
                retriever,
                corpus,
                top_k=(1, 10),
                distractors=drawn,
                limit=limit,
                out=arguments.out,
            )
        except TargetBenchError as error:
            yield retriever, f"failed: {error}"
            continue
        first, ten = (result.scores[f"recall@{k}"].value for k in (1, 10))
        yield retriever, f"{_short(first)} / {_short(ten)}"


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


if __name__ == "__main__":
    main()
