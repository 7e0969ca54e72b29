"""The manifest: what is written comes back, and what is missing or wrong is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import StoreError
from target_bench.core.files import add_seal
from target_bench.runs.manifest import (
    LONGEST_ERROR,
    Manifest,
    describe_error,
    read_manifest,
    run_key,
)
from tests.builders import Record, run_identity, without

REQUIRED = {
    "format": 3,
    "id": "a-0123456789ab",
    "identity": run_identity(),
    "command": {"corpus": "mini", "task": "retrieval", "retriever": "bm25", "distractors": []},
}

names = st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
numbers = st.integers(min_value=0, max_value=10**9)
seconds = st.floats(min_value=0, allow_nan=False, allow_infinity=False)


def _some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(strategy, min_size=1, max_size=2)


def _by_name(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(names, strategy, min_size=1, max_size=3)


near_copies = st.fixed_dictionaries({"id": names, "of": names, "similarity": seconds})
mixed_in = st.fixed_dictionaries(
    {"spec": names, "n": numbers, "ids": st.lists(names, max_size=3)},
    optional={"near_copies": _some(near_copies)},
)
entries = {
    "status": st.sampled_from(["running", "finished"]),
    **dict.fromkeys(("error", "data", "started"), names),
    **dict.fromkeys(("n_queries", "timed_queries", "timed_answers"), numbers),
    **dict.fromkeys(("files", "value_file_hashes"), _by_name(names)),
    **dict.fromkeys(("notes", "data_notes"), _some(names)),
    "environment": _by_name(values),
    "distractors": _some(mixed_in),
    "seconds": _by_name(seconds | numbers),
    "from_caches": _by_name(st.lists(names, max_size=2)),
    "latency_ms": _by_name(seconds),
}
commands = st.fixed_dictionaries(
    {
        "corpus": st.none() | names,
        "task": names,
        "retriever": names,
        "distractors": st.lists(names, max_size=2),
    },
    optional={
        **dict.fromkeys(("generator", "retrieval_run", "about", "database"), names),
        **{"limit": numbers, "of a later version": names},
    },
)
identities = st.dictionaries(names.map("x{}".format), values, max_size=3).map(
    lambda more: run_identity(**more)
)
documents = st.fixed_dictionaries(
    {"format": st.just(3), "id": names, "identity": identities, "command": commands},
    optional={**entries, "of a later version": st.integers() | st.lists(names)},
)


@given(documents)
def test_any_document_comes_back(document: Record) -> None:
    """Also what this version does not know; and the hash that names the folder is the same."""
    manifest = Manifest.model_validate(document)
    assert manifest.to_json() == document
    assert Manifest.model_validate(json.loads(json.dumps(manifest.to_json()))) == manifest
    assert manifest.identity.key == run_key(document["identity"])


def test_an_identity_of_answers_names_their_retriever() -> None:
    retrieval = {"retriever": {"class": "a:B"}, "depth": 5, "tables": 2}
    identity = run_identity(retrieval=retrieval, generator={"class": "c:D"})
    asked = {
        "corpus": None,
        "task": "qa",
        "distractors": ["x"],
        "retriever": "bm25",
        "generator": "gold",
    }
    answers = Manifest.model_validate({**REQUIRED, "identity": identity, "command": asked})
    assert answers.command.label == "bm25 + gold"
    assert answers.identity.any_retriever == {"class": "a:B"}
    assert (answers.identity.has_answers, answers.identity.prompt_tables) == (True, 2)


def _with(part: str | None, **more: Any) -> Record:
    return REQUIRED | ({part: {**REQUIRED[part], **more}} if part else more)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (without(REQUIRED, "identity"), "no identity"),
        (_with(None, identity=[]), "identity is []: input should be"),
        (_with(None, command={"distractors": []}), "no command.corpus"),
        (_with("identity", top_k=["x"]), "identity.top_k.0 is 'x': input should be a valid int"),
        (
            _with("command", limit=-1),
            "command.limit is -1: input should be greater than or equal to 0",
        ),
        (_with(None, status="done"), "status is 'done': input should be 'running' or 'finished'"),
        (_with(None, n_queries=True), "n_queries is True: input should be a valid integer"),
        (_with(None, seconds={"load": "1"}), "seconds.load is '1': input should be a valid numb"),
        (_with(None, distractors=[{"spec": "a"}]), "no distractors.0.n"),
    ],
)
def test_what_is_missing_or_wrong_is_named(document: Record, problem: str, tmp_path: Path) -> None:
    """With the file, the entry, its value, and what to do."""
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(add_seal(document)), encoding="utf-8")
    with pytest.raises(StoreError) as raised:
        read_manifest(tmp_path)
    message = str(raised.value)
    assert message.startswith(f"{path}: damaged ({problem}")
    assert message.endswith("run it again with another --out folder, or move the folder away")
    assert raised.value.exit_code == 4


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        *((text, "cannot be read") for text in (b"", b'{"format": 2', b"\xff\xfe", b"[" * 10**5)),
        *((text, "it holds no JSON object") for text in (b"[]", b'"x"', b"null")),
        *((b'{"format": %b}' % n, "another version .*reads 3") for n in (b"1", b"4", b'"1"')),
    ],
)
def test_what_is_no_manifest_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(StoreError, match=rf"manifest\.json: .*{problem}"):
        read_manifest(tmp_path)
    with pytest.raises(StoreError, match="there is no such run folder"):
        read_manifest(tmp_path / "none")


def test_errors_are_recorded_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "abcdefgh12345")
    error = ValueError("Bearer xyz refused; key abcdefgh12345 of https://me:pw@host/")
    recorded = describe_error(error)
    assert recorded == "ValueError: Bearer *** refused; key *** of https://***@host/"
    assert describe_error(KeyboardInterrupt()) == "KeyboardInterrupt"
    assert len(describe_error(ValueError("x" * 10**6))) == LONGEST_ERROR
