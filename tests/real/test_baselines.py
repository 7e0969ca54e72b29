"""The committed baselines, verified against the real data: the same scores come out."""

import json
from itertools import permutations
from pathlib import Path

import pytest

from benchmarks.leaderboard.regenerate import BASELINES
from target_bench.data.load import load
from target_bench.reporting.leaderboard import entry
from target_bench.reporting.leaderboard.copies import alike
from target_bench.reporting.leaderboard.submission import SUFFIX, opened
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
    checked = verify(alone, data_dir=DATA, observer=Recorder())
    assert (checked.verdict, checked.findings) == ("accepted", ())
    assert checked.entry is not None
    (run,) = checked.entry.runs
    (kept,) = [r for r in entry.read(HERE / f"{name}.entry.json").runs if r.corpus == corpus]
    for name, score in run.scores.items():
        kept_score = kept.scores[name]
        numbers = (kept_score.value, kept_score.low, kept_score.high)
        assert (score.value, score.low, score.high) == pytest.approx(numbers, abs=1e-5), name
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


@pytest.mark.parametrize(
    ("corpus", "most"), [("ottqa", (0.31, 0.83, 0.0)), ("spider", (0.44, 0.93, 0.23))]
)
def test_baselines_share_their_mistakes_within_the_thresholds(
    corpus: str, most: tuple[float, float, float]
) -> None:
    """The figures in the rule ``copied``: mistakes at the same rank, order, equal rankings."""
    dataset = load(corpus, data_dir=DATA)
    gold = {query.id: query.gold for query in dataset.queries}
    rankings = []
    for name in BASELINES:  # a set of one or two tables is often that of another
        with opened(HERE / f"{name}{SUFFIX}") as submission:
            place = [run.corpus for run in submission.runs].index(corpus)
            by_query = submission.rankings(place, dataset).by_query
            rankings.append([by_query[query_id].tables for query_id in gold])
    pairs = [
        alike(list(zip(*pair, gold.values(), strict=True))) for pair in permutations(rankings, 2)
    ]
    assert tuple(round(max(column), 2) for column in zip(*pairs, strict=True))[2:] == most
