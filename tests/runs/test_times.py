"""Which times of a manifest may be shown, and which of one that does not say what was cached."""

from typing import Any

import pytest

from target_bench.runs.manifest import Identity, Manifest
from target_bench.runs.times import Took, cold, left_out_note, retrieval_entries
from tests.builders import ASKED, run_identity

BM25 = {"class": "BM25"}
DENSE = {"class": "Dense", "parts": {"encoder": {"class": "MiniLM"}, "index": {"class": "Exact"}}}
SECONDS = {"load": 0.1, "embed_corpus": 2.0, "retrieve": 1.0, "score": 0.2}


def _manifest(plugin: dict[str, Any], **more: Any) -> Manifest:
    latency = {"p50": 1.0, "p95": 2.0, "p99": 3.0}
    found = {"seconds": SECONDS, "timed_queries": 100, "latency_ms": latency}
    return _with({"retriever": plugin}, **found, **more)


def _with(identity: dict[str, Any], **entries: Any) -> Manifest:
    return Manifest(
        identity=Identity.model_validate(run_identity(**identity)), asked=ASKED, **entries
    )


def test_times_that_do_not_say_what_was_cached_are_not_shown() -> None:
    found = cold(_manifest(BM25))
    assert found.seconds.keys() == {"load", "score"}
    assert (found.latency, found.timed_queries) == (None, 0)


def test_times_that_say_what_was_cached() -> None:
    said = {"embed_corpus": ["saved index"], "retrieve": [], "latency": ["a", "b"]}
    found = cold(_manifest(DENSE, from_caches=said))
    assert (found.index, found.retrieve, found.latency) == (None, 10.0, None)
    assert found.left_out == {
        "embed_corpus": "from a cache (saved index)",
        "latency": "from a cache (a, b)",
    }
    note = left_out_note([found.left_out, {}])
    assert note == "– is a time that is not shown: from a cache (saved index); from a cache (a, b)."
    assert left_out_note([found.left_out], ("retrieve",)) is None


@pytest.mark.parametrize("plugin", [{"mode": "no-context"}, {"run_file": "abc"}, {}])
def test_no_one_was_timed(plugin: dict[str, Any]) -> None:
    found = cold(_manifest(plugin))
    assert found.seconds == {"load": 0.1, "score": 0.2}
    assert (found.timed_queries, found.latency, found.left_out) == (0, None, {})


def test_times_of_a_run_that_is_gone_on_with() -> None:
    """Ranking adds up; what was cached in any part is."""
    first = retrieval_entries(_with({}), 0.5, Took(2.0), Took(1.0, (), 10))
    assert first["from_caches"] == {"embed_corpus": [], "retrieve": []}
    second = retrieval_entries(
        _with({}, **first), 0.4, Took(0.1, ["index"]), Took(0.5, ["embeddings"], 5)
    )
    assert second["seconds"] == {"load": 0.4, "embed_corpus": 2.0, "retrieve": 1.5}
    assert second["from_caches"] == {"embed_corpus": [], "retrieve": ["embeddings"]}
    assert second["timed_queries"] == 15
    nothing = retrieval_entries(_with({}), 0.5, None, None)
    assert nothing == {"seconds": {"load": 0.5}, "timed_queries": 0, "from_caches": {}}


def test_answers_read_from_a_file_are_not_said_to_come_from_a_cache() -> None:
    manifest = _with(
        {"generator": {"class": "Replay"}},
        seconds={"generate": 1.0},
        from_caches={"generate": ["recorded answers"]},
        queries=3,
        timed_answers=3,
    )
    assert cold(manifest).left_out == {"generate": "answers read from a file"}
