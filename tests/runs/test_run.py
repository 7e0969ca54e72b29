"""The run folder: its name, its manifest and its scores, whole or not there."""

from pathlib import Path

import pytest
from hypothesis import given

from target_bench.core.errors import StoreError
from target_bench.runs.manifest import FORMAT, run_key
from target_bench.runs.record_log import RANKINGS
from target_bench.runs.run import Run, open_run
from tests.builders import first_manifest, rewrite, run_identity
from tests.runs.test_record_log import odd_text

LABEL = ("retrieval", "mini", "test", "bm25:fields=[title,header],k1=0.9")
IDENTITY = run_identity(top_k=[1, 10], retriever={"class": "x:Y"})
MANIFEST = first_manifest(IDENTITY)


def _begun(root: Path) -> Run:
    run = open_run(root, LABEL, MANIFEST)
    run.write_new_manifest()
    run.write_manifest(started="now")
    return run


def test_folder_is_named_by_label_and_identity(tmp_path: Path) -> None:
    run = open_run(tmp_path / "deep" / "runs", LABEL, MANIFEST)
    assert run.folder.is_dir()
    key = run_key(IDENTITY)
    assert run.key == key
    assert run.folder.name == f"retrieval-mini-test-bm25-fields-title-header-k1-0.9-{key}"
    assert (
        open_run(tmp_path, LABEL, first_manifest(IDENTITY | {"top_k": [5]})).folder.name
        != run.folder.name
    )
    assert open_run(run.folder.parent, ["bm25"], MANIFEST).folder == run.folder  # spelled otherwise


@pytest.mark.parametrize("word", ["../../etc/passwd", "a/b\\c", "x" * 500, "ä:ö", "", "CON\n"])
def test_folder_name_is_safe(tmp_path: Path, word: str) -> None:
    run = open_run(tmp_path, ["retrieval", word], MANIFEST)
    assert run.folder.parent == tmp_path
    assert len(run.folder.name) < 100
    assert set(run.folder.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")


@given(odd_text)
def test_any_manifest_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    root, identity = tmp_path_factory.mktemp("runs"), run_identity(setting=text)
    run = open_run(root, LABEL, first_manifest(identity))
    run.write_new_manifest()
    run.write_manifest(files={text: "00"}, seconds={"load": 1})
    run.write_manifest(seconds={"load": 2})
    again = open_run(root, LABEL, first_manifest(identity)).manifest
    assert again == run.manifest
    assert (again.format, again.id, again.files) == (FORMAT, run.folder.name, {text: "00"})
    assert (again.identity.content, again.seconds) == (identity, {"load": 2})


@pytest.mark.parametrize("when", ["os.fsync", "pathlib.Path.replace"])
def test_files_are_old_or_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """A full disk, while the new content is written or put in place, leaves the old one whole."""
    run = _begun(tmp_path)
    run.finish({"scores": 1}, {})
    before = {path.name: path.read_bytes() for path in run.folder.iterdir()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(when, full)
    with pytest.raises(StoreError, match=r"manifest\.json cannot be written: No space left"):
        run.write_manifest(started="later")
    with pytest.raises(StoreError, match=r"scores\.json cannot be written"):
        run.finish({"scores": 2}, {})
    assert {name: (run.folder / name).read_bytes() for name in before} == before


def test_the_run_of_another_identity_is_refused(tmp_path: Path) -> None:
    path = _begun(tmp_path).folder / "manifest.json"
    rewrite(path, lambda manifest: manifest["identity"].update(corpus="another"))
    run = open_run(tmp_path, LABEL, MANIFEST)
    other = r"manifest\.json: holds another run's identity"
    with pytest.raises(StoreError, match=other), run.locked(print):
        pass


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Below a file: that fails for every user."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot be created: .*--out") as raised:
        open_run(tmp_path / "file" / "runs", LABEL, MANIFEST)
    assert raised.value.exit_code == 4


@pytest.mark.parametrize("name", ["manifest.json", "retrieval.jsonl", "scores.json"])
def test_files_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    """A folder stands in the place of the file."""
    run = open_run(tmp_path, LABEL, MANIFEST)
    (run.folder / name / "in the way").mkdir(parents=True)

    def write() -> None:
        run.write_new_manifest()
        with RANKINGS.open(run.folder):
            run.finish({}, {})

    with pytest.raises(StoreError, match=rf"{name} cannot be written"):
        write()
    if name == "retrieval.jsonl":
        with pytest.raises(StoreError, match=rf"{name} cannot be read"):
            RANKINGS.read(run.folder)


@pytest.mark.parametrize("content", [b"damaged", None])
def test_a_table_of_values_that_is_damaged_or_lost_is_written_again(
    tmp_path: Path, content: bytes | None
) -> None:
    run, tables = _begun(tmp_path), {"per_query.parquet": {"query_id": ["q1"], "recall@1": [0.5]}}
    path = run.folder / "per_query.parquet"
    run.finish({"scores": 1}, tables)
    whole = path.read_bytes()
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    run.finish({"scores": 1}, tables)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("is_finished", [True, False])
def test_an_error_is_recorded_of_work_alone(tmp_path: Path, is_finished: bool) -> None:
    run = _begun(tmp_path)
    if is_finished:
        run.finish({}, {})
    with pytest.raises(ValueError, match="no"), run.locked(print):
        raise ValueError("no")
    assert run.manifest.status == ("finished" if is_finished else "running")
    assert (run.manifest.error is None) == is_finished


def test_a_kill_before_the_scores_are_written_leaves_a_finished_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scored again, in the step that takes longest: its files still fit each other."""
    run, values = _begun(tmp_path), {"per_query.parquet": {"query_id": ["q1"], "mrr": [0.5]}}
    counts = {"asked": 1, "answered": 1, "failed": 0, "empty": 0, "short": 0}
    run.finish({"scores": {}, "counts": counts, "code": {}}, values)
    with RANKINGS.open(run.folder):
        pass

    def end(_: Path) -> str:
        raise KeyboardInterrupt

    before = {path.name: path.read_bytes() for path in run.folder.iterdir()}
    monkeypatch.setattr("target_bench.runs.run.digest", end)
    values = {"per_query.parquet": {"query_id": ["q1"], "mrr": [0.7]}}
    with pytest.raises(KeyboardInterrupt):
        run.finish({"scores": {}, "counts": counts, "code": {}}, values)
    assert {path.name: path.read_bytes() for path in run.folder.iterdir()} == before
