"""The figures of an arena: as a file and in a report of runs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench import TARGET
from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.data.select import load
from target_bench.harness.arena.arena import run_arena
from target_bench.harness.arena.arena_file import read_arena, read_arenas, write_arena
from target_bench.harness.arena.comparison_sets import tables_of
from target_bench.harness.arena.human_agreement import FILE_ORDER
from target_bench.models.perturbations.drawing import draw
from target_bench.reporting.arena_page.arena_view import ArenaView
from target_bench.reporting.report import write_report
from tests.browser import PHONE, OpenPage
from tests.builders import Recorder, only


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an arena of nine sets, with a metric that gives no score."""
    folder = tmp_path_factory.mktemp("arena")
    own = folder / "own.py"
    own.write_text("def silent(reference, answer):\n    return float('nan')\n")
    mini = load("mini")
    drawn = draw(tables_of(mini), 60, seed=1).perturbations
    few = replace(mini, queries=tuple(q for q in mini.queries if q.id < "cmp-10"))
    write_arena(run_arena(few, [f"{own}:silent"], drawn), folder / "arena.json")
    return folder / "arena.json"


def test_what_is_written_is_read(figures: Path) -> None:
    arena = read_arena(figures)
    assert arena.to_json() == json.loads(figures.read_text(encoding="utf-8"))
    rows = ArenaView(arena, "a", {"tabxeval"}).board
    first, silent = rows[0], next(row for row in rows if row.label == "silent")
    assert (first.label, first.is_used, first.kept == first.kinds > 0) == ("TabXEval", True, True)
    assert silent.spearman.value != silent.spearman.value
    assert [row.label for row in rows if row.is_baseline] == [FILE_ORDER]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"people": []}, "people"),
        ({"sets": "many"}, "sets"),
        ({"metrics": {}}, "metrics: expected a declaration of"),
        ({"metrics": {"equal": 1}}, "metrics.equal"),
        ({"weights": {"named": {}, "drawn": [], "best": {}}}, "weights.drawn"),
    ],
)
def test_another_document_is_refused(
    figures: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(json.loads(figures.read_text(encoding="utf-8")) | change))
    with pytest.raises(DataError, match="not the figures of an arena") as refused:
        read_arena(path)
    assert message in str(refused.value)
    assert "target-bench tables arena -o arena.json" in str(refused.value)


def test_files_that_cannot_be_used(figures: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_arena(tmp_path / "nowhere.json")
    (tmp_path / "text.json").write_text("{")
    with pytest.raises(DataError, match="not the figures of an arena"):
        read_arena(tmp_path / "text.json")
    with pytest.raises(DataError, match="another file is of mini test, too"):
        read_arenas([figures, figures])
    with pytest.raises(StoreError, match="cannot be written"):
        write_arena(read_arena(figures), tmp_path / "text.json" / "arena.json")


def test_a_report_has_the_board_and_marks_its_own_metrics(
    figures: Path, tmp_path: Path, open_page: OpenPage
) -> None:
    target = TARGET(("text_to_table", "mini"), out=tmp_path / "runs", observer=Recorder())
    run = only(target.run(generator="gold", limit=3)).folder
    path = write_report([run], tmp_path / "report.html", arenas=[figures])
    watched = open_page(path)
    page = watched.page
    rows = page.locator("#arena-1-board tbody tr")
    assert rows.count() == len(read_arena(figures).people)
    assert "●" in rows.first.inner_text()
    assert "●" not in rows.filter(has_text="TEDS").inner_text()
    page.locator("#arena-1-board button.sort", has_text="metric").click()
    assert rows.first.locator("th").inner_text().startswith("cell F1")
    assert page.get_by_role("link", name="Metrics").count() == 1
    watched.check()
    phone = open_page(path, viewport=PHONE).page
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    box = phone.get_by_role("link", name="Queries").bounding_box()
    assert box
    assert box["x"] < PHONE["width"]


def test_a_report_of_other_runs_has_no_arena(figures: Path, tmp_path: Path) -> None:
    target = TARGET(("retrieval", "mini"), out=tmp_path / "runs", observer=Recorder())
    run = only(target.run("random", limit=3, top_k=1)).folder
    with pytest.raises(ConfigError, match="no metric that was tested on mini test scores these"):
        write_report([run], tmp_path / "report.html", arenas=[figures])
    assert 'id="arena"' not in write_report([run], tmp_path / "r.html").read_text("utf-8")
