"""What stands at the top, in groups and in their help."""

import json
import re
from pathlib import Path

import pytest
import rich.console
from typer.main import get_command

from target_bench.cli.main import app
from target_bench.core import registry
from tests.cli.inside import Inside

TOP = ("run", "score", "sweep", "compare", "gate", "report", "plot")
GROUPS = {
    "runs": "list show why export",
    "leaderboard": "build submit verify",
    "data": "pull",
    "tables": "compare",
}


def test_what_stands_at_the_top() -> None:
    command = get_command(app)
    assert set(command.commands) == {*TOP, "ask", "check", "list", "describe", "search", *GROUPS}  # type: ignore[attr-defined]
    for group, names in GROUPS.items():
        inner = command.commands[group].commands  # type: ignore[attr-defined]
        assert set(inner) == set(names.split())


@pytest.mark.parametrize("kind", ["task", "retriever", "generator", "encoder", "index", "corpus"])
def test_every_plug_in_is_listed_and_described(inside: Inside, kind: registry.Kind) -> None:
    plural = {"index": "indexes", "corpus": "corpora"}.get(kind, f"{kind}s")
    listed = inside.good("list", plural)
    for name in registry.names(kind):
        assert f" {name} " in listed
        if not name.startswith("faiss") and kind != "corpus":
            assert inside.good("describe", kind, name)


def test_no_settings_type_or_text_is_internal(inside: Inside) -> None:
    """Of plug-ins with objects for settings, maps, attributes and names of this package."""
    for name in ("retriever dense", "encoder minilm", "generator extractive", "generator replay"):
        text = inside.good("describe", *name.split())
        assert not re.search(r"\bAny\b|\(object|target_bench\.|Attributes:|Transformers`", text)
    assert "({name: float} | null)" in inside.good("describe", "retriever", "rows")


def test_two_settings_of_one_task_in_one_run(inside: Inside) -> None:
    run = ("run", "mini", "--retriever", "oracle", "--generator", "gold", "--limit", "2")
    both = ("--task", "qa", "--task", "fv:labels=target", "--json")
    results = json.loads(inside.good(*run, *both))["results"]
    assert [result["task"] for result in results] == ["question_answering", "fact_verification"]
    assert len(list(Path("runs").glob("*-gold-*"))) == 2


def test_help_has_groups_and_no_arguments_show_lines_of_use(inside: Inside) -> None:
    help = inside.good("--help")
    for panel in ("Evaluate", "Look", "Data", "Extend", "Share"):
        assert f"─ {panel} ─" in help
    lines = [line for line in inside.good().splitlines() if line.startswith("  target-bench ")]
    assert len(lines) == 4
    assert "─ Answers ─" in inside.good("run", "--help")


@pytest.mark.parametrize(
    "words", ["", *TOP, *(f"{name} {GROUPS[name].split()[0]}" for name in GROUPS)]
)
def test_h_is_help(inside: Inside, words: str) -> None:
    assert inside.good(*words.split(), "-h") == inside.good(*words.split(), "--help")


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("name", ["run", "score", "sweep", "compare", "describe"])
def test_help_cuts_no_option(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, name: str, width: int
) -> None:
    monkeypatch.setattr(rich.console.Console, "width", width)
    shown = inside.good(*name.split(), "--help")
    command = get_command(app)
    for word in name.split():
        command = command.commands[word]  # type: ignore[attr-defined]
    for parameter in command.params:
        assert all(f"{option} " in shown.replace("\n", " ") for option in parameter.opts[:1])
    assert max(map(len, shown.splitlines())) <= width
