"""``run --config FILE``, and ``runs show --config``, which writes such a file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import json_lines
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


def _results(out: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(out)["results"]
    return found


def _file(text: str) -> Path:
    path = Path("run.yaml")
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_what_the_command_line_says(inside: Inside) -> None:
    (by_file,) = _results(inside.good("run", "--config", _file(RUN), "--json"))
    line = "run mini --task sql:timeout=5,engine=duckdb --generator gold --limit 3 --top-k 1,5"
    line += " --schema-scope tables --free-text --json --retriever"
    (by_line,) = _results(inside.good(*line.split(), "bm25:k1=0.9,fields=[title,header]"))
    assert by_line["folder"] == by_file["folder"]


def test_the_command_line_goes_before_the_file(inside: Inside) -> None:
    file = _file("\n".join(line for line in RUN.splitlines() if "schema" not in line))
    more = ("--limit", "2", "--retriever", "oracle", "--task", "qa", "--structured", "--json")
    (result,) = _results(inside("run", "--config", file, *more).out)
    assert (result["task"], result["retriever"]) == ("question_answering", "oracle")
    assert result["counts"]["asked"] == 2
    assert "recall@5" in result["scores"]
    assert "recall@10" not in result["scores"]
    found = _results(inside("run", "mini", "--config", file, *more, "--corpus", "MINI").out)
    assert len(found) == 1


ROUND = {
    "answers": (
        "--task",
        "text-to-sql:engine=duckdb",
        "--retriever",
        "bm25:k1=0.9",
        "--generator",
        "gold",
        "--limit",
        "3",
        "--free-text",
        "--tables",
        "1",
    ),
    "rankings": ("--task", "retrieval", "--retriever", "tfidf", "--top-k", "3", "--split", "val"),
    "one database": ("--task", "sql", "--retriever", "oracle", "--database", "mountain_huts"),
    "distractors": ("--task", "retrieval", "--retriever", "random", "--distractors", "./more"),
}


@pytest.mark.parametrize("line", ROUND.values(), ids=ROUND)
def test_a_run_shows_the_file_that_makes_it_again(
    inside: Inside, tmp_path: Path, line: tuple[str, ...]
) -> None:
    folder = tmp_path / "more" / "tables"
    folder.mkdir(parents=True)
    for i in range(3):
        (folder / f"t{i}.csv").write_text(f"a,b\n{i},{i}\n", encoding="utf-8")
    queries = [{"query_id": "q", "query": "0", "table_id": "t0"}]
    (tmp_path / "more" / "queries.jsonl").write_text(json_lines(queries), encoding="utf-8")
    first = _results(inside("run", "mini", *line, "--json").out)[-1]
    shown = inside.good("runs", "show", first["folder"], "--config")
    folders = set(Path("runs").iterdir())
    assert "in runs/, reused" in inside("run", "--config", _file(shown)).out
    assert set(Path("runs").iterdir()) == folders
    assert inside.good("runs", "show", first["folder"], "--config") == shown
