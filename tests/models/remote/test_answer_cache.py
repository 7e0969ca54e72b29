"""The cache of answers: what it keeps, and what it survives."""

import multiprocessing
from pathlib import Path

import pytest

from target_bench.core.errors import StoreError
from target_bench.models.remote import answer_cache
from target_bench.models.remote.answer_cache import AnswerCache, ModelReply, request_key


def _never(message: str) -> None:
    raise AssertionError(message)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "responses.sqlite"


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
    cache = AnswerCache(path, _never)
    for i in range(start, start + 300):
        cache.put(str(i), ModelReply(f"text {i}"))
        assert cache.get(str(i)) == ModelReply(f"text {i}")
    cache.close()


def test_several_processes_fill_one_file(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_fill, args=(path, 200 * i)) for i in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    cache = AnswerCache(path, _never)
    assert len(cache) == 700
    cache.close()


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" * 300])
def test_a_damaged_file_is_moved_aside(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    warnings: list[str] = []
    cache = AnswerCache(path, warnings.append)
    cache.put("a", ModelReply("x"))
    assert cache.get("a") == ModelReply("x")
    cache.close()
    assert len(warnings) == 1
    assert [p.read_bytes() for p in path.parent.glob("*.aside-*")] == [content]


def test_damage_that_is_met_later_costs_the_answers_and_no_more(path: Path) -> None:
    cache = AnswerCache(path, _never)
    for i in range(2000):
        cache.put(str(i), ModelReply("x" * 200))
    cache.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    warnings: list[str] = []
    cache = AnswerCache(path, warnings.append)
    assert cache.get("1234") is None
    cache.put("1234", ModelReply("again"))
    assert cache.get("1234") == ModelReply("again")
    cache.close()
    assert len(warnings) == 1


def test_looking_for_what_is_not_recorded_leaves_a_damaged_file_and_its_warning(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(path.parent))
    path.parent.mkdir()
    path.write_bytes(b"nonsense" * 1000)
    assert list(answer_cache.unrecorded("abc", str)) == ["a", "b", "c"]
    assert path.read_bytes() == b"nonsense" * 1000
    warnings: list[str] = []
    AnswerCache(path, warnings.append).close()
    assert len(warnings) == 1


def test_a_full_disk_says_so(path: Path) -> None:
    cache = AnswerCache(path, _never)
    cache._file.do(lambda database: database.execute("PRAGMA max_page_count = 4"))
    with pytest.raises(StoreError, match=r"TARGET_BENCH_CACHE.*cache=false"):
        cache.put("a", ModelReply("x" * 100_000))
    cache.close()


@pytest.mark.parametrize(
    ("one", "other"),
    [(b"Paris, of course", b"Qaris, of course"), (b"stop", b"rtop"), (b"\xc3\xa9", b"\xc3\x69")],
)
def test_a_damaged_answer_is_asked_for_again(path: Path, one: bytes, other: bytes) -> None:
    """One bit of a row: the file is sound, the answer is not; other answers stay."""
    cache = AnswerCache(path, _never)
    cache.put("a", ModelReply("Paris, of course é", "stop", 3, 5))
    cache.put("b", ModelReply("Oslo"))
    cache.close()
    content = path.read_bytes()
    assert content.count(one) == 1
    path.write_bytes(content.replace(one, other))
    messages: list[str] = []
    cache = AnswerCache(path, messages.append)
    assert (cache.get("a"), cache.get("b")) == (None, ModelReply("Oslo"))
    assert messages == [
        f"an answer recorded in {path} is damaged; it was removed and the request is sent again"
    ]
    cache.put("a", ModelReply("Paris"))
    assert cache.get("a") == ModelReply("Paris")
    cache.close()
