"""Every text is encoded once, what an encoder gives is checked, and damage costs a text at most."""

import multiprocessing
import os
import resource
import shutil
import signal
import sqlite3
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from target_bench.core.errors import PluginError, StoreError
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models import embedding_cache
from target_bench.models.cache import Cache
from target_bench.models.embedding_cache import (
    FOLDER,
    encode_texts,
    hash_text,
    read_vectors,
    record_vectors,
)


def count_rows(root: Path) -> dict[Path, int]:
    """Return how many vectors each file of a cache folder holds."""
    rows = {}
    for path in (root / FOLDER).glob("*.sqlite"):
        rows[path] = 0
        with (
            closing(sqlite3.connect(path)) as database,
            suppress(sqlite3.OperationalError),  # nothing was recorded, so there is no table
        ):
            (rows[path],) = database.execute("SELECT count(*) FROM cache").fetchone()
    return rows


class Lengths(Encoder):
    """A text's vector is its length and its words."""

    def __init__(self, model: str = "m") -> None:
        self.model = model
        self.calls: list[list[str]] = []
        self.gives: Any = None

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        self.calls.append(list(texts))
        if self.gives is not None:
            return self.gives(texts)  # type: ignore[no-any-return]
        return np.array([[len(t), len(t.split()), ord((t or " ")[0])] for t in texts], np.float32)

    def revision(self) -> str | None:
        return None if self.model == "unknown" else f"{self.model} 1"

    @property
    def sent(self) -> list[str]:
        return [text for texts in self.calls for text in texts]


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
        vectors, _ = encode_texts(encoder, texts, "table")
        np.testing.assert_array_equal(vectors, expected(texts))
        assert vectors.dtype == np.float32
    assert sorted(first.sent) == ["", "aa aa", "b"]
    assert second.sent == []
    np.testing.assert_array_equal(
        encode_texts(second, ["c", "b"], "table")[0], expected(["c", "b"])
    )
    assert second.sent == ["c"]


@pytest.mark.parametrize("model", ["unknown", "m", "unidentified"])
def test_without_the_cache(root: Path, model: str) -> None:
    """No revision, no identity or no cache: texts are encoded each time, each once."""
    encoder = Lengths(model)
    if model == "unidentified":
        encoder.config = lambda: {"model": object()}  # type: ignore[method-assign]
    for _ in range(2):
        vectors, _ = encode_texts(encoder, ["a", "b", "a"], "table", cache=model != "m")
        np.testing.assert_array_equal(vectors, expected(["a", "b", "a"]))
    assert encoder.calls == [["a", "b"], ["a", "b"]]
    assert count_rows(root) == {}


def test_a_failure_loses_one_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_cache, "CHUNK", 2)
    encoder, texts = Lengths(), ["a", "bb", "ccc", "dddd", "eeeee"]

    def fail_at_the_third(texts: Sequence[str]) -> Vectors:
        if len(encoder.calls) == 2:
            raise RuntimeError("the power went off")
        return expected(texts)

    encoder.gives = fail_at_the_third
    with pytest.raises(RuntimeError, match="power"):
        encode_texts(encoder, texts, "table")
    after = Lengths()
    np.testing.assert_array_equal(encode_texts(after, texts, "table")[0], expected(texts))
    assert after.sent == ["ccc", "bb", "a"]


def test_a_long_wait_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the characters that are done: 2 of 102 in 30 seconds, so 25 minutes for the others."""
    monkeypatch.setattr(embedding_cache, "CHUNK", 1)
    now = iter(range(0, 3000, 30))
    monkeypatch.setattr("target_bench.models.embedding_cache.time.monotonic", lambda: next(now))
    texts = [f"{n:02}" for n in range(51)]
    with pytest.warns(UserWarning, match="encoding 51 texts takes about 25 more minutes") as caught:
        encode_texts(Lengths(), texts, "table")
    assert len(caught) == 1
    now = iter(range(0, 3000, 30))
    encode_texts(Lengths(), texts, "table")


def test_a_part_that_never_comes_is_reported() -> None:
    class Forgetful(Lengths):
        def encode_parts(
            self, texts: Sequence[str], kind: TextKind
        ) -> Iterator[tuple[Sequence[int], Vectors]]:
            yield [0], self.encode(texts[:1], kind)

    with pytest.raises(PluginError, match="Forgetful made no vector of the text 'b'"):
        encode_texts(Forgetful(), ["aa", "b"], "table")


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
        encode_texts(encoder, ["long text", "b"], "table", cache=cache)
    assert not any(count_rows(root).values())


def test_damage_is_repaired(root: Path) -> None:
    encoder = Lengths()
    encode_texts(encoder, ["a", "bb"], "table")
    [path] = count_rows(root)
    content = bytearray(path.read_bytes())
    place = content.index(expected(["a"]).tobytes())
    content[place] ^= 1
    path.write_bytes(content)
    for _ in range(2):
        vectors, _ = encode_texts(encoder, ["a", "bb"], "table")
        np.testing.assert_array_equal(vectors, expected(["a", "bb"]))
    assert encoder.sent == ["bb", "a", "a"]


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(st.text(max_size=4), max_size=6), max_size=5))
def test_any_calls(calls: list[list[str]]) -> None:
    """The vectors are those of the texts, and no text is sent twice."""
    encoder = Lengths(str(hash(str(calls))))
    for texts in calls:
        vectors, _ = encode_texts(encoder, texts, "query")
        assert vectors.tolist() == expected(texts).tolist()
    assert len(set(encoder.sent)) == len(encoder.sent)


D = 5


def opened(root: Path) -> Cache:
    return Cache(root / "embeddings" / "key.sqlite", "embeddings")


def vectors_of(texts: Sequence[str]) -> Vectors:
    rows = [np.frombuffer(hash_text(text) + b"abcd", "<u4")[:D] % 1000 for text in texts]
    return np.array(rows, np.float32).reshape(-1, D)


def append(store: Cache, *texts: str) -> None:
    keys = [hash_text(text) for text in texts]
    with closing(store):
        record_vectors(store, keys, vectors_of(texts))


def recorded(store: Cache, *texts: str) -> list[str]:
    """Which of the texts are recorded; their vectors are as they were given."""
    with closing(store):
        known, vectors, _ = read_vectors(store, [hash_text(text) for text in texts])
    if not known.any():
        return []
    kept = [text for text, there in zip(texts, known, strict=True) if there]
    np.testing.assert_array_equal(vectors[known], vectors_of(kept))
    assert not vectors[~known].any()
    return kept


def test_two_models_under_one_identity(tmp_path: Path) -> None:
    append(opened(tmp_path), "a")
    with closing(opened(tmp_path)) as store:
        record_vectors(store, [hash_text("b")], np.ones((1, D + 1), np.float32))
    with pytest.raises(PluginError, match=r"key\.sqlite holds vectors of .* revision\(\) must"):
        recorded(opened(tmp_path), "a", "b")


def test_no_damage_gives_a_wrong_vector(tmp_path: Path) -> None:
    """Whatever byte is another: a text has its own vector or none, and can be recorded again."""
    append(opened(tmp_path), "a", "b", "c")
    path = opened(tmp_path).path
    whole = path.read_bytes()
    used = [place for place, byte in enumerate(whole) if byte]
    for place in used[::9]:
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        with suppress(StoreError):  # it says what to do
            recorded(opened(tmp_path), "a", "b", "c")
            append(opened(tmp_path), "a", "d")
            assert "d" in recorded(opened(tmp_path), "a", "d")
        for end in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + end).unlink(missing_ok=True)


@pytest.mark.parametrize("content", [b"no database" * 100, None])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    store = opened(tmp_path)
    append(store, "a")
    if content is None:  # another layout
        with closing(sqlite3.connect(store.path)) as database:
            database.execute("PRAGMA user_version = 99")
    else:
        store.path.write_bytes(content)
    for work in (append, recorded):
        with pytest.raises(StoreError, match=r"key.sqlite .*remove the file if it is damaged"):
            work(store, "a")


def test_many_vectors_are_read_into_their_matrix_alone(tmp_path: Path) -> None:
    keys = [hash_text(str(i)) for i in range(1000)]
    store = opened(tmp_path)
    record_vectors(store, keys, np.ones((1000, 1000), np.float32))
    tracemalloc.start()
    try:
        _, vectors, _ = read_vectors(store, keys)
        assert tracemalloc.get_traced_memory()[1] < 1.5 * vectors.nbytes
    finally:
        tracemalloc.stop()
        store.close()


def test_a_file_that_several_machines_share(tmp_path: Path) -> None:
    """SQLite's write-ahead log is for processes of one machine."""
    append(store := opened(tmp_path), "a")
    with closing(sqlite3.connect(store.path)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_cleared_cache_is_begun_again(tmp_path: Path) -> None:
    store = opened(tmp_path)
    append(store, "a", "b")
    assert [*count_rows(tmp_path).values()] == [2]
    shutil.rmtree(tmp_path / FOLDER)
    assert recorded(store, "a") == []
    append(opened(tmp_path), "c", "d", "e")
    assert recorded(store, "a", "b", "c") == ["c"]
    assert [*count_rows(tmp_path).values()] == [3]


def test_no_room_costs_nothing_that_was_recorded(tmp_path: Path) -> None:
    store = opened(tmp_path)
    append(store, *map(str, range(100)))
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (store.path.stat().st_size, old[1]))
    try:
        with pytest.raises(StoreError, match=r"key.sqlite .*Free disk .*TARGET_BENCH_CACHE"):
            append(store, *(f"more {i}" for i in range(1000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert len(recorded(store, *map(str, range(100)))) == 100
    append(store, *(f"more {i}" for i in range(1000)))
    assert len(recorded(opened(tmp_path), *(f"more {i}" for i in range(1000)))) == 1000


def _fill(root: Path, start: int) -> None:
    store = opened(root)
    for i in range(start, start + 90, 3):
        texts = [str(i), str(i + 1), str(i + 2)]
        append(store, *texts)
        assert recorded(store, *texts) == texts


def test_several_processes_fill_one_store(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_fill, args=(tmp_path, 60 * i)) for i in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(recorded(opened(tmp_path), *map(str, range(210)))) == 210
    assert [*count_rows(tmp_path).values()] == [210]


def _append_forever(root: Path) -> None:
    store = opened(root)
    for i in range(0, 10**9, 10):
        append(store, *map(str, range(i, i + 10)))


def test_a_killed_writer_leaves_whole_rows(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    for _ in range(2):
        process = context.Process(target=_append_forever, args=(tmp_path,))
        before = len(recorded(opened(tmp_path), *map(str, range(10_000))))
        process.start()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if len(recorded(opened(tmp_path), *map(str, range(before, before + 100)))) == 100:
                break
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        kept = recorded(opened(tmp_path), *map(str, range(10_000)))
        assert len(kept) >= before + 100
        append(opened(tmp_path), "another")
        assert recorded(opened(tmp_path), "another") == ["another"]
