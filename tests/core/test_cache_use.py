"""Records of cache reads by thread, and of entries that a run has made itself."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Barrier, Event, Thread

from target_bench.core import cache_use
from target_bench.runs import times


class _Noted:
    answers_are_noted = True


def test_what_was_made_in_this_watch_is_not_a_loan() -> None:
    cache_use.made("store", ["early"])
    with times.watched() as watch:
        cache_use.made("store", ["x", "y"])
        cache_use.found("a cache", "store", ["x", "y"])
        cache_use.found("a cache", "store", [])
        assert watch.used() == []
        cache_use.found("a cache", "other", ["x"])
        assert watch.used() == ["a cache"]
        cache_use.found("a cache", "store", ["x", "early"])
        assert watch.used() == ["a cache"]
        with times.watched() as inner:
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


def test_a_generator_with_a_cache_of_its_own_is_believed() -> None:
    """Whether or not others recorded something in the same run."""
    with times.watched() as watch:
        cache_use.made(cache_use.ANSWERS, ["another request, of a retriever"])
        cache_use.answered(object(), any_cached=False)
        cache_use.answered(_Noted(), any_cached=True)
        assert watch.used() == []
        cache_use.answered(object(), any_cached=True)
        assert watch.used() == ["recorded answers"]


def test_what_another_run_made_at_the_same_time_is_a_loan() -> None:
    """Its own threads are those in its context; the context of another thread is unknown."""
    seen: dict[str, list[str]] = {}
    both, made, read = Barrier(2), Event(), Event()

    def first() -> None:
        with times.watched() as watch:
            both.wait(60)
            with ThreadPoolExecutor(1) as pool:
                pool.submit(copy_context().run, cache_use.made, "store", ["a"]).result()
                pool.submit(cache_use.made, "store", ["nobody's"]).result()
            cache_use.found("cache", "store", ["a"])
            seen["own"] = watch.used()
            made.set()
            read.wait(60)

    def second() -> None:
        with times.watched() as watch:
            both.wait(60)
            made.wait(60)
            cache_use.found("cache", "store", ["a"])
            seen["other's"] = watch.used()
            cache_use.found("cache", "store", ["nobody's"])
            seen["nobody's"] = watch.used()
            read.set()

    with ThreadPoolExecutor(2) as pool:
        for run in [pool.submit(first), pool.submit(second)]:
            run.result(60)
    assert seen == {"own": [], "other's": ["cache"], "nobody's": ["cache"]}
