"""The rubric by rules against the rankings of people in TabXBench."""

import numpy as np
import pytest

from benchmarks.table_metrics.weights import PLACES, comparisons, goodness, penalties, rhos, weights
from target_bench.tables.comparison import RubricWeights
from target_bench.tables.comparison.rubric import TABXBENCH_WEIGHTS
from tests.real.data import DATA

FOLDER = DATA / "tabxbench"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no {FOLDER}")


def test_rankings_agree_with_people_better_than_the_file_order_and_the_published_scores() -> None:
    compared, good = comparisons(FOLDER), goodness(FOLDER)
    assert good.shape == (50, len(PLACES))
    plain = rhos(-penalties(compared, RubricWeights()).clip(max=1), good)
    assert plain.mean() > 0.5, "nothing is fitted; the scores of the paper's model have .455"
    fitted = rhos(-penalties(compared, TABXBENCH_WEIGHTS).clip(max=1), good)
    assert fitted.mean() > plain.mean()
    assert weights(np.zeros(4)) == RubricWeights()
