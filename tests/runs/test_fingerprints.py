"""What the fingerprint of queries covers, and what becomes of runs of before it covered all."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import DataError
from target_bench.core.schema import Query, TableId
from target_bench.data.load import load
from target_bench.harness.target import TARGET
from target_bench.reporting.compare import compare
from target_bench.runs.manifest import answers_fingerprint, queries_fingerprint
from target_bench.runs.result import Result
from tests.builders import Recorder
from tests.harness.stages.answering import Own

GOLD = (TableId("d", "t1"), TableId("d", "t2"))
ONE = Query("q1", "Who?", GOLD, ("Ann", "Bo"), "d", {"evidence": "x = 1", "cells": [[0, 1], [2]]})
OTHER = Query("q2", "When?", GOLD[:1], "2010")

metadata = st.dictionaries(
    st.text(max_size=4),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=5,
    ),
    max_size=4,
)


@pytest.mark.parametrize(
    ("change", "ranks"),
    [
        ({"id": "q3"}, True),
        ({"text": "Whom?"}, True),
        ({"gold": GOLD[:1]}, True),
        ({"answer": ("Bo", "Ann")}, False),
        ({"answer": "Ann"}, False),
        ({"database_id": "e"}, False),
        ({"metadata": {}}, False),
        ({"metadata": {**ONE.metadata, "evidence": "x = 2"}}, False),
        ({"metadata": {**ONE.metadata, "more": None}}, False),
        ({"metadata": {**ONE.metadata, "cells": [[0], [1, 2]]}}, False),
    ],
)
def test_every_field_counts(change: dict[str, Any], ranks: bool) -> None:
    """For answers; rankings depend on id, text and gold alone."""
    changed = [replace(ONE, **change), OTHER]
    assert answers_fingerprint(changed) != answers_fingerprint([ONE, OTHER])
    assert (queries_fingerprint(changed) != queries_fingerprint([ONE, OTHER])) == ranks


@given(metadata, metadata)
def test_metadata_as_json(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Read from a file or from the cache, in any order of queries and names: the same."""
    queries = [replace(ONE, metadata=one), OTHER]
    again = json.loads(json.dumps(dict(reversed(one.items()))))
    assert answers_fingerprint(queries) == answers_fingerprint(
        [OTHER, replace(ONE, metadata=again)]
    )
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    found = answers_fingerprint([replace(ONE, metadata=other), OTHER])
    assert (found == answers_fingerprint(queries)) == same


def test_values_of_other_kinds() -> None:
    """numpy's, tuples, sets and bytes, as a user's own data may have them."""
    plain = {"n": 3, "cells": [[1, 2], [3, 4]], "x": 0.5}
    numpy = {"n": np.int64(3), "cells": np.array([[1, 2], [3, 4]]), "x": np.float64(0.5)}
    tuples = {**plain, "cells": ((1, 2), (3, 4))}
    found = {answers_fingerprint([replace(ONE, metadata=m)]) for m in (plain, numpy, tuples)}
    assert len(found) == 1
    for value in ({"b", "a", "c"}, b"raw", frozenset([1])):
        text = answers_fingerprint([replace(ONE, metadata={"odd": value})])
        assert text == answers_fingerprint([replace(ONE, metadata={"odd": value})])
        assert text not in found


def _run(out: Path, generator: Any, task: str = "question_answering", **more: Any) -> Result:
    """A run on mini whose queries have other metadata."""
    told = Recorder()
    dataset = load("mini")
    queries = [replace(q, metadata={**q.metadata, **more}) for q in dataset.queries]
    data = replace(dataset, queries=tuple(queries)) if more else "mini"
    return TARGET((task, data), out=out, observer=told).run("bm25", generator=generator)[0]


def test_other_evidence_is_another_run(tmp_path: Path) -> None:
    """Its rankings are reused, its answers are not."""
    own = Own()
    first = _run(tmp_path, own, evidence="one")
    n = len(own.asked)
    second = _run(tmp_path, own, evidence="two")
    assert len(own.asked) == 2 * n
    assert first.folder != second.folder
    assert _run(tmp_path, own, evidence="two").reused
    assert len(own.asked) == 2 * n
    assert len(list(tmp_path.glob("retrieval-*"))) == 1
    with pytest.raises(DataError, match="of different queries"):
        compare([first.folder, second.folder])


def test_rankings_are_compared_by_what_both_know(tmp_path: Path) -> None:
    """A ranking keeps the slices of the data that it was scored on last."""

    def ranked(retriever: str, level: str) -> Path:
        queries = tuple(
            replace(q, metadata={**q.metadata, "level": level if i % 2 else "low"})
            for i, q in enumerate(load("mini").queries)
        )
        data = replace(load("mini"), queries=queries)
        target = TARGET(("retrieval", data), out=tmp_path, observer=Recorder())
        return target.run(retriever)[0].folder

    runs = [ranked("bm25", "mid"), ranked("tfidf", "high")]
    assert compare(runs, ["recall@10"], resamples=10).rows
    with pytest.raises(DataError, match="differ in the level of their queries"):
        compare(runs, ["recall@10"], slices=["level"], resamples=10)
    runs[0] = ranked("bm25", "high")
    assert len(compare(runs, ["recall@10"], slices=["level"], resamples=10).rows) == 4
