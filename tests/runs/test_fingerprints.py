"""What the fingerprint of queries covers, and what becomes of runs of before it covered all."""

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
from target_bench.data.select import load
from target_bench.evaluation.results import Result
from target_bench.evaluation.resume import ResumedRun
from target_bench.evaluation.target import TARGET
from target_bench.reporting.compare import compare
from target_bench.reporting.leaderboard.pack import pack
from target_bench.reporting.leaderboard.verify import verify
from target_bench.reporting.plots import draw
from target_bench.reporting.report.report_runs import open_runs
from target_bench.runs.earlier_versions import earlier_answers_fingerprint
from target_bench.runs.manifest import answers_fingerprint, queries_fingerprint, run_key
from target_bench.runs.read import read_run
from tests.builders import Recorder, without_seals
from tests.evaluation.stages.answering import Own
from tests.reporting.leaderboard.conftest import card
from tests.reporting.leaderboard.forging import files_of, packed, with_document

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


def test_the_fingerprints_of_before() -> None:
    """As version 0.1.0 wrote them: stored rankings stay, and stored answers are recognised."""
    assert queries_fingerprint([OTHER, ONE])[:12] == "e33b418567bd"
    assert earlier_answers_fingerprint([OTHER, ONE])[:12] == "39437cb1a6ae"


def _run(out: Path, generator: Any, task: str = "question_answering", **more: Any) -> Result:
    """A run on mini whose queries have other metadata."""
    told = Recorder()
    dataset = load("mini")
    queries = [replace(q, metadata={**q.metadata, **more}) for q in dataset.queries]
    data = replace(dataset, queries=tuple(queries)) if more else "mini"
    result = TARGET((task, data), out=out, observer=told).run("bm25", generator=generator)[0]
    return replace(result, report={"warnings": told.warnings})


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


def _made_earlier(folder: Path) -> Path:
    """The same run as version 0.1.0 would have left it."""
    without_seals(folder)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    identity = manifest["identity"]
    del identity["queries_version"]
    task = identity["task"]
    queries = [q for q in load("mini").queries if q.metadata.get("task", task) == task]
    identity["queries_fingerprint"] = earlier_answers_fingerprint(queries)
    named = f"{folder.name.rpartition('-')[0]}-{run_key(identity)}"
    (folder / "manifest.json").write_text(json.dumps({**manifest, "id": named}))
    return folder.rename(folder.with_name(named))


def test_answers_of_before_are_made_again(tmp_path: Path) -> None:
    """Said once, plainly; the rankings are reused."""
    own = Own()
    before = _made_earlier(_run(tmp_path, own).folder)
    n = len(own.asked)
    again = _run(tmp_path, own)
    assert again.report is not None
    assert again.report["warnings"] == [
        f"{before.name} was answered by an earlier version of target-bench, which did not record "
        "all that a prompt reads of a query (its database and metadata, such as evidence): its "
        "answers are not reused, and all queries are answered again"
    ]
    assert len(own.asked) == 2 * n
    quiet = _run(tmp_path, own)
    assert quiet.report == {"warnings": []}
    assert quiet.reused


def test_a_plot_refuses_answers_of_before(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    new, other = _run(tmp_path, "extractive").folder, _run(tmp_path, "empty").folder
    with pytest.raises(DataError, match="nothing tells whether both were asked the same"):
        draw.pareto([other, _made_earlier(new)], tmp_path / "a.svg")


def test_what_reads_answers_of_before(tmp_path: Path) -> None:
    """Scored, compared, packed or verified they are not; a report says what they are."""
    new = _run(tmp_path, "extractive").folder
    archive = files_of(pack([new], card(), tmp_path / "a.tbs.zip"))
    other = _run(tmp_path, "empty").folder
    before = _made_earlier(new)
    with pytest.raises(DataError, match="its scores cannot be computed again"):
        ResumedRun(read_run(before)).score()
    with pytest.raises(DataError, match="nothing tells whether both were asked the same"):
        compare([other, before])
    with pytest.raises(ConfigError, match="answer again, and submit that run"):
        pack([before], card(), tmp_path / "b.tbs.zip")
    told = Recorder()
    runs, _ = open_runs([before], None, told)
    assert len(runs) == 1
    assert "its prompts may have been others than those shown" in told.warnings[-1]
    identity = json.loads((before / "manifest.json").read_bytes())["identity"]
    fingerprint = {"queries_fingerprint": identity["queries_fingerprint"]}
    place = next(n for n in archive if n.endswith("generations.jsonl")).rpartition("/")[0]
    old = with_document(archive, f"{place}/run.json", lambda run: run.update(fingerprint))
    found = verify(packed(tmp_path / "c.tbs.zip", old))
    assert found.verdict == "rejected"
    assert "was answered by an earlier version" in found.findings[0].message
