"""Gold tables that are gone: their likely names, and what becomes of their queries."""

import json
from pathlib import Path

import pytest

from target_bench import DataError, TableId, compare, evaluate, load, read_run
from target_bench.harness.resume import ResumedRun
from target_bench.reporting.report import write_report
from tests.builders import json_lines

N = 5
WORDS = ("name", "place", "bank", "owner")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five tables, which answer a question each, read once into a cache of their own."""
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "shop"
    folder.mkdir()
    for i in range(N):
        rows = "\n".join(",".join(f"{word}{i}{row}" for word in WORDS) for row in "ab")
        (folder / f"table_{i}.csv").write_text(f"name{i},place{i},bank{i},owner{i}\n{rows}\n")
    records: list[dict[str, object]] = [
        {"query_id": f"q{i}", "query": f"where is name{i}a", "table_id": f"table_{i}"}
        for i in range(N)
    ]
    records.append({"query_id": "both", "query": "name0a", "table_id": ["table_0", "table_1"]})
    (folder / "queries.jsonl").write_text(json_lines(records))
    assert load(folder).missing_gold is None
    return folder


def change(shop: Path) -> None:
    """Rename a table as it is, rename one and edit a cell, remove one."""
    (shop / "table_0.csv").rename(shop / "x.csv")
    text = (shop / "table_1.csv").read_text()
    (shop / "y.csv").write_text(text.replace("bank1a", "changed"))
    (shop / "table_1.csv").unlink()
    (shop / "table_2.csv").unlink()


def test_stop_names_the_likely_tables_and_the_choices(shop: Path) -> None:
    change(shop)
    with pytest.raises(DataError) as error:
        load(shop)
    for part in (
        "queries.jsonl",
        "query 'q0' has gold table 0/table_0, which is not among the 4 tables",
        "3 gold tables of 4 queries missing",
        "table_0 (now likely x, 100% of the cells)",
        "table_1 (now likely y, 85% of the cells)",
        "table_2 (no table is like it)",
        "--gold-missing drop",
        "--gold-missing map",
    ):
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("choice", "ids", "dropped", "mapped"),
    [("drop", "q3 q4", 4, 0), ("map", "q0 q1 q3 q4 both", 1, 3)],
)
@pytest.mark.filterwarnings("ignore:shop test. 3 gold tables of 4 queries missing")
def test_drop_and_map(
    shop: Path, tmp_path: Path, choice: str, ids: str, dropped: int, mapped: int
) -> None:
    change(shop)
    (run,) = evaluate("bm25", shop, top_k=1, out=tmp_path / "runs", gold_missing=choice)  # type: ignore[arg-type]  # one of them
    assert [query.id for query in run.queries] == ids.split()
    if choice == "map":
        assert run.queries[-1].gold == (TableId("0", "x"), TableId("0", "y"))
        assert run["recall@1"].value == pytest.approx(4.5 / 5)
    now = {"0/table_0": "0/x", "0/table_1": "0/y", "0/table_2": None}
    tables = now if choice == "map" else dict.fromkeys(now)
    expected = {"tables": tables, "dropped": dropped, "mapped": mapped}
    assert run.missing_gold == run.to_json()["data"]["missing_gold"] == expected
    assert json.loads((run.folder / "manifest.json").read_text())["missing_gold"] == expected
    assert any("3 gold tables of 4 queries" in note for note in run.manifest.data_notes)
    again = ResumedRun(read_run(run.folder)).score()[0]
    assert (again.folder, again.scores) == (run.folder, run.scores)
    write_report([run.folder], tmp_path / "report.html")
    assert "gold gone: dropped" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore:shop test. 1 gold table of 2 queries missing")
def test_by_name_where_the_content_is_not_known(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "table_0.csv").rename(shop / "table_00.csv")
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "new"))
    with pytest.raises(DataError, match=r"table_0 \(now likely table_00, by its name\)"):
        load(shop)
    mapped = load(shop, gold_missing="map").missing_gold
    assert mapped is not None
    assert mapped.tables == {TableId("0", "table_0"): TableId("0", "table_00")}
    (shop / "table_00.csv").rename(shop / "elsewhere.csv")
    assert len(load(shop, gold_missing="drop").queries) == N - 1


def test_it_is_the_run_of_files_that_were_edited(shop: Path, tmp_path: Path) -> None:
    (shop / "table_0.csv").rename(shop / "x.csv")
    with pytest.warns(UserWarning, match="1 gold table of 2 queries missing"):
        (run,) = evaluate("bm25", shop, out=tmp_path, top_k=3, gold_missing="map")
    path = shop / "queries.jsonl"
    path.write_text(path.read_text().replace("table_0", "x"))
    (by_hand,) = evaluate("bm25", shop, out=tmp_path, top_k=3)
    assert (by_hand.folder, by_hand.scores) == (run.folder, run.scores)
    assert not by_hand.missing_gold
    (other,) = evaluate("tfidf", shop, out=tmp_path, top_k=3)
    assert compare([by_hand, other], ["recall@3"]).rows[0].n == N + 1


def test_a_workbook_that_is_named_is_told_by_its_sheets(tmp_path: Path) -> None:
    """Folders of tables have ids like sheets of a workbook: ``hotels/Prices``."""
    (tmp_path / "hotels").mkdir()
    for name in ("names", "prices"):
        (tmp_path / "hotels" / f"{name}.csv").write_text("a,b\n1,2\n")
    (tmp_path / "queries.csv").write_text("query,table_id\nwhat does it cost,hotels\n")
    several = r"hotels \(is several tables: hotels/names, hotels/prices\)"
    with pytest.raises(DataError, match=several):
        load(tmp_path)


def test_another_table_is_not_taken_for_one_that_is_gone(shop: Path) -> None:
    """One that is as it was is another table, however alike; one with new rows may be it."""
    season = "name,place\n" + "".join(f"city{i},lake{i}\n" for i in range(9))
    (shop / "season_1.csv").write_text(season + "Bern,Wohlensee\n")
    (shop / "season_2.csv").write_text(season + "Quito,Laguna\n")
    path = shop / "queries.jsonl"
    before = path.read_text()
    path.write_text(before.replace('"table_0"', '"season_1"'))
    load(shop)
    (shop / "season_1.csv").unlink()
    with pytest.raises(DataError, match=r"season_1 \(no table is like it\)"):
        load(shop)
    (shop / "season_1.csv").write_text(season + "Bern,Wohlensee\n")
    load(shop)
    (shop / "season_1.csv").replace(shop / "season_2.csv")
    with pytest.raises(DataError, match=r"season_1 \(now likely season_2, 100% of the cells\)"):
        load(shop)
