"""Runs and indexes whose identity holds code as version 0.1.0 hashed and named it."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench import TARGET, read_run
from target_bench.core.errors import DataError
from target_bench.core.index_store import load_index, save_index
from target_bench.data.select import load
from target_bench.evaluation.resume import ResumedRun
from target_bench.reporting.compare import compare
from target_bench.reporting.leaderboard.pack import pack
from target_bench.retrievers.bm25 import BM25
from target_bench.runs.integrity import check
from target_bench.runs.manifest import run_key
from tests.builders import Recorder, without_seals
from tests.reporting.leaderboard.conftest import card
from tests.runs.stored import copied

MODULES = {
    "BM25": "retrievers.bm25",
    "TfIdf": "retrievers.tfidf",
    "Extractive": "generators.extractive",
}


def _earlier_identity(identity: Any) -> Any:
    if isinstance(identity, list):
        return [entry for entry in identity if entry not in ("retrieval:1", "text:1")]
    if not isinstance(identity, dict):
        return identity
    found = {name: _earlier_identity(value) for name, value in identity.items()}
    if "class" in found:
        found["class"] = f"target_bench.{MODULES[found['class']]}:{found['class']}"
        found["code"] = "0" * 64
    return found


def _made_earlier(folder: Path) -> Path:
    """The same run, and that of its rankings, as version 0.1.0 would have identified them."""
    without_seals(folder)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["identity"] = _earlier_identity(manifest["identity"])
    rankings = manifest["asked"].get("retrieval_run")
    if rankings:
        manifest["asked"]["retrieval_run"] = _made_earlier(folder.with_name(rankings)).name
    name = f"{folder.name.rpartition('-')[0]}-{run_key(manifest['identity'])}"
    (folder / "manifest.json").write_text(json.dumps({**manifest, "id": name}))
    return folder.rename(folder.with_name(name))


@pytest.fixture
def earlier(tmp_path: Path) -> dict[str, Path]:
    runs = copied(tmp_path)
    names = ("bm25", "tfidf", "answers", "other")
    return {name: _made_earlier(getattr(runs, name)) for name in names}


def test_they_are_whole_and_can_be_compared(earlier: dict[str, Path]) -> None:
    for folder in earlier.values():
        assert check(folder).problems == ()
    assert compare([earlier["bm25"], earlier["tfidf"]], ["recall@10"], resamples=10).rows
    assert compare([earlier["answers"], earlier["other"]], ["token_f1"], resamples=10).rows


def test_they_can_be_submitted(earlier: dict[str, Path], tmp_path: Path) -> None:
    runs = [earlier["bm25"], earlier["answers"]]
    assert pack(runs, card(), tmp_path / "a.tbs.zip").is_file()


@pytest.mark.parametrize("name", ["bm25", "answers"])
def test_they_can_be_scored_again(earlier: dict[str, Path], name: str) -> None:
    """With the same scores, and no word of another way of scoring."""
    told = Recorder()
    found = ResumedRun(read_run(earlier[name]), observer=told).score()[0]
    assert told.warnings == []
    assert found.folder != earlier[name]
    before = read_run(earlier[name]).scores
    assert {metric: found.scores[metric] for metric in before} == before


def test_they_are_not_reused_and_that_is_said_of_answers(earlier: dict[str, Path]) -> None:
    told = Recorder()
    out = earlier["answers"].parent
    new = TARGET(("question_answering", "mini"), out=out, observer=told).run("bm25")[0]
    assert not new.reused
    assert told.warnings == [
        f"{earlier['answers'].name} was answered by an earlier version of target-bench, which "
        "identified code by the text of its files: its answers are not reused, and all queries "
        "are answered again"
    ]
    told.warnings.clear()
    assert TARGET(("question_answering", "mini"), out=out, observer=told).run("bm25")[0].reused
    assert told.warnings == []


def test_index_of_an_earlier_version(tmp_path: Path) -> None:
    """Its code is not known, so it is refused, with what to do."""
    corpus, bm25, folder = load("mini").corpus, BM25(), tmp_path / "index"
    bm25.embed_corpus(corpus)
    save_index(bm25, corpus, folder)
    record = json.loads((folder / "index.json").read_bytes())
    earlier = {**record, "format": 2, "retriever": _earlier_identity(record["retriever"])}
    (folder / "index.json").write_text(json.dumps(earlier))
    with pytest.raises(DataError, match=r"reads 3; delete the folder and index again"):
        load_index(BM25(), corpus, folder)
