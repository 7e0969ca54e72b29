"""Who read which cache, in this thread or another, and what is no loan."""

from pathlib import Path
from threading import Thread

import pytest

from target_bench import cache_use
from target_bench.remote.answers import Answer, AnswerCache


def test_notes_of_other_threads_count() -> None:
    with cache_use.watched() as watch:
        assert watch.used() == []
        thread = Thread(target=cache_use.note, args=("a",))
        thread.start()
        thread.join()
        cache_use.note("b")
        assert watch.used() == ["a", "b"]
        assert watch.used() == []


def test_what_was_made_in_this_watch_is_no_loan() -> None:
    cache_use.made("store", ["early"])
    with cache_use.watched() as watch:
        cache_use.made("store", ["x", "y"])
        cache_use.found("a cache", "store", ["x", "y"])
        cache_use.found("a cache", "store", [])
        assert watch.used() == []
        cache_use.found("a cache", "other", ["x"])
        assert watch.used() == ["a cache"]
        cache_use.found("a cache", "store", ["x", "early"])
        assert watch.used() == ["a cache"]
        with cache_use.watched() as inner:
            cache_use.found("a cache", "store", ["x"])
            assert inner.used() == ["a cache"]


def test_turned_off_in_this_thread_alone() -> None:
    seen: list[bool] = []
    with cache_use.turned_off():
        assert cache_use.is_off()
        thread = Thread(target=lambda: seen.append(cache_use.is_off()))
        thread.start()
        thread.join()
    assert not cache_use.is_off()
    assert seen == [False]


def test_answers_to_equal_prompts_of_a_run_are_no_loan(tmp_path: Path) -> None:
    """As text-to-SQL or fact verification have them; those of an earlier run are."""
    cache = AnswerCache(tmp_path / "answers.sqlite", pytest.fail)
    with cache_use.watched() as watch:
        cache.put("key", Answer("yes"))
        assert cache.get("key") == Answer("yes")
        assert cache.get("other") is None
        cache_use.answered(any_cached=True)
        assert watch.used() == []
    with cache_use.watched() as watch:
        assert cache.get("key") == Answer("yes")
        assert watch.used() == ["recorded answers"]
        cache_use.answered(any_cached=True)  # a generator of a user's own
        assert watch.used() == ["recorded answers"]
    cache.close()
