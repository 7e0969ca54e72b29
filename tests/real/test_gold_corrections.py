"""The corrections of BIRD in examples/: rows that fit the release, and what they change."""

from pathlib import Path

import pytest

from target_bench import evaluate
from tests.real.data import DATA

pytestmark = pytest.mark.skipif(
    not (DATA / "bird").is_dir(), reason=f"no BIRD in {DATA} (set TARGET_BENCH_DATA)"
)
FILE = Path(__file__).parents[2] / "examples" / "gold_corrections" / "bird_validation.csv"


@pytest.mark.filterwarnings("ignore:bird validation. .* of .*")
def test_scores_with_and_without(tmp_path: Path) -> None:
    result = evaluate("bm25", "bird", data_dir=DATA, out=tmp_path, gold_corrections=FILE)[0]
    assert result.n_contested == 23
    names = ("recall@10", "full_recall@10")
    both = [[f"{result[n + mark].value:.4f}" for n in names] for mark in ("", "[corrected]")]
    assert both == [["0.8494", "0.7229"], ["0.8510", "0.7282"]]
