"""Ranked sets of tables: those of mini, and those ranked by a rule."""

from dataclasses import replace

import pytest

from benchmarks.table_metrics.ranked_tables import ranked_sets, written_sets
from target_bench.data.load import load


def test_data_without_rankings() -> None:
    mini = load("mini")
    assert {len(ranked.pairs) for ranked in ranked_sets(mini)} == {5}
    with pytest.raises(ValueError, match="mini has no tables ranked by people"):
        ranked_sets(replace(mini, queries=mini.queries[:3]))
    rated = [query for query in mini.queries if "rank" in query.metadata]
    with pytest.raises(ValueError, match="its set has the ranks"):
        ranked_sets(replace(mini, queries=tuple(rated[:4])))


def test_tables_written_with_a_ranking_by_rule() -> None:
    sets = written_sets()
    assert sum(len(ranked.pairs) for ranked in sets) >= 40
    assert len({ranked.order for ranked in sets}) > 5, "places say nothing of ranks"
    for ranked, errors in zip(sets, written_sets(errors_alone=True), strict=True):
        texts = [ranked.pairs[place].text for place in ranked.order]
        assert [errors.pairs[place].text for place in errors.order] == texts[1:]
        assert all(pair.answer.strict_error is None for pair in ranked.pairs)
        assert (
            len({len(row) for pair in ranked.pairs for row in pair.reference.tables[0].rows}) == 1
        )
