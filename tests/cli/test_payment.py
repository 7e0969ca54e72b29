"""What is said and asked before requests that may cost money."""

import io
from pathlib import Path

import pytest
import typer

from target_bench.cli import output as payment
from target_bench.harness.consent import Estimate
from tests.cli.inside import Inside

DEAR = """
from pathlib import Path


class Dear:
    paid = True

    def generate(self, request):
        with Path("sent").open("a") as file:
            file.write("x")
        return "x"

    def estimate_cost(self, n_requests, input_tokens):
        return n_requests / 8
"""


def test_paid_requests_without_a_terminal(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can be asked, so nothing is sent; ``--yes`` sends."""
    (tmp_path / "dear.py").write_text(DEAR, encoding="utf-8")
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    dear = ("run", "mini", "--task", "qa", "--retriever", "oracle", "--generator", "dear.py:Dear")
    message = inside.bad(2, *dear)
    for part in ("dear.py:Dear: 144 requests", "tokens; cost about 18.00", "--yes"):
        assert part in message
    assert not (tmp_path / "sent").exists()
    assert "144 questions" in inside.telling("cost about 18.00", *dear, "--yes")
    assert (tmp_path / "sent").read_text() == "x" * 144
    assert "reused" in inside.good(*dear), "nothing is left to ask about"


@pytest.mark.parametrize(("reply", "agreed"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_paid_requests_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reply: str, agreed: bool
) -> None:
    monkeypatch.setattr("sys.stdin", terminal := io.StringIO(reply))
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    assert payment.ask_to_pay(Estimate("openai:model=x", 1200, 3_000_000, None)) is agreed
    captured = capsys.readouterr()
    assert "openai:model=x: 1,200 requests with about 3,000,000 tokens" in captured.err
    assert "cost unknown (no prices or no max_tokens given)" in captured.err


def test_the_question_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at the question is an interruption, and no fault of ours."""

    def interrupted(*_: object, **__: object) -> bool:
        raise typer.Abort

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", interrupted)
    with pytest.raises(KeyboardInterrupt):
        payment.ask_to_pay(Estimate("x", 1, 9, None))
