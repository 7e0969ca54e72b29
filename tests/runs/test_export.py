"""A finished run as files that trec_eval and ir-measures score as ``scores.json`` does."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import DataError, StoreError
from target_bench.core.schema import Query
from target_bench.data.load import load
from target_bench.runs.ranking_files import export_trec, format_qrels, to_words
from target_bench.runs.result import Result
from tests.builders import Counting, Recorder, only, same_scores
from tests.runs.judges import check_figures
from tests.target import TARGET

TOP_K = [1, 3, 5, 10]


class Odd(Counting):
    """Ties, failures, short and empty rankings, and scores of every size."""

    def retrieve(self, query: str, top_k: int) -> Any:
        n = len(query)
        if n % 11 == 0:
            raise RuntimeError("no")
        ids = self.embedded[-1].ids
        places = [(n * 31 + i * 7) % len(ids) for i in range(n % 11)]
        score = {0: 0.0, 1: 1e300, 2: -1e300, 3: 1e-7}.get(n % 5)
        if score is not None:
            places.sort()  # the order of ties, so that no ranking depends on top_k
        chosen = [ids[place] for place in places][:top_k]
        return [
            (table_id, score if score is not None else -i / 3) for i, table_id in enumerate(chosen)
        ]


def _run(out: Path, retriever: Any, **options: Any) -> Result:
    target = TARGET(("retrieval", "mini"), out=out, observer=Recorder())
    return only(target.run(retriever, top_k=TOP_K, **options))


@pytest.fixture
def five(tmp_path: Path) -> Result:
    """A run of five queries."""
    return _run(tmp_path, "oracle", limit=5)


@pytest.mark.parametrize("retriever", ["bm25", "oracle", "no-context", Odd])
def test_judges_agree(tmp_path: Path, retriever: Any) -> None:
    result = _run(tmp_path, retriever if isinstance(retriever, str) else retriever())
    check_figures(
        result, export_trec(Result(result.folder), load("mini"), tmp_path / "trec"), TOP_K
    )


def test_export_scores_as_the_run(tmp_path: Path) -> None:
    """Back through ``score``: the same values for every query."""
    first = _run(tmp_path, Odd())
    run, _ = export_trec(Result(first.folder), load("mini"), tmp_path / "trec")
    target = TARGET(("retrieval", "mini"), out=tmp_path, observer=Recorder())
    again = only(target.score(run, top_k=TOP_K))
    same_scores(first, again)
    assert again.stored.counts.answered == again.stored.counts.asked
    assert again.stored.counts.empty == first.stored.counts.empty + first.stored.counts.failed


def test_limited_run(tmp_path: Path) -> None:
    """The judgements are of the queries that were asked."""
    result = _run(tmp_path, "bm25", limit=7)
    paths = export_trec(Result(result.folder), load("mini"), result.folder)
    check_figures(result, paths, TOP_K)
    judged = {line.split()[0] for line in paths[1].read_text(encoding="utf-8").splitlines()}
    assert judged == set(result.per_query.ids)


def test_other_data_is_refused(tmp_path: Path, five: Result) -> None:
    """Another corpus, or other gold tables under the same ids."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "one.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    mini = load("mini")
    (query,) = [query for query in mini.queries if query.id == five.per_query.ids[0]]
    others = tuple(each for each in mini.queries if each is not query)
    for data in (
        load("mini", "test", [str(tmp_path / "more")]),
        replace(mini, queries=others),
        replace(mini, queries=(Query(query.id, query.text, (mini.corpus.ids[-1],)), *others)),
    ):
        with pytest.raises(DataError, match="of other tables, queries or gold tables than mini te"):
            export_trec(five, data, tmp_path)


def _without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def _half(folder: Path) -> None:
    path = folder / "retrieval.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_without("scores.json"), "not finished; finish it with the command"),
        (_half, "run the same command again"),
        (_without("retrieval.jsonl"), "holds no rankings; name the folder of a retrieval run"),
        (_without("manifest.json"), r"manifest\.json: cannot be read"),
    ],
)
def test_what_is_no_finished_run_is_refused(
    tmp_path: Path, five: Result, damage: Callable[[Path], None], message: str
) -> None:
    damage(five.folder)
    with pytest.raises((DataError, StoreError), match=message):
        export_trec(Result(five.folder), load("mini"), tmp_path)
    assert not (tmp_path / "run.trec").exists()


def test_nothing_but_the_two_files_is_written(tmp_path: Path, five: Result) -> None:
    before = {path: path.read_bytes() for path in five.folder.iterdir()}
    export_trec(five, load("mini"), five.folder)
    assert {path: path.read_bytes() for path in before} == before
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot be written: .*with -o"):
        export_trec(five, load("mini"), tmp_path / "file")


def test_grades_are_exported_and_scored_as_here(tmp_path: Path) -> None:
    """trec_eval's nDCG over the exported judgements is that of the scores."""
    mini, grades = load("mini"), iter(range(10**6))
    queries = tuple(
        replace(q, metadata={**q.metadata, "grades": [1 + next(grades) % 4 for _ in q.gold]})
        for q in mini.queries[:40]
    )
    data = replace(mini, queries=queries)
    target = TARGET(("retrieval", data), out=tmp_path, observer=Recorder())
    run = only(target.run("tfidf", top_k=TOP_K))
    paths = export_trec(Result(run.folder), data, tmp_path / "trec")
    written = {line.split()[3] for line in paths[1].read_text(encoding="utf-8").splitlines()}
    assert written == {"1", "2", "3", "4"}
    check_figures(run, paths, TOP_K)
    half = replace(queries[0], metadata={"grades": [0.5] * len(queries[0].gold)})
    with pytest.raises(DataError, match=r"grade of .* is 0.5, and TREC's"):
        list(format_qrels([half], to_words(data.corpus.ids)))
