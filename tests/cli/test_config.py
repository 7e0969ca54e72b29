"""``run --config FILE``, and ``runs show --config``, which writes such a file."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.data.written import asked, write_own

RUN = """
corpora: mini
tasks: {name: Text-to-SQL, timeout: 5, engine: duckdb}
retrievers:
  - {name: bm25, k1: 0.9, fields: [title, header]}
generators: gold
limit: 3
top_k: [5, 1]
schema_scope: tables
structured: false
"""


def _file(text: str) -> Path:
    path = Path("run.yaml")
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_what_the_command_line_says(inside: Inside) -> None:
    (by_file,) = inside.results("run", "--config", _file(RUN))
    line = "run mini --task sql:timeout=5,engine=duckdb --generator gold --limit 3 --top-k 1,5"
    line += " --schema-scope tables --free-text --retriever"
    (by_line,) = inside.results(*line.split(), "bm25:k1=0.9,fields=[title,header]")
    assert by_line["folder"] == by_file["folder"]


def test_the_command_line_goes_before_the_file(inside: Inside) -> None:
    file = _file("\n".join(line for line in RUN.splitlines() if "schema" not in line))
    more = ("--limit", "2", "--retriever", "oracle", "--task", "qa", "--structured", "--json")
    for corpus in ((), ("mini",), ("--corpus", "MINI")):
        done = inside("run", *corpus, "--config", file, *more)
        (result,) = json.loads(done.out)["results"]
        assert (result["task"], result["retriever"]) == ("question_answering", "oracle")
        assert result["counts"]["asked"] == 2
        assert "recall@5" in result["scores"]
        assert "recall@10" not in result["scores"]


@pytest.mark.parametrize(
    "options",
    [
        "--task text-to-sql:engine=duckdb --retriever bm25:k1=0.9 --generator gold --limit 3 "
        "--free-text --tables 1",
        "--task retrieval --retriever tfidf --top-k 3 --split val",
        "--task retrieval --retriever random --distractors ./more",
    ],
)
def test_a_run_shows_the_file_that_makes_it_again(
    inside: Inside, tmp_path: Path, options: str
) -> None:
    files = {f"t{i}.csv": f"a,b\n{i},{i}\n" for i in range(3)}
    write_own(tmp_path / "more", files, [asked("t0")])
    done = inside("run", "mini", *options.split(), "--json")
    first = json.loads(done.out)["results"][-1]
    shown = inside.good("runs", "show", first["folder"], "--config")
    folders = set(Path("runs").iterdir())
    assert "in runs/, reused" in inside("run", "--config", _file(shown)).out
    assert set(Path("runs").iterdir()) == folders
    assert inside.good("runs", "show", first["folder"], "--config") == shown
