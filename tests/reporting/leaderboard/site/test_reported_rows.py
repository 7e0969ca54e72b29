"""Figures of papers on the board: shown, marked, never ranked."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from target_bench.core.errors import DataError
from target_bench.reporting.leaderboard.site import build
from tests.browser import OpenPage
from tests.reporting.leaderboard.site.driving import copied, ready
from tests.reporting.leaderboard.site.small import board, data_of, write

if TYPE_CHECKING:
    from playwright.sync_api import Page

PAPER: dict[str, Any] = {
    "format": 1,
    "source": "A paper, Table 2",
    "url": "https://example.org/paper",
    "date": "2025-05",
    "systems": [
        {
            "name": "Their <b>BM25",
            "kind": "lexical",
            "note": "Not what it seems.",
            "scores": [
                {"corpus": "alpha", "split": "test", "metric": "recall@10", "value": 0.999},
                {"corpus": "beta", "split": "validation", "metric": "recall@10", "value": 0.5},
                {"corpus": "gamma", "split": "test", "metric": "recall@10", "value": 0.5},
            ],
        }
    ],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reported")
    write(folder / "in", board())
    (folder / "in" / "paper.reported.json").write_text(json.dumps(PAPER))
    build(folder / "in", folder / "site", submit_to="https://example.org/submissions")
    return folder / "site"


def test_figures_stand_in_the_columns_of_their_data(site: Path) -> None:
    data = data_of(site / "index.html")
    *_, row = data["rows"]
    assert (row["name"], row["page"], row["date"]) == ("Their <b>BM25", None, "2025-05")
    cells = [group["cells"].get(str(len(data["rows"]) - 1)) for group in data["groups"]]
    assert cells == [
        {"recall@10": [0.999]},
        {"recall@10": [0.5], "recall@10:by": "validation split"},
        None,
    ]
    assert len(data_of(site / "tasks" / "fact_verification.html")["rows"]) == 3


def test_figures_of_answers(tmp_path: Path) -> None:
    """They stand on the page of their task and, for the main metric, in the overview."""
    write(tmp_path / "in", board())
    figures = [
        {"corpus": "alpha", "split": "test", "metric": metric, "value": value}
        for metric, value in (("accuracy", 0.61), ("sacrebleu", 17.66), ("ms", 190))
    ]
    alone = [f for f in figures if f["metric"] == "sacrebleu"]
    systems = [PAPER["systems"][0] | {"scores": s} for s in (figures, alone)]
    (tmp_path / "in" / "p.reported.json").write_text(json.dumps(PAPER | {"systems": systems}))
    build(tmp_path / "in", tmp_path / "site")
    data = data_of(tmp_path / "site" / "tasks" / "fact_verification.html")
    (row,) = (n for n, one in enumerate(data["rows"]) if one["page"] is None)
    assert [g["cells"][str(row)] for g in data["groups"] if str(row) in g["cells"]] == [
        {"accuracy": [0.61]}
    ]
    overview = data_of(tmp_path / "site" / "index.html")
    (row,) = (n for n, one in enumerate(overview["rows"]) if one["page"] is None)
    (cell,) = (g["cells"][str(row)] for g in overview["groups"] if str(row) in g["cells"])
    assert cell == {"answers0": [0.61], "ms": [190]}


def _row(page: "Page") -> Any:
    return page.locator("#scores tbody tr.reported")


def test_they_are_marked_and_not_ranked(open_page: OpenPage, site: Path) -> None:
    page = ready(open_page(site / "index.html", root=site).page)
    assert page.locator("#found").inner_text() == "5 systems and 1 reported by papers"
    row = _row(page)
    assert row.locator(".badge").inner_text() == "reported"
    assert row.locator("td").first.inner_text() == "–"
    assert row.locator(".best").count() == 0
    link = row.locator("th a")
    assert link.get_attribute("href") == "https://example.org/paper"
    assert link.inner_text() == "Their <b>BM25"
    page.click("#scores [data-sort='0:recall@{k}']")
    assert page.locator("#scores tbody tr").first.get_attribute("class") == "reported"
    ranks = page.locator("#scores tbody tr td:first-child").all_inner_texts()
    assert sorted(ranks) == ["1", "2", "3", "–", "–", "–"]  # by the mean
    page.select_option("#scores-by", "verified")
    page.wait_for_function("() => !document.querySelector('#scores tr.reported')")
    page.select_option("#scores-by", "reported")
    page.wait_for_function("() => document.querySelectorAll('#scores tbody tr').length === 1")
    csv = copied(page, "csv", "rank,").split("\r\n")
    assert csv[1].startswith('–,Their <b>BM25,"reported: A paper, Table 2"')
    assert "1 of 2" not in csv[1]
    said = page.locator("#submit").inner_text()
    assert "--corpus alpha --corpus beta" in said
    assert "https://example.org/submissions" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "format"),
        ({"url": "javascript:alert(1)"}, "url"),
        ({"date": "May"}, "date"),
        ({"more": 1}, "more"),
        ({"systems": []}, "systems"),
        ({"systems": [PAPER["systems"][0] | {"kind": "magic"}]}, "systems.0.kind"),
        (
            {"systems": [PAPER["systems"][0] | {"scores": [
                {"corpus": "a", "split": "b", "metric": "c", "value": 95.5}
            ]}]},
            "systems.0.scores.0.value",
        ),
        (
            {"systems": [PAPER["systems"][0] | {"scores": [
                {"corpus": "a", "split": "b", "metric": "sacrebleu", "value": 101}
            ]}]},
            r"systems.0.scores.0.value.* sacrebleu is 0 to 100",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    write(tmp_path / "in", board()[:1])
    (tmp_path / "in" / "p.reported.json").write_text(json.dumps(PAPER | change))
    with pytest.raises(DataError, match=rf"p\.reported\.json: {said}"):
        build(tmp_path / "in", tmp_path / "site")


def test_no_json(tmp_path: Path) -> None:
    write(tmp_path / "in", board()[:1])
    (tmp_path / "in" / "p.reported.json").write_text("{")
    with pytest.raises(DataError, match=r"p\.reported\.json: is not JSON"):
        build(tmp_path / "in", tmp_path / "site")
