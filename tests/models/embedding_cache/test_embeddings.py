"""``encoded``: every text is encoded once, and whatever an encoder gives is checked."""

import gc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from target_bench.core.errors import PluginError
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models.embedding_cache import embedding_files, embeddings
from target_bench.models.embedding_cache.embeddings import encoded


class Lengths(Encoder):
    """A text's vector is its length and its words."""

    def __init__(self, model: str = "m") -> None:
        self.model = model
        self.asked: list[list[str]] = []
        self.gives: Any = None

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        self.asked.append(list(texts))
        if self.gives is not None:
            return self.gives(texts)  # type: ignore[no-any-return]
        return np.array([[len(t), len(t.split()), ord((t or " ")[0])] for t in texts], np.float32)

    def revision(self) -> str | None:
        return None if self.model == "unknown" else f"{self.model} 1"

    @property
    def sent(self) -> list[str]:
        return [text for texts in self.asked for text in texts]


class Shuffled(Lengths):
    """Finishes texts one by one, the last one first, and fails before a text named ``stop``."""

    def encode_parts(
        self, texts: Sequence[str], kind: TextKind
    ) -> Iterator[tuple[Sequence[int], Vectors]]:
        for place in reversed(range(len(texts))):
            if texts[place] == "stop":
                raise PluginError("no more")
            yield [place], self.encode([texts[place]], kind)


class Unhashable(Lengths):
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path))
    return tmp_path


def expected(texts: Sequence[str]) -> Vectors:
    return Lengths().encode(texts, "table")


@pytest.mark.parametrize("cls", [Lengths, Shuffled, Unhashable])
def test_a_text_is_encoded_once(cls: type[Lengths]) -> None:
    texts = ["b", "aa aa", "b", "", "aa aa"]
    first, second = cls(), cls()
    for encoder in (first, first, second):
        found = encoded(encoder, texts, "table")
        np.testing.assert_array_equal(found, expected(texts))
        assert found.dtype == np.float32
    assert sorted(first.sent) == ["", "aa aa", "b"]
    assert second.sent == []
    np.testing.assert_array_equal(encoded(second, ["c", "b"], "table"), expected(["c", "b"]))
    assert second.sent == ["c"]


def test_kinds_and_models_are_apart(root: Path) -> None:
    for encoder, kind in ((Lengths(), "query"), (Lengths(), "table"), (Lengths("n"), "table")):
        encoded(encoder, ["a"], kind)  # type: ignore[arg-type]  # both are kinds
        assert encoder.sent == ["a"]
    assert len(embedding_files.entries(root)) == 3


@pytest.mark.parametrize("model", ["unknown", "m"])
def test_without_the_cache(root: Path, model: str) -> None:
    """No revision, or none wanted: texts are encoded each time, each once."""
    encoder = Lengths(model)
    for _ in range(2):
        found = encoded(encoder, ["a", "b", "a"], "table", cache=model == "unknown")
        np.testing.assert_array_equal(found, expected(["a", "b", "a"]))
    assert encoder.asked == [["a", "b"], ["a", "b"]]
    assert embedding_files.entries(root) == []


def test_an_encoder_that_cannot_be_identified_is_not_cached(root: Path) -> None:
    encoder = Lengths()
    encoder.config = lambda: {"model": object()}  # type: ignore[method-assign]
    encoded(encoder, ["a"], "table")
    encoded(encoder, ["a"], "table")
    assert encoder.sent == ["a", "a"]
    assert embedding_files.entries(root) == []


def test_settings_that_change_change_the_store() -> None:
    encoder = Lengths()
    encoded(encoder, ["a"], "table")
    encoder.model = "other"
    encoded(encoder, ["a"], "table")
    assert encoder.sent == ["a", "a"]


def test_encoders_are_not_kept_alive() -> None:
    encoded(Lengths(), ["a"], "table")
    gc.collect()
    assert not any(known.encoder() for known in embeddings._known.values())
    assert not embeddings._known


def test_no_text_at_all() -> None:
    encoder = Lengths()
    assert encoded(encoder, [], "table").shape == (0, 0)
    encoded(encoder, ["a"], "table")
    assert encoded(encoder, [], "table").shape == (0, 3)
    assert encoded(encoder, [], "table", cache=False).shape == (0, 0)


def test_chunks_are_sorted_by_length_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "CHUNK", 4)
    encoder = Lengths()
    texts = ["x" * (7 * i % 10) for i in range(10)]
    np.testing.assert_array_equal(encoded(encoder, texts, "table"), expected(texts))
    assert [len(chunk) for chunk in encoder.asked] == [4, 4, 2]
    assert [len(text) for text in encoder.sent] == list(range(9, -1, -1))


def test_a_failure_loses_one_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "CHUNK", 2)
    encoder, texts = Lengths(), ["a", "bb", "ccc", "dddd", "eeeee"]

    def fail_at_the_third(asked: Sequence[str]) -> Vectors:
        if len(encoder.asked) == 2:
            raise RuntimeError("the power went off")
        return expected(asked)

    encoder.gives = fail_at_the_third
    with pytest.raises(RuntimeError, match="power"):
        encoded(encoder, texts, "table")
    after = Lengths()
    np.testing.assert_array_equal(encoded(after, texts, "table"), expected(texts))
    assert after.sent == ["ccc", "bb", "a"]


def test_what_comes_in_parts_is_recorded_in_parts() -> None:
    with pytest.raises(PluginError, match="no more"):
        encoded(Shuffled(), ["first", "stop", "z", "y"], "table")
    after = Shuffled()
    encoded(after, ["first", "z", "y"], "table")
    assert after.sent == ["first"]


def test_a_part_that_never_comes_is_reported() -> None:
    class Forgetful(Lengths):
        def encode_parts(
            self, texts: Sequence[str], kind: TextKind
        ) -> Iterator[tuple[Sequence[int], Vectors]]:
            yield [0], self.encode(texts[:1], kind)

    with pytest.raises(PluginError, match="Forgetful made no vector of the text 'b'"):
        encoded(Forgetful(), ["aa", "b"], "table")


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize(
    ("gives", "message"),
    [
        (
            lambda texts: np.full((len(texts), 2), np.nan),
            "NaN or infinity for 2 of 2 .*'long text'",
        ),
        (lambda texts: np.full((len(texts), 2), 1e300), "NaN or infinity"),
        (lambda texts: np.zeros((len(texts) + 1, 2)), r"shape \(3, 2\) for 2 texts"),
        (lambda texts: np.zeros(2), r"shape \(2,\) for 2 texts; expected \(2, d\)"),
        (lambda texts: np.zeros((2, 0)), r"shape \(2, 0\)"),
        (lambda texts: [[1.0], [1.0, 2.0]], "no matrix of numbers"),
        (lambda texts: [["a"], ["b"]], "no matrix of numbers"),
        (lambda texts: None, r"shape \(\) for 2 texts"),
    ],
)
def test_invalid_vectors(root: Path, gives: Any, message: str, cache: bool) -> None:
    encoder = Lengths()
    encoder.gives = gives
    with pytest.raises(PluginError, match=f"the encoder Lengths gave .*{message}"):
        encoded(encoder, ["long text", "b"], "table", cache=cache)
    assert embedding_files.entries(root) == []


def test_the_text_of_a_bad_vector_is_named() -> None:
    encoder = Lengths()
    encoder.gives = lambda texts: np.array([[np.inf if "bad" in t else 1.0] for t in texts])
    with pytest.raises(
        PluginError, match=r"for 1 of 3 texts, the first one 'bad text x{51}\.\.\.'"
    ):
        encoded(encoder, ["good", "bad text " + "x" * 90, "a"], "table")


def test_other_lengths_than_before_are_reported() -> None:
    encoded(Lengths(), ["a"], "table")
    encoder = Lengths()
    encoder.gives = lambda texts: np.ones((len(texts), 7))
    with pytest.raises(
        PluginError, match=r"7 dimensions, and those that are recorded in .* have 3"
    ):
        encoded(encoder, ["b"], "table")


def test_numbers_of_other_kinds_are_taken() -> None:
    encoder = Lengths()
    encoder.gives = lambda texts: np.array([[len(t)] for t in texts], np.float16)[:, ::-1]
    assert encoded(encoder, ["aaa", "b"], "table").tolist() == [[3.0], [1.0]]


def test_damage_warns_and_is_repaired(root: Path) -> None:
    encoder = Lengths()
    encoded(encoder, ["a", "bb"], "table")
    [entry] = embedding_files.entries(root)
    path = entry.folder / embedding_files.VECTORS
    path.write_bytes(path.read_bytes()[:-4] + b"\0\0\0\1")
    with pytest.warns(UserWarning, match="1 of the embeddings recorded in"):
        np.testing.assert_array_equal(encoded(encoder, ["a", "bb"], "table"), expected(["a", "bb"]))
    said: list[str] = []
    encoded(encoder, ["a", "bb"], "table", warn=said.append)
    assert not said
    assert encoder.sent == ["bb", "a", "a"]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(st.text(max_size=4), max_size=6), max_size=5))
def test_any_calls(asked: list[list[str]]) -> None:
    """Whatever was asked before, the vectors are those of the texts, and no text is sent twice."""
    encoder = Lengths(str(hash(str(asked))))
    for texts in asked:
        found = encoded(encoder, texts, "query")
        assert found.tolist() == expected(texts).tolist()
    assert len(set(encoder.sent)) == len(encoder.sent)
