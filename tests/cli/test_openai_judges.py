"""Tables judged by a model behind the OpenAI API: P-Score and TabXEval, over real sockets."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("openai")

from tests.cli.inside import Inside
from tests.openai_server import OpenAIServer, Reply, Request, answer, error

REFERENCE = "| city | people |\n|---|---|\n| Vienna | 2 |\n| Rome | 3 |\n"
PREDICTION = "| Stadt | people |\n|---|---|\n| Wien | 2 |\n| Rome | 4 |\n"


def says(request: Request) -> Reply:
    """Align as the rules do, take texts that differ for the same, and rate all pairs alike."""
    aligned = re.search(r"first:\n(\{.*\})\n", request.content)
    reply: object = {"content_similarity": 8, "structural_similarity": 10}
    if aligned:
        reply = json.loads(aligned[1])
    elif "their texts" in request.content:
        numbers = re.findall(r"^(\d+)\. ", request.content, re.MULTILINE)
        reply = dict.fromkeys(numbers, "same")
    return answer(f"Well.\n```json\n{json.dumps(reply)}\n```")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Path("reference.md").write_text(REFERENCE)
    Path("prediction.md").write_text(PREDICTION)
    with OpenAIServer() as running:
        running.script = says
        yield running


def _judge(server: OpenAIServer) -> str:
    return f"openai:model=m,base_url={server.base_url}"


def test_two_tables_are_compared_with_a_model(inside: Inside, server: OpenAIServer) -> None:
    compare = ("tables", "compare", "reference.md", "prediction.md", "--json")
    rules = json.loads(inside.good(*compare))
    done = inside(*compare, "--generator", _judge(server), "--yes")
    assert done.code == 0
    assert "not in the requested form" not in done.err
    judged = json.loads(done.out)
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2
    assert judged["score"] > rules["score"]
    kinds = {cell["reference"]: cell["difference"]["kind"] for cell in judged["cells"]}
    assert kinds == {"Vienna": "format", "3": "numeric"}


def test_a_judge_that_fails_fails_the_command_and_is_asked_again(
    inside: Inside, server: OpenAIServer
) -> None:
    server.script = lambda _: error(400, "no")
    task = f"text-to-table:judged_by='{_judge(server)}'"
    run = ("run", "mini", "--task", task, "--generator", "gold", "--limit", "3", "--yes", "-v")
    done = inside(*run)
    assert done.code == 3
    assert "P-Score: asked 3, counted 0" in done.out
    assert (
        "the judge failed on 3 answers of mini (scored without it; run the same command again"
        in done.err
    )
    server.script = says
    done = inside(*run)
    assert done.code == 0
    assert "P-Score: asked 3, counted 3" in done.out
