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


def _as_of_old_numpy(folder: Path) -> None:
    def change(manifest: Record) -> None:
        manifest["environment"]["used_packages"]["numpy"] = "1.0"

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


def test_a_run_of_other_versions_is_reused_and_that_is_said(tmp_path: Path) -> None:
    first = _run(tmp_path, "bm25", Recorder(), limit=3)
    _as_of_old_numpy(first.folder)
    told = Recorder()
    again = _run(tmp_path, "bm25", told, limit=3)
    assert again.reused
    assert again.folder == first.folder
    (note,) = told.warnings
    assert f"they were made with numpy 1.0; installed now: numpy {NUMPY}" in note
    assert "name another --out folder" in note


def test_answers_of_other_versions_are_reused_and_that_is_said(tmp_path: Path) -> None:
    more = {"task": "question_answering", "generator": "extractive", "limit": 3}
    first = _run(tmp_path, "random", Recorder(), **more)

    def change(manifest: Record) -> None:
        manifest["environment"]["used_packages"]["PyStemmer"] = "1.0"

    rewrite(first.folder / "manifest.json", change)
    told = Recorder()
    assert _run(tmp_path, "random", told, **more).reused
    assert any(
        "the answers are reused; they were made with PyStemmer 1.0" in w for w in told.warnings
    )


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
    _as_of_old_numpy(folder)
    monkeypatch.setattr(Stopping, "stop", [])
    told = Recorder()
    assert _run(tmp_path, Stopping(), told, limit=60).folder == folder
    note = f"from query {n_done + 1} on, with other packages: made with numpy 1.0; installed now"
    assert any(note in warning for warning in told.warnings)
    assert any(note in recorded for recorded in read_run(folder).manifest.notes)


def test_compare_notes_other_versions(tmp_path: Path) -> None:
    runs = [_run(tmp_path, name, Recorder(), limit=20).folder for name in ("bm25", "tfidf")]
    assert compare(runs, ["recall@10"], resamples=10).notes == ()
    _as_of_old_numpy(runs[0])
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


MINE = """
import json
from pathlib import Path

class Mine:
    def __init__(self, config: str) -> None:
        self.config = config

    def embed_corpus(self, corpus):
        self.ids = list(corpus.ids)[: json.loads(Path(self.config).read_text())["rows"]]

    def retrieve(self, query, top_k):
        return self.ids[:top_k]
"""


def test_an_edited_configuration_is_another_run(tmp_path: Path) -> None:
    """Its scores are those of what it holds now, and never those of before."""
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    config = tmp_path / "cfg.json"
    spec, out = f"{tmp_path / 'mine.py'}:Mine:config={config}", tmp_path / "runs"
    config.write_text('{"rows": 5}', encoding="utf-8")
    first = _run(out, spec, Recorder(), limit=3)
    assert _run(out, spec, Recorder(), limit=3).reused
    config.write_text('{"rows": 0}', encoding="utf-8")
    second = _run(out, spec, Recorder(), limit=3)
    assert not second.reused
    assert second.folder != first.folder
    config.write_text('{"rows": 5}', encoding="utf-8")
    again = _run(out, spec, Recorder(), limit=3)
    assert again.reused
    assert again.folder == first.folder
