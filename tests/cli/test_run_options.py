"""Options of ``target-bench run`` that change no ranking, the cache, and what is printed when."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import json_lines, ottqa_question, ottqa_table, write_ottqa
from tests.cli.inside import Inside

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

class FailsToIndex(Fails):
    def embed_corpus(self, corpus):
        raise OSError(28, "No space left on device")
"""


def _results(out: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(out)["results"]
    return found


def _one(out: str) -> dict[str, Any]:
    (result,) = _results(out)
    return result


@pytest.fixture
def fails(tmp_path: Path) -> str:
    (tmp_path / "fails.py").write_text(FAILS, encoding="utf-8")
    return "fails.py:Fails"


def test_rankings_of_fewer_tables_are_counted(inside: Inside, fails: str) -> None:
    result = _one(inside.good(*RUN, "fails.py:Few", "--json"))
    none, short = result["counts"]["empty"], result["counts"]["short"]
    assert 0 < none < short
    words = f"{short} of 280 questions have fewer tables than asked for ({none} with none)"
    assert words in " ".join(inside.good(*RUN, "fails.py:Few", "--notes").split())


@pytest.mark.parametrize("memory", ["500MB", "1.5 GiB", "400000000"])
def test_memory(inside: Inside, memory: str) -> None:
    """A budget changes no score and no run."""
    first = _one(inside.good(*RUN, "bm25", "--json"))
    again = _one(inside.good(*RUN, "bm25", "--memory", memory, "--json", "--out", "other"))
    assert again["scores"] == first["scores"]
    assert Path(again["folder"]).name == Path(first["folder"]).name


def test_indexes(inside: Inside, tmp_path: Path) -> None:
    """Built and saved once, then read; the scores are the same."""
    arguments = (*RUN, "bm25", "--retriever", "tfidf", "--indexes", "saved", "--json", "--out")
    first = _results(inside.good(*arguments, "a"))
    folders = sorted((tmp_path / "saved").iterdir())
    assert len(folders) == 2
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "saved").rglob("*")}
    again = _results(inside.good(*arguments, "b"))
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert [r["scores"] for r in again] == [r["scores"] for r in first]
    plain = _results(inside.good(*RUN, "bm25", "--retriever", "tfidf", "--json", "--out", "c"))
    assert [r["scores"] for r in plain] == [r["scores"] for r in first]
    for name in ("a", "b"):
        left, right = ((tmp_path / n).glob("*/retrieval.jsonl") for n in (name, "c"))
        assert sorted(p.read_bytes() for p in left) == sorted(p.read_bytes() for p in right)


def test_broken_index(inside: Inside, tmp_path: Path) -> None:
    inside.good(*RUN, "bm25", "--indexes", "saved")
    (index,) = (tmp_path / "saved").rglob("index.json")
    index.write_text("{", encoding="utf-8")
    assert "index.json" in inside.bad(2, *RUN, "bm25", "--indexes", "saved", "--out", "other")


def _own(folder: Path, n: int) -> None:
    (folder / "tables").mkdir(parents=True)
    for i in range(n):
        name = f"{folder.name}-{i}"
        (folder / "tables" / f"{name}.csv").write_text(f"a,b\n{name},{i}\n", encoding="utf-8")
    queries = [
        {"query_id": f"q{i}", "query": f"{i}", "table_id": f"{folder.name}-{i}"} for i in (0, 1)
    ]
    (folder / "queries.jsonl").write_text(json_lines(queries), encoding="utf-8")


def test_distractors(inside: Inside, tmp_path: Path) -> None:
    """Another number is another run."""
    _own(tmp_path / "more", 5)
    run = (*RUN, "oracle", "--distractors")
    both = _one(inside.good(*run, "./more:n=2", "--json"))
    assert both["data"]["distractors"] == ["./more:n=2"]
    other = _one(inside.good(*run, "./more:n=3", "--json"))
    plain = _one(inside.good(*RUN, "oracle", "--json"))
    assert len({r["folder"] for r in (both, other, plain)}) == 3
    manifest = json.loads((Path(both["folder"]) / "manifest.json").read_bytes())
    (recorded,) = manifest["distractors"]
    assert (recorded["spec"], recorded["n"], len(recorded["ids"])) == ("./more:n=2", 2, 2)


def test_paths_keep_their_place(inside: Inside, tmp_path: Path) -> None:
    """Corpora are printed in the order they were asked for."""
    _own(tmp_path / "shop", 3)
    _own(tmp_path / "barn", 3)
    run = (
        "run",
        "./shop",
        "--corpus",
        "mini",
        "--corpus",
        "./barn",
        "--top-k",
        "1",
        "--task",
        "retrieval",
    )
    more = ("--retriever", "oracle", "--retriever", "no-context", "--json")
    found = [(r["corpus"], r["retriever"]) for r in _results(inside.good(*run, *more))]
    expected = [(c, r) for c in ("shop", "mini", "barn") for r in ("oracle", "no-context")]
    assert found == expected


def test_retry_failed(inside: Inside, fails: str) -> None:
    """Still failing: told again, and nothing is lost."""
    run = (*RUN, fails, "--on-error", "record", "--limit", "3")
    for more in ((), (), ("--retry-failed",)):
        done = inside(*run, *more)
        assert done.code == 3
        assert "failed on 3 of 3 queries of mini (scored 0)" in done.err
    (path,) = Path("runs").glob("*/retrieval.jsonl")
    assert len(path.read_text(encoding="utf-8").splitlines()) == 6
    assert "RuntimeError: the index is gone" in inside.bad(3, *run[:-4], "--limit", "3")


def test_cache(inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    assert "0 entries, 0.0 MB" in inside.good("data", "cache", "list")
    assert json.loads(inside.good("data", "cache", "list", "--json")) == []
    assert "removed 0 entries" in inside.good("data", "cache", "clear")
    write_ottqa(tmp_path / "data", [ottqa_table("Cup_0")], [ottqa_question("q1", "Cup_0")])
    run = ("run", "ottqa", "--data-dir", "data", "--retriever", "oracle", "--top-k", "1")
    first = inside.good(*run)
    entries = json.loads(inside.good("data", "cache", "list", "--json"))
    assert entries
    listed = inside.good("data", "cache", "list")
    assert f"{len(entries)} entries" in listed
    assert "ottqa" in listed
    assert inside.good(*run).replace(", reused", "") == first
    assert f"removed {len(entries)} entries" in inside.good("data", "cache", "clear")
    assert json.loads(inside.good("data", "cache", "list", "--json")) == []
    assert inside.good(*run).replace(", reused", "") == first


def test_a_key_in_an_error_is_masked(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the plug-in raises with it, and in tracebacks too."""
    key = "sk-test-SECRET-0123456789"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    (tmp_path / "keyed.py").write_text(FAILS.replace('"No space left on device"', repr(key)))
    for more in ((), ("--debug",)):
        done = inside(*RUN, "keyed.py:FailsToIndex", *more)
        assert done.code == 3
        assert "FailsToIndex" in done.err
        assert key not in done.err


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
            why = "the answer of a statement should be True, False or Not Enough Information"
            assert f"./own, fact_verification: query '1': {why}" in done.err
        assert not set(tasks) & {"table_to_text", "text_to_table", "table_answering"}
