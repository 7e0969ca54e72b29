"""Records of cache reads, and of entries that a run has computed itself."""

from concurrent.futures import ThreadPoolExecutor
from threading import Thread

from target_bench.core import cache_use
from target_bench.core.cache_use import CacheWatch


class _Noted:
    records_cache_hits = True


def test_what_was_computed_in_this_watch_is_not_read_from_a_cache() -> None:
    """In whichever thread; what was computed before is."""
    cache_use.record_computed("store", ["early"])
    watch = CacheWatch()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(cache_use.record_computed, "store", ["x", "y"]).result()
    cache_use.record_reads("a cache", "store", ["x", "y"])
    cache_use.record_reads("a cache", "store", [])
    assert watch.take_hits() == []
    cache_use.record_reads("a cache", "other", ["x"])
    assert watch.take_hits() == ["a cache"]
    cache_use.record_reads("a cache", "store", ["x", "early"])
    assert watch.take_hits() == ["a cache"]
    later = CacheWatch()
    cache_use.record_reads("a cache", "store", ["x"])
    assert later.take_hits() == ["a cache"]


def test_a_generator_with_a_cache_of_its_own_is_believed() -> None:
    watch = CacheWatch()
    cache_use.note_cached_answers(object(), any_cached=False)
    cache_use.note_cached_answers(_Noted(), any_cached=True)
    assert watch.take_hits() == []
    cache_use.note_cached_answers(object(), any_cached=True)
    assert watch.take_hits() == [cache_use.ANSWERS]


def test_turned_off_in_this_thread_alone() -> None:
    off: list[bool] = []
    with cache_use.disable_embedding_cache():
        assert cache_use.is_embedding_cache_disabled()
        thread = Thread(target=lambda: off.append(cache_use.is_embedding_cache_disabled()))
        thread.start()
        thread.join()
    assert not cache_use.is_embedding_cache_disabled()
    assert off == [False]
