"""MiniLM's real weights: our vectors are the library's, whatever the order, batches or threads."""

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.models.encoders.encoding import Encoding
from target_bench.models.encoders.sentence_transformers import MiniLM, SentenceTransformers
from tests.models.encoders.minilm import FOLDER, library

TEXTS = [
    "List of presidents",
    "",
    "mean area population km2 1998 2004",
    "word " * 270,
    "日本語 ünïcödé \U0001f600",
    "https://example.org/photo.png",
    "a null \0 byte",
    "List of presidents",
    "x " * 255,
]


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    """Loaded once; tests of counts make their own."""
    return MiniLM(device="cpu", batch_size=4)


def _fresh(loaded: SentenceTransformers, **settings: Any) -> SentenceTransformers:
    """Another encoder on weights that are loaded already."""
    encoder = SentenceTransformers(str(FOLDER), device="cpu", **settings)
    vars(encoder)["loaded"] = loaded.loaded
    return encoder


def test_vectors_are_those_of_the_library(minilm: MiniLM) -> None:
    vectors = minilm.encode(TEXTS, "table")
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), 384)
    np.testing.assert_allclose(vectors, library().encode(TEXTS, batch_size=4), atol=1e-6)
    broken, mended = minilm.encode(["a\ud800b"], "query"), minilm.encode(["a?b"], "query")
    np.testing.assert_allclose(broken, mended, atol=1e-6)


@given(
    order=st.permutations(range(len(TEXTS))),
    batch_size=st.integers(1, 12),
    own=st.lists(st.text(max_size=30), max_size=3),
)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
def test_order_and_batch_size_change_nothing(
    minilm: MiniLM, order: list[int], batch_size: int, own: list[str]
) -> None:
    texts = [TEXTS[i] for i in order[:4]] + own
    one_by_one = np.concatenate([minilm.encode([text], "table") for text in texts])
    together = _fresh(minilm, batch_size=batch_size).encode(texts, "table")
    np.testing.assert_allclose(together, one_by_one, atol=1e-5)


def test_cut_texts_are_counted(
    minilm: MiniLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By kind, without the cache, and where vectors are found in it."""
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path))
    encoding = Encoding(_fresh(minilm), cache=False)
    encoding.tables(["word " * 254, "word " * 255, "a"])
    encoding.tables(["b", "word " * 900])
    encoding.queries(["word " * 300] * 2)
    reason = ": they are longer than the encoder reads"
    assert encoding.notes() == [
        f"2 of 5 table texts were cut{reason}",
        f"1 of 1 queries were cut{reason}",
    ]
    texts = ["word " * 300, "a", "word " * 900]
    vectors = Encoding(_fresh(minilm)).tables(texts)
    second = Encoding(SentenceTransformers(str(FOLDER), device="cpu"))
    np.testing.assert_array_equal(second.tables([*texts[:2], "a"]), vectors[[0, 1, 1]])
    assert "loaded" not in vars(second.encoder)
    assert second.notes() == [f"1 of 2 table texts were cut{reason}"]


@pytest.mark.parametrize(("tokens", "words"), [(2, "needs at least 3"), (513, "room for 512")])
def test_invalid_limit(tokens: int, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        MiniLM(max_tokens=tokens).encode(["a"], "query")


def test_prompts_are_written_before_the_texts(minilm: MiniLM) -> None:
    encoder = _fresh(minilm, query_prompt="query: ", table_prompt="table: ")
    queries, tables = encoder.encode(["a", "b c d"], "query"), encoder.encode(["a"], "table")
    expected = minilm.encode(["query: a", "query: b c d"], "query")
    np.testing.assert_allclose(queries, expected, atol=1e-6)
    np.testing.assert_allclose(tables, minilm.encode(["table: a"], "table"), atol=1e-6)


def test_the_models_own_prompts_hold_unless_others_are_set(
    minilm: MiniLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"query": "q: ", "document": "", "passage": "p: "}
    monkeypatch.setattr(minilm.loaded, "prompts", own)
    assert _fresh(minilm)._prompts == {"query": "q: ", "table": "p: "}
    other = _fresh(minilm, query_prompt="", table_prompt="t: ")
    assert other._prompts == {"query": "", "table": "t: "}


@pytest.mark.parametrize(
    ("own", "default", "query", "table", "noted"),
    [
        ({"search_query": "q: ", "search_document": "d: "}, None, "q: ", "d: ", None),
        ({"retrieval.query": "q: ", "retrieval.passage": "p: "}, None, "q: ", "p: ", None),
        ({"Retrieval-query": "q: ", "sts_query": "s: ", "passage": "p"}, None, "q: ", "p", None),
        ({"s2p_query": "a: ", "s2s_query": "b: "}, None, "", "", "query_prompt and table_prompt"),
        ({"web_search_query": "w: "}, None, "w: ", "", "table_prompt"),
        ({"clustering": "c: "}, "clustering", "c: ", "c: ", None),
        ({"query": "", "document": ""}, None, "", "", None),
    ],
)
def test_own_prompts_of_any_name_are_used_or_named(
    minilm: MiniLM,
    monkeypatch: pytest.MonkeyPatch,
    own: dict[str, str],
    default: str | None,
    query: str,
    table: str,
    noted: str | None,
) -> None:
    monkeypatch.setattr(minilm.loaded, "prompts", own)
    monkeypatch.setattr(minilm.loaded, "default_prompt_name", default)
    encoder = _fresh(minilm)
    assert encoder._prompts == {"query": query, "table": table}
    notes = [note for note in encoder.notes() if "has the prompts" in note]
    assert [note.partition("none of them is taken for ")[2] for note in notes] == (
        [f"{noted}; set it if one of them is right"] if noted else []
    )


def test_the_similarity_of_a_model_is_that_of_its_configuration(tmp_path: Path) -> None:
    copy = tmp_path / "model"
    shutil.copytree(FOLDER, copy)
    file = copy / "config_sentence_transformers.json"
    for named in ("dot", "cosine", None):
        file.write_text(json.dumps({"similarity_fn_name": named}))
        assert SentenceTransformers(str(copy), device="cpu").similarity_name() == named
    file.unlink()
    assert SentenceTransformers(str(copy), device="cpu").similarity_name() is None


def test_lower_precision_comes_near(minilm: MiniLM) -> None:
    half = MiniLM(device="cpu", dtype="bfloat16").encode(TEXTS[:3], "query")
    assert half.dtype == np.float32
    cosines = (half * minilm.encode(TEXTS[:3], "query")).sum(axis=1) / np.linalg.norm(half, axis=1)
    assert (cosines > 0.99).all()
    assert not np.allclose(half, minilm.encode(TEXTS[:3], "query"), atol=1e-6)


def test_minilm_of_the_package_needs_no_network(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    encoder = registry.create("encoder", "minilm:device=cpu,batch_size=2")
    assert encoder.encode(["a", "word " * 600], "query").shape == (2, 384)
    assert len(encoder.revision()) == 64
    assert capfd.readouterr() == ("", "")


def test_the_identity_has_content_and_no_path() -> None:
    identity, warning = plugin_identity(SentenceTransformers(str(FOLDER), device="cpu"))
    assert warning is None
    assert str(FOLDER) not in str(identity)
    assert identity["config"]["model"] == f"sha256:{identity['revision']}"
    ours, _ = plugin_identity(MiniLM(device="cpu"))
    assert ours["revision"] == identity["revision"]
    assert ours["config"] == {"max_tokens": None, "batch_size": 32, "device": "cpu", "dtype": None}
