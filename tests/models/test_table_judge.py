"""The judge of the P-Score: the prompts that the paper prints."""

from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.schema import GenerationRequest
from target_bench.generators.openai import OpenAI
from target_bench.models.table_judge import PairJudge, pair_replies
from target_bench.tables.answer_tables import TableFormat


class Listener:
    def __init__(self) -> None:
        self.asked: list[GenerationRequest] = []

    def generate(self, request: GenerationRequest) -> str:
        self.asked.append(request)
        return "no"


@pytest.mark.parametrize(
    ("table_format", "kind", "mark"),
    [
        ("text", "tables/data structures", ""),
        ("html", "HTML tables/data structures", "html"),
        ("latex", "LaTeX tables", "latex"),
        ("csv", "tables/data structures", ""),
        ("json", "tables/data structures", ""),
    ],
)
def test_each_format_has_its_prompt(table_format: TableFormat, kind: str, mark: str) -> None:
    listener = Listener()
    pair_replies(PairJudge(listener), {"q": ("{answer}", "gold", table_format)})
    assert [request.query_id for request in listener.asked] == ["q#1", "q#2"]
    orders = (("{answer}", "gold"), ("gold", "{answer}"))
    for request, (one, other) in zip(listener.asked, orders, strict=True):
        system, user = request.messages
        assert system.content == "You are a helpful data-processing assistant."
        assert user.content.startswith(f"We want to evaluate how similar the following {kind} are.")
        assert f"Table 1:\n\n```{mark}\n{one}\n```" in user.content
        assert f"Table 2:\n\n```{mark}\n{other}\n```" in user.content
        assert user.content.endswith("Think carefully, and then output the scores.")
        assert request.temperature == 0.1


@pytest.mark.parametrize(("own", "sent"), [(0.0, 0.1), (None, None)])
def test_the_temperature_is_that_of_the_request(own: float | None, sent: float | None) -> None:
    """Unless the model takes none."""
    pytest.importorskip("openai")
    listener = Listener()
    pair_replies(PairJudge(listener), {"q": ("a", "b", "text")})
    body = OpenAI("m", "http://127.0.0.1:9", temperature=own).body(listener.asked[0])
    assert body.get("temperature") == sent


def test_another_prompt(tmp_path: Path) -> None:
    """Of a file, with its own version in the settings; a table may hold the marks of the fields."""
    file = tmp_path / "p_score.txt"
    file.write_text("{kind}: is {first} like {second}? {No JSON is asked for.}")
    listener = Listener()
    judge = PairJudge(listener, str(file))
    pair_replies(judge, {"q": ("{second}", "b", "html")})
    assert [request.messages[1].content for request in listener.asked] == [
        "HTML tables/data structures: is {second} like b? {No JSON is asked for.}",
        "HTML tables/data structures: is b like {second}? {No JSON is asked for.}",
    ]
    assert judge.setting() != PairJudge(listener).setting()
    file.write_text("Which is better, {first}?")
    with pytest.raises(ConfigError, match=r"p_score_prompt=.*: expected {second} where"):
        PairJudge(listener, str(file))
    with pytest.raises(ConfigError, match=r"p_score_prompt=.*cannot be read"):
        PairJudge(listener, str(tmp_path / "none"))
