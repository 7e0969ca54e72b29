"""Profiles of runs as a radar: its geometry, and what a report shows of them."""

from pathlib import Path

import pytest

from target_bench.core.task import SummaryBlock
from target_bench.harness.target import TARGET
from target_bench.reporting.report import write_report
from target_bench.reporting.report.charts import radars
from tests.browser import OpenPage
from tests.builders import Recorder, only

SHARES = {"up": 1.0, "right": 0.5, "down": 0.0, "left": 0.25}


def test_corners_stand_on_their_axes() -> None:
    (chart,) = radars(["one"], [[SummaryBlock("abilities", profile=SHARES)]])
    x, y = chart["centre"]
    (profile,) = chart["profiles"]
    assert [(a, b) for a, b, _ in profile["dots"]] == [
        (x, y - 112),
        (x + 56, y),
        (x, y),
        (x - 28, y),
    ]
    assert profile["dots"][1][2] == "one: right 0.50"
    assert [spoke["anchor"] for spoke in chart["spokes"]] == ["middle", "start", "middle", "end"]
    assert profile["points"].startswith(f"{x},{y - 112}")


def test_runs_share_a_chart_where_their_profiles_have_the_same_names() -> None:
    same, other = SummaryBlock("a", profile=SHARES), SummaryBlock("a", profile={"x": 1, **SHARES})
    few = SummaryBlock("a", profile={"x": 1.0, "y": 0.5})
    charts = radars(["one", "two", "three"], [[same], [other, few], [same, SummaryBlock("b")]])
    drawn = [[(p["label"], p["series"]) for p in chart["profiles"]] for chart in charts]
    assert drawn == [[("one", 1), ("three", 3)], [("two", 2)]]
    assert radars(["one"], [[]]) == []


def test_a_profile_is_printed_as_numbers() -> None:
    assert (
        str(SummaryBlock("a", text="so", profile={"x": 1, "y": 0.256})) == "a: so; x 1.00, y 0.26"
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two runs of text-to-table, one without a table."""
    folder = tmp_path_factory.mktemp("radar")
    target = TARGET(("text_to_table", "mini"), out=folder, observer=Recorder())
    runs = [only(target.run(generator=name, limit=5)).folder for name in ("gold", "empty")]
    return write_report(runs, folder / "report.html")


def test_a_report_draws_the_ability_map_and_lists_findings(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert text.count('id="radar-1"') == 1
    assert "gold: hallucination 1.00" in text
    assert "empty: coverage 0.00" in text
    assert "answers by fault: empty 5" in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_radar_stands_in_its_page(open_page: OpenPage, report: Path, scheme: str) -> None:
    page = open_page(report, color_scheme=scheme).page
    chart = page.get_by_role("img", name="abilities")
    assert chart.is_visible()
    frame = chart.bounding_box()
    for text in chart.locator("text").all():
        box = text.bounding_box()
        assert frame
        assert box
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]
    page.locator("figure:has(#radar-1) summary").click()
    rows = page.locator("#radar-1-shares tbody tr")
    assert rows.count() == 6
    assert rows.first.inner_text().split() == ["coverage", "1.000", "0.000"]
