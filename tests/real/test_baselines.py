"""The committed baselines, verified against the real data: the same scores come out."""

import json
from pathlib import Path

import pytest

from target_bench.reporting.leaderboard import entry
from target_bench.reporting.leaderboard.verify import verify
from tests.builders import ROOT, Recorder
from tests.real.data import DATA, needs_data
from tests.reporting.leaderboard.forging import Files, files_of, packed

pytestmark = needs_data

HERE = ROOT / "benchmarks" / "leaderboard"


@pytest.mark.parametrize(("name", "corpus"), [("bm25", "ottqa"), ("lsa", "spider")])
def test_verify_recomputes_the_scores(tmp_path: Path, name: str, corpus: str) -> None:
    """One run of a submission, packed by itself because all of them take a minute."""
    alone = packed(tmp_path / "alone.tbs.zip", _alone(files_of(HERE / f"{name}.tbs.zip"), corpus))
    found = verify(alone, data_dir=DATA, observer=Recorder())
    assert (found.verdict, found.findings) == ("accepted", ())
    assert found.entry is not None
    (run,) = found.entry.runs
    (kept,) = [r for r in entry.read(HERE / f"{name}.entry.json").runs if r.corpus == corpus]
    assert run.scores == kept.scores
    assert run.predictions_sha256 == kept.predictions_sha256
    assert run.corpus_fingerprint == kept.corpus_fingerprint


def _alone(files: Files, corpus: str) -> Files:
    """The files of a submission with the run of this corpus alone."""
    (folder,) = [
        name.removesuffix("run.json")
        for name, raw in files.items()
        if name.endswith("run.json") and json.loads(raw)["corpus"] == corpus
    ]
    index = {**json.loads(files["submission.json"]), "runs": 1}
    return {
        "card.json": files["card.json"],
        "submission.json": json.dumps(index).encode(),
        **{
            name.replace(folder, "runs/0/"): raw
            for name, raw in files.items()
            if name.startswith(folder)
        },
    }
