"""The identity of whole runs: each field changes the key, and what is none does not."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench import TARGET
from target_bench.runs.manifest import run_key
from tests.runs.stored import copied

Path_ = tuple[str | int, ...]


def _leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    inner: Any = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    found = [leaf for key, part in inner for leaf in _leaves(part, (*path, key))]
    yield from found or [path]


def _changed(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return "other" if value is None else not value
    if isinstance(value, int | float):
        return value + 1
    return [*value, "other"] if isinstance(value, list) else f"{value}."


def _with(identity: Any, path: Path_) -> Any:
    other = copy.deepcopy(identity)
    part = other
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = _changed(part[path[-1]])
    return other


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    runs = copied(tmp_path_factory.mktemp("store"))
    return {
        name: json.loads((getattr(runs, name) / "manifest.json").read_bytes())["identity"]
        for name in ("bm25", "answers", "labels")
    }


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_field_changes_the_key(identities: dict[str, Any], data: st.DataObject) -> None:
    """Settings, code, versions, fingerprints, cutoffs, metrics, generator and prompt."""
    identity = identities[data.draw(st.sampled_from(sorted(identities)))]
    path = data.draw(st.sampled_from(list(_leaves(identity))))
    assert run_key(_with(identity, path)) != run_key(identity), path


def test_what_the_identity_holds(identities: dict[str, Any]) -> None:
    data = {"task", "task_version", "corpus", "split", "metrics"}
    data |= {"corpus_fingerprint", "queries_fingerprint"}
    assert set(identities["bm25"]) == data | {"top_k", "retriever"}
    answered = {"retrieval", "generator", "prompt"}
    assert set(identities["answers"]) == data | answered
    plugin = {"class", "version", "config"}
    assert set(identities["bm25"]["retriever"]) == plugin | {"ranking"}
    assert set(identities["answers"]["generator"]) == plugin


def _keys(tmp_path: Path, **run: Any) -> str:
    task = run.pop("task", "question_answering")
    data: Any = run.pop("corpus", "mini")
    settings_: dict[str, Any] = {"retriever": "random", "limit": 6} | run
    return TARGET((task, data), out=tmp_path).run(**settings_)[0].folder.name[-12:]


def test_every_argument_that_changes_a_result_makes_another_run(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.yaml"
    prompt.write_text(
        "question_answering:\n  - role: user\n    content: '{{ tables }} {{ query }}'\n", "utf-8"
    )
    variants: list[dict[str, Any]] = [
        {},
        {"retriever": "random:seed=7"},
        {"retriever": "bm25"},
        {"retriever": "bm25:k1=2"},
        {"limit": 7},
        {"top_k": 5},
        {"generator": "extractive:tables=1"},
        {"generator": "gold"},
        {"prompt_tokens": 500},
        {"table_format": "json"},
        {"task": "fact_verification"},
        {"task": "retrieval"},
        {"task": "retrieval", "top_k": [1, 10]},
    ]
    keys = [_keys(tmp_path, **variant) for variant in variants]
    assert len(set(keys)) == len(variants)
    assert _keys(tmp_path) == keys[0]
    assert _keys(tmp_path, on_error="record") == keys[0]
