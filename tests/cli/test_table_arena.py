"""``target-bench tables perturb`` and ``tables arena``."""

import json
from pathlib import Path

import pytest

from target_bench.models.perturbations.drawing import read
from tests.cli.inside import Inside

PERTURBED = (
    '{"table_id": "t", "change": "transposed", "level": null, "differences": [], '
    '"reference": [["a", "b"], ["c", "d"]], "table": [["a", "c"], ["b", "d"]]}\n'
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_set_is_drawn_and_metrics_are_tested_on_it(inside: Inside) -> None:
    printed = inside.good("tables", "perturb", "mini", "--n", "30", "--seed", "2", "-o", "p.jsonl")
    assert "p.jsonl: 30 tables" in printed
    assert len(read(Path("p.jsonl"))) == 30
    Path("own.py").write_text("def same(reference, answer):\n    return reference == answer\n")
    asked = ("tables", "arena", "--perturbations", "p.jsonl", "--metric", "own.py:same")
    printed = inside.good(*asked, "-o", "arena.html", "-o", "arena.json")
    assert "arena.html: " in printed
    assert "arena.json: " in printed
    found = json.loads(Path("arena.json").read_text(encoding="utf-8"))
    assert (found["sets"], found["perturbations"]) == (30, 30)
    assert {"same", "equal", "teds"} <= set(found["metrics"])
    assert "TabXEval" in Path("arena.html").read_text(encoding="utf-8")
    inside.good("run", "mini", "--task", "text-to-table", "--generator", "gold", "--json")
    run = next(Path("runs").iterdir())
    assert "r.html" in inside.good("report", run, "-o", "r.html", "--arena", "arena.json")
    assert "own.py" not in Path("r.html").read_text(encoding="utf-8")
    assert 'id="arena-1-board"' in Path("r.html").read_text(encoding="utf-8")
    assert "not the figures of an arena" in inside.bad(2, "report", run, "--arena", "p.jsonl")


def test_one_change(inside: Inside) -> None:
    inside.good("tables", "perturb", "mini", "--n", "6", "--change", "typo")
    assert {one.change for one in read(Path("perturbed.jsonl"))} == {"typo"}


def test_what_the_tables_do_not_give_is_said(inside: Inside) -> None:
    Path("own").mkdir()
    Path("own/one.csv").write_text("a,b\nx,1\ny,2\n")
    Path("own/queries.jsonl").write_text('{"query_id": "1", "query": "?", "table_id": "one"}')
    asked = ("tables", "perturb", "./own", "--change", "transposed", "--change", "date_shifted")
    printed = inside.good(*asked, "--n", "3")
    assert "perturbed.jsonl: 1 tables" in printed
    assert "of no table: date_shifted\n" in printed
    assert "fewer than 3: these changes give no more different tables" in printed
    printed = inside.good("tables", "perturb", "mini", "--n", "1")
    assert "of no table: wrong_unit, other_units, number_format\n" in printed


def test_what_is_refused(inside: Inside) -> None:
    assert "unknown change 'typos'" in inside.bad(
        2, "tables", "perturb", "mini", "--change", "typos"
    )
    Path("own").mkdir()
    Path("own/one.csv").write_text("a,b\n1,2\n")
    Path("own/queries.jsonl").write_text('{"query_id": "1", "query": "?", "table_id": "one"}')
    message = inside.bad(2, "tables", "arena", "--corpus", "./own")
    assert "own has no tables ranked by people; mini and tabxbench have" in message


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("perturb", "mini", "-o"), "-o"),
        (("arena", "-o"), "-o"),
        (("arena", "--json", "-o"), "-o"),
        (("compare", "t.csv", "t.csv", "--html"), "--html"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    inside: Inside, command: tuple[str, ...], option: str
) -> None:
    Path("t.csv").write_text("a,b\n1,2\n")
    for folder in ("folder", "folder.json"):
        Path(folder).mkdir()
        message = inside.bad(2, "tables", *command, folder)
        assert f"{option} {folder}: is a folder; name a file, as in " in message
    message = inside.bad(4, "tables", *command, "t.csv/below/x.html")
    assert "cannot be written: " in message
    assert f"t.csv is not a folder. Choose another place with {option}." in message


def test_figures_are_printed_where_the_file_cannot_be_written_in_the_end(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("target_bench.cli.tables.atomic_write", full)
    monkeypatch.setattr("target_bench.models.perturbations.drawing.atomic_write", full)
    monkeypatch.setattr("target_bench.harness.arena.arena_file.atomic_write", full)
    done = inside("tables", "perturb", "mini", "--n", "2")
    assert "perturbed.jsonl: cannot be written: No space left on device." in done.err
    Path("t.csv").write_text("a,b\n1,2\n")
    done = inside("tables", "compare", "t.csv", "t.csv", "--json", "--html", "c.html")
    assert "c.html: cannot be written: No space left on device." in done.err
    assert json.loads(done.out)["score"] == 1
    Path("p.jsonl").write_text(PERTURBED)
    done = inside("tables", "arena", "--perturbations", "p.jsonl", "--json", "-o", "arena.json")
    assert "arena.json cannot be written: No space left on device." in done.err
    assert json.loads(done.out)["perturbations"] == 1
