"""The prompts of TARGET's paper (Appendix D), which ``--prompt paper`` names."""

from pathlib import Path

import pytest

from target_bench import Generator
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import GenerationRequest
from target_bench.models.prompts.prompting import Prompt
from tests.builders import Recorder
from tests.target import TARGET

NO_TABLES = (
    "Some or all tables are not available. Please use your best judgment to complete the task. DO "
    'NOT RESPOND with "not enough information" or similar answers, and don\'t acknowledge the lack '
    "of information in your response. Just use your knowledge base and answer to the best of your "
    "ability."
)
"""What stands in the place of tables where there are none (TARGET, Appendix D)."""

OPTIONS = RunConfig(prompt="paper")
WORDING = {
    "question_answering": [
        "You are a data analyst who reads tables to answer questions.",
        "Yield a concise answer to the question.\nIf the tables cannot be used to answer the "
        "question, say that not enough information is provided.\n\nTables: THE TABLES\n\n"
        "Question: Who?",
    ],
    "fact_verification": [
        "You are an expert in evaluating statements on factuality given the provided tables.",
        "whether the evidence supports or refutes the following statement, or does not contain "
        "enough information.\nAssign the statement one of three labels: True, False, Not Enough "
        "Information. Do not include anything else in your answer.\n\nTables: THE TABLES\n\n"
        "Statement: Who?",
    ],
    "text_to_sql": [
        "You are an expert and very smart data analyst.",
        "Database Schema:\nTHE TABLES\nThis schema offers an in-depth description",
        "\nQuestion:\nWho?\n\nPlease respond with a paragraph structured as follows:\n\n",
        '"sql_query": string  // the sql query you write.',
        "I will give you 1 million dollars.",
    ],
}


@pytest.mark.parametrize("task", WORDING)
def test_wording(task: str) -> None:
    prompt = Prompt.load(task, OPTIONS.prompt)
    assert prompt.name == "paper"
    system, user = (message.content for message in prompt.make_messages("Who?", "THE TABLES"))
    assert system == WORDING[task][0]
    for part in WORDING[task][1:]:
        assert part in user
    without = prompt.make_messages("Who?", "")
    assert [m.content for m in without] == [system, user.replace("THE TABLES", NO_TABLES)]


class Recording(Generator):
    """Keeps the last user message of each task."""

    converses = True
    sent: dict[str, str]

    def __init__(self) -> None:
        Recording.sent = {}

    def generate(self, request: GenerationRequest) -> str:
        self.sent.setdefault(request.task, request.messages[1].content)
        return "True"


def test_a_run(tmp_path: Path) -> None:
    tasks = [(task, "mini") for task in WORDING]
    target = TARGET(tasks, out=tmp_path, observer=Recorder())
    options = {"generator": Recording(), "limit": 1, "prompt": "paper"}
    results = target.run("oracle", **options)  # type: ignore[arg-type]
    assert list(Recording.sent) == list(WORDING)
    assert Recording.sent["question_answering"].startswith("Use the provided table(s)")
    assert "CREATE TABLE" in Recording.sent["text_to_sql"]
    Recording.sent.clear()
    target.run("no-context", **options)  # type: ignore[arg-type]
    assert all(NO_TABLES in sent for sent in Recording.sent.values())
    ours = target.run("oracle", **(options | {"prompt": None}))  # type: ignore[arg-type]
    assert {r.folder for r in ours}.isdisjoint(r.folder for r in results)


def test_a_folder_of_prompts(tmp_path: Path) -> None:
    (tmp_path / "fact_verification.yaml").write_text(
        "system: s\nuser: '{{ query }} {{ tables }}'\nno_context_system: n\n"
        "no_context_user: '{{ query }}'\n"
    )
    assert Prompt.load("fact_verification", tmp_path).make_messages("a", "b")[1].content == "a b"
    assert OPTIONS.prompt_json()["prompt"] == str(OPTIONS.prompt)
