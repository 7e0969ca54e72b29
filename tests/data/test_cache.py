"""The cache of loaded corpora: what is used again, what is not, and what is left behind."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from target_bench import corpora
from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.core.schema import Table
from target_bench.corpora.ottqa import OTTQA
from target_bench.data import cache_writing
from target_bench.data.formats.target_layout import TargetLayout
from target_bench.data.read_split import Tables
from tests.builders import json_lines, ottqa_question, ottqa_table, write_ottqa, write_release
from tests.data.cached import QUESTIONS, TABLES, load, same
from tests.data.written import (
    asked,
    query,
    table,
    write_own,
    write_queries,
    write_shards,
    write_target,
)

pytestmark = pytest.mark.usefixtures("place")


def test_second_load_parses_nothing(folder: Path, parsed: list[str]) -> None:
    first = load(folder)
    assert parsed == ["tables", "queries"]
    second = load(folder)
    assert parsed == ["tables", "queries"]
    same(first, second)
    assert first.notes == second.notes


def test_notes_are_kept(folder: Path) -> None:
    write_ottqa(folder, [*TABLES, ottqa_table("Cup_2", data=[])], QUESTIONS)
    assert load(folder).notes == load(folder).notes == ("1 of 3 tables have no rows",)


def test_same_files_in_another_folder(folder: Path, tmp_path: Path, parsed: list[str]) -> None:
    first = load(folder)
    shutil.copytree(folder, tmp_path / "copy")
    same(first, load(tmp_path / "copy"))
    assert len(parsed) == 2


def _touch_only(folder: Path) -> None:
    os.utime(folder / "dev_tables.jsonl", (1, 1))


def test_time_stamps_do_not_count(folder: Path, parsed: list[str]) -> None:
    load(folder)
    _touch_only(folder)
    load(folder)
    assert len(parsed) == 2


def test_one_changed_byte(folder: Path) -> None:
    """Of the same length, with the same time stamp."""
    load(folder)
    path = folder / "dev_tables.jsonl"
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"Ann", b"Eve"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert next(iter(load(folder).corpus["0", "Cup_0"].rows)) == ["2001", "Eve Cup_0"]


def test_changed_queries_leave_the_tables(folder: Path, parsed: list[str]) -> None:
    load(folder)
    write_ottqa(folder, TABLES, [ottqa_question("q1", "Cup_0")])
    assert load(folder).queries[0].gold == (("0", "Cup_0"),)
    assert parsed == ["tables", "queries", "queries"]


def test_source_that_changes_while_it_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    """What was read under the old hash is not kept."""
    read = OTTQA.tables

    def changing(self: OTTQA, release: Release, split: str) -> Iterator[Table]:
        yield from read(self, release, split)
        write_ottqa(folder, TABLES[:1], QUESTIONS)

    monkeypatch.setattr(OTTQA, "tables", changing)
    with pytest.raises(DataError, match="files there changed while they were read"):
        load(folder)
    assert not list(place.iterdir())


def test_file_that_takes_precedence(folder: Path) -> None:
    """A plain file is looked for before a packed one, the folder itself before its subfolders."""
    (folder / "dev_tables.jsonl").unlink()
    write_release(folder / "data", "dev_tables.jsonl", json_lines(TABLES), "gz")
    assert len(load(folder).corpus) == 2
    write_release(folder / "data", "dev_tables.jsonl", json_lines([*TABLES, ottqa_table("x")]))
    assert len(load(folder).corpus) == 3
    more = [*TABLES, ottqa_table("x"), ottqa_table("y")]
    write_release(folder, "dev_tables.jsonl", json_lines(more))
    assert len(load(folder).corpus) == 4
    (folder / "dev_tables.jsonl").unlink()
    assert len(load(folder).corpus) == 3


def test_source_that_went(folder: Path) -> None:
    load(folder)
    (folder / "dev.json").unlink()
    with pytest.raises(DataError, match=r"no dev\.json"):
        load(folder)


def test_layout_that_takes_precedence(folder: Path) -> None:
    """Files in TARGET's layout that appear beside the authors' go first, as without a cache."""
    assert len(load(folder).corpus) == 2
    write_target(folder, [table("one")], [query(1, "one")], "validation")
    assert list(load(folder).corpus.ids) == [("0", "one")]
    shutil.rmtree(folder / "corpus")
    shutil.rmtree(folder / "queries")
    assert len(load(folder).corpus) == 2


def test_added_and_removed_shard(tmp_path: Path) -> None:
    folder = write_target(tmp_path / "data", [table("a")], [query(1, "a")])
    records = [
        {"database_id": "0", "table_id": n, "table": [["x"], [n]], "context": {}} for n in "abc"
    ]
    (folder / "corpus" / "test.jsonl").unlink()
    (one,) = write_shards(folder / "corpus", "test", records[:1], 1, "jsonl")
    assert len(corpora.load(folder).corpus) == 1
    one.unlink()
    write_shards(folder / "corpus", "test", records, 3, "jsonl")
    assert len(corpora.load(folder).corpus) == 3
    (folder / "corpus" / "test-00002-of-00003.jsonl").unlink()
    with pytest.raises(DataError, match=r"should have 3 shards, but has 2; test-00002-of-00003"):
        corpora.load(folder)


def test_added_table_file(tmp_path: Path) -> None:
    folder = write_own(tmp_path / "mine", {"a.csv": "x\n1\n"}, [asked("a")])
    assert len(corpora.load(folder).corpus) == 1
    write_own(folder, {"b.csv": "x\n2\n"}, [asked("a")])
    assert len(corpora.load(folder).corpus) == 2
    (folder / "tables" / "b.csv").unlink()
    assert len(corpora.load(folder).corpus) == 1


def _database(path: Path, value: str) -> Path:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE t (a)")
        database.execute("INSERT INTO t VALUES (?)", (value,))
    return path


def test_two_databases_in_one_folder(tmp_path: Path) -> None:
    """Also of one name and different suffixes, with the same queries and the same content."""
    write_queries(tmp_path / "queries.jsonl", [asked("t")])
    paths = [_database(tmp_path / name, name) for name in ("a.db", "b.db", "a.sqlite")]
    for _ in range(2):
        for path in paths:
            (found,) = corpora.load(path).corpus
            assert (found.id, found.rows) == ((path.stem, "t"), [[path.name]])


def test_two_query_files_of_one_database(tmp_path: Path) -> None:
    path = _database(tmp_path / "a.db", "x")
    files = [
        write_queries(tmp_path / f"{name}.jsonl", [asked("t", query=name)]) for name in ("m", "n")
    ]
    for _ in range(2):
        for file in files:
            assert corpora.from_database(path, file).queries[0].text == file.stem


def test_database_whose_log_grows(tmp_path: Path) -> None:
    """What a writer has committed is in the log beside the file, which stays as it is."""
    write_queries(tmp_path / "queries.jsonl", [asked("t")])
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("CREATE TABLE t (a)")
        for n in range(3):
            writer.execute("INSERT INTO t VALUES (?)", (n,))
            writer.commit()
            (found,) = corpora.load(path).corpus
            assert found.rows == [[i] for i in range(n + 1)]
    (found,) = corpora.load(path).corpus
    assert len(found.rows) == 3


def test_foreign_files_in_the_cache(folder: Path, place: Path) -> None:
    place.mkdir(parents=True)
    (place / "ottqa-validation-tables-x").write_text("no folder", encoding="utf-8")
    (place / "README").write_text("hello", encoding="utf-8")
    assert load(folder).notes == ()
    assert len(cache_writing.entries()) == 2
    assert len(cache_writing.clear()) == 2
    assert cache_writing.entries() == []


def test_clear(folder: Path, place: Path, parsed: list[str]) -> None:
    load(folder)
    shown = [entry.to_json() for entry in cache_writing.entries()]
    assert json.loads(json.dumps(shown)) == shown
    assert {entry["state"] for entry in shown} == {"whole"}
    assert {Path(entry.folder).parent for entry in cache_writing.clear()} == {place}
    assert list(place.iterdir()) == []
    load(folder)
    assert len(parsed) == 4


def test_open_corpus_survives_the_clearing(folder: Path) -> None:
    dataset = load(folder)
    if os.name == "posix":
        cache_writing.clear()
    assert len(list(dataset.corpus)) == 2


def test_unreadable_source_is_not_a_reason_to_use_an_entry(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error for a user who may not read the source any more."""
    load(folder)
    (folder / "dev_tables.jsonl").unlink()
    (folder / "dev_tables.jsonl").mkdir()
    with pytest.raises(DataError, match=r"no dev_tables\.jsonl"):
        load(folder)


def test_layout_and_loader_share_no_entry(folder: Path) -> None:
    """Two classes of one module folder have the same source files."""
    one = Tables(OTTQA(), folder, "test").code
    write_target(folder, [table("a")], [query(1, "a")])
    assert one != Tables(TargetLayout(folder, OTTQA.info), folder, "test").code
