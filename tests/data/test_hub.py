"""Pulling from the hub, against one on this machine; huggingface_hub's own code does the work."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from target_bench.core.errors import DataError
from target_bench.core.schema import TableId
from target_bench.data import hub
from target_bench.data.select import load
from tests.data.hub_server import (
    CORPUS,
    PARQUET,
    QUERIES,
    Hub,
    Said,
    hub_in_use,
    left_over,
    publish,
)

TABLES = "ottqa-corpus/" + PARQUET


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub_in_use(tmp_path, monkeypatch) as served:
        yield served


def test_a_pull_lies_in_the_cache_with_commits_and_hashes(server: Hub, tmp_path: Path) -> None:
    assert hub.pulled("ottqa") is None
    found = hub.pull("OTT-QA")
    assert found.folder.parent == tmp_path / "cache/hub/ottqa"
    assert hub.pulled("ottqa") == found.folder
    served = server.repositories[CORPUS][server.branches[CORPUS, "main"]]
    assert (found.folder / TABLES).read_bytes() == served[PARQUET]
    assert set(found.fetched) == set(found.files) == set(hub.hashes(found.folder))
    assert hub.hashes(found.folder)[TABLES] == hashlib.sha256(served[PARQUET]).hexdigest()
    record = json.loads((found.folder / "source.json").read_text(encoding="utf-8"))
    assert [r["id"] for r in record["repositories"]] == [CORPUS, QUERIES]
    assert {r["revision"] for r in record["repositories"]} == {"main"}
    assert record["repositories"][0]["commit"] == server.branches[CORPUS, "main"]
    assert {"path": PARQUET, "size": len(served[PARQUET])}.items() <= (
        next(f for f in record["repositories"][0]["files"] if f["path"] == PARQUET).items()
    )
    assert left_over(tmp_path / "cache") == []
    assert sorted(path.name for path in found.folder.iterdir()) == [
        "ottqa-corpus",
        "ottqa-queries",
        "source.json",
    ]


def test_what_was_pulled_is_used_without_the_hub(server: Hub) -> None:
    hub.pull("ottqa")
    server.dead = True
    dataset = load("ottqa")
    assert dataset.corpus[TableId("0", "moons")].rows == [["Mars", "2"]]
    assert [query.id for query in dataset.queries] == ["q1"]


@pytest.mark.everywhere
def test_looking_for_a_pull_does_not_import_the_library(server: Hub) -> None:
    hub.pull("ottqa")
    code = (
        "import sys; from target_bench.data import hub; assert hub.pulled('ottqa');"
        "assert hub.hashes(hub.pulled('ottqa')); assert 'huggingface_hub' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_second_pull_only_checks(server: Hub) -> None:
    first = hub.pull("ottqa")
    sent = server.gets(".parquet")
    second = hub.pull("ottqa")
    assert (second.folder, second.files, second.fetched) == (first.folder, first.files, ())
    assert server.gets(".parquet") == sent


@pytest.mark.parametrize("damage", [b"", b"other bytes", None])
def test_a_damaged_file_is_fetched_again(server: Hub, damage: bytes | None) -> None:
    first, said = hub.pull("ottqa"), Said()
    path = first.folder / TABLES
    whole = path.read_bytes()
    path.unlink() if damage is None else path.write_bytes(damage)
    second = hub.pull("ottqa", say=said)
    assert second.fetched == (TABLES,)
    assert path.read_bytes() == whole
    assert said.has(TABLES, "is damaged", "fetched again")
    assert hub.pull("ottqa").fetched == ()


@pytest.mark.parametrize("cached", [False, True])
def test_a_damaged_file_is_refused_where_it_is_read(server: Hub, cached: bool) -> None:
    """One letter of a cell: the file is sound, and not what was fetched."""
    folder = hub.pull("ottqa").folder
    if cached:
        load("ottqa")
    _with_another_cell(folder / TABLES)
    for _ in range(2):
        with pytest.raises(
            DataError, match=r"damaged .*not what was fetched.*target-bench data pull ottqa"
        ):
            load("ottqa")
    assert hub.pull("ottqa").fetched == (TABLES,)
    assert load("ottqa").corpus[TableId("0", "moons")].rows == [["Mars", "2"]]


def test_a_damaged_record_is_not_used(server: Hub) -> None:
    """Another commit than the one that was pulled: the record has a seal."""
    path = hub.pull("ottqa").folder / "source.json"
    record = json.loads(path.read_bytes())
    record["repositories"][0]["commit"] = "0" * 40
    path.write_text(json.dumps(record), encoding="utf-8")
    assert hub.pulled("ottqa") is None
    record.pop("seal")
    path.write_text(json.dumps(record), encoding="utf-8")
    assert hub.pulled("ottqa") == path.parent, "as an earlier version wrote it"


def _with_another_cell(path: Path) -> None:
    table = parquet.read_table(path)
    cells = json.loads(json.dumps(table.to_pylist()).replace("Mars", "Nars"))
    parquet.write_table(pa.Table.from_pylist(cells, table.schema), path)


def test_a_pull_whose_record_is_damaged_is_none(server: Hub, tmp_path: Path) -> None:
    first = hub.pull("ottqa")
    (first.folder / "source.json").write_text("{", encoding="utf-8")
    assert hub.pulled("ottqa") is None
    with pytest.raises(DataError, match="no whole pull"):
        hub.hashes(first.folder)
    assert len(hub.pull("ottqa").fetched) == 4
    assert hub.pulled("ottqa") == first.folder
    assert left_over(tmp_path / "cache") == []


def test_the_latest_pull_is_in_use_and_an_old_commit_can_be_asked_for(
    server: Hub, tmp_path: Path
) -> None:
    old = publish(server, tmp_path / "published")
    first = hub.pull("ottqa")
    publish(server, tmp_path / "published", cell="Jupiter")
    second = hub.pull("ottqa")
    assert second.folder != first.folder
    assert hub.pulled("ottqa") == second.folder
    third = hub.pull("ottqa", [f"ottqa-corpus={old[CORPUS]}", f"{QUERIES}={old[QUERIES]}"])
    assert (third.folder, third.fetched) == (first.folder, ())
    assert hub.pulled("ottqa") == first.folder


def test_a_branch_is_resolved_to_its_commit(server: Hub, tmp_path: Path) -> None:
    publish(server, tmp_path / "other", cell="Venus")
    server.branches |= {(r, "v1"): server.branches[r, "main"] for r in (CORPUS, QUERIES)}
    publish(server, tmp_path / "published")
    found = hub.pull("ottqa", ["v1"])
    assert [r.revision for r in found.repositories] == ["v1", "v1"]
    assert found.repositories[0].commit == server.branches[CORPUS, "v1"]
    assert load("ottqa").corpus[TableId("0", "moons")].rows == [["Venus", "2"]]


@pytest.mark.parametrize("path", [PARQUET, "README.md"])
@pytest.mark.parametrize("longer", [False, True])
def test_wrong_bytes_are_refused(server: Hub, tmp_path: Path, path: str, longer: bool) -> None:
    content = server.repositories[CORPUS][server.branches[CORPUS, "main"]][path]
    server.wrong[path] = content + b"more" if longer else content[:-1] + b"?"
    with pytest.raises(DataError, match=path) as caught:
        hub.pull("ottqa")
    assert CORPUS in str(caught.value)
    if not longer:
        what = "sha256" if path == PARQUET else "git_sha1"
        assert f"expected {what}" in str(caught.value)
        assert (
            hashlib.sha256(server.wrong[path]).hexdigest() in str(caught.value) or what != "sha256"
        )
    assert hub.pulled("ottqa") is None
    assert left_over(tmp_path / "cache") == []


def test_bytes_that_were_wrong_once_are_fetched_again(server: Hub) -> None:
    content = server.repositories[CORPUS][server.branches[CORPUS, "main"]][PARQUET]
    server.wrong[PARQUET], server.wrong_times, said = content[:-1] + b"?", 1, Said()
    hub.pull("ottqa", say=said)
    assert said.has(CORPUS, PARQUET, "expected sha256", "It is fetched again")


def known(monkeypatch: pytest.MonkeyPatch, **entry: Any) -> None:
    nothing: dict[str, Any] = {"revision": None, "files": {}}
    table = {"ottqa": {CORPUS: nothing | entry, QUERIES: nothing}}
    monkeypatch.setattr(hub, "_known", lambda: table)


def test_files_are_checked_against_the_shipped_table(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(server.repositories[CORPUS][server.branches[CORPUS, "main"]][PARQUET])
    known(monkeypatch, files={PARQUET: {"size": size, "sha256": "0" * 64}})
    with pytest.raises(DataError, match=r"expected sha256 0{64} \(says known_files.json\), found"):
        hub.pull("ottqa")
    known(monkeypatch, files={"data/gone.parquet": {"size": 1, "sha256": "0" * 64}})
    with pytest.raises(DataError, match=r"data/gone.parquet is missing, which known_files.json"):
        hub.pull("ottqa")


def test_a_known_commit_is_the_default_and_another_is_not_held_to_its_files(
    server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = server.branches[CORPUS, "main"]
    publish(server, tmp_path / "published", cell="Jupiter")
    known(monkeypatch, revision=old)
    assert hub.pull("ottqa").repositories[0].commit == old
    known(monkeypatch, revision=old, files={PARQUET: {"size": 1, "sha256": "0" * 64}})
    assert hub.pull("ottqa", ["main"]).repositories[0].commit == server.branches[CORPUS, "main"]


def test_the_shipped_table_names_the_repositories() -> None:
    table = json.loads(Path(hub.__file__).with_name("known_files.json").read_text("utf-8"))
    assert {name: len(repositories) for name, repositories in table.items()} == {
        "fetaqa": 2,
        "tabfact": 2,
        "ottqa": 2,
        "infiagentda": 2,
        "spider": 6,
        "bird": 2,
        "gittables": 1,
    }
    for repositories in table.values():
        for repository, entry in repositories.items():
            assert repository.startswith("target-benchmark/")
            assert entry.keys() == {"revision", "files"}
            assert entry["revision"] or not entry["files"]
    assert hub.knows("gittables")
    assert not hub.knows("mini")
