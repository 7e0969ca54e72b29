"""The submissions of a board: retrievers of this package, and systems of others.

    TARGET_BENCH_DATA=... python -m benchmarks.leaderboard.regenerate board/           # all
    TARGET_BENCH_DATA=... python -m benchmarks.leaderboard.regenerate board/ --only bm25 best
    target-bench leaderboard build board/ -o site/

Each retriever is run with its default settings on OTT-QA, FeTaQA, TabFact, Spider and BIRD, and
packed with its card (``cards/``) as ``board/NAME.tbs.zip``. Systems of others are those of
``theirs.py`` whose files are below ``TARGET_BENCH_DATA``. Finished runs are found again in
``--work``, so a killed call goes on where it stopped.
"""

import argparse
from pathlib import Path

from benchmarks.leaderboard import theirs
from target_bench import evaluate
from target_bench.reporting.leaderboard.card import read_card
from target_bench.reporting.leaderboard.pack import pack, publish_all

HERE = Path(__file__).parent
CUTOFFS = (1, 5, 10)
CORPORA = {
    "ottqa": "validation",
    "fetaqa": "test",
    "tabfact": "test",
    "spider": "validation",
    "bird": "validation",
}
"""Corpus -> split."""

BASELINES = ("random", "tfidf", "bm25", "lsa", "dense", "hybrid", "rows", "best")
"""Retrievers without settings; what their defaults are is in docs/retrievers.md."""

SETS = {"sets": ("spider", "bird")}
"""Retrievers that choose sets of tables -> the corpora that they are for."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("board", type=Path, help="the folder of submissions")
    parser.add_argument("--only", nargs="+", choices=[*BASELINES, *SETS], metavar="NAME")
    parser.add_argument("--work", type=Path, default=Path("runs"), help="where run folders go")
    given = parser.parse_args()
    for name in given.only or [*BASELINES, *SETS]:
        pack_baseline(name, given.board, given.work)
    if not given.only:
        theirs.main(["--out", str(given.board)])


def pack_baseline(name: str, board: Path, work: Path) -> None:
    """Run a retriever on its corpora, and pack the runs."""
    task = "retrieval:sets=true" if name in SETS else "retrieval"
    folders = []
    for corpus in SETS.get(name, CORPORA):
        result = evaluate(name, corpus, task=task, split=CORPORA[corpus], top_k=CUTOFFS, out=work)[
            0
        ]
        print(f"{name} on {corpus}: {result['recall@10']:.3f}", flush=True)
        folders.append(result.folder)
    pack(
        publish_all(folders), read_card(HERE / "cards" / f"{name}.yaml"), board / f"{name}.tbs.zip"
    )


if __name__ == "__main__":
    main()
