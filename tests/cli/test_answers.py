"""Tasks about answers on the command line: what is printed, and what a mistake is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.schema import Query
from target_bench.data.load import load
from target_bench.harness.target import TARGET
from target_bench.runs.result import Results
from tests.builders import json_lines
from tests.cli.inside import Inside

QA = ("run", "mini", "--task", "qa", "--retriever", "oracle")
COUNTING = """
from target_bench.core.schema import Generation

class Counting:
    def generate(self, request):
        return Generation(request.query_id, "x", input_tokens=3)
"""
SCORE_QA = ("score", "mini", "--task", "qa", "--predictions")
QUERIES = load("mini").queries

GENERATORS = """
class Own:
    def __init__(self, bad: str = "nothing"):
        self.bad = bad

    def generate(self, request):
        if request.query_id == self.bad:
            raise RuntimeError("the model is gone")
        return request.tables[0].rows[0][1]
"""


def _of(task: str) -> list[Query]:
    return [query for query in QUERIES if query.metadata["task"] == task]


QUESTIONS = _of("question_answering")
STATEMENTS = _of("fact_verification")


def _gold(query: Query) -> str:
    return query.answer if isinstance(query.answer, str) else query.answer[0]


def _results(out: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(out)["results"]
    return found


def _one(out: str) -> dict[str, Any]:
    (result,) = _results(out)
    return result


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "own.py").write_text(GENERATORS, encoding="utf-8")
    return "own.py:Own"


def test_questions(inside: Inside) -> None:
    """Every offline retriever with the extractive baseline; the second time reused."""
    out = inside.good("run", "mini", "--task", "qa")
    assert "+ extractive has exact_match .3" in out
    assert "4 runs in runs/ " in out
    assert "4 runs in runs/, reused" in inside.good("run", "mini", "--task", "qa")


def test_json(inside: Inside, tmp_path: Path) -> None:
    """The shape of a result, the same with and without a generator."""
    result = _one(inside.good(*QA, "--json", "--limit", "5"))
    ranking = ("run", "mini", "--task", "retrieval", "--retriever", "oracle", "--limit", "5")
    ranked = _one(inside.good(*ranking, "--json"))
    assert set(result) == set(ranked)
    assert ranked["answers"] is None
    assert (result["task"], result["retriever"], result["generator"]) == (
        "question_answering",
        "oracle",
        "extractive",
    )
    assert result["n_queries"] == 5
    assert result["answers"] == {
        "asked": 5,
        "answered": 5,
        "failed": 0,
        "unparsed": 0,
        "truncated": 0,
        "cut": 0,
        "input_tokens": None,
        "output_tokens": None,
        "cost": None,
    }
    assert set(result["seconds"]) == {"load", "generate", "score"}  # nothing was ranked
    assert set(ranked["scores"]) < set(result["scores"])
    for score in result["scores"].values():
        assert set(score) == {"value", "low", "high", "n", "signature"}
        assert score["low"] <= score["value"] <= score["high"]
        assert score["n"] == 5
    folder = tmp_path / result["folder"]
    assert {path.name for path in folder.iterdir()} >= {
        "manifest.json",
        "generations.jsonl",
        "scores.json",
    }
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    prompt = manifest["identity"]["prompt"]
    assert (len(prompt["prompt"]), prompt["format"], prompt["budget"]) == (12, "markdown", 8000)


def test_failed_answers(inside: Inside, own: str) -> None:
    """All is scored and printed; the exit code and a message say that some failed."""
    bad = QUESTIONS[9].id
    spec = f"{own}:bad={bad}"
    done = inside(*QA, "--generator", spec, "--generator", "gold")
    assert done.code == 3
    assert "2 runs in runs/" in done.out
    for part in ("failed on 1 of 144", "scored 0", repr(bad), "RuntimeError: the model is gone"):
        assert part in done.err
    assert "Traceback" not in done.err
    again = inside(*QA, "--generator", spec, "--json")
    assert again.code == 3, "a reused run says so too"
    result = _one(again.out)
    assert (result["answers"]["answered"], result["answers"]["failed"]) == (143, 1)
    assert all(score["n"] == 144 for score in result["scores"].values())


PROMPT = {
    "system": "Answer.",
    "user": "{{ tables }} {{ query }}",
    "no_context_system": "Guess.",
    "no_context_user": "{{ query }}",
}


# money


def _write(folder: Path, queries: list[Query]) -> Path:
    path = folder / "answers.jsonl"
    path.write_text(json_lines({"query_id": q.id, "text": _gold(q)} for q in queries))
    return path


def test_score_answers(inside: Inside, tmp_path: Path) -> None:
    """Missing ones fail and are counted; the scores are over all that was asked."""
    _write(tmp_path, QUESTIONS[:100])
    done = inside(*SCORE_QA, "answers.jsonl", "--json")
    assert done.code == 3
    assert "failed on 44 of 144" in done.err
    assert "missing: no answer in answers.jsonl" in done.err
    result = _one(done.out)
    assert (result["generator"], result["retriever"]) == ("answers.jsonl", "no-context")
    assert (result["answers"]["asked"], result["answers"]["answered"]) == (144, 100)
    assert result["scores"]["exact_match"]["value"] == pytest.approx(100 / 144)


def test_what_was_not_ranked_has_no_score(inside: Inside, tmp_path: Path) -> None:
    """Beside answers without tables; as a result of its own it is the lower bound."""
    _write(tmp_path, QUESTIONS)
    for command in (
        (*SCORE_QA, "answers.jsonl"),
        ("run", "mini", "--task", "qa", "--retriever", "no-context"),
    ):
        result = _one(inside.good(*command, "--json"))
        ranked = {k: s for k, s in result["scores"].items() if k.startswith(("recall@", "mrr"))}
        assert len(ranked) >= 2
        for score in ranked.values():
            assert (score["value"], score["low"], score["high"], score["n"]) == (None,) * 3 + (0,)
        assert result["scores"]["exact_match"]["value"] is not None
    bound = _one(
        inside.good("run", "mini", "--task", "retrieval", "--retriever", "no-context", "--json")
    )
    assert bound["scores"]["recall@10"]["value"] == 0
    found = TARGET(("question_answering", "mini"), out=tmp_path / "runs").run("no-context")
    assert set(found.to_arrow()["recall@10"].to_pylist()) == {None}
    both = TARGET(("question_answering", "mini"), out=tmp_path / "runs").run("bm25")
    text = str(Results([*found, *both]))
    assert next(line for line in text.split("\n") if "no-context" in line).split()[1] == "–"


def test_what_no_one_counts_is_not_known(inside: Inside, tmp_path: Path) -> None:
    """Tokens and cost: null, not 0."""
    result = _one(
        inside.good("run", "mini", "--task", "qa", "--retriever", "bm25", "--limit", "5", "--json")
    )
    for name in ("input_tokens", "output_tokens", "cost"):
        assert result["answers"][name] is None
    (tmp_path / "counting.py").write_text(COUNTING, encoding="utf-8")
    generator = ("--generator", "counting.py:Counting")
    result = _one(
        inside.good(
            "run",
            "mini",
            "--task",
            "qa",
            "--retriever",
            "bm25",
            "--limit",
            "5",
            "--json",
            *generator,
        )
    )
    assert result["answers"]["input_tokens"] == 15
    assert result["answers"]["output_tokens"] is None
    assert result["answers"]["cost"] is None


def test_score_answers_of_others(inside: Inside, tmp_path: Path) -> None:
    """Ids that the corpus does not have are told, and are an error if there are no others."""
    _write(tmp_path, [*QUESTIONS, *STATEMENTS])
    done = inside(*SCORE_QA, "answers.jsonl")
    assert done.code == 0
    assert "79 of its 223 answers are to no query of mini test" in done.err
    _write(tmp_path, STATEMENTS)
    message = inside.bad(2, *SCORE_QA, "answers.jsonl")
    assert "none of its 79" in message
