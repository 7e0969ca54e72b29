"""The manifest: what is written comes back, and what is missing or wrong is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import StoreError
from target_bench.core.files import sealed
from target_bench.runs.manifest import (
    LONGEST_ERROR,
    Manifest,
    described_error,
    read_manifest,
    run_key,
)
from tests.builders import Record, run_identity, without

REQUIRED = {
    "format": 2,
    "id": "a-0123456789ab",
    "identity": run_identity(),
    "asked": {"corpus": "mini", "retriever": "bm25", "distractors": []},
}

names = st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
numbers = st.integers(min_value=0, max_value=10**9)
seconds = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
entries = {
    "status": st.sampled_from(["running", "finished", "failed", "interrupted"]),
    "error": names,
    "queries": numbers,
    "environment": st.dictionaries(names, values, min_size=1, max_size=3),
    "files": st.dictionaries(names, names, min_size=1, max_size=3),
    "data": names,
    "distractors": st.lists(
        st.fixed_dictionaries(
            {"spec": names, "n": numbers, "ids": st.lists(names, max_size=3)},
            optional={
                "near_copies": st.lists(
                    st.fixed_dictionaries({"id": names, "of": names, "similarity": seconds}),
                    min_size=1,
                    max_size=2,
                )
            },
        ),
        min_size=1,
        max_size=2,
    ),
    "started": names,
    "seconds": st.dictionaries(names, seconds | numbers, min_size=1, max_size=3),
    "timed_queries": numbers,
    "timed_answers": numbers,
    "from_caches": st.dictionaries(names, st.lists(names, max_size=2), min_size=1, max_size=3),
    "latency_ms": st.dictionaries(names, seconds, min_size=1, max_size=3),
    "notes": st.lists(names, min_size=1, max_size=2),
    "data_notes": st.lists(names, min_size=1, max_size=2),
    "tables": st.dictionaries(names, names, min_size=1, max_size=2),
}
asked = st.fixed_dictionaries(
    {"corpus": st.none() | names, "retriever": names, "distractors": st.lists(names, max_size=2)},
    optional={
        **dict.fromkeys(("generator", "retrieval_run", "about", "database"), names),
        **{"limit": numbers, "of a later version": names},
    },
)
identities = st.dictionaries(names.map("x{}".format), values, max_size=3).map(
    lambda more: run_identity(**more)
)
documents = st.fixed_dictionaries(
    {"format": st.just(2), "id": names, "identity": identities, "asked": asked},
    optional={**entries, "of a later version": st.integers() | st.lists(names)},
)


@given(documents)
def test_any_document_comes_back(document: Record) -> None:
    """Also what this version does not know; and the hash that names the folder is the same."""
    read = Manifest.model_validate(document)
    assert read.to_json() == document
    assert Manifest.model_validate(json.loads(json.dumps(read.to_json()))) == read
    assert read.identity.key == run_key(document["identity"])


def test_what_is_read() -> None:
    identity = run_identity(
        task="question_answering",
        retrieval={"retriever": {"class": "a:B"}, "depth": 5, "tables": 2},
        generator={"class": "c:D"},
        prompt={"prompt": "abc"},
        metrics=["one|x", "two|y"],
    )
    asked = {"corpus": None, "distractors": ["x"], "retriever": "bm25", "generator": "gold"}
    read = Manifest.model_validate({**REQUIRED, "identity": identity, "asked": asked})
    assert (read.asked.label, read.asked.corpus, read.asked.limit) == ("bm25 + gold", None, None)
    assert read.asked.distractors == ("x",)
    assert (read.identity.task, read.identity.split) == ("question_answering", "test")
    assert read.identity.retriever == {"class": "a:B"}
    assert read.identity.generator == {"class": "c:D"}
    assert (read.identity.prompt_tables, read.identity.top_k) == (2, ())
    assert read.identity.metrics == ("one|x", "two|y")
    assert read.identity.has_answers
    assert (read.status, read.error, read.seconds, read.notes) == (None, None, {}, ())
    rankings = Manifest.model_validate(
        {**REQUIRED, "identity": run_identity(top_k=[1, 10])}
    ).identity
    assert (rankings.has_answers, rankings.top_k, rankings.generator) == (False, (1, 10), None)


def _with(part: str | None, **more: Any) -> Record:
    return REQUIRED | ({part: {**REQUIRED[part], **more}} if part else more)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (without(REQUIRED, "identity"), "no identity"),
        (_with(None, identity=[]), "identity is []: input should be"),
        (without(REQUIRED, "asked"), "no asked"),
        (_with(None, asked={"distractors": []}), "no asked.corpus"),
        (_with("identity", split=5), "identity.split is 5: input should be a valid string"),
        (_with("identity", top_k=["x"]), "identity.top_k.0 is 'x': input should be a valid int"),
        (_with("identity", generator="x"), "identity.generator is 'x': input should be a valid d"),
        (_with("asked", limit=-1), "asked.limit is -1: input should be greater than or equal to 0"),
        (_with("asked", distractors="a"), "asked.distractors is 'a': input should be a valid tup"),
        (_with(None, status="done"), "status is 'done': input should be 'running', 'finished',"),
        (_with(None, queries=True), "queries is True: input should be a valid integer"),
        (_with(None, seconds={"load": "1"}), "seconds.load is '1': input should be a valid numb"),
        (_with(None, files={"a": None}), "files.a is None: input should be a valid string"),
        (_with(None, distractors=[{"spec": "a"}]), "no distractors.0.n"),
    ],
)
def test_what_is_missing_or_wrong_is_named(document: Record, problem: str, tmp_path: Path) -> None:
    """With the file, the entry, its value, and what to do."""
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(sealed(document)), encoding="utf-8")
    with pytest.raises(StoreError) as caught:
        read_manifest(tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{path}: damaged ({problem}")
    assert message.endswith("run it again with another --out folder, or move the folder away")
    assert caught.value.exit_code == 4


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no such run folder"):
        read_manifest(tmp_path / "none")
    (tmp_path / "manifest.json").write_text("[" * 10**5, encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be read"):
        read_manifest(tmp_path)


def test_errors_are_recorded_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "abcdefgh12345")
    error = ValueError("Bearer xyz refused; key abcdefgh12345 of https://me:pw@host/")
    recorded = described_error(error)
    assert recorded == "ValueError: Bearer *** refused; key *** of https://***@host/"
    assert described_error(KeyboardInterrupt()) == "KeyboardInterrupt"
    assert len(described_error(ValueError("x" * 10**6))) == LONGEST_ERROR
