"""Links among the files of a corpus: followed to files, and reported where they lead elsewhere."""

from pathlib import Path

import pytest

from target_bench import corpora
from target_bench.core.errors import DataError
from tests.data.written import asked, write_own

CSV = "Year,Winner\n2001,Ann\n"


def test_a_link_to_a_folder_is_noted(tmp_path: Path) -> None:
    folder = write_own(tmp_path / "own", {"a.csv": CSV}, [asked("a")])
    (tmp_path / "more").mkdir()
    (folder / "tables" / "b").symlink_to(tmp_path / "more")
    (folder / "tables" / "c.csv").symlink_to("gone.csv")
    (folder / "tables" / "d.csv").write_bytes(b"PK\x03\x04")
    with pytest.raises(DataError, match="2 files cannot be read"):
        corpora.load(folder)
    dataset = corpora.from_folder(folder, skip_bad=True)
    assert [i.table_id for i in dataset.corpus.ids] == ["a"]
    note, of_link = dataset.notes
    assert of_link == "links to folders are not read: 1 (tables/b)"
    assert note.startswith("2 files left out (skip_bad)")
    assert "c.csv: a link to gone.csv, which is not there" in note
    assert corpora.from_folder(folder, skip_bad=True).notes == dataset.notes, "from the cache, too"
    (folder / "tables" / "gone.csv").write_text(CSV)
    again = corpora.from_folder(folder, skip_bad=True)
    assert [i.table_id for i in again.corpus.ids] == ["a", "c", "gone"]


def test_link_to_nothing(tmp_path: Path) -> None:
    """A missing table is reported, not left out; a lock file of an editor is not a table."""
    queries = [{"query_id": "q", "query": "x", "table_id": "t"}]
    write_own(tmp_path, {"t.csv": "a,b\n1,2\n"}, queries)
    (tmp_path / "tables" / ".#t.csv").symlink_to("nobody@nowhere")
    assert len(corpora.load(tmp_path).corpus) == 1
    (tmp_path / "tables" / "u.csv").symlink_to("gone.csv")
    with pytest.raises(DataError, match=r"u\.csv: a link to gone\.csv, which is not there"):
        corpora.load(tmp_path)
