"""RotoWire, WikiTableText, Struc-Bench and TabXBench from small releases, sound and broken."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.table_metrics.ranked_tables import ranked_sets
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import CorpusLoader
from target_bench.core.schema import Dataset, Table
from target_bench.corpora.rotowire import RotoWire
from target_bench.corpora.struc_bench import StrucBench
from target_bench.corpora.tabxbench import TabXBench
from target_bench.corpora.wikitabletext import E2E, WikiBio, WikiTableText
from target_bench.data.reading import read
from tests.real.data import DATA

BOTH = (
    "Team: <NEWLINE> |  | Wins | <NEWLINE> | Hawks | 46 | <NEWLINE> "
    "Player: <NEWLINE> |  | Points | <NEWLINE> | Al Horford | 17 |"
)
NO_TEAM = "Team: <NEWLINE> Player: <NEWLINE> |  | Points | <NEWLINE> | Al Horford | 17 |"
FIELDS = "| title | heritage society | <NEWLINE> | office | assemblywoman |"
TEXT = {"instruction": "Make tables.", "input": "Won.", "output": "Team:\n| a | b |\n| 1 | 2 |"}
LATEX = {
    "instruction": "Write LaTeX of a and b.",
    "input": "",
    "output": r"\begin{tabular}{ll} a & b \\ 1 & 2 \\ \end{tabular}",
}
ORIGINAL = "| a | b |\n| - | - |\n| 1 | 2 |"
TABLES = {"original": ORIGINAL} | {
    f"pertubation{i}": f"\n| a | b |\n|---|---|\n| 1 | {i} |{' 9 |' if i == 4 else ''}\n"
    for i in range(5)
}
OTHER = {name: text.replace("a", "c") for name, text in TABLES.items()}


def _read(loader: CorpusLoader, folder: Path, files: Mapping[str, Any]) -> Dataset:
    """Of files of lines (lists of texts), or of JSON."""
    for name, content in files.items():
        lines = "".join(f"{line}\n" for line in content) if ".json" not in name else ""
        (folder / name).write_text(lines or json.dumps(content), encoding="utf-8")
    return read(loader, folder, "test")


def _rotowire(texts: list[str], data: list[str], name: str = "rotowire") -> dict[str, list[str]]:
    return {f"{name}.test.text": texts, f"{name}.test.data": data}


def _ranked(tables: Any, rankings: Any) -> dict[str, Any]:
    return {"tables.json": tables, "gold_ranking.json": rankings}


def _rows(table: Table) -> list[list[object]]:
    return [list(row) for row in table.rows]


def test_reports_and_their_tables(tmp_path: Path) -> None:
    files = _rotowire(["The Hawks won.", "Al scored 17."], [BOTH, NO_TEAM])
    dataset = _read(RotoWire(), tmp_path, files)
    assert [table.id.table_id for table in dataset.corpus] == ["0/Team", "0/Player", "1/Player"]
    first, second = dataset.queries
    assert (first.id, first.text, first.answer) == ("0", "The Hawks won.", BOTH)
    assert [table.table_id for table in first.gold] == ["0/Team", "0/Player"]
    assert [table.table_id for table in second.gold] == ["1/Player"]
    assert (first.metadata["format"], first.metadata["headers"]) == ("text", "both")
    team = dataset.corpus[first.gold[0]]
    assert (list(team.header), _rows(team)) == (["", "Wins"], [["Hawks", "46"]])


def test_small_tables_are_left_out(tmp_path: Path) -> None:
    """Rows and columns count with their headers, and every table of a text has to be as large."""
    team = f"{BOTH.partition(' <NEWLINE> Player')[0]} <NEWLINE> | Magic | 19 | <NEWLINE> Player:"
    for size, ids in (("2x2", ["0", "1", "2"]), ("3x2", ["1"])):
        files = _rotowire(["a", "b", "c"], [BOTH, team, NO_TEAM])
        dataset = _read(RotoWire(size), tmp_path, files)
        assert [query.id for query in dataset.queries] == ids
    assert [table.id.table_id for table in dataset.corpus] == ["1/Team"]
    with pytest.raises(ConfigError, match="expected rows x columns, as in at_least=3x3"):
        RotoWire("3")


@pytest.mark.parametrize("loader", [WikiTableText(), E2E(), WikiBio()])
def test_sentences_and_their_fields(tmp_path: Path, loader: CorpusLoader) -> None:
    """A line without a field is left out, with a note; the others keep their numbers."""
    files = _rotowire(["No.", "She was in it.", "No."], ["", FIELDS, ""], loader.info.name)
    dataset = _read(loader, tmp_path, files)
    assert [note for note in dataset.notes if "lines without a field" in note]
    (table,), (query,) = list(dataset.corpus), dataset.queries
    assert (query.id, query.text) == ("1", "She was in it.")
    assert list(table.header) == ["field", "value"]
    assert _rows(table) == [["title", "heritage society"], ["office", "assemblywoman"]]
    assert (query.gold, query.metadata["headers"]) == ((table.id,), "row")


def test_records_of_each_format(tmp_path: Path) -> None:
    files = {"table_test.json": [TEXT], "latex_test.json": [LATEX]}
    dataset = _read(StrucBench(), tmp_path, files)
    first, second = dataset.queries
    assert (first.id, first.text, first.answer) == ("table/0", "Won.", TEXT["output"])
    assert (first.metadata["format"], first.metadata["instruction"]) == ("text", "Make tables.")
    assert (second.text, second.metadata["format"]) == (LATEX["instruction"], "latex")
    tables = {table.id.table_id: _rows(table) for table in dataset.corpus}
    assert tables == {"table/0/0": [["1", "2"]], "latex/0/0": [["1", "2"]]}


def test_rankings_name_tables_best_first_from_0_or_from_1(tmp_path: Path) -> None:
    rankings = [
        {"original": tables["original"], "rankings": digits}
        for tables, digits in ((TABLES, "20143"), (OTHER, "31254"))
    ]
    dataset = _read(TabXBench(), tmp_path, _ranked([TABLES, OTHER], rankings))
    assert [query.metadata["rank"] for query in dataset.queries] == [1, 2, 0, 4, 3] * 2
    assert dataset.queries[4].text == TABLES["pertubation4"]
    assert dataset.queries[4].answer == ORIGINAL
    assert [list(table.header) for table in dataset.corpus] == [["a", "b"], ["c", "b"]]
    first, second = ranked_sets(dataset)
    assert first.order == second.order == (2, 0, 1, 4, 3)
    assert [pair.answer.tables[0].is_ragged for pair in first.pairs] == [False] * 4 + [True]


def _ranking(digits: str, original: str = ORIGINAL) -> dict[str, str]:
    return {"original": original, "rankings": digits}


NO_RANKING = "record 1: field 'rankings' is"


@pytest.mark.parametrize(
    ("loader", "files", "message"),
    [
        (RotoWire(), _rotowire(["a", "b"], [BOTH]), "2 lines for 1 lines of"),
        (RotoWire(), _rotowire(["a", "b"], [BOTH, " "]), r"line 2: no table can be read \(empty\)"),
        (RotoWire(), _rotowire(["a"], ["Team: none"]), r"line 1: no table can be .*\(no_table\)"),
        (StrucBench(), {"table_test.json": {"a": 1}}, "expected a list of records, found dict"),
        (StrucBench(), {"table_test.json": [{"instruction": "x"}]}, "record 1: no field 'output'"),
        (
            StrucBench(),
            {"table_test.json": [TEXT | {"output": "none"}]},
            "record 1: no table can be read in its output as text",
        ),
        (TabXBench(), _ranked([TABLES], []), "tables.json has 1 records, gold_ranking.json has 0"),
        (TabXBench(), _ranked({}, []), "tables.json: expected a list of records"),
        (TabXBench(), _ranked([TABLES], [_ranking("01234", "x")]), "'original' is not that of"),
        (TabXBench(), _ranked([{"original": "no table"}], [{}]), "0 tables, expected one"),
        (
            TabXBench(),
            _ranked([{"original": ORIGINAL}], [_ranking("01234")]),
            "no field 'pertubation0'",
        ),
        *(
            (TabXBench(), _ranked([TABLES], [_ranking(digits)]), NO_RANKING)
            for digits in ("01234 ", "00123", "0123", "abcde", "")
        ),
    ],
)
def test_broken_files(
    tmp_path: Path, loader: CorpusLoader, files: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        _read(loader, tmp_path, files)


@pytest.mark.skipif(not (DATA / "rotowire").is_dir(), reason=f"no RotoWire in {DATA}")
def test_the_real_release() -> None:
    rotowire = read(RotoWire(), DATA / "rotowire", "test")
    names = [str(table.context["title"]) for table in rotowire.corpus]
    assert len(rotowire.queries) == 728
    assert (names.count("Team"), names.count("Player")) == (687, 724)
    fields = read(WikiTableText(), DATA / "rotowire", "test")
    assert len(fields.queries) == len(fields.corpus) == 2000
