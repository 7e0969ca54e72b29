"""``target-bench tables compare``."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.inside import Inside

REFERENCE = "name,height (m)\nAnn,1.80\nBob,1.75\n"
PREDICTION = "| name | height (cm) |\n|---|---|\n| Bob | 170 |\n| <img>Ann | 180 |\n"
TWO = "A:\n| a |\n| 1 |\n\nB:\n| b |\n| 2 |\n"
RECORDS = [{"name": "Ann", "height (m)": 1.8}, {"name": "Bob", "height (m)": 1.75}]


@pytest.fixture
def files(inside: Inside) -> list[str]:
    Path("reference.csv").write_text(REFERENCE)
    Path("prediction.md").write_text(PREDICTION)
    return ["reference.csv", "prediction.md"]


def test_differences_are_explained_on_the_terminal_and_in_a_page(
    inside: Inside, files: list[str]
) -> None:
    printed = inside.good("tables", "compare", *files, "--html", "c.html")
    assert "1.75 → 170 [number -0.05 meter]" in printed
    assert "numeric cells" in printed
    page = Path("c.html").read_text()
    assert "number -0.05 meter" in page
    assert "&lt;img&gt;Ann" in page
    assert "<img>" not in page


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_page_about_a_file_whose_name_is_no_utf8(inside: Inside, files: list[str]) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    Path(name).write_text(REFERENCE)
    inside.good("tables", "compare", files[0], name, "--html", "c.html")
    assert "<title>reference.csv and caf?.csv</title>" in Path("c.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.tsv", REFERENCE.replace(",", "\t")),
        ("t.jsonl", "\n".join(map(json.dumps, RECORDS))),
        ("t.json", json.dumps(RECORDS)),
        (
            "t.html",
            "<table><tr><th>name</th><th>height (m)</th></tr><tr><td>Ann</td><td>1.80</td></tr>"
            "<tr><td>Bob</td><td>1.75</td></tr></table>",
        ),
        ("columns.json", '{"name": ["Ann", "Bob"], "height (m)": [1.8, 1.75]}'),
    ],
)
def test_a_table_is_read_in_any_format(
    inside: Inside, files: list[str], name: str, content: str
) -> None:
    Path(name).write_text(content)
    assert json.loads(inside.good("tables", "compare", files[0], name, "--json"))["score"] == 1


@pytest.mark.parametrize(
    ("name", "content", "arguments", "message"),
    [
        ("t.doc", "", [], "its suffix is not one of"),
        ("t.md", "no table", [], "read in it as Markdown: there is no table in it"),
        ("t.md", TWO, [], "holds 2 tables: choose one by its number, as in t.md:1 or --table 1"),
        ("t.md", TWO, [], "\n  1: A, 1 rows of a\n  2: B, 1 rows of b"),
        ("t.md", TWO, ["--table", "2"], "reference.csv has no table 2: it holds 1. FILE:2 chooses"),
        ("t.json", '{"a": ', [], "no table can be read in it as JSON: it cannot be parsed"),
        ("t.csv", REFERENCE, ["--html", "."], "--html .: is a folder; name a file"),
    ],
)
def test_a_file_without_one_table_is_named(
    inside: Inside, files: list[str], name: str, content: str, arguments: list[str], message: str
) -> None:
    Path(name).write_text(content)
    assert message in inside.bad(2, "tables", "compare", files[0], name, *arguments)


def test_what_is_wrong_with_a_file_is_said(inside: Inside) -> None:
    Path("cut.md").write_text("| name | height (m) |\n|---|---|\n| Ann |\n```")
    done = inside("tables", "compare", "cut.md", "cut.md")
    assert done.code == 0
    assert done.err.count("cut.md: it is cut off") == 2
    assert done.err.count("cut.md: rows differ in length") == 2
    missing = inside.bad(2, "tables", "compare", "nowhere.csv", "cut.md")
    assert "nowhere.csv: there is no such file" in missing


def test_a_model_is_asked_after_consent(
    inside: Inside, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it costs something; what it says in another form than asked for is not taken."""
    Path("dear.py").write_text(
        "from pathlib import Path\n"
        "class Dear:\n"
        "    paid = True\n"
        "    def generate(self, request):\n"
        "        Path('sent').touch()\n"
        '        return \'```json\\n{"1": "same"}\\n```\'\n'
    )
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    command = ("tables", "compare", *files, "--generator", "dear.py:Dear")
    assert "dear.py:Dear: up to 2" in inside.bad(2, *command)
    assert not Path("sent").exists()
    done = inside(*command, "--yes")
    assert done.code == 0
    assert Path("sent").exists()
    assert "the model's reply about the alignment is not in the requested form" in done.err
