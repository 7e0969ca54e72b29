"""The run folder: what is written is found again, and damage is told."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import StoreError
from target_bench.core.files import sealed_line
from target_bench.core.schema import Retrieval, TableId
from target_bench.runs.manifest import FORMAT, run_key
from target_bench.runs.record_log import RANKINGS
from target_bench.runs.store import Run
from tests.builders import ASKED, rewrite, run_identity

LABEL = ("retrieval", "mini", "test", "bm25:fields=[title,header],k1=0.9")
IDENTITY = run_identity(top_k=[1, 10], retriever={"class": "x:Y"})
ONE = Retrieval("q1", (TableId("0", "a"), TableId("0", "b")), (2.5, 1.0))
TWO = Retrieval("q2", (), error="raised ValueError: no")
THREE = Retrieval("q3", (TableId("1", "a"),), resorted=True, tied=True)

odd_text = st.one_of(
    st.text(st.characters(), max_size=12),
    st.sampled_from(['"', "\\", "\n", "\r\n", "\u2028", "\x00", "\ud800", "\udfff\ud800", "é'"]),
)
table_ids = st.builds(TableId, odd_text, odd_text)


@st.composite
def retrievals(draw: st.DrawFn) -> list[Retrieval]:
    """Rankings with anything in their ids."""
    found = []
    for query_id in draw(st.lists(odd_text, unique=True, max_size=4)):
        tables = draw(st.lists(table_ids, max_size=4))
        n = len(tables) if draw(st.booleans()) else 0
        finite = st.floats(allow_nan=False, allow_infinity=False)
        found.append(
            Retrieval(
                query_id,
                tuple(tables),
                tuple(draw(st.lists(finite, min_size=n, max_size=n))),
                draw(st.none() | odd_text),
                *draw(st.tuples(st.booleans(), st.booleans())),
            )
        )
    return found


def _run(root: Path, identity: dict[str, Any] = IDENTITY) -> Run:
    return Run(root, LABEL, identity)


def _append(run: Run, *found: Retrieval) -> None:
    with RANKINGS.log(run.folder) as log:
        log.append(found)


def _saved(root: Path) -> Run:
    run = _run(root)
    run.begin(ASKED, 3)
    run.write_manifest(started="now")
    with RANKINGS.log(run.folder) as log:
        log.append([ONE, TWO])
        log.append([THREE])
    return run


def test_folder_is_named_by_label_and_identity(tmp_path: Path) -> None:
    run = _run(tmp_path / "deep" / "runs")
    assert run.folder.is_dir()
    key = run_key(IDENTITY)
    assert run.folder.name == run.id == f"retrieval-mini-test-bm25-fields-title-header-k1-0.9-{key}"
    assert _run(tmp_path, IDENTITY | {"top_k": [5]}).folder.name != run.id


@pytest.mark.parametrize("word", ["../../etc/passwd", "a/b\\c", "x" * 500, "ä:ö", "", "CON\n"])
def test_folder_name_is_safe(tmp_path: Path, word: str) -> None:
    run = Run(tmp_path, ["retrieval", word], IDENTITY)
    assert run.folder.parent == tmp_path
    assert len(run.id) < 100
    assert set(run.id) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")


def test_retrievals_come_back(tmp_path: Path) -> None:
    _saved(tmp_path)
    assert RANKINGS.read(_run(tmp_path).folder) == {"q1": ONE, "q2": TWO, "q3": THREE}
    lines = (_run(tmp_path).folder / "retrieval.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["query_id"] for line in lines] == ["q1", "q2", "q3"]


@given(retrievals())
def test_any_ids_come_back(
    tmp_path_factory: pytest.TempPathFactory, given_retrievals: list[Retrieval]
) -> None:
    root = tmp_path_factory.mktemp("runs")
    run = _run(root)
    with RANKINGS.log(run.folder) as log:
        for retrieval in given_retrievals:
            log.append([retrieval])
    assert list(RANKINGS.read(_run(root).folder).values()) == given_retrievals


@given(odd_text)
def test_any_manifest_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    root = tmp_path_factory.mktemp("runs")
    identity = run_identity(setting=text)
    run = _run(root, identity)
    run.begin(ASKED, 3)
    run.write_manifest(files={text: "00"})
    assert _run(root, identity).manifest.files == {text: "00"}


def test_last_answer_counts(tmp_path: Path) -> None:
    run = _saved(tmp_path)
    mended = Retrieval("q2", (TableId("0", "b"),))
    _append(run, mended)
    assert RANKINGS.read(_run(tmp_path).folder)["q2"] == mended


def test_manifest_adds_up(tmp_path: Path) -> None:
    run = _run(tmp_path)
    run.begin(ASKED, 3)
    run.write_manifest(started="now", seconds={"load": 1})
    run.write_manifest(seconds={"load": 2})
    again = _run(tmp_path)
    assert again.manifest == run.manifest
    assert again.manifest.identity.content == IDENTITY
    assert again.manifest.id == run.id
    assert (again.manifest.started, again.manifest.seconds) == ("now", {"load": 2})
    assert json.loads((run.folder / "manifest.json").read_bytes())["format"] == FORMAT


@pytest.mark.parametrize("when", ["fsync", "replace"])
def test_manifest_is_old_or_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """A full disk, while the new content is written or put in place, leaves the old one whole."""
    run = _saved(tmp_path)
    run.write_scores({"scores": 1})
    before = {
        path.name: path.read_bytes() for path in run.folder.iterdir() if path.suffix != ".tmp"
    }

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if when == "fsync":
        monkeypatch.setattr("os.fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StoreError, match=r"manifest\.json cannot be written: No space left"):
        run.write_manifest(started="later")
    with pytest.raises(StoreError, match=r"scores\.json cannot be written"):
        run.write_scores({"scores": 2})
    after = {name: (run.folder / name).read_bytes() for name in before}
    assert after == before
    monkeypatch.undo()
    assert _run(tmp_path).manifest.started == "now"


def test_other_format_is_refused(tmp_path: Path) -> None:
    path = _saved(tmp_path).folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for other in (1, FORMAT + 1, "1"):
        path.write_text(json.dumps(manifest | {"format": other}), encoding="utf-8")
        with pytest.raises(StoreError, match=r"manifest\.json: .*another version .*reads 2\); "):
            _run(tmp_path)


def test_other_identity_is_refused(tmp_path: Path) -> None:
    path = _saved(tmp_path).folder / "manifest.json"
    rewrite(path, lambda manifest: manifest["identity"].update(corpus="another"))
    with pytest.raises(StoreError, match=r"manifest\.json: holds another run's identity"):
        _run(tmp_path)


@pytest.mark.parametrize("content", [b"", b'{"format": 1', b"\xff\xfe", b"[]", b'"x"', b"null"])
def test_damaged_manifest(tmp_path: Path, content: bytes) -> None:
    path = _saved(tmp_path).folder / "manifest.json"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"manifest\.json"):
        _run(tmp_path)


def test_torn_last_line_is_cut_off(tmp_path: Path) -> None:
    """At every byte: what a killed process left of the line is dropped, the rest is kept."""
    path = _saved(tmp_path).folder / "retrieval.jsonl"
    whole = path.read_bytes()
    start = whole[:-1].rindex(b"\n") + 1
    for end in range(start, len(whole)):
        path.write_bytes(whole[:end])
        run = _run(tmp_path)
        assert RANKINGS.read(run.folder) == {"q1": ONE, "q2": TWO}
        _append(run, THREE)
        assert RANKINGS.read(_run(tmp_path).folder) == {"q1": ONE, "q2": TWO, "q3": THREE}
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "damaged",
    [
        b'{"query_id": "q2", "tab',
        b"",
        b"[]",
        b"null",
        b'{"tables": []}',
        b'{"query_id": "q2"}',
        b'{"query_id": "q2", "tables": [["0"]]}',
        b'{"query_id": "q2", "tables": [5]}',
        b'{"query_id": "\xff", "tables": []}',
        *(
            sealed_line(b'{"query_id": "q2", "tables": [%b]}' % table)  # of another tool
            for table in (b'["0"]', b'["0", "a", "b"]', b'"ab"', b'["0", 5]')
        ),
    ],
)
def test_damaged_middle_line(tmp_path: Path, damaged: bytes) -> None:
    path = _saved(tmp_path).folder / "retrieval.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[1] = damaged
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(StoreError, match=r"retrieval\.jsonl, line 2: damaged .*remove the line"):
        RANKINGS.read(_run(tmp_path).folder)


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Below a file: that fails for every user."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match=r"cannot be created: .*--out") as caught:
        _run(tmp_path / "file" / "runs")
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("name", ["manifest.json", "retrieval.jsonl", "scores.json"])
def test_files_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    """A folder stands in the place of the file."""
    run = _run(tmp_path)
    (run.folder / name / "in the way").mkdir(parents=True)

    def write() -> None:
        _append(run, ONE)
        run.write_scores({})
        run.begin(ASKED, 3)

    with pytest.raises(StoreError, match=rf"{name} cannot be written"):
        write()
    with pytest.raises(StoreError, match=name):
        RANKINGS.read(_run(tmp_path).folder) if name != "scores.json" else write()


def test_same_identity_under_another_label_is_the_same_folder(tmp_path: Path) -> None:
    first = Run(tmp_path, ["bm25"], IDENTITY | {"k1": 0.5})
    assert Run(tmp_path, ["bm25:k1=0.5"], IDENTITY | {"k1": 0.5}).folder == first.folder


@pytest.mark.skipif(os.name != "posix", reason="a folder cannot be opened elsewhere")
def test_the_names_of_a_new_log_and_its_folder_reach_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    run = _run(tmp_path)
    with RANKINGS.log(run.folder):
        assert synced == [run.folder.stat().st_ino, tmp_path.stat().st_ino]
    with RANKINGS.log(run.folder):
        assert len(synced) == 3, "its name is there already"
