"""The data files of the embedded corpus: their bytes are pinned, their queries derived.

The rules of what is in them are ``tools.mini``'s, which the second test runs.
"""

import hashlib
import shutil
from pathlib import Path

import pytest

from target_bench.data.load import load
from tools.mini.__main__ import main
from tools.mini.queries import DATA, faults, write

FILES = "2c3475207de464739dade67bd75540ccd73435903e9b915f56d530d3622a2a3c"
FINGERPRINT = "6b47241e10e2a41fa4b93d9ff0a0b22a997e180b720b285116b89933a13f79ea"


def _files(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the data files, to be changed."""
    return Path(shutil.copytree(DATA, tmp_path / "data"))


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_bytes(text.replace(old, new).encode())


def test_data_files_stay_as_they_are() -> None:
    """Runs and submissions on mini hold for these bytes, and for this fingerprint."""
    digest = hashlib.sha256()
    for name, content in sorted(_files(DATA).items()):
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    assert digest.hexdigest() == FILES
    assert {load("mini", split).corpus.fingerprint for split in ("test", "validation")} == {
        FINGERPRINT
    }


def test_queries_follow_from_tables_and_databases(
    copied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The committed queries are those that the checks derive, byte for byte."""
    assert faults(DATA) == []
    (copied / "queries.jsonl").unlink()
    write(copied)
    assert _files(copied) == _files(DATA)
    monkeypatch.setattr("sys.argv", ["mini"])
    main()
    assert "tables, databases and queries agree" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "old", "new", "fault"),
    [
        ("queries.jsonl", '"answer": "Regina"', '"answer": "Saskatoon"', "Saskatoon"),
        ("tables/divisions-of-canada.csv", "Regina", "Saskatoon", "Saskatoon"),
        ("tables/divisions-of-canada.csv", "Saskatchewan", "Manitoba", "0 rows hold"),
        ("tables/olympics-1972-medals.csv", "East Germany,20,", "East Germany,21,", "label"),
        ("tables/divisions-of-canada.csv", ",Regina", "", "divisions-of-canada: ragged"),
        ("tables.jsonl", "divisions-of-canada", "divisions-of-kanada", "differ"),
        ("databases/mountain_huts.sql", "CREATE TABLE hut (", "CREATE TABLE cabin (", "hut"),
    ],
)
def test_a_changed_file_is_a_fault(copied: Path, file: str, old: str, new: str, fault: str) -> None:
    """What no longer answers a question, or contradicts its label, is named."""
    _replace(copied / file, old, new)
    (first, *_) = faults(copied)
    assert fault in first
