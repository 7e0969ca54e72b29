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


@pytest.mark.parametrize("generator", ["gold", "extractive"])
def test_a_prompt_that_no_one_reads_is_reported(
    inside: Inside, tmp_path: Path, generator: str
) -> None:
    (tmp_path / "mine.yaml").write_text(json.dumps(PROMPT), encoding="utf-8")
    more = ("--task", "qa", "--generator", generator, "--prompt", "mine.yaml")
    inside.telling(f"nothing says that {generator} reads prompts", *RUN, *more)
