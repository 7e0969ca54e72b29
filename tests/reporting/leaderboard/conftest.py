"""Runs on the embedded corpus, and what was packed of them; made once."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from target_bench.reporting.leaderboard.card import Card
from target_bench.reporting.leaderboard.pack import pack, publish_all
from tests.cli.conftest import inside  # noqa: F401
from tests.reporting.leaderboard import small
from tests.reporting.leaderboard.forging import Files, files_of
from tests.target import TARGET


def card(name: str = "Our BM25", author: str = "Ann Other", corpus: str = "mini") -> Card:
    return small.card(
        name,
        authors=(author,),
        kind="lexical",
        parameters=0,
        trained_on={corpus: "no"},
        code="https://example.org/code",
    )


def run_all(out: Path, retriever: str, tasks: Sequence[str]) -> list[Path]:
    return [
        TARGET((task, "mini"), out=out).run(retriever, top_k=[1, 5, 10])[0].folder for task in tasks
    ]


@pytest.fixture(scope="session")
def retrieval_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of BM25's rankings."""
    (folder,) = run_all(tmp_path_factory.mktemp("runs"), "bm25", ["retrieval"])
    return folder


@pytest.fixture(scope="session")
def runs(retrieval_run: Path) -> list[Path]:
    """Run folders of BM25, one a task."""
    tasks = ("question_answering", "fact_verification", "text_to_sql")
    return [retrieval_run, *run_all(retrieval_run.parent, "bm25", tasks)]


@pytest.fixture(scope="session")
def packed_bm25(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tasks."""
    return pack(publish_all(runs), card(), tmp_path_factory.mktemp("packed") / "bm25.tbs.zip")


@pytest.fixture(scope="session")
def packed_retrieval(retrieval_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Table retrieval alone."""
    return pack(
        publish_all([retrieval_run]),
        card(),
        tmp_path_factory.mktemp("packed") / "retrieval.tbs.zip",
    )


@pytest.fixture
def everything(packed_bm25: Path) -> Files:
    return files_of(packed_bm25)


@pytest.fixture
def rankings(packed_retrieval: Path) -> Files:
    """The members of table retrieval, its folder called ``run``."""
    files = files_of(packed_retrieval).items()
    return {name if name == "card.yaml" else f"run/{Path(name).name}": raw for name, raw in files}


@pytest.fixture
def at(tmp_path: Path) -> Path:
    """Where a hostile submission is written."""
    return tmp_path / "hostile.tbs.zip"
