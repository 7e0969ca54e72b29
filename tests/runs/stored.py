"""Runs on ``mini`` for tests of what reads a store; made once a session."""

import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from target_bench import TARGET


@dataclass(frozen=True)
class Runs:
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
    names = {
        name: folder / "runs" / getattr(made, name).name
        for name in Runs.__dataclass_fields__
        if name != "root"
    }
    return Runs(root=folder / "runs", **names)


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
    return Runs(
        root=root,
        bm25=retrieval.run("bm25", top_k=[1, 10])[0].folder,
        tfidf=retrieval.run("tfidf", top_k=[1, 10])[0].folder,
        first=retrieval.run("bm25", top_k=[1, 10], limit=20)[0].folder,
        mixed=retrieval.run("bm25", top_k=[1, 10], distractors=str(more))[0].folder,
        answers=answers.run("bm25")[0].folder,
        other=answers.run("tfidf")[0].folder,
        labels=labels.run("bm25")[0].folder,
        other_labels=labels.run("tfidf")[0].folder,
    )
