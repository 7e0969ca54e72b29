"""``target-bench ask``."""

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.inside import Inside


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    drive = tmp_path / "drive"
    drive.mkdir()
    (drive / "staff.csv").write_text("name,city\nAnn,Oslo\nBo,Nice\nCy,Rome\n")
    (drive / "films.csv").write_text("film,director,year\nHeat,Mann,1995\nAlien,Scott,1979\n")
    return drive


def test_questions_beside_the_tables(folder: Path, inside: Inside) -> None:
    out = inside.good("ask", folder, "--n", "6")
    path = folder / "queries.jsonl"
    assert out.startswith(f"6 questions written to {path}.")
    assert f"Next: target-bench run {folder} --retriever bm25" in out
    questions = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(question["synthetic"] == "template" for question in questions)
    ran = inside("run", folder, "--retriever", "bm25", "--top-k", "1").out
    assert "of the right tables first" in ran
    assert "there are questions already" in inside.bad(2, "ask", folder)
    added = json.loads(inside.good("ask", folder, "--add", "--seed", "5", "--n", "4", "--json"))
    assert added["questions"] + added["in_the_file_already"] <= 4
    assert len(path.read_text().splitlines()) == 6 + added["questions"]


def test_the_next_command_can_be_copied(tmp_path: Path, inside: Inside) -> None:
    """It names the folder as a shell reads it."""
    drive = tmp_path / "my drive"
    drive.mkdir()
    (drive / "staff.csv").write_text("name,city\nAnn,Oslo\nBo,Nice\nCy,Rome\n")
    line = inside("ask", drive, "--n", "4").out.splitlines()[-1]
    command = shlex.split(line.removeprefix("Next: target-bench "))
    assert command[1] == str(drive)
    assert "of the right tables" in inside(*command).out


def test_a_folder_of_its_own(tmp_path: Path, inside: Inside) -> None:
    assert "with -o" in inside.bad(2, "ask", "mini")
    folder = tmp_path / "asked"
    out = inside.good("ask", "mini", "--n", "5", "-o", folder)
    assert out.startswith(f"5 questions written to {folder / 'queries.jsonl'}.")
    assert "Left out:" in out
    assert "name a new one" in inside.bad(2, "ask", "mini", "-o", folder)
    described = inside("describe", "corpus", folder).out
    assert "queries: 5\n" in described
