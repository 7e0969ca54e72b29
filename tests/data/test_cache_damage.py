"""The cache of loaded corpora: entries that are damaged, or of another version."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_bench.data import cache, cache_writing
from tests.data.cached import entries, load, same

pytestmark = pytest.mark.usefixtures("place")


def _truncated(entry: Path) -> None:
    _replace(entry / "tables.arrow", (entry / "tables.arrow").read_bytes()[:-8])


def _scrambled(entry: Path) -> None:
    _replace(entry / "tables.arrow", b"x" * (entry / "tables.arrow").stat().st_size)


def _one_cell(entry: Path) -> None:
    """Another letter in a cell: the file is as long as before, and sound."""
    content = (entry / "tables.arrow").read_bytes()
    assert b"Cup_1" in content
    _replace(entry / "tables.arrow", content.replace(b"Cup_1", b"Cap_1"))


def _replace(path: Path, content: bytes) -> None:
    """As another file of this name: what has the old one open goes on reading that."""
    path.unlink()
    path.write_bytes(content)


def _without_tables(entry: Path) -> None:
    (entry / "tables.arrow").unlink()


def _without_record(entry: Path) -> None:
    (entry / "entry.json").unlink()


def _record(text: str) -> Callable[[Path], None]:
    def write(entry: Path) -> None:
        (entry / "entry.json").write_text(text, encoding="utf-8")

    return write


@pytest.mark.parametrize(
    "damage",
    [
        _truncated,
        _scrambled,
        _one_cell,
        _without_tables,
        _without_record,
        _record(""),
        _record("garbage"),
        _record("[]"),
        _record(f'{{"format": {cache.FORMAT}}}'),
        _record("5"),
        _record('{"format": 1e999}'),
        _record("[" * 100_000),
    ],
)
def test_damaged_entry(
    folder: Path, place: Path, parsed: list[str], damage: Callable[[Path], None]
) -> None:
    whole = load(folder)
    (entry,) = entries(place, "tables")
    damage(entry)
    again = load(folder)
    same(whole, again)
    assert len(again.notes) == 1
    assert f"the cached {entry} is damaged (" in again.notes[0]
    assert again.notes[0].endswith("; it was read again")
    assert parsed == ["tables", "queries", "tables"]
    same(whole, load(folder))
    assert len(parsed) == 3
    assert load(folder).notes == ()
    assert [entry.state for entry in cache_writing.entries()] == ["whole", "whole"]


def test_an_entry_that_another_process_replaces_is_not_damaged(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = load(folder)
    (entry,) = entries(place, "tables")

    def replaced(path: Path, _: str) -> None:
        if path.parent != entry:
            return
        shutil.copytree(entry, place / "new")
        cache.remove(entry)
        (place / "new").rename(entry)
        raise FileNotFoundError(entry / "tables.arrow")

    with monkeypatch.context() as patch:
        patch.setattr(cache, "check_file", replaced)
        found = load(folder)
    same(whole, found)
    assert found.notes == load(folder).notes == ()
    assert len(entries(place, "tables")) == 1


@pytest.mark.parametrize("name", ["sizes", "files", "absent", "listings"])
@pytest.mark.parametrize("value", [5, ["x"], {"x": 5}, {"\0": "x"}, [5], {"x": ["y"]}])
def test_record_that_makes_no_sense(folder: Path, place: Path, name: str, value: object) -> None:
    """It matches nothing, and crashes nothing."""
    whole = load(folder)
    (entry,) = entries(place, "tables")
    record = json.loads((entry / "entry.json").read_text(encoding="utf-8"))
    record["seen"][name] = value
    (entry / "entry.json").write_text(json.dumps(record), encoding="utf-8")
    same(whole, load(folder))


def test_damaged_queries(folder: Path, place: Path) -> None:
    whole = load(folder)
    (entry,) = entries(place, "queries")
    path = entry / "queries.jsonl"
    for old, new in ((b"[", b" "), (b"Cup_1", b"Cup_0")):
        path.write_bytes(b"[" + path.read_bytes()[1:].replace(old, new))
        again = load(folder)
        same(whole, again)
        assert f"the cached {entry} is damaged" in again.notes[0]


@pytest.mark.parametrize(
    "record", [{"format": 1}, {"format": 0, "code": 5}, {"format": 99, "seen": "another thing"}]
)
def test_entry_of_another_version(folder: Path, place: Path, record: dict[str, Any]) -> None:
    """Of an older or newer target-bench: not used, and left to it."""
    whole = load(folder)
    entry = place / f"{entries(place, 'tables')[0].name[:-12]}000000000000"
    shutil.copytree(entries(place, "tables")[0], entry)
    (entry / "entry.json").write_text(json.dumps(record), encoding="utf-8")
    again = load(folder)
    same(whole, again)
    assert again.notes == ()
    assert json.loads((entry / "entry.json").read_text(encoding="utf-8")) == record
    assert sorted(e.state for e in cache_writing.entries()) == ["another version", "whole", "whole"]
