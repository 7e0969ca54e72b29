"""Runs under other versions of packages: reused, gone on with and compared, each with a note."""

from pathlib import Path
from typing import Any

import pytest

from target_bench import TARGET, read_run
from target_bench.core.registry import installed_version
from target_bench.core.schema import TableId
from target_bench.reporting.compare import compare
from tests.builders import Counting, Record, Recorder, only, rewrite

NUMPY = installed_version("numpy")


def _made_with(folder: Path, package: str, version: str = "1.0") -> None:
    """Have a run say that it was made with another version of a package."""

    def change(manifest: Record) -> None:
        manifest["environment"]["used_packages"][package] = version

    rewrite(folder / "manifest.json", change)


def _run(out: Path, retriever: Any, observer: Recorder, **more: Any) -> Any:
    target = TARGET((more.pop("task", "retrieval"), "mini"), out=out, observer=observer)
    return only(target.run(retriever, **more))


def test_packages_that_are_used_are_recorded(tmp_path: Path) -> None:
    folder = _run(tmp_path, "bm25", Recorder(), limit=3).folder
    manifest = read_run(folder).manifest
    used = manifest.environment["used_packages"]
    assert used.keys() == {"target-bench", "bm25s", "PyStemmer", "numpy", "scipy", "py3langid"}
    assert "numpy" not in str(manifest.identity.content)


@pytest.mark.parametrize(
    ("more", "package", "what"),
    [
        ({"retriever": "bm25"}, "numpy", "they"),
        ({"retriever": "random", "task": "qa", "generator": "extractive"}, "PyStemmer", "answers"),
    ],
)
def test_a_run_of_other_versions_is_reused_and_that_is_told(
    tmp_path: Path, more: dict[str, Any], package: str, what: str
) -> None:
    first = _run(tmp_path, observer=Recorder(), limit=3, **more)
    _made_with(first.folder, package)
    observer = Recorder()
    again = _run(tmp_path, observer=observer, limit=3, **more)
    assert (again.reused, again.folder) == (True, first.folder)
    installed = f"made with {package} 1.0; installed now: {package} {installed_version(package)}"
    (note,) = (warning for warning in observer.warnings if installed in warning)
    assert what in note
    assert "name another --out folder" in note


class Stopping(Counting):
    """Stops in the middle once."""

    packages = ("numpy",)
    stop: list[int] = []  # noqa: RUF012 (of all objects)

    def __init__(self) -> None:
        super().__init__()

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        if self.stop:
            self.stop[0] -= 1
            if not self.stop[0]:
                raise KeyboardInterrupt
        return super().retrieve(query, top_k)


def test_a_run_goes_on_under_other_versions_and_that_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stopping, "stop", [40])
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path, Stopping(), Recorder(), limit=60)
    (folder,) = tmp_path.iterdir()
    n_done = len((folder / "retrieval.jsonl").read_bytes().splitlines())
    assert 0 < n_done < 60
    _made_with(folder, "numpy")
    monkeypatch.setattr(Stopping, "stop", [])
    observer = Recorder()
    assert _run(tmp_path, Stopping(), observer, limit=60).folder == folder
    note = f"from query {n_done + 1} on, with other packages: made with numpy 1.0; installed now"
    assert any(note in warning for warning in observer.warnings)
    assert any(note in recorded for recorded in read_run(folder).manifest.notes)


def test_compare_notes_other_versions(tmp_path: Path) -> None:
    runs = [_run(tmp_path, name, Recorder(), limit=20).folder for name in ("bm25", "tfidf")]
    assert compare(runs, ["recall@10"], resamples=10).notes == ()
    _made_with(runs[0], "numpy")
    (note,) = compare(runs, ["recall@10"], resamples=10).notes
    assert note == f"the runs were made with different versions of packages: numpy 1.0 and {NUMPY}"


def test_compare_notes_other_versions_behind_a_metric(tmp_path: Path) -> None:
    """A signature shows them beside the score, the run's key does not: it is compared."""
    target = TARGET(("question_answering", "mini"), out=tmp_path, observer=Recorder())
    runs = [
        only(target.run(name, generator="extractive", limit=20)).folder
        for name in ("bm25", "tfidf")
    ]
    installed = f"rouge-score=={installed_version('rouge-score')}"
    assert installed in read_run(runs[0]).scores["rougeL"].signature
    assert not any("==" in entry for entry in read_run(runs[0]).identity.metrics)

    def change(stored: Record) -> None:
        score = stored["scores"]["rougeL"]
        score["signature"] = score["signature"].replace(installed, "rouge-score==0.0.1")

    rewrite(runs[0] / "scores.json", change)
    (note,) = compare(runs, ["rougeL"], resamples=10).notes
    assert "rouge-score 0.0.1 and" in note
