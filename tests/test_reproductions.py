"""benchmarks/reproductions.yaml: published figures beside ours."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import reproduce
from tests.real.data import DATA

ENTRIES = reproduce.entries()
RUN_IN_CI = [entry for entry in ENTRIES if "command" in entry and not entry.get("slow")]


def test_entries_are_whole() -> None:
    """Each has a command or says what is missing, and a reason wherever it differs."""
    reasons = reproduce.document()["reasons"]
    for entry in ENTRIES:
        assert ("command" in entry) != ("missing" in entry), entry
        for figure in entry["figures"]:
            assert set(entry) <= {
                *("paper", "table", "command", "missing", "needs", "at", "tolerance", "slow"),
                "figures",
            }
            assert "here" in figure or "missing" in entry or "needs" in entry, figure
            if "here" in figure:
                agrees = reproduce.agree(figure["here"], figure["published"], entry["tolerance"])
                assert agrees != ("why" in figure), figure
                assert figure.get("why", next(iter(reasons))) in reasons


@pytest.mark.parametrize(
    ("paper", "table", "n"),
    [
        ("Struc-Bench", "Table 2", 4 * 6 * 9),
        ("ToTTo", "Table 6", 8),
        ("ToTTo", "Table 9", 3 * 3 * 3),
        ("TARGET", "arXiv 2505.11545", 139),
        ("TabXEval", "Table 5", 15),
    ],
)
def test_printed_figures_have_rows(paper: str, table: str, n: int) -> None:
    tables = [e for e in ENTRIES if e["paper"].startswith(paper) and e["table"].startswith(table)]
    assert sum(len(entry["figures"]) for entry in tables) == n


def test_a_tolerance_is_no_larger_than_a_tenth_of_the_figure() -> None:
    assert reproduce.agree(27.2, 25.6, 2)
    assert not reproduce.agree(27.7, 25.6, 2)
    assert not reproduce.agree(0, 0.37, 2)
    assert reproduce.agree(0, 0, 2)


def test_a_changed_figure_and_a_missing_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARGET_BENCH_DATA", str(tmp_path))
    entry: dict[str, Any] = {
        "paper": "P",
        "table": "T",
        "command": "target-bench describe corpus mini --json",
        "at": ["tables"],
        "tolerance": 0,
        "figures": [
            {"name": "agrees", "published": 139, "here": 139},
            {"name": "differs", "published": 140, "here": 139, "why": "near ties"},
            {"name": "was recorded wrongly", "published": 139, "here": 138},
            {"name": "differs without a reason", "published": 140, "here": 139},
        ],
    }
    statuses = [outcome.status for outcome in reproduce.reproduce(entry)]
    assert statuses == ["pass", "differ", "changed", "changed"]
    (absent, *_) = reproduce.reproduce(entry | {"needs": ["$TARGET_BENCH_DATA/{name}.txt"]})
    assert (absent.status, absent.why) == (
        "missing",
        "there is no file $TARGET_BENCH_DATA/agrees.txt",
    )
    (failed, *_) = reproduce.reproduce(entry | {"command": "target-bench describe corpus minni"})
    (broken, *_) = reproduce.reproduce(entry | {"command": "python -c 1/0"})
    assert (broken.status, broken.why) == ("changed", "ZeroDivisionError: division by zero")
    assert failed.status == "missing"
    assert "minni" in failed.why


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason=f"no data in {DATA}")
@pytest.mark.parametrize("entry", RUN_IN_CI, ids=lambda entry: entry["table"])
def test_figures(entry: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one model or corpus for each entry; ``python -m benchmarks.reproduce`` runs them all."""
    monkeypatch.setenv("TARGET_BENCH_DATA", str(DATA))
    command, *_ = commands = [reproduce._filled(entry["command"], f) for f in entry["figures"]]
    figures = [f for f, c in zip(entry["figures"], commands, strict=True) if c == command]
    for outcome in reproduce.reproduce(entry | {"figures": figures}):
        assert outcome.status != "changed", f"{outcome.name}: {outcome.here}"


def test_the_page_is_what_is_recorded() -> None:
    page = reproduce.PAGE.read_text(encoding="utf-8")
    assert page == reproduce.page(), "run python -m benchmarks.reproduce --page"
