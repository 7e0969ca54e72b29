"""RotoWire and WikiTableText from small releases in the authors' shape, sound and broken."""

from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import CorpusLoader
from target_bench.core.schema import Dataset
from target_bench.corpora.rotowire import RotoWire
from target_bench.corpora.wikitabletext import E2E, WikiBio, WikiTableText
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


def test_small_tables_are_left_out(tmp_path: Path) -> None:
    """Rows and columns count with their headers, and every table of a text has to be as large."""
    large = BOTH.replace("| 46 |", "| 46 | <NEWLINE> | Magic | 19 |")
    texts, data = ["a", "b", "c"], [BOTH, large, NO_TEAM]
    dataset = _load(RotoWire("2x2"), tmp_path, texts, data)
    assert [query.id for query in dataset.queries] == ["0", "1", "2"]
    team = large.partition(" <NEWLINE> Player")[0] + " <NEWLINE> Player:"
    dataset = _load(RotoWire("3x2"), tmp_path, texts, [BOTH, team, NO_TEAM])
    assert [query.id for query in dataset.queries] == ["1"]
    assert [table.id.table_id for table in dataset.corpus] == ["1/Team"]
    with pytest.raises(ConfigError, match="expected rows x columns, as in at_least=3x3"):
        RotoWire("3")


@pytest.mark.parametrize("loader", [WikiTableText(), E2E(), WikiBio()])
def test_sentences_and_their_fields(tmp_path: Path, loader: CorpusLoader) -> None:
    """A line without a field is left out, with a note; the others keep their numbers."""
    dataset = _load(loader, tmp_path, ["No.", "She was in it.", "No."], ["", FIELDS, ""])
    assert [note for note in dataset.notes if "lines without a field" in note]
    (table,), (query,) = list(dataset.corpus), dataset.queries
    assert (query.id, query.text) == ("1", "She was in it.")
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
        (["a", "b"], [BOTH, " "], r"line 2: no table can be read \(empty\)"),
        (["a"], ["Team: none"], r"line 1: no table can be read \(no_table\)"),
    ],
)
def test_broken_files(tmp_path: Path, texts: list[str], data: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        _load(RotoWire(), tmp_path, texts, data)


@pytest.mark.skipif(not (DATA / "rotowire").is_dir(), reason=f"no RotoWire in {DATA}")
def test_the_real_release() -> None:
    rotowire = read(RotoWire(), DATA / "rotowire", "test")
    names = [str(table.context["title"]) for table in rotowire.corpus]
    assert len(rotowire.queries) == 728
    assert (names.count("Team"), names.count("Player")) == (687, 724)
    fields = read(WikiTableText(), DATA / "rotowire", "test")
    assert len(fields.queries) == len(fields.corpus) == 2000
