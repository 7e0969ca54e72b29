"""Options that were given though nothing reads them."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import Inside

RUN = ("run", "mini", "--retriever", "oracle", "--limit", "3")
PROMPT = {
    "system": "Answer.",
    "user": "{{ tables }} {{ query }}",
    "no_context_system": "Guess.",
    "no_context_user": "{{ query }}",
}


@pytest.mark.parametrize(
    ("option", "arguments"),
    [
        ("--generator", ("--task", "retrieval", "--generator", "gold")),
        ("--schema-scope", ("--task", "qa", "--schema-scope", "tables")),
        ("--structured/--free-text", ("--task", "qa", "--free-text")),
        ("--table-format", ("--task", "text_to_sql", "--table-format", "csv")),
    ],
)
def test_an_option_that_no_task_reads_is_reported(
    inside: Inside, option: str, arguments: tuple[str, ...]
) -> None:
    inside.telling(f"{option} changes nothing here", *RUN, *arguments)


def test_an_option_that_one_of_the_tasks_reads(inside: Inside) -> None:
    inside.good(*RUN, "--schema-scope", "tables", "--table-format", "csv", "--generator", "gold")


def test_stored_runs(inside: Inside) -> None:
    out = inside.good(*RUN, "--task", "qa", "--json")
    folder = json.loads(out)["results"][0]["folder"]
    inside.telling("--schema-scope changes nothing", "generate", folder, "--schema-scope", "tables")


@pytest.mark.parametrize("generator", ["gold", "extractive"])
def test_a_prompt_that_no_one_reads_is_reported(
    inside: Inside, tmp_path: Path, generator: str
) -> None:
    (tmp_path / "mine.yaml").write_text(json.dumps(PROMPT), encoding="utf-8")
    more = ("--task", "qa", "--generator", generator, "--prompt", "mine.yaml")
    inside.telling(f"nothing says that {generator} reads prompts", *RUN, *more)


def test_a_prompt_that_is_read(inside: Inside, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(json.dumps(PROMPT), encoding="utf-8")
    (tmp_path / "own.py").write_text(
        "class Own:\n    def generate(self, request):\n        return request.messages[-1].content"
    )
    inside.good(*RUN, "--task", "qa", "--generator", "own.py:Own", "--prompt", "mine.yaml")


def test_an_order_for_answers_that_name_their_queries(inside: Inside, tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text('["qa-0001"]', encoding="utf-8")
    (tmp_path / "named.json").write_text('{"qa-0001": "Oslo"}', encoding="utf-8")
    score = ("score", "mini", "--task", "qa", "--limit", "1", "--predictions")
    inside.telling(
        "order.json (--order) changes nothing", *score, "named.json", "--order", "order.json"
    )
