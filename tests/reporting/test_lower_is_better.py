"""A metric of a plug-in of which lower is better, everywhere that scores are shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench import compare, read_run
from target_bench.core.errors import ConfigError
from target_bench.core.metric import Score
from target_bench.metrics.scores import spec_of
from target_bench.reporting import comparison as compare_tables
from target_bench.reporting import plots
from target_bench.reporting.leaderboard.entry import read
from target_bench.reporting.leaderboard.site import build
from target_bench.reporting.report import write_report
from tests.browser import OpenPage
from tests.cli.inside import Inside
from tests.reporting import toy
from tests.reporting.leaderboard.small import answers, changed, entry, recalls, retrieval, write
from tests.reporting.report.driving import ready


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return toy.runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def inside(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Inside:
    return Inside(capsys, monkeypatch)


def test_a_stored_run_declares_it(runs: tuple[Path, Path]) -> None:
    stored = json.loads((runs[0] / "scores.json").read_bytes())["scores"]
    assert stored["edits"]["spec"] == toy.SPEC.to_json()
    assert "spec" not in stored["exact_match"]
    assert read_run(runs[0]).headline == "edits"
    assert spec_of("edits").higher_is_better, "the plug-in is not installed here"


def test_lists_show_its_decimals(runs: tuple[Path, Path], inside: Inside) -> None:
    value = read_run(runs[0]).scores["edits"].value
    assert f"edits {value:.1f} " in inside.good("runs", "list", "--out", runs[0].parent)
    done = inside("runs", "show", runs[0], "--by", "gold_tables")
    assert (done.code, done.err) == (0, "")
    assert "by gold_tables" in done.out


def test_compare_counts_a_lower_value_as_a_win(runs: tuple[Path, Path]) -> None:
    comparison = compare([runs[1], runs[0]], resamples=200)
    row = next(r for r in comparison.rows if r.metric == "edits" and r.difference is not None)
    assert row.difference is not None
    assert row.difference.value < 0
    assert row.difference.wins is not None
    assert row.difference.wins > (row.difference.losses or 0)
    assert comparison.family == ("edits",)
    text = str(comparison)
    assert "edits · question_answering, mini test · lower is better" in text
    assert f"{row.difference.value:+.1f}" in text
    assert "lower is better" in compare_tables.markdown(comparison)
    assert "lower is better" in compare_tables.latex(comparison)
    assert comparison.to_json()["specs"]["edits"]["higher_is_better"] is False


def test_more_than_a_mean_needs_the_plugin(runs: tuple[Path, Path]) -> None:
    with pytest.raises(ConfigError, match="edits_root is a metric of a plug-in"):
        compare(runs, ["edits_root"])
    assert "edits" in next(iter(read_run(runs[0]).scores_by("gold_tables", ["edits"]).values()))


def test_intervals_of_parts_keep_to_its_scale(runs: tuple[Path, Path]) -> None:
    run = read_run(runs[0])
    assert run.measured("edits").spec == toy.SPEC
    for scores in run.scores_by("gold_tables", ["edits"]).values():
        assert scores["edits"].low <= scores["edits"].value <= scores["edits"].high


def test_plots(runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    labels: list[str] = []

    def saved(drawn: Any, *_: Any) -> None:
        (axes,) = drawn.axes[:1]
        labels.extend([axes.get_xlabel(), axes.get_ylabel()])

    monkeypatch.setattr(plots, "save_picture", saved)
    plots.by_slice(runs, tmp_path / "a.svg", ["gold_tables"])
    plots.pareto(runs, tmp_path / "b.svg")
    assert labels.count("edits (lower is better)") == 2


def test_the_front_of_what_is_lower() -> None:
    points = [(1.0, 5.0), (2.0, 3.0), (3.0, 4.0)]
    assert plots.front(points, higher_is_better=False) == [0, 1]
    assert plots.front(points) == [0]


def test_the_report(open_page: OpenPage, runs: tuple[Path, Path], tmp_path: Path) -> None:
    page = ready(open_page(write_report(runs, tmp_path / "report.html")))
    column = page.locator("#scores th", has_text="edits").first
    assert column.get_attribute("title") == "lower is better"
    values = [read_run(folder).scores["edits"].value for folder in runs]
    best = page.locator("#scores td.best").all_inner_texts()
    assert any(text.startswith(f"{min(values):.1f}") for text in best)
    assert not any(text.startswith(f"{max(values):.1f}") for text in best)
    column.locator("button").click()
    first = page.locator("#scores tbody tr").first.inner_text()
    assert "bm25" in first
    page.locator("#run-b").select_option("1")
    page.locator("#measure").select_option("edits")
    page.locator("#duel", has_text="by edits").wait_for()
    counts = [int(text) for text in page.locator("#duel b").all_inner_texts()]
    assert counts[0] > counts[2], "bm25 is better on more queries than random"


def _with_edits(share: float, name: str, value: float) -> Any:
    """An entry of answers with the toy metric: ``value`` on average."""
    basis = retrieval(share)
    made = answers(share, basis)
    values = recalls(0.5, len(basis.query_ids)) * 2 * value
    score = Score(float(values.mean()), value / 2, value * 2, len(values), "s", toy.SPEC)
    made = changed(
        made,
        scores={**made.scores, "edits": score},
        per_query={**made.per_query, "edits": values},
    )
    return entry(name, basis, made)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    made = [_with_edits(0.9, "far", 8.0), _with_edits(0.5, "near", 2.0)]
    build(write(tmp_path / "in", made), tmp_path / "site")
    return tmp_path / "site"


def test_an_entry_keeps_the_declaration(site: Path) -> None:
    (path, *_) = sorted((site.parent / "in").iterdir())
    assert read(path).runs[1].scores["edits"].spec == toy.SPEC


def test_the_board(open_page: OpenPage, site: Path) -> None:
    data = json.loads((site / "fact_verification.json").read_bytes())
    assert [row["name"] for row in data["rows"]] == ["Near", "Far"], "the best first"
    column = data["columns"][0]
    assert (column["metric"], column["label"], column["lower"]) == ("edits", "ED", True)
    assert [row["cells"][0]["best"] for row in data["rows"]] == [True, False]
    page = open_page(site / "fact_verification.html", root=site).page
    assert "2.0" in page.locator("td.best").first.inner_text()
    head = page.locator("#scores th", has_text="ED").first
    assert head.locator("button").get_attribute("title") == "edits, lower is better"


def test_a_score_of_all_queries_is_drawn_without_the_plugin(
    runs: tuple[Path, Path], tmp_path: Path, inside: Inside
) -> None:
    pytest.importorskip("matplotlib")
    plots.pareto(runs, tmp_path / "b.svg", "edits_root")
    assert "2 finished" in inside.good("runs", "fsck", *runs)
