"""Retrieval within the database of each question."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench import TARGET
from target_bench.core.schema import Corpus, Dataset
from target_bench.data.load import Loader, load
from target_bench.retrievers.bm25 import BM25
from tests.builders import Recorder
from tests.data import written

ABOUT_SQL = "text-to-sql"


def _about_databases() -> Dataset:
    dataset = load("mini")
    queries = [q for q in dataset.queries if q.metadata.get("task") == "text_to_sql"]
    return replace(dataset, queries=tuple(queries))


def _run(folder: Path, retriever: Any, **options: Any) -> Any:
    target = TARGET((ABOUT_SQL, "mini"), out=folder)
    return target.run(retriever, top_k=[1, 20], generator="empty", **options)[0]


class Noting(BM25):
    """BM25 that notes what it has indexed, and for which queries."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: list[tuple[set[str], list[str]]] = []

    def config(self) -> dict[str, Any]:
        return {}

    def embed_corpus(self, corpus: Corpus) -> None:
        self._seen.append(({table.database_id for table in corpus.ids}, []))
        super().embed_corpus(corpus)

    def retrieve_batch(self, queries: Any, top_k: int) -> Any:
        self._seen[-1][1].extend(queries)
        return super().retrieve_batch(queries, top_k)


def test_each_database_is_indexed_once_and_asked_its_questions(tmp_path: Path) -> None:
    retriever = Noting()
    result = _run(tmp_path, retriever, within_database=True)
    assert str(result.retriever).startswith("WithinDatabase")
    assert result["recall[db]@1"].value == 1
    queries = _about_databases().queries
    databases = dict.fromkeys(query.database_id for query in queries)
    assert [seen[0] for seen in retriever._seen] == [{name} for name in databases]
    for (name,), asked in retriever._seen:
        assert asked == [query.text for query in queries if query.database_id == name]


def test_queries_about_a_database_without_tables_find_none(tmp_path: Path) -> None:
    class Without(Loader):
        def load(self, *arguments: Any, **options: Any) -> Any:
            loaded = super().load(*arguments, **options)
            first, *rest = _about_databases().queries
            changed = replace(first, database_id="gone")
            dataset = replace(loaded.dataset, queries=(changed, *rest))
            return replace(loaded, dataset=dataset)

    recorder = Recorder()
    target = TARGET(
        ("retrieval", "mini"), out=tmp_path, observer=recorder, loader=Without(None, recorder)
    )
    result = target.run("bm25", within_database=True)[0]
    assert result.counts.empty == 1
    assert any("'gone' has no tables here, so 1 queries" in text for text in recorder.warnings)


def _distractor_notes(folder: Path, *distractors: str, **options: Any) -> list[str]:
    observer = Recorder()
    target = TARGET((ABOUT_SQL, "mini"), out=folder, observer=observer)
    target.run("bm25", distractors=distractors, generator="empty", **options)
    return [warning for warning in observer.warnings if "no distractor is in" in warning]


def test_distractors_that_no_question_can_find_are_noted(tmp_path: Path) -> None:
    """Distractors are of databases of their own, or of none; the note is recorded."""
    more = written.write_own(tmp_path / "more", {"a.csv": "film\nAlien\n"}, [written.asked("a")])
    for _ in range(2):
        (note,) = _distractor_notes(tmp_path / "runs", str(more), within_database=True)
        assert note.endswith("so none can be found: leave --within-database out")
    assert not _distractor_notes(tmp_path / "runs", str(more))
    assert not _distractor_notes(tmp_path / "runs", within_database=True)
