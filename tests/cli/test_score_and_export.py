"""``target-bench score`` and ``target-bench runs export``: there and back."""

import json
from pathlib import Path
from typing import Any

from tests.builders import json_lines, rewrite
from tests.cli.inside import Inside

RUN = ("run", "mini", "--retriever", "bm25", "--top-k", "1,10", "--json", "--task", "retrieval")


def _result(out: str) -> dict[str, Any]:
    result: dict[str, Any]
    (result,) = json.loads(out)["results"]
    return result


def test_there_and_back(inside: Inside) -> None:
    """Run, export, score: the same figures; the second time reused."""
    first = _result(inside.good(*RUN))
    printed = inside.good("runs", "export", first["folder"], "-o", "trec")
    assert printed.split() == ["trec/run.trec", "trec/qrels.trec"]
    score = ("score", "mini", "--run", "trec/run.trec", "--top-k", "1,10")
    again = _result(inside.good(*score, "--json"))
    assert again["scores"] == first["scores"]
    assert again["retriever"] == "run.trec"
    table = inside.good(*score)
    assert f"{first['scores']['recall@10']['value']:.3f}".removeprefix("0") in table
    assert "reused" in table
    own = Path(first["folder"]) / "retrieval.jsonl"
    assert (
        _result(inside.good("score", "mini", "--run", own, *RUN[4:]))["scores"] == first["scores"]
    )


def test_export_of_data_of_ones_own(inside: Inside, tmp_path: Path) -> None:
    """Distractors included; moved data is named again; other data is refused."""
    for name, n in (("mini", 3), ("more", 2)):
        (tmp_path / name / "tables").mkdir(parents=True)
        for i in range(n):
            path = tmp_path / name / "tables" / f"{name} {i}.csv"
            path.write_text(f"a,b\n{name},{i}\n", encoding="utf-8")
    queries = [{"query_id": f"q {i}", "query": f"{i}", "table_id": f"mini {i}"} for i in range(3)]
    (tmp_path / "mini" / "queries.jsonl").write_text(json_lines(queries), encoding="utf-8")
    run = ("run", "./mini", "--distractors", "./more", "--retriever", "bm25", "--top-k", "2")
    folder = _result(inside.good(*run, "--json"))["folder"]
    inside.good("runs", "export", folder, "-o", "a")
    run_file = (tmp_path / "a" / "run.trec").read_text(encoding="utf-8")
    assert "q%201 Q0 " in run_file
    assert " mini%201 " in run_file

    (tmp_path / "mini").rename(tmp_path / "moved")
    message = inside.bad(2, "runs", "export", folder, "-o", "b")
    assert "--corpus" in message
    assert not (tmp_path / "b").exists()
    inside.good("runs", "export", folder, "-o", "b", "--corpus", "./moved")
    assert (tmp_path / "b" / "run.trec").read_text(encoding="utf-8") == run_file

    (tmp_path / "moved" / "tables" / "mini 0.csv").write_text("a,b\n9,9\n", encoding="utf-8")
    assert "other tables" in inside.bad(
        2, "runs", "export", folder, "-o", "b", "--corpus", "./moved"
    )


def test_export_of_scores_that_are_older_than_the_rankings(inside: Inside) -> None:
    """As when failed queries were asked again and the process was killed."""
    folder = Path(_result(inside.good(*RUN))["folder"])
    rewrite(folder / "scores.json", lambda scores: scores["counts"].update(failed=1))
    assert "not finished; finish it with the command" in inside.bad(4, "runs", "export", folder)


def test_a_misspelled_run_is_told_as_one(inside: Inside) -> None:
    printed = inside("score", "retrieval-mini")
    assert printed.code == 2
    assert "retrieval-mini: neither a run folder nor the name or id (at least 4" in printed.err


FIRST_K = """
class FirstK:
    def embed_corpus(self, corpus):
        self.ids = list(corpus.ids)

    def retrieve(self, query, top_k):
        return self.ids[:top_k][::-1]
"""


def test_an_export_says_which_ranking_it_holds(inside: Inside, tmp_path: Path) -> None:
    """Of a retriever whose ranking depends on k the deepest one; of others there is but one."""
    (tmp_path / "own.py").write_text(FIRST_K)
    for retriever, said in (("own.py:FirstK", True), ("bm25", False)):
        run = ("run", "mini", "--retriever", retriever, "--top-k", "1,10", "--json")
        folder = _result(inside(*run).out)["folder"]
        printed = inside.good("runs", "export", folder, "-o", "trec")
        assert ("run.trec has those at k = 10 alone" in " ".join(printed.split())) == said
