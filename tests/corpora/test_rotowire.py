"""RotoWire and WikiTableText from small releases in the authors' shape, sound and broken."""

from pathlib import Path

import pytest

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader
from target_bench.core.schema import Dataset
from target_bench.corpora.rotowire import RotoWire
from target_bench.corpora.wikitabletext import WikiTableText
from target_bench.data.load import read
from tests.real.data import DATA

BOTH = (
    "Team: <NEWLINE> |  | Wins | <NEWLINE> | Hawks | 46 | <NEWLINE> "
    "Player: <NEWLINE> |  | Points | <NEWLINE> | Al Horford | 17 |"
)
NO_TEAM = "Team: <NEWLINE> Player: <NEWLINE> |  | Points | <NEWLINE> | Al Horford | 17 |"
FIELDS = "| title | heritage society | <NEWLINE> | office | assemblywoman |"


def _load(loader: CorpusLoader, folder: Path, texts: list[str], data: list[str]) -> Dataset:
    for kind, lines in (("text", texts), ("data", data)):
        path = folder / f"{loader.info.name}.test.{kind}"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return read(loader, folder, "test")


def test_reports_and_their_tables(tmp_path: Path) -> None:
    dataset = _load(RotoWire(), tmp_path, ["The Hawks won.", "Al scored 17."], [BOTH, NO_TEAM])
    assert [table.id.table_id for table in dataset.corpus] == ["0/Team", "0/Player", "1/Player"]
    first, second = dataset.queries
    assert (first.id, first.text, first.answer) == ("0", "The Hawks won.", BOTH)
    assert [table.table_id for table in first.gold] == ["0/Team", "0/Player"]
    assert [table.table_id for table in second.gold] == ["1/Player"]
    assert (first.metadata["format"], first.metadata["headers"]) == ("text", "both")
    team = dataset.corpus[first.gold[0]]
    assert (list(team.header), [list(row) for row in team.rows]) == (
        ["", "Wins"],
        [["Hawks", "46"]],
    )


def test_sentences_and_their_fields(tmp_path: Path) -> None:
    dataset = _load(WikiTableText(), tmp_path, ["She was in it."], [FIELDS])
    (table,), (query,) = list(dataset.corpus), dataset.queries
    assert list(table.header) == ["field", "value"]
    assert [list(row) for row in table.rows] == [
        ["title", "heritage society"],
        ["office", "assemblywoman"],
    ]
    assert (query.gold, query.metadata["headers"]) == ((table.id,), "row")


@pytest.mark.parametrize(
    ("texts", "data", "message"),
    [
        (["a", "b"], [BOTH], "2 lines for 1 lines of"),
        (["a", "b"], [BOTH, " "], "line 2: expected tables, found an empty line"),
        (["a"], ["Team: none"], r"line 1: no table can be read \(no_table\)"),
    ],
)
def test_broken_files(tmp_path: Path, texts: list[str], data: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        _load(RotoWire(), tmp_path, texts, data)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"rotowire\.test\.text"):
        read(RotoWire(), tmp_path, "test")


@pytest.mark.skipif(not (DATA / "rotowire").is_dir(), reason=f"no RotoWire in {DATA}")
def test_the_real_release() -> None:
    rotowire = read(RotoWire(), DATA / "rotowire", "test")
    names = [str(table.context["title"]) for table in rotowire.corpus]
    assert len(rotowire.queries) == 728
    assert (names.count("Team"), names.count("Player")) == (687, 724)
    fields = read(WikiTableText(), DATA / "rotowire", "test")
    assert len(fields.queries) == len(fields.corpus) == 2000
