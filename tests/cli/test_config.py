"""``run --config FILE``."""

import json
from pathlib import Path

from tests.cli.inside import Inside

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
