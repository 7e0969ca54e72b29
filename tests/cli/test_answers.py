"""Tasks about answers on the command line: what is printed, and what a mistake is told."""

import json
from pathlib import Path

import pytest

from target_bench.core.schema import Query
from target_bench.data.load import load
from target_bench.runs.result import Results
from tests.builders import json_lines
from tests.cli.inside import Inside
from tests.target import TARGET

QA = ("run", "mini", "--task", "qa", "--retriever", "oracle")
SCORE_QA = ("score", "mini", "--task", "qa", "--predictions", "answers.jsonl")
QUERIES = load("mini").queries
QUESTIONS = [query for query in QUERIES if query.metadata["task"] == "question_answering"]
STATEMENTS = [query for query in QUERIES if query.metadata["task"] == "fact_verification"]

GENERATORS = """
from target_bench.core.schema import Generation


class Own:
    def __init__(self, bad: str = "nothing"):
        self.bad = bad

    def generate(self, request):
        if request.query_id == self.bad:
            raise RuntimeError("the model is gone")
        return request.tables[0].rows[0][1]


class Counting:
    def generate(self, request):
        return Generation(request.query_id, "x", input_tokens=3)
"""


@pytest.fixture(autouse=True)
def _own(inside: Inside) -> None:
    Path("own.py").write_text(GENERATORS, encoding="utf-8")


def _write(queries: list[Query]) -> None:
    texts = {q.id: q.answer if isinstance(q.answer, str) else q.answer[0] for q in queries}
    records = ({"query_id": query_id, "text": text} for query_id, text in texts.items())
    Path("answers.jsonl").write_text(json_lines(records), encoding="utf-8")


def test_questions(inside: Inside) -> None:
    """Every offline retriever with the extractive baseline; the second time reused."""
    out = inside.good("run", "mini", "--task", "qa")
    assert "bm25 + extractive and tfidf + extractive tie as the best: exact_match .3" in out
    assert "4 runs in runs/ " in out
    assert "4 runs in runs/, reused" in inside.good("run", "mini", "--task", "qa")


def test_json(inside: Inside, tmp_path: Path) -> None:
    """The shape of a result, the same with and without a generator."""
    (result,) = inside.results(*QA, "--limit", "5")
    ranking = ("run", "mini", "--task", "retrieval", "--retriever", "oracle", "--limit", "5")
    (ranked,) = inside.results(*ranking)
    assert set(result) == set(ranked)
    assert ranked["answers"] is None
    names = (result["task"], result["retriever"], result["generator"])
    assert names == ("question_answering", "oracle", "extractive")
    assert result["n_queries"] == 5
    counts = {
        "asked": 5,
        "answered": 5,
        "failed": 0,
        "unparsed": 0,
        "truncated": 0,
        "at_token_limit": 0,
    }
    unknown = dict.fromkeys(["input_tokens", "output_tokens", "cost"])  # null, not 0
    assert result["answers"] == {**counts, **unknown}
    assert set(result["seconds"]) == {"load", "generate", "score"}  # nothing was ranked
    assert set(ranked["scores"]) < set(result["scores"])
    for score in result["scores"].values():
        assert set(score) == {"value", "low", "high", "n", "signature"}
        assert score["low"] <= score["value"] <= score["high"]
        assert score["n"] == 5
    folder = tmp_path / result["folder"]
    names_of_files = {path.name for path in folder.iterdir()}
    assert names_of_files >= {"manifest.json", "generations.jsonl", "scores.json"}
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    prompt = manifest["identity"]["prompt"]
    assert (len(prompt["prompt"]), prompt["format"], prompt["budget"]) == (12, "markdown", 8000)
    (counted,) = inside.results(*QA, "--limit", "5", "--generator", "own.py:Counting")
    assert {name: counted["answers"][name] for name in unknown} == unknown | {"input_tokens": 15}


def test_failed_answers(inside: Inside) -> None:
    """All is scored and printed; the exit code and a message say that some failed."""
    bad = QUESTIONS[9].id
    spec = f"own.py:Own:bad={bad}"
    done = inside(*QA, "--generator", spec, "--generator", "gold")
    assert done.code == 3
    assert "2 runs in runs/" in done.out
    for part in ("failed on 1 of 144", "scored 0", repr(bad), "RuntimeError: the model is gone"):
        assert part in done.err
    assert "Traceback" not in done.err
    again = inside(*QA, "--generator", spec, "--json")
    assert again.code == 3, "a reused run says so too"
    (result,) = json.loads(again.out)["results"]
    assert (result["answers"]["answered"], result["answers"]["failed"]) == (143, 1)
    assert all(score["n"] == 144 for score in result["scores"].values())


def test_score_answers(inside: Inside) -> None:
    """Missing ones fail and are counted; the scores are over all that was asked."""
    _write(QUESTIONS[:100])
    done = inside(*SCORE_QA, "--json")
    assert done.code == 3
    assert "failed on 44 of 144" in done.err
    assert "missing: no answer in answers.jsonl" in done.err
    (result,) = json.loads(done.out)["results"]
    assert (result["generator"], result["retriever"]) == ("answers.jsonl", "no-context")
    assert (result["answers"]["asked"], result["answers"]["answered"]) == (144, 100)
    assert result["scores"]["exact_match"]["value"] == pytest.approx(100 / 144)


def test_what_was_not_ranked_has_no_score(inside: Inside, tmp_path: Path) -> None:
    """Beside answers without tables; as a result of its own it is the lower bound."""
    _write(QUESTIONS)
    without = ("run", "mini", "--task", "qa", "--retriever", "no-context")
    for command in (SCORE_QA, without):
        (result,) = inside.results(*command)
        ranked = {k: s for k, s in result["scores"].items() if k.startswith(("recall@", "mrr"))}
        assert len(ranked) >= 2
        for score in ranked.values():
            assert (score["value"], score["low"], score["high"], score["n"]) == (None,) * 3 + (0,)
        assert result["scores"]["exact_match"]["value"] is not None
    (bound,) = inside.results(*without, "--task", "retrieval")[1:]
    assert bound["scores"]["recall@10"]["value"] == 0
    target = TARGET(("question_answering", "mini"), out=tmp_path / "runs")
    nothing, both = target.run("no-context"), target.run("bm25")
    assert set(nothing.to_arrow()["recall@10"].to_pylist()) == {None}
    text = str(Results([*nothing, *both]))
    assert next(line for line in text.split("\n") if "no-context" in line).split()[1] == "–"


def test_score_answers_of_the_last_questions_alone(inside: Inside) -> None:
    """Ten that are missing first are no fault of a generator; scored again, nothing is new."""
    _write(QUESTIONS[11:])
    for reused in ("", ", reused"):
        done = inside(*SCORE_QA)
        assert "failed on 11 of 144 queries" in done.err
        assert f"1 run in runs/{reused} " in done.out
    lines = next(Path("runs").glob("*/generations.jsonl")).read_bytes().count(b"\n")
    assert lines == len(QUESTIONS)


def test_score_answers_of_others(inside: Inside) -> None:
    """Ids that the corpus does not have are told, and are an error if there are no others."""
    _write([*QUESTIONS, *STATEMENTS])
    done = inside(*SCORE_QA)
    assert (done.code, "79 of its 223 answers are to no query of mini test" in done.err) == (
        0,
        True,
    )
    _write(STATEMENTS)
    assert "none of its 79" in inside.bad(2, *SCORE_QA)
