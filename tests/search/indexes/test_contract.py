"""Every index: shapes, order, inputs of all kinds, saved and loaded."""

import re
from pathlib import Path

import numpy as np
import pytest

from target_bench.core.contract import get_constructor_arguments
from target_bench.core.errors import ConfigError
from tests.search.indexes.oracle import (
    APPROXIMATE,
    EXACT,
    MODULES,
    best_rows,
    built,
    clustered,
    index,
)

every = pytest.mark.parametrize("spec", list(MODULES))
exact = pytest.mark.parametrize("spec", list(EXACT))
approximate = pytest.mark.parametrize("spec", list(APPROXIMATE))


@every
@pytest.mark.parametrize("k", [1, 10, 99, 100, 101, 5000])
def test_finds_the_best(spec: str, k: int) -> None:
    """These few vectors are found by the approximate ones too."""
    vectors, queries = clustered(100), clustered(30, seed=1)
    made = built(spec, vectors)
    scores, rows = made.search(queries, k)
    assert rows.tolist() == best_rows(vectors, queries, min(k, 100))
    assert rows.dtype == np.int64
    true = np.take_along_axis(queries.astype("d") @ vectors.astype("d").T, rows, axis=1)
    np.testing.assert_allclose(scores, true, rtol=0, atol=2.0**-21)
    assert made.exact == (spec in EXACT)
    settings = {n: v for n, v in get_constructor_arguments(made).items() if n != "device"}
    assert dict(made.config()).items() >= settings.items()


@every
def test_a_hundred_equal_vectors(spec: str) -> None:
    """The first rows, though a library's own order of ties is another."""
    vectors = np.concatenate([clustered(1), np.repeat(clustered(1, seed=3), 100, axis=0)])
    _, rows = built(spec, vectors).search(vectors[1:2], 10)
    if spec in EXACT:
        assert rows.tolist() == [list(range(1, 11))]
    else:
        assert len(set(rows[0].tolist()) - {-1}) > 1
        assert rows[0].tolist() == sorted(rows[0].tolist())


@exact
@pytest.mark.parametrize(("tables", "questions"), [(1e-8, 1), (1, 1e-8), (1e6, 1e6), (3.7, 3.7)])
def test_the_scale_of_vectors_changes_nothing(spec: str, tables: float, questions: float) -> None:
    """Inner products of vectors of any length rank as those of unit vectors do."""
    vectors, queries = clustered(300), clustered(40, seed=1)
    expected = built(spec, vectors).search(queries, 300)[1]
    scaled = vectors * np.float32(tables), queries * np.float32(questions)
    scores, rows = built(spec, scaled[0]).search(scaled[1], 300)
    assert (rows != expected).mean() < 1e-3  # scaling rounds the coordinates
    assert rows.tolist() == best_rows(*scaled, 300)
    assert (np.diff(scores, axis=1) <= 0).all()


@exact
def test_batch_is_loop_regardless_of_the_blocks(spec: str) -> None:
    """More queries than a block holds."""
    vectors, queries = clustered(1000), clustered(1100, seed=2)
    made = built(spec, vectors)
    scores, rows = made.search(queries, 5)
    some = [0, 1, 1023, 1024, 1099]
    for i in some:
        single_scores, single_rows = made.search(queries[i : i + 1], 5)
        assert single_rows[0].tolist() == rows[i].tolist()
        np.testing.assert_allclose(single_scores[0], scores[i], rtol=0, atol=1e-13)
    assert rows[some].tolist() == best_rows(vectors, queries[some], 5)


@every
def test_no_vectors_and_no_queries(spec: str) -> None:
    for nothing in (np.empty((0, 24), np.float32), np.empty((0, 0), np.float32)):
        scores, rows = built(spec, nothing).search(clustered(3), 5)
        assert scores.shape == rows.shape == (3, 0)
        scores, rows = built(spec, clustered(8)).search(nothing, 5)
        assert scores.shape == rows.shape == (0, 5)
        assert rows.dtype == np.int64


@every
def test_shapes_that_do_not_fit(spec: str) -> None:
    made = built(spec, clustered(10))
    with pytest.raises(ConfigError, match="queries have 23 dimensions, the indexed vectors 24"):
        made.search(clustered(3, d=23), 3)
    with pytest.raises(ConfigError, match="k=0: at least one"):
        made.search(clustered(1), 0)
    long = np.full((1, 24), 3e38, np.float32)
    with pytest.raises(ConfigError, match=r"too long: inner products up to .* overflow"):
        made.search(long, 3)
    with pytest.raises(ConfigError, match="too long"):
        made.search(np.full((1, 24), np.nan, np.float32), 3)


@every
@pytest.mark.parametrize("m", [0, 1, 60])
def test_saved_and_loaded(spec: str, m: int, tmp_path: Path) -> None:
    vectors, queries = clustered(m), clustered(5, seed=1)
    made = built(spec, vectors)
    made.save(tmp_path)
    loaded = index(spec)
    loaded.load(tmp_path)
    for before, after in zip(made.search(queries, 7), loaded.search(queries, 7), strict=True):
        assert before.tolist() == after.tolist()
    assert list(loaded.notes()) == list(made.notes())
    assert not any(path.suffix in {".pkl", ".pickle"} for path in tmp_path.iterdir())
    again = tmp_path / "again"
    again.mkdir()
    loaded.save(again)
    names = sorted(path.name for path in again.iterdir())
    assert names == sorted(path.name for path in tmp_path.iterdir() if path.is_file())
    for name in names:
        assert (again / name).read_bytes() == (tmp_path / name).read_bytes()


@approximate
def test_recall_is_reported(spec: str) -> None:
    """Of a sample that does not depend on how the queries came."""
    vectors, queries = clustered(300), clustered(450, seed=1)
    made, other = built(spec, vectors), built(spec, vectors)
    assert not [note for note in made.notes() if "recall" in note]
    made.search(queries, 10)
    for start in range(0, 450, 77):
        other.search(queries[start : start + 77], 10)
    made.search(queries[:3], 2)
    other.search(queries[:3], 2)
    notes = [note for note in made.notes() if "recall" in note]
    assert notes == [note for note in other.notes() if "recall" in note]
    assert re.fullmatch(
        r"recall@2 against exact search: [01]\.\d{3} over the first 3 queries\n"
        r"recall@10 against exact search: [01]\.\d{3} over the first 200 queries",
        "\n".join(notes),
    )
