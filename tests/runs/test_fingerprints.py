"""What the fingerprints of queries cover, and what it means for runs that are compared."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Query, TableId
from target_bench.data.load import load
from target_bench.reporting.compare import compare
from target_bench.runs.manifest import answers_fingerprint, queries_fingerprint
from target_bench.runs.result import Result
from tests.builders import Recorder
from tests.harness.answering import Own
from tests.target import TARGET

GOLD = (TableId("d", "t1"), TableId("d", "t2"))
QUERY = Query("q1", "Who?", GOLD, ("Ann", "Bo"), "d", {"evidence": "x = 1", "cells": [[0, 1], [2]]})
OTHER = Query("q2", "When?", GOLD[:1], "2010")

metadatas = st.dictionaries(
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
        ({"metadata": {**QUERY.metadata, "evidence": "x = 2"}}, False),
        ({"metadata": {**QUERY.metadata, "more": None}}, False),
        ({"metadata": {**QUERY.metadata, "cells": [[0], [1, 2]]}}, False),
    ],
)
def test_every_field_counts(change: dict[str, Any], ranks: bool) -> None:
    """For answers; rankings depend on id, text and gold alone."""
    changed = [replace(QUERY, **change), OTHER]
    assert answers_fingerprint(changed) != answers_fingerprint([QUERY, OTHER])
    assert (queries_fingerprint(changed) != queries_fingerprint([QUERY, OTHER])) == ranks


@given(metadatas, metadatas)
def test_metadata_as_json(metadata: dict[str, Any], other: dict[str, Any]) -> None:
    """Read from a file or from the cache, in any order of queries and names: the same."""
    again = json.loads(json.dumps(dict(reversed(metadata.items()))))
    first, second, third = (
        answers_fingerprint(queries)
        for queries in (
            [replace(QUERY, metadata=metadata), OTHER],
            [OTHER, replace(QUERY, metadata=again)],
            [replace(QUERY, metadata=other), OTHER],
        )
    )
    assert first == second
    same = json.dumps(metadata, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (first == third) == same


def test_values_of_other_kinds() -> None:
    """numpy's, tuples, sets and bytes, as a user's own data may have them."""
    plain = {"n": 3, "cells": [[1, 2], [3, 4]], "x": 0.5}
    variants: list[dict[str, Any]] = [
        plain,
        {"n": np.int64(3), "cells": np.array([[1, 2], [3, 4]]), "x": np.float64(0.5)},
        {**plain, "cells": ((1, 2), (3, 4))},
        *({"odd": value} for value in ({"b", "a", "c"}, b"raw", frozenset([1]))),
    ]
    prints = [answers_fingerprint([replace(QUERY, metadata=each)]) for each in variants]
    assert len({*prints[:3]}) == 1
    assert len({*prints}) == 4
    assert answers_fingerprint([replace(QUERY, metadata=variants[3])]) == prints[3]


@pytest.mark.parametrize(
    "names", [[(0, 1), (1, 2)], [1, "a"], [None, True], [np.int64(3), np.int64(4)], range(12)]
)
def test_names_that_are_no_text(names: Any) -> None:
    """As places of cells; they count as the text that they are written as."""
    as_given, as_text = (
        answers_fingerprint([replace(QUERY, metadata={"cells": cells})])
        for cells in (dict.fromkeys(names, 1), {str(name): 1 for name in names})
    )
    assert as_given == as_text


def _run(out: Path, task: str, retriever: str, generator: Any = None, **more: Any) -> Result:
    """A run on mini whose queries have other metadata, every second one."""
    queries = tuple(
        replace(
            query, metadata={**query.metadata, **(more if i % 2 else dict.fromkeys(more, "low"))}
        )
        for i, query in enumerate(load("mini").queries)
    )
    target = TARGET((task, replace(load("mini"), queries=queries)), out=out, observer=Recorder())
    return target.run(retriever, generator=generator)[0]


def test_other_evidence_is_another_run(tmp_path: Path) -> None:
    """Its rankings are reused, its answers are not."""
    own = Own()
    first = _run(tmp_path, "qa", "bm25", own, evidence="one")
    n = len(own.asked)
    second = _run(tmp_path, "qa", "bm25", own, evidence="two")
    assert len(own.asked) == 2 * n
    assert first.folder != second.folder
    assert _run(tmp_path, "qa", "bm25", own, evidence="two").run.reused
    assert len(own.asked) == 2 * n
    assert len(list(tmp_path.glob("retrieval-*"))) == 1
    with pytest.raises(DataError, match="of different queries"):
        compare([first.folder, second.folder])


def test_rankings_are_compared_by_what_both_know(tmp_path: Path) -> None:
    """A ranking keeps the slices of the data that it was scored on last."""
    runs = [
        _run(tmp_path, "retrieval", retriever, level=level).folder
        for retriever, level in (("bm25", "mid"), ("tfidf", "high"))
    ]
    assert compare(runs, ["recall@10"]).rows
    with pytest.raises(DataError, match="differ in the level of their queries"):
        compare(runs, ["recall@10"], slices=["level"])
    _run(tmp_path, "retrieval", "bm25", level="high")
    assert len(compare(runs, ["recall@10"], slices=["level"]).rows) == 4
    without = TARGET(("retrieval", "mini"), out=tmp_path / "other", observer=Recorder())
    bare = without.run("random")[0].folder
    assert len(compare([runs[0], bare], ["recall@10"], slices=["level"]).rows) == 4
    with pytest.raises(ConfigError, match="have no property 'level'"):
        compare([bare, runs[0]], ["recall@10"], slices=["level"])
