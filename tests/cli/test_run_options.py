"""Options of ``target-bench run`` that change no ranking, the cache, and what is printed when."""

import json
from pathlib import Path

import pytest

from target_bench.runs.score_tables import metric_column
from tests.cli.inside import Inside
from tests.data.written import asked, write_own

RUN = ("run", "mini", "--task", "retrieval", "--top-k", "1,10", "--retriever")

FAILS = """
class Fails:
    def embed_corpus(self, corpus):
        pass

    def retrieve(self, query, top_k):
        raise RuntimeError("the index is gone")

class Few(Fails):
    def embed_corpus(self, corpus):
        self.ids = corpus.ids

    def retrieve(self, query, top_k):
        return self.ids[: len(query) % 3]
"""


@pytest.fixture
def fails(tmp_path: Path) -> str:
    (tmp_path / "fails.py").write_text(FAILS, encoding="utf-8")
    return "fails.py:Fails"


def test_rankings_of_fewer_tables_are_counted(inside: Inside, fails: str) -> None:
    (result,) = inside.results(*RUN, "fails.py:Few")
    none, short = result["counts"]["empty"], result["counts"]["short"]
    assert 0 < none < short
    words = f"{short} of 280 questions have fewer tables than asked for ({none} with none)"
    assert words in " ".join(inside.good(*RUN, "fails.py:Few", "--verbose").split())


def _own(folder: Path) -> None:
    """Write five tables of one's own, and questions about two."""
    names = [f"{folder.name}-{i}" for i in range(5)]
    files = {f"{name}.csv": f"a,b\n{name},1\n" for name in names}
    write_own(folder, files, [asked(name, query_id=name) for name in names[:2]])


def test_paths_keep_their_place(inside: Inside, tmp_path: Path) -> None:
    """Corpora are printed in the order they were asked for."""
    for name in ("shop", "barn"):
        _own(tmp_path / name)
    corpora = ("./shop", "--corpus", "mini", "--corpus", "./barn", "--top-k", "1")
    bounds = ("--task", "retrieval", "--retriever", "oracle", "--retriever", "no-context")
    order = [(r["corpus"], r["retriever"]) for r in inside.results("run", *corpora, *bounds)]
    assert order == [(c, r) for c in ("shop", "mini", "barn") for r in ("oracle", "no-context")]


def test_all_tasks_of_own_tables_are_those_that_their_references_fit(inside: Inside) -> None:
    folder = Path("own")
    folder.mkdir()
    (folder / "cities.csv").write_text("city,visitors\nOslo,3\nRome,9\n")
    run = ("run", "./own", "--task", "all", "--retriever", "oracle", "--json")
    for answer, fits in (("9", ["question_answering"]), ("True", ["fact_verification"]), ("", [])):
        (folder / "queries.csv").write_text(f"query,table_id,answer\nof Rome?,cities,{answer}\n")
        done = inside(*run)
        tasks = [result["task"] for result in json.loads(done.out)["results"]]
        assert set(tasks) >= {"retrieval", *fits}
        assert "./own has no references for " in done.err
        if answer == "9":
            why = "answer to a statement: expected True, False or Not Enough Information"
            assert f"./own, fact_verification: query '1': {why}" in done.err
        assert not set(tasks) & {"table_to_text", "text_to_table"}


def test_several_corpora_and_cutoffs(inside: Inside, tmp_path: Path) -> None:
    """Each has its table, and one of methods by corpora ends them; cutoffs may be repeated."""
    for name in ("shop", "kiosk"):
        folder = tmp_path / name
        folder.mkdir()
        for table in ("films", "towns"):
            (folder / f"{table}.csv").write_text(f"{table},b\n1,2\n")
        rows = [f"q{i},which {table},{table}" for i, table in enumerate(["films", "towns"] * 4)]
        (folder / "queries.csv").write_text("\n".join(["query_id,query,table_id", *rows]) + "\n")
    run = ("run", "./shop", "./kiosk", "--retriever", "bm25", "--retriever", "random")
    shown = inside(*run, "--top-k", "1", "--top-k", "2").out
    assert all(metric_column(f"recall@{k}").name.replace("\n", " ") in shown for k in (1, 2))
    table = shown.partition(" method ")[2]
    assert shown.count(" method ") == 1
    assert all(name in table for name in ("bm25", "random"))


def test_questions_without_gold_are_ranked_and_not_scored(inside: Inside, tmp_path: Path) -> None:
    """By several retrievers, whose rankings a report shows side by side."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "cities.csv").write_text("name,mayor\nOslo,Ann\n")
    (tmp_path / "shop" / "queries.csv").write_text("query_id,query\nq,mayor of Oslo\n")
    done = inside("run", tmp_path / "shop", "--retriever", "bm25", "--retriever", "rows")
    assert done.code == 0
    assert "No question has a reference: nothing is scored." in done.out
    assert "target-bench report" in done.out
