"""The cache of answers: what it keeps, and what it survives."""

import multiprocessing
from contextlib import closing
from pathlib import Path

import pytest

from target_bench.core.errors import StoreError
from target_bench.models.remote.answer_cache import (
    AnswerCache,
    ModelReply,
    request_key,
    select_unrecorded,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "answers.sqlite"


def test_the_key_depends_on_everything() -> None:
    keys = {
        request_key(provider, url, body)
        for provider in ("openai", "other")
        for url in ("http://a", "http://b")
        for body in ({"seed": 0}, {"seed": 1}, {"seed": 0, "messages": ["\ud800"]})
    }
    assert len(keys) == 12
    assert request_key("p", "u", {"a": 1, "b": 2}) == request_key("p", "u", {"b": 2, "a": 1})


def _fill(path: Path, start: int) -> None:
    cache = AnswerCache(path)
    for i in range(start, start + 300):
        cache.put_reply(str(i), ModelReply(f"text {i}"))
        assert cache.get_reply(str(i)) == ModelReply(f"text {i}")
    cache.close()


def test_several_processes_fill_one_file(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_fill, args=(path, 200 * i)) for i in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    cache = AnswerCache(path)
    assert all(cache.get_reply(str(i)) for i in range(700))
    cache.close()


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" * 300])
def test_a_damaged_file_is_refused_and_left(
    path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(path.parent))
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"answers.sqlite .*remove the file if it is damaged"):
        AnswerCache(path).put({})
    with pytest.raises(StoreError, match="cannot be recorded"):
        list(select_unrecorded("abc", str))
    assert path.read_bytes() == content


def test_what_is_not_recorded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(path.parent))
    assert list(select_unrecorded("abca", str)) == ["a", "b", "c"]
    with closing(AnswerCache(path)) as cache:
        cache.put_reply("b", ModelReply("x"))
    assert list(select_unrecorded("abca", str)) == ["a", "c"]


def test_damage_that_is_met_later_gives_no_answer(path: Path) -> None:
    cache = AnswerCache(path)
    for i in range(2000):
        cache.put_reply(str(i), ModelReply("x" * 200))
    cache.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    with pytest.raises(StoreError, match="cannot be recorded"), closing(AnswerCache(path)) as cache:
        cache.get_reply("1234")


def test_a_full_disk_says_so(path: Path) -> None:
    cache = AnswerCache(path)
    with cache._connected() as database:
        database.execute("PRAGMA max_page_count = 4")
    with pytest.raises(StoreError, match=r"TARGET_BENCH_CACHE.*cache=false"):
        cache.put_reply("a", ModelReply("x" * 100_000))
    cache.close()


@pytest.mark.parametrize(
    ("written", "damaged"),
    [(b"Paris, of course", b"Qaris, of course"), (b"stop", b"rtop"), (b"\xc3\xa9", b"\xc3\x69")],
)
def test_a_damaged_answer_is_asked_for_again(path: Path, written: bytes, damaged: bytes) -> None:
    """One bit of a row: the file is sound, the answer is not; other answers stay."""
    cache = AnswerCache(path)
    cache.put_reply("a", ModelReply("Paris, of course é", "stop", 3, 5))
    cache.put_reply("b", ModelReply("Oslo"))
    cache.close()
    content = path.read_bytes()
    assert content.count(written) == 1
    path.write_bytes(content.replace(written, damaged))
    cache = AnswerCache(path)
    assert (cache.get_reply("a"), cache.get_reply("b")) == (None, ModelReply("Oslo"))
    cache.put_reply("a", ModelReply("Paris"))
    assert cache.get_reply("a") == ModelReply("Paris")
    cache.close()
