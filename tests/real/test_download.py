"""The pins that are shipped, held against the authors' real bytes under their real names."""

import gzip
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from target_bench.core.declarations import GitHub
from target_bench.data.load import load, loader
from tests.data.file_server import Server, serving, use
from tests.real.data import DATA, needs_data

pytestmark = needs_data


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def _fetaqa() -> Mapping[str, bytes]:
    names = ("fetaQA-v1_test.jsonl", "fetaQA-v1_dev.jsonl")
    return {f"data/{name}": _unpacked(DATA / "fetaqa" / f"{name}.gz") for name in names}


def _ottqa() -> Mapping[str, bytes]:
    """A table a line here is a file each there, written with an indent of two."""
    names = ("dev.json", "train_dev_test_table_ids.json")
    files = {f"released_data/{name}": _unpacked(DATA / "ottqa" / f"{name}.gz") for name in names}
    for line in _unpacked(DATA / "ottqa" / "dev_tables.jsonl.gz").splitlines():
        table = json.loads(line)
        path = f"data/traindev_tables_tok/{table['uid']}.json"
        files[path] = json.dumps(table, indent=2).encode()
    return files


def _tabfact() -> Mapping[str, bytes]:
    files = {
        "tokenized_data/test_examples.json": _unpacked(DATA / "tabfact" / "test_examples.json.gz")
    }
    with zipfile.ZipFile(DATA / "tabfact" / "test_csv.zip") as archive:
        for name in archive.namelist():
            if name.endswith(".csv"):
                files[f"data/all_csv/{Path(name).name}"] = archive.read(name)
    return files


@pytest.mark.parametrize(
    ("corpus", "split", "files"),
    [
        ("fetaqa", "test", _fetaqa),
        ("fetaqa", "validation", _fetaqa),
        ("ottqa", "validation", _ottqa),
        ("tabfact", "test", _tabfact),
    ],
)
def test_the_authors_bytes_are_those_that_are_pinned(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    corpus: str,
    split: str,
    files: Callable[[], Mapping[str, bytes]],
) -> None:
    """What is fetched is the data that README's figures are measured on."""
    monkeypatch.setenv("TARGET_BENCH_DATA", str(DATA))
    expected = load(corpus, split)
    (part,) = loader(corpus).info.sources(split)
    assert isinstance(part, GitHub)
    root = f"/{part.repository}/{part.commit}"
    with serving(Server({f"{root}/{path}": content for path, content in files().items()})) as web:
        use(web, tmp_path, monkeypatch)
        fetched = load(corpus, split)
        assert len(web.seen) == len(fetched.files)
    assert fetched.corpus.fingerprint == expected.corpus.fingerprint
    assert fetched.queries == expected.queries
