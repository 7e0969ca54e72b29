"""The submissions in ``benchmarks/leaderboard``: sound, small, and what README.md says."""

import hashlib
import json
import re

import numpy as np
import pytest

from benchmarks.leaderboard import board_readme
from benchmarks.leaderboard.regenerate import BASELINES, SETS
from target_bench.core.schema import MARKS
from target_bench.reporting.leaderboard import entry
from target_bench.reporting.leaderboard.checks import at_least
from target_bench.reporting.leaderboard.documents import read_card, read_reported
from target_bench.reporting.leaderboard.entry import Entry
from target_bench.reporting.leaderboard.submission import SUFFIX, opened
from tests.builders import ROOT
from tests.reporting.leaderboard.forging import files_of

HERE = ROOT / "benchmarks" / "leaderboard"
CORPORA = {
    "ottqa": ("validation", 2214),
    "fetaqa": ("test", 2003),
    "tabfact": ("test", 12779),
    "spider": ("validation", 1034),
    "bird": ("validation", 1534),
}


def _entry(name: str) -> Entry:
    return entry.read(HERE / f"{name}{entry.SUFFIX}")


@pytest.mark.parametrize("name", [*BASELINES, *SETS])
def test_entry_and_submission_agree(name: str) -> None:
    """And hold ids, and no text of a data set."""
    made = _entry(name)
    assert (made.id, made.verdict) == (name, "accepted")
    with opened(HERE / f"{name}{SUFFIX}") as submission:
        assert made.fingerprint == submission.fingerprint
        assert made.card == submission.card == read_card(HERE / "cards" / f"{name}.yaml")
    files = files_of(HERE / f"{name}{SUFFIX}")
    rankings = [raw for path, raw in files.items() if path.endswith("retrieval.jsonl")]
    hashes = {hashlib.sha256(raw).hexdigest() for raw in rankings}
    assert {run.predictions_sha256 for run in made.runs} == hashes
    fields = {name for raw in rankings for line in raw.splitlines() for name in json.loads(line)}
    assert fields <= {"query_id", "tables", *MARKS}


def test_all_rank_every_corpus_in_full() -> None:
    """And the same tables and queries."""
    data = set()
    for name in BASELINES:
        runs = {run.corpus: run for run in _entry(name).runs}
        assert {c: (run.split, run.counts.asked) for c, run in runs.items()} == CORPORA
        for run in runs.values():
            assert run.cutoffs == [1, 5, 10]
            mean = np.nanmean(run.per_query["recall@10"])
            assert mean == pytest.approx(run.scores["recall@10"].value, abs=1e-7)
            data.add((run.corpus, run.corpus_fingerprint, run.queries_fingerprint))
    assert len(data) == len(CORPORA)
    names = {path.name.removesuffix(SUFFIX) for path in HERE.glob(f"*{SUFFIX}")}
    assert names == {*BASELINES, *SETS}


@pytest.mark.parametrize("corpus", CORPORA)
def test_no_baseline_comes_near_the_threshold_of_hard_queries(corpus: str) -> None:
    """The figure in the rule ``gold_rankings``; a hit at 1 is at least the share that it bounds."""
    runs = {n: run for n in BASELINES for run in _entry(n).runs if run.corpus == corpus}
    first = {n: run.per_query["recall@1"] > 0 for n, run in runs.items()}
    hard = ~first["bm25"]
    highest = max(at_least(int(hits[hard].sum()), int(hard.sum())) for hits in first.values())
    assert round(highest, 2) <= 0.46


def test_readme_says_what_the_entries_say() -> None:
    written = (HERE / "README.md").read_text(encoding="utf-8")
    assert written == board_readme.readme(HERE), (
        "python -m benchmarks.leaderboard.regenerate --tables"
    )
    assert "{{" not in written


def test_every_figure_of_the_paper_has_a_reason() -> None:
    paper = read_reported(HERE / "target-paper.reported.json")
    methods = {
        system.name: {(s.corpus, s.metric): s.value for s in system.scores}
        for system in paper.systems
    }
    # recall, seconds and BLEU, P/R/F1 or EX on five corpora; No context retrieves nothing
    assert {corpus for scores in methods.values() for corpus, _ in scores} == set(CORPORA)
    assert sorted(map(len, methods.values())) == [7] + 7 * [17]
    assert methods["No context"]["fetaqa", "sacrebleu"] == 12.495
    assert methods["OpenAI embedding, header only"]["spider", "ex[bird]"] == 0.646
    assert methods["OpenAI embedding"]["tabfact", "f1_weighted"] == 0.61
    assert methods["LlamaIndex"]["ottqa", "ms"] == 354
    assert {system.name for system in paper.systems} >= set(board_readme.PAPER.values())
    rows = re.findall(
        r"^\| \S+ \| OTT-QA (?:BM25|TF-IDF).* \| ([^|]*) \|$", board_readme.readme(HERE), re.M
    )
    assert len(rows) == len(board_readme.PAPER) * len(CORPORA)
    assert all(rows)


def test_figures_of_the_later_version_of_the_paper() -> None:
    systems = read_reported(HERE / "target-arxiv.reported.json").systems
    methods = {s.name: {(x.corpus, x.metric): x.value for x in s.scores} for s in systems}
    assert sorted(map(len, methods.values())) == [5] * 4 + [7] + [10] * 3 + [14] + [17] * 4
    assert methods["Dense Row-level Embedding (stella_en_400M_v5)"]["tabfact", "recall@10"] == 0.848


@pytest.mark.parametrize(
    ("values", "reasons"),
    [
        ((0.5, 0.55, 0.51, 0.45, 0.6), ["formula", "ties"]),
        ((0.5, 0.51, 0.51, 0.45, 0.6), ["ties"]),
        ((0.5, 0.51, 0.51, 0.51, 0.51), ["the rest is not found"]),
        ((0.5, 0.55, 0.503, 0.503, 0.503), ["formula"]),
        ((0.5, 0.55, 0.52, 0.52, 0.52), ["formula", "the rest is not found"]),
    ],
)
def test_reasons(values: tuple[float, ...], reasons: list[str]) -> None:
    """The paper's figure, ours, the formula's, and the range that ties leave."""
    assert board_readme._reasons("ottqa", *values) == reasons
    assert board_readme._reasons("spider", *values) == ["another split"]
