"""Recorded embeddings: what is kept, who may write at once, and what any damage costs."""

import json
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.core.errors import PluginError, StoreError
from target_bench.core.vectors import Vectors
from target_bench.models.embedding_cache import embedding_files
from target_bench.models.embedding_cache.embedding_files import HEADER, KEYS, RECORD, VECTORS
from target_bench.models.embedding_cache.embedding_store import EmbeddingStore, text_key

D = 5
IDENTITY = {"class": "tests:Encoder", "config": {"model": "m"}, "revision": "r"}


def never(message: str) -> None:
    raise AssertionError(message)


def opened(root: Path) -> EmbeddingStore:
    return EmbeddingStore(root / "embeddings" / "key", IDENTITY, "table")


def vectors_of(texts: Sequence[str]) -> Vectors:
    rows = [np.frombuffer(text_key(text) + b"abcd", "<u4")[:D] % 1000 for text in texts]
    return np.array(rows, np.float32).reshape(-1, D)


def append(store: EmbeddingStore, *texts: str) -> None:
    store.append([text_key(text) for text in texts], vectors_of(texts), never)


def found(store: EmbeddingStore, *texts: str, warnings: list[str] | None = None) -> list[str]:
    """Which of the texts are recorded; their vectors are as they were given."""
    warn = never if warnings is None else warnings.append
    recorded, vectors = store.read([text_key(text) for text in texts], warn)
    if not recorded.any():
        return []
    kept = [text for text, there in zip(texts, recorded, strict=True) if there]
    np.testing.assert_array_equal(vectors[recorded], vectors_of(kept))
    assert not vectors[~recorded].any()
    return kept


def test_what_is_recorded_is_found_by_everybody(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    assert found(one, "a") == []
    append(one, "a", "b", "é\ud800")
    assert found(other, "b", "x", "é\ud800") == ["b", "é\ud800"]
    append(other, "c")
    assert found(one, "c", "a") == ["c", "a"]
    assert found(opened(tmp_path), "a", "b", "c") == ["a", "b", "c"]


def test_the_first_vector_of_a_text_stays(tmp_path: Path) -> None:
    append(opened(tmp_path), "a")
    late = np.ones((2, D), np.float32)
    given_back = opened(tmp_path).append([text_key("a"), text_key("b")], late, never)
    np.testing.assert_array_equal(given_back, [vectors_of(["a"])[0], late[1]])
    assert embedding_files.entries(tmp_path)[0].rows == 2


def test_another_length_is_reported(tmp_path: Path) -> None:
    append(opened(tmp_path), "a")
    wider = np.ones((1, D + 1), np.float32)
    with pytest.raises(PluginError, match=f"{D + 1} dimensions, .* have {D}"):
        opened(tmp_path).append([text_key("b")], wider, never)


@pytest.mark.parametrize("name", [KEYS, VECTORS])
def test_cut_anywhere(tmp_path: Path, name: str) -> None:
    """Whole rows stay, what is left of a row goes, and going on is as if nothing had happened."""
    append(opened(tmp_path), "a", "b", "c")
    path = tmp_path / "embeddings" / "key" / name
    width = RECORD.itemsize if name == KEYS else 4 * D
    whole = {file: (path.parent / file).read_bytes() for file in (KEYS, VECTORS)}
    for size in range(3 * width + 1):
        for file, content in whole.items():
            (path.parent / file).write_bytes(content)
        os.truncate(path, size)
        kept = ["a", "b", "c"][: size // width]
        store = opened(tmp_path)
        assert found(store, "a", "b", "c") == kept
        append(store, "d", "b")
        assert found(opened(tmp_path), "a", "b", "c", "d") == sorted({*kept, "b", "d"})
        assert (path.parent / VECTORS).stat().st_size == 4 * D * len({*kept, "b", "d"})


@pytest.mark.parametrize("name", [KEYS, VECTORS])
def test_a_lost_file_costs_its_rows(tmp_path: Path, name: str) -> None:
    append(opened(tmp_path), "a", "b")
    (tmp_path / "embeddings" / "key" / name).unlink()
    store = opened(tmp_path)
    assert found(store, "a", "b") == []
    append(store, "a")
    assert found(opened(tmp_path), "a") == ["a"]


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    append(opened(tmp_path), "a", "b", "c")
    for name in (KEYS, VECTORS):
        path = tmp_path / "embeddings" / "key" / name
        whole = path.read_bytes()
        for bit in range(0, 8 * len(whole), 3):
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            path.write_bytes(flipped)
            row = bit // 8 // (len(whole) // 3)
            others = [text for i, text in enumerate("abc") if i != row]
            warnings: list[str] = []
            assert found(opened(tmp_path), "a", "b", "c", warnings=warnings) == others
            key_is_lost = name == KEYS and bit // 8 % RECORD.itemsize < 16
            assert len(warnings) == (0 if key_is_lost else 1)
        path.write_bytes(whole)


def test_a_damaged_row_is_recorded_again(tmp_path: Path) -> None:
    append(opened(tmp_path), "a", "b")
    path = tmp_path / "embeddings" / "key" / VECTORS
    path.write_bytes(b"\0" * 4 * D + path.read_bytes()[4 * D :])
    store, late = opened(tmp_path), opened(tmp_path)
    warnings: list[str] = []
    assert found(store, "a", "b", warnings=warnings) == ["b"]
    assert "1 of the embeddings" in warnings[0]
    append(store, "a")
    for reader in (store, late, opened(tmp_path)):
        assert found(reader, "a", "b") == ["a", "b"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[1]", b"\xff\xfe", b'{"format": 99}', b'{"format": 1, "sha256": "x"}', None],
)
def test_a_damaged_folder_is_moved_aside(tmp_path: Path, content: bytes | None) -> None:
    store = opened(tmp_path)
    append(store, "a")
    path = tmp_path / "embeddings" / "key" / HEADER
    path.unlink() if content is None else path.write_bytes(content)
    warnings: list[str] = []
    assert found(store, "a", warnings=warnings) == []
    append(store, "b")
    assert found(opened(tmp_path), "a", "b") == ["b"]
    assert len(warnings) == 1
    assert "moved to key.aside-" in warnings[0]
    [aside] = (tmp_path / "embeddings").glob("key.aside-*")
    assert (aside / VECTORS).read_bytes() == vectors_of(["a"]).tobytes()


def test_a_changed_header_is_moved_aside(tmp_path: Path) -> None:
    append(opened(tmp_path), "a")
    path = tmp_path / "embeddings" / "key" / HEADER
    header = json.loads(path.read_text())
    path.write_text(json.dumps(header | {"dimension": 1}))
    warnings: list[str] = []
    assert found(opened(tmp_path), "a", warnings=warnings) == []
    assert "not what was written" in warnings[0]


def test_a_cleared_cache_is_begun_again(tmp_path: Path) -> None:
    store = opened(tmp_path)
    append(store, "a", "b")
    [gone] = embedding_files.clear(tmp_path)
    assert (gone.rows, gone.encoder, gone.kind, gone.state) == (
        2,
        "Encoder(model=m)",
        "table",
        "whole",
    )
    assert found(store, "a") == []
    append(opened(tmp_path), "c", "d", "e")
    assert found(store, "a", "b", "c") == ["c"]
    assert [entry.rows for entry in embedding_files.entries(tmp_path)] == [3]


def test_no_room_costs_nothing_that_was_recorded(tmp_path: Path) -> None:
    append(opened(tmp_path), *map(str, range(100)))
    store = opened(tmp_path)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    sizes = [path.stat().st_size for path in (tmp_path / "embeddings" / "key").iterdir()]
    for room in (max(sizes), max(sizes) + 7 * 4 * D + 3):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, old[1]))
        try:
            with pytest.raises(StoreError, match=rf"{VECTORS} .*Free disk .*TARGET_BENCH_CACHE"):
                append(store, *(f"more {i}" for i in range(100)))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
        assert len(found(store, *map(str, range(100)))) == 100
        assert [
            path.stat().st_size for path in (tmp_path / "embeddings" / "key").iterdir()
        ] == sizes
    append(store, *(f"more {i}" for i in range(100)))
    assert len(found(opened(tmp_path), *(f"more {i}" for i in range(100)))) == 100


def test_a_folder_that_cannot_be_is_reported_before_anything_is_encoded(tmp_path: Path) -> None:
    (tmp_path / "embeddings").write_text("in the way")
    with pytest.raises(StoreError, match=r"embeddings.*TARGET_BENCH_CACHE"):
        opened(tmp_path).prepare()


def _fill(root: Path, start: int) -> None:
    store = opened(root)
    for i in range(start, start + 300, 3):
        texts = [str(i), str(i + 1), str(i + 2)]
        append(store, *texts)
        assert found(store, *texts) == texts


def test_several_processes_fill_one_store(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_fill, args=(tmp_path, 200 * i)) for i in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(found(opened(tmp_path), *map(str, range(700)))) == 700
    assert embedding_files.entries(tmp_path)[0].rows == 700


def test_several_threads_share_one_store(tmp_path: Path) -> None:
    stores = opened(tmp_path), opened(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: append(stores[i % 2], str(i % 100)), range(400)))
    assert embedding_files.entries(tmp_path)[0].rows == 100


def _append_forever(root: Path) -> None:
    store = opened(root)
    for i in range(0, 10**9, 50):
        append(store, *map(str, range(i, i + 50)))


def test_a_killed_writer_leaves_whole_rows(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    for _ in range(3):
        process = context.Process(target=_append_forever, args=(tmp_path,))
        before = len(found(opened(tmp_path), *map(str, range(100_000))))
        process.start()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if len(found(opened(tmp_path), *map(str, range(before, before + 100)))) == 100:
                break
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        kept = found(opened(tmp_path), *map(str, range(100_000)))
        assert len(kept) >= before + 100
        append(opened(tmp_path), "another")
        assert found(opened(tmp_path), "another") == ["another"]


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(st.sampled_from("abcdefgh"), unique=True)),
        st.tuples(st.just(KEYS), st.integers(0, 60)),
        st.tuples(st.just(VECTORS), st.integers(0, 60)),
        st.tuples(st.just("open"), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(_STEPS)
def test_any_appends_and_cuts(steps: list[tuple[str, list[str] | int]]) -> None:
    """A text is found exactly while its row is whole."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        stores = [opened(root), opened(root)]
        rows: list[str] = []
        for turn, (step, value) in enumerate(steps):
            store = stores[turn % 2]
            if isinstance(value, list):
                append(store, *value)
                rows += [text for text in value if text not in rows]
            elif step == "open":
                stores[turn % 2] = opened(root)
            elif (path := root / "embeddings" / "key" / step).exists():
                left = max(0, path.stat().st_size - value)
                os.truncate(path, left)
                rows = rows[: left // (RECORD.itemsize if step == KEYS else 4 * D)]
                for each in stores:
                    assert found(each, *"abcdefgh") == sorted(rows)
            assert found(stores[turn % 2], *"abcdefgh") == sorted(rows)
