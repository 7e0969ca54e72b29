"""``target-bench tables compare``."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import Inside

REFERENCE = "name,height (m)\nAnn,1.80\nBob,1.75\n"
PREDICTION = "| name | height (cm) |\n|---|---|\n| Bob | 170 |\n| <b>Ann</b> | 180 |\n"
TWO = "A:\n| a |\n| 1 |\n\nB:\n| b |\n| 2 |\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
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
    assert "&lt;b&gt;Ann&lt;/b&gt;" in page
    assert "<b>" not in page


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.tsv", "name\theight (m)\nAnn\t1.80\nBob\t1.75\n"),
        ("t.jsonl", '{"name": "Ann", "height (m)": 1.8}\n{"name": "Bob", "height (m)": 1.75}\n'),
        ("t.json", '[{"name": "Ann", "height (m)": 1.8}, {"name": "Bob", "height (m)": 1.75}]'),
        (
            "t.html",
            "<table><tr><th>name</th><th>height (m)</th></tr><tr><td>Ann</td><td>1.80</td></tr>"
            "<tr><td>Bob</td><td>1.75</td></tr></table>",
        ),
        ("columns.json", '{"name": ["Ann", "Bob"], "height (m)": [1.8, 1.75]}'),
        (
            "columns.json",
            '{"name": {"0": "Ann", "1": "Bob"}, "height (m)": {"0": 1.8, "1": 1.75}}',
        ),
    ],
)
def test_a_table_is_read_in_any_format(
    inside: Inside, files: list[str], name: str, content: str
) -> None:
    Path(name).write_text(content)
    found = json.loads(inside.good("tables", "compare", files[0], name, "--json"))
    assert found["score"] == 1


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
        ("t.csv", REFERENCE, ["--table", "2"], "has no table 2: it holds 1"),
    ],
)
def test_a_file_without_one_table_is_named(
    inside: Inside, files: list[str], name: str, content: str, arguments: list[str], message: str
) -> None:
    Path(name).write_text(content)
    done = inside("tables", "compare", files[0], name, *arguments)
    assert done.code == 2
    assert message in done.err
    assert (
        "nowhere.csv: there is no such file" in inside("tables", "compare", "nowhere.csv", name).err
    )


def test_what_is_wrong_with_a_file_is_said(inside: Inside, files: list[str]) -> None:
    Path("cut.md").write_text("| name | height (m) |\n|---|---|\n| Ann |\n```")
    done = inside("tables", "compare", "cut.md", "cut.md")
    assert done.code == 0
    assert done.err.count("cut.md: it is cut off") == 2
    assert done.err.count("cut.md: rows differ in length") == 2


def test_a_paid_model_is_asked_only_after_consent(
    inside: Inside, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("dear.py").write_text(
        "from pathlib import Path\n"
        "class Dear:\n"
        "    paid = True\n"
        "    def generate(self, request):\n"
        "        Path('sent').touch()\n"
        "        return ''\n"
    )
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    asked = ("tables", "compare", *files, "--generator", "dear.py:Dear")
    assert "dear.py:Dear: up to 2" in inside.bad(2, *asked)
    assert not Path("sent").exists()
    assert inside(*asked, "--yes").code == 0
    assert Path("sent").exists()


def test_a_model_checks_what_rules_found(inside: Inside, files: list[str], tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(
        "class Judge:\n"
        "    def generate(self, request):\n"
        '        return \'```json\\n{"1": "same"}\\n```\'\n'
    )
    done = inside("tables", "compare", *files, "--generator", "judge.py:Judge")
    assert done.code == 0
    assert "what the model said of the alignment is not of the form" in done.err
