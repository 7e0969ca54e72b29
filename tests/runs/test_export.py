"""A finished run as files that trec_eval and ir-measures score as ``scores.json`` does."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import DataError, StoreError
from target_bench.core.schema import Query
from target_bench.data.load import load
from target_bench.harness.target import TARGET
from target_bench.runs.result import Result
from target_bench.runs.trec import export
from tests.builders import Counting, Recorder, only, same_scores
from tests.runs.judges import check_figures

TOP_K = [1, 3, 5, 10]


class Odd(Counting):
    """Ties, failures, short and empty rankings, and scores of every size."""

    def retrieve(self, query: str, top_k: int) -> Any:
        n = len(query)
        if n % 11 == 0:
            raise RuntimeError("no")
        ids = self.embedded[-1].ids
        chosen = [ids[(n * 31 + i * 7) % len(ids)] for i in range(n % (top_k + 1))]
        score = {0: 0.0, 1: 1e300, 2: -1e300, 3: 1e-7}.get(n % 5)
        return [
            (table_id, score if score is not None else -i / 3) for i, table_id in enumerate(chosen)
        ]


def _run(out: Path, retriever: Any, **options: Any) -> Result:
    target = TARGET(("retrieval", "mini"), out=out, observer=Recorder())
    return only(target.run(retriever, top_k=TOP_K, on_error="record", **options))


def _two_tables(tmp_path: Path) -> Path:
    folder = tmp_path / "more"
    (folder / "tables").mkdir(parents=True)
    for name in ("one", "two"):
        (folder / "tables" / f"{name}.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("retriever", ["bm25", "oracle", "no-context", Odd])
def test_judges_agree(tmp_path: Path, retriever: Any) -> None:
    result = _run(tmp_path, retriever if isinstance(retriever, str) else retriever())
    check_figures(result, export(Result(result.folder), load("mini"), tmp_path / "trec"), TOP_K)


@pytest.mark.parametrize("retriever", ["bm25", Odd])
def test_export_scores_as_the_run(tmp_path: Path, retriever: Any) -> None:
    """Back through ``score``: the same values for every query."""
    first = _run(tmp_path, retriever if isinstance(retriever, str) else retriever())
    run, _ = export(Result(first.folder), load("mini"), tmp_path / "trec")
    target = TARGET(("retrieval", "mini"), out=tmp_path, observer=Recorder())
    again = only(target.score(run, top_k=TOP_K))
    same_scores(first, again)
    assert again.counts.answered == again.counts.asked
    assert again.counts.empty == first.counts.empty + first.counts.failed


def test_limited_run(tmp_path: Path) -> None:
    """The judgements are of the queries that were asked."""
    result = _run(tmp_path, "bm25", limit=7)
    paths = export(Result(result.folder), load("mini"), result.folder)
    check_figures(result, paths, TOP_K)
    asked = {line.split()[0] for line in paths[1].read_text(encoding="utf-8").splitlines()}
    assert asked == {query.id for query in load("mini").queries[:7]}


def test_other_data_is_refused(tmp_path: Path) -> None:
    """Another corpus, or other gold tables under the same ids."""
    mini = load("mini")
    result = _run(tmp_path, "oracle", limit=5)
    query = mini.queries[0]
    with pytest.raises(DataError, match="of other tables, queries or gold tables than mini test"):
        export(
            Result(result.folder),
            load("mini", "test", [str(_two_tables(tmp_path))]),
            tmp_path,
        )
    with pytest.raises(DataError, match="of other tables, queries or gold tables"):
        export(Result(result.folder), replace(mini, queries=mini.queries[3:]), tmp_path)
    others = (Query(query.id, query.text, (mini.corpus.ids[-1],)), *mini.queries[1:])
    with pytest.raises(DataError, match="of other tables, queries or gold tables"):
        export(Result(result.folder), replace(mini, queries=others), tmp_path)


def test_unfinished_run_is_refused(tmp_path: Path) -> None:
    result = _run(tmp_path, "oracle", limit=5)
    (result.folder / "scores.json").unlink()
    with pytest.raises(StoreError, match="not finished; run the same command again"):
        export(Result(result.folder), load("mini"), tmp_path)
    assert not (tmp_path / "run.trec").exists()


def test_half_of_a_run_is_refused(tmp_path: Path) -> None:
    """Scores are there, and rankings are not."""
    result = _run(tmp_path, "oracle", limit=5)
    path = result.folder / "retrieval.jsonl"
    path.write_text(
        "".join(path.read_text(encoding="utf-8").splitlines(True)[:3]), encoding="utf-8"
    )
    with pytest.raises(DataError, match="run the same command again"):
        export(Result(result.folder), load("mini"), tmp_path)


def test_answers_have_no_rankings(tmp_path: Path) -> None:
    result = _run(tmp_path, "oracle", limit=5)
    (result.folder / "retrieval.jsonl").unlink()
    with pytest.raises(StoreError, match="holds no rankings; name the folder of a retrieval run"):
        export(Result(result.folder), load("mini"), tmp_path)


def test_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"manifest\.json: cannot be read"):
        export(Result(tmp_path), load("mini"), tmp_path)


def test_place_that_cannot_be_written(tmp_path: Path) -> None:
    result = _run(tmp_path, "oracle", limit=5)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match=r"cannot be written: .*with -o"):
        export(Result(result.folder), load("mini"), tmp_path / "file")


def test_scores_are_untouched(tmp_path: Path) -> None:
    result = _run(tmp_path, "oracle", limit=5)
    before = {path: path.read_bytes() for path in result.folder.iterdir()}
    export(Result(result.folder), load("mini"), result.folder)
    assert {path: path.read_bytes() for path in before} == before
    assert json.loads((result.folder / "scores.json").read_bytes())["counts"]["asked"] == 5
