"""A metric of a plug-in of which lower is better, everywhere that scores are shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench import compare, read_run
from target_bench.core.errors import ConfigError
from target_bench.core.metric import Score
from target_bench.metrics.scores import find_spec
from target_bench.reporting import layouts, plots
from target_bench.reporting.leaderboard.site import write_site
from target_bench.reporting.report import write_report
from target_bench.runs.result import read_main_metric
from target_bench.runs.slicing import read_metric
from tests.browser import OpenPage
from tests.cli.inside import Inside
from tests.reporting import toy
from tests.reporting.leaderboard.small import answers, changed, entry, recalls, retrieval
from tests.reporting.report.driving import ready


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A good run and a bad one."""
    return toy.runs(tmp_path_factory.mktemp("runs"))


def test_a_stored_run_declares_it(
    toys: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists show its decimals, and intervals of parts keep to its scale."""
    run, inside = read_run(toys[0]), Inside(capsys, monkeypatch)
    assert read_main_metric(run) == "edits"
    assert read_metric(run, "edits").spec == toy.SPEC
    assert "spec" not in run.scores["exact_match"].to_json()
    assert find_spec("edits").higher_is_better, "the plug-in is not installed here"
    for scores in run.scores_by("gold_tables", ["edits"]).values():
        assert scores["edits"].low <= scores["edits"].value <= scores["edits"].high
    with pytest.raises(ConfigError, match="edits_root comes from a file, or from a plug-in"):
        compare(toys, ["edits_root"])
    listed = inside.good("runs", "list", "--out", toys[0].parent)
    assert f"edits {run.scores['edits'].value:.1f} " in listed
    assert "by gold_tables" in inside.good("runs", "show", toys[0], "--by", "gold_tables")


def test_compare_counts_a_lower_value_as_a_win(toys: tuple[Path, Path]) -> None:
    comparison = compare([toys[1], toys[0]])
    assert comparison.tested == ("edits",)
    difference = next(r.difference for r in comparison.rows if r.metric == "edits" and r.difference)
    assert difference.value < 0
    assert (difference.wins or 0) > (difference.losses or 0)
    text = str(comparison)
    assert "edits · question_answering, mini test · lower is better" in text
    assert f"{difference.value:+.1f}" in text
    for form in (layouts.to_markdown(comparison), layouts.to_latex(comparison)):
        assert "lower is better" in form
    assert comparison.to_json()["specs"]["edits"]["higher_is_better"] is False


def test_plots(toys: tuple[Path, Path], tmp_path: Path) -> None:
    """Also of a score that is more than a mean, without the plug-in that computes it."""
    pytest.importorskip("matplotlib")
    plots.pareto(toys, tmp_path / "a.svg", "edits_root")
    plots.pareto(toys, tmp_path / "c.svg")
    assert "edits (lower is better)" in (tmp_path / "c.svg").read_text(encoding="utf-8")


def test_the_report(open_page: OpenPage, toys: tuple[Path, Path], tmp_path: Path) -> None:
    page = ready(open_page(write_report(toys, tmp_path / "report.html")))
    column = page.locator("#scores th", has_text="edits").first
    assert column.get_attribute("title") == "lower is better"
    good, bad = (f"{read_run(folder).scores['edits'].value:.1f}" for folder in toys)
    best = page.locator("#scores td.best").all_inner_texts()
    assert [any(text.startswith(value) for text in best) for value in (good, bad)] == [True, False]
    column.locator("button").click()
    assert "bm25" in page.locator("#scores tbody tr").first.inner_text()
    page.locator("#run-b").select_option("1")
    page.locator("#measure").select_option("edits")
    page.locator("#duel", has_text="by edits").wait_for()
    counts = [int(text) for text in page.locator("#duel b").all_inner_texts()]
    assert counts[0] > counts[2], "bm25 is better on more queries than random"


def _entry(share: float, name: str, value: float) -> Any:
    """An entry of answers with the toy metric: ``value`` on average."""
    basis = retrieval(share)
    made = answers(share, basis)
    values = recalls(0.5, len(basis.scores.query_ids)) * 2 * value
    score = Score(float(values.mean()), value / 2, value * 2, len(values), "s", toy.SPEC)
    made = changed(
        made,
        by_metric={"edits": score, **made.scores},
        per_query={**made.scores.per_query, "edits": values},
    )
    return entry(name, basis, made)


def test_the_board(open_page: OpenPage, tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_site([_entry(0.9, "far", 8.0), _entry(0.5, "near", 2.0)], site)
    data = json.loads((site / "fact_verification.json").read_bytes())
    assert [row["name"] for row in data["rows"]] == ["Near", "Far"], "the best first"
    column = data["columns"][0]
    assert (column["metric"], column["label"], column["lower"]) == ("edits", "ED", True)
    assert [row["cells"][0]["best"] for row in data["rows"]] == [True, False]
    page = open_page(site / "fact_verification.html", root=site).page
    assert "2.0" in page.locator("td.best").first.inner_text()
    head = page.locator("#scores th", has_text="ED").first
    assert head.locator("button").get_attribute("title") == "edits, lower is better"
