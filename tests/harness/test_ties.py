"""Equal scores tell nothing: neither the order of a release nor that of a file breaks ties."""

from pathlib import Path
from typing import Any

import pytest

from target_bench import Corpus, compare, evaluate, load
from target_bench.core.errors import PluginError
from target_bench.core.ranking import tie_order
from target_bench.core.registry import make_task
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Query, Retrieval, TableId
from target_bench.data.reading import make_dataset
from target_bench.data.selection import sample_queries
from target_bench.data.tables import MemoryCorpus
from target_bench.harness.score import score_rankings
from target_bench.harness.score_external import score_external
from target_bench.harness.stored import score_again
from target_bench.runs.result import Result
from tests.builders import Counting, Recorder
from tests.data.written import table

NAMES = [f"t{number}" for number in range(400)]


class Alike:
    """Scores all tables alike, in the order of the corpus or in the reverse one."""

    def __init__(self, step: int = 1) -> None:
        self.step = step

    def embed_corpus(self, corpus: Corpus) -> None:
        self.ids = list(corpus.ids)

    def retrieve(self, query: str, top_k: int) -> list[tuple[TableId, float]]:
        return [(table_id, 1.0) for table_id in self.ids[:: self.step][:top_k]]


def test_the_order_is_that_of_hashes_of_ids() -> None:
    """On every machine, whatever the order of the tables."""
    ids = [TableId("0", name) for name in ("a", "b", "c", "d")]
    assert [ids[i].table_id for i in tie_order(ids)] == ["d", "c", "a", "b"]
    assert [ids[::-1][i] for i in tie_order(ids[::-1])] == [ids[i] for i in tie_order(ids)]
    assert tie_order([]).tolist() == []


def test_equal_scores_find_what_chance_finds(tmp_path: Path) -> None:
    """Of 400 tables the first ten, though the release lists them in the order of its questions."""
    info = load("mini").info
    queries = [Query(f"q{name}", f"question {name}", (TableId("0", name),)) for name in NAMES[:100]]
    dataset = make_dataset(info, "test", [table(name) for name in NAMES], queries)
    for out, retriever in (("a", Alike()), ("b", Alike(-1))):
        observer = Recorder()
        (result,) = evaluate(
            retriever, dataset, top_k=[10, 50], out=tmp_path / out, observer=observer
        )
        assert result.scores["recall@10"].value <= 0.06, "10 of 400 tables for 100 questions"
        assert result.stored.counts.divided_ties == 100
        assert any("a cutoff divides tables of equal score" in text for text in observer.warnings)


def test_ties_of_our_own_retrievers_need_no_advice(tmp_path: Path) -> None:
    """Neither when they are run nor when a stored run is scored again."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in NAMES[:6]:
        (folder / f"{name}.csv").write_text("a,b\n1,2\n")
    (folder / "queries.csv").write_text("query_id,query,table_id\nq,a 1,t1\n")
    observer = Recorder()
    (result,) = evaluate("bm25", folder, top_k=[2], out=tmp_path / "runs", observer=observer)
    again = score_again(result, observer=observer)
    assert result.stored.counts.divided_ties == again.stored.counts.divided_ties == 1
    assert not [text for text in observer.warnings if "a cutoff divides" in text]


@pytest.mark.parametrize("names", [NAMES[:6], NAMES[5::-1]])
@pytest.mark.parametrize("kind", ["trec", "jsonl"])
def test_a_run_file_is_ranked_by_the_same_rule(tmp_path: Path, names: list[str], kind: str) -> None:
    queries = "query_id,query,table_id\nq,which,t1\n"
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in names:
        (folder / f"{name}.csv").write_text("a,b\n1,2\n")
    (folder / "queries.csv").write_text(queries)
    ids = [f"{name}.csv" for name in names]
    file = tmp_path / f"run.{kind}"
    if kind == "trec":
        lines = [f"q Q0 {name} {rank} 0.5 x" for rank, name in enumerate(names, start=1)]
        file.write_text("\n".join(lines).replace(".csv", "") + "\n")
    else:
        shown = ", ".join(f'["0", "{name}"]' for name in names)
        scores = ", ".join("0.5" for _ in ids)
        file.write_text(f'{{"query_id": "q", "tables": [{shown}], "scores": [{scores}]}}\n')
    observer = Recorder()
    (result,) = score_external(
        [("retrieval", str(folder))],
        RunConfig(top_k=(1, 10), out=tmp_path / "runs"),
        run_file=file,
        observer=observer,
    )
    expected = MemoryCorpus(table(name) for name in NAMES[:6]).shuffled.ids
    assert result.run.rankings["q"].tables == tuple(expected)


def test_a_ranking_that_failed_at_first_is_taken_when_it_is_there(tmp_path: Path) -> None:
    """Also into a folder where the failure was scored before."""

    class Flaky(Counting):
        failing = True

        def retrieve(self, query: str, top_k: int) -> list[TableId]:
            if self.failing and len(self.calls) == 1:
                Flaky.failing = False
                raise RuntimeError("once")
            return super().retrieve(query, top_k)

    def run() -> Result:
        return evaluate(Flaky(), "mini", limit=6, top_k=5, out=tmp_path, observer=Recorder())[0]

    first, sets = run(), "retrieval:sets=true"
    assert score_again(first, sets).stored.counts.failed == 1
    again = run()
    assert (again.folder, again.stored.counts.failed) == (first.folder, 0)
    assert score_again(again, sets).stored.counts.failed == 0


def test_a_task_that_fails_over_stored_rankings_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from target_bench.tasks.retrieval import TableRetrieval\n"
        "class Mine(TableRetrieval):\n"
        "    name = 'mine'\n"
        "    fails = False\n"
        "    def examples(self, dataset, predictions):\n"
        "        return {}['x'] if self.fails else super().examples(dataset, predictions)\n"
    )
    task, out = f"{tmp_path}/mine.py:Mine", tmp_path / "runs"
    result = evaluate("bm25", "mini", task=task, limit=5, out=out, observer=Recorder())[0]
    type(make_task(task)).fails = True  # type: ignore[attr-defined]
    with pytest.raises(PluginError, match="Mine raised KeyError in a run on mini"):
        score_again(result)


@pytest.mark.parametrize(
    ("scores", "top_k", "cut"),
    [
        ([3, 2, 2, 1], (2,), 1),  # the second and the third table
        ([3, 3, 2, 1], (2,), 0),  # none that a cutoff divides
        ([3, 2, 2, 1], (2, 3), 1),
        ([2, 2, 2], (3,), 1),  # where the file ends what comes next is not known
        ([4, 3, 2, 1], (1, 2), 0),
    ],
)
def test_ties_that_a_cutoff_divides_are_counted_and_said_in_comparisons(
    tmp_path: Path, scores: list[int], top_k: Any, cut: int
) -> None:
    """Also those that the file has beyond the last cutoff."""
    info = load("mini").info
    queries = [Query("q", "which", (TableId("0", "t0"),))]
    dataset = make_dataset(info, "test", [table(name) for name in NAMES[:6]], queries)
    results: list[Result] = []
    for name in ("a.run", "b.run"):
        lines = [f"q Q0 t{i} 1 {score} {name}\n" for i, score in enumerate(scores)]
        (tmp_path / name).write_text("".join(lines))
        options = RunConfig(top_k=top_k, out=tmp_path)
        results += score_external(
            [("retrieval", dataset)],
            options,
            run_file=tmp_path / name,
            observer=Recorder(),
        )
    assert [result.stored.counts.divided_ties for result in results] == [cut, cut]
    notes = compare(results, ["mrr"]).notes
    said = "score in rankings (1 of 1 of a.run, 1 of 1 of b.run)"
    assert any(said in note for note in notes) == bool(cut)


def _queries(**n_of: int) -> list[Query]:
    return [
        Query(f"{name}-{i}", "", (), database_id=name) for name, n in n_of.items() for i in range(n)
    ]


@pytest.mark.parametrize(
    ("given", "n", "expected"),
    [
        (_queries(a=60, b=30, c=10), 10, {"a": 6, "b": 3, "c": 1}),
        (_queries(a=1, b=1, c=1), 2, {"a": 1, "b": 1}),
        (_queries(a=5), 9, {"a": 5}),
    ],
)
def test_a_limit_asks_a_sample_of_every_database(
    given: list[Query], n: int, expected: dict[str, int]
) -> None:
    sample = sample_queries(given, n)
    counts: dict[Any, int] = {}
    for query in sample:
        counts[query.database_id] = counts.get(query.database_id, 0) + 1
    assert counts == expected
    assert [query for query in given if query in sample] == list(sample), "in their order"
    assert {query.id for query in sample_queries(given[::-1], n)} == {q.id for q in sample}
    if n == 10:
        assert sample[:6] != tuple(given[:6]), "not the first ones"


def test_a_cutoff_that_was_asked_by_itself_divides_nothing() -> None:
    dataset = load("mini")
    query, ids = dataset.queries[0], tuple(dataset.corpus.ids[:4])
    for at, n in (({}, 1), ({2: ids[2:]}, 0)):
        ranking = Retrieval(query.id, ids, (1.0,) * 4, divides_ties=False, at=at)
        scored = score_rankings(dataset, {query.id: ranking}, (2, 4))
        assert scored.counts.divided_ties == n


def test_a_cutoff_beyond_a_ranking_divides_nothing() -> None:
    ids = tuple(TableId("0", name) for name in NAMES[:4])
    dataset = make_dataset(
        load("mini").info, "test", [table(name) for name in NAMES[:9]], [Query("q", "?", ids[:1])]
    )
    ranking = Retrieval("q", ids, (4.0, 3.0, 2.0, 2.0)).take_cutoff(3)
    cut = [score_rankings(dataset, {"q": ranking}, k).counts.divided_ties for k in (2, 3, 8)]
    assert cut == [0, 1, 0]
