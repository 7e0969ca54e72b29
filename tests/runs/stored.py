"""Runs on ``mini`` for tests of what reads a store; made once a session."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from tests.target import TARGET


class Runs(NamedTuple):
    """A store.

    Attributes:
        root: its folder.
        bm25: rankings of all queries.
        tfidf: the same by another retriever.
        first: rankings of the first 20 queries.
        mixed: rankings over more tables.
        answers: answers from bm25's rankings.
        other: answers from those of tfidf.
        labels: labels, from bm25's rankings.
        other_labels: labels, from those of tfidf.
    """

    root: Path
    bm25: Path
    tfidf: Path
    first: Path
    mixed: Path
    answers: Path
    other: Path
    labels: Path
    other_labels: Path


def copied(folder: Path) -> Runs:
    """The store in a folder of the test's own."""
    made = _made()
    shutil.copytree(made.root, folder / "runs")
    return Runs(folder / "runs", *(folder / "runs" / run.name for run in made[1:]))


@cache
def _made() -> Runs:
    folder = Path(mkdtemp(prefix="target-bench-test-"))
    root, more = folder / "runs", folder / "more"
    (more / "tables").mkdir(parents=True)
    for i in range(3):
        (more / "tables" / f"t{i}.csv").write_text(f"a,b\nmedal,{i}\n", encoding="utf-8")
    retrieval = TARGET(("retrieval", "mini"), out=root)
    answers = TARGET(("question_answering", "mini"), out=root)
    labels = TARGET(("fact_verification", "mini"), out=root)
    ranked: dict[str, Any] = {"top_k": [1, 10]}
    return Runs(
        root,
        retrieval.run("bm25", **ranked)[0].folder,
        retrieval.run("tfidf", **ranked)[0].folder,
        retrieval.run("bm25", limit=20, **ranked)[0].folder,
        retrieval.run("bm25", distractors=str(more), **ranked)[0].folder,
        *(task.run(name)[0].folder for task in (answers, labels) for name in ("bm25", "tfidf")),
    )
