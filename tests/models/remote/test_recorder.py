"""Answers recorded in groups: none is lost, and whoever waits hears what happened."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from target_bench.core.errors import StoreError
from target_bench.models.remote.answer_cache import Answer, AnswerCache
from target_bench.models.remote.recorder import Recorder


class Watched(AnswerCache):
    """Counts groups, and fails when told to."""

    error: Exception | None = None

    def __init__(self, path: Path) -> None:
        super().__init__(path, lambda message: None)
        self.groups: list[int] = []

    def put_many(self, answers: Sequence[tuple[str, Answer]]) -> None:
        self.groups.append(len(answers))
        if self.error is not None:
            raise self.error
        super().put_many(answers)


@pytest.fixture
def cache(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "responses.sqlite")


def _keys(tmp_path: Path) -> set[str]:
    with sqlite3.connect(tmp_path / "responses.sqlite") as database:
        return {key for (key,) in database.execute("SELECT key FROM answers")}


def test_many_answers_are_few_groups(cache: Watched, tmp_path: Path) -> None:
    async def work() -> None:
        async with aclosing(Recorder(cache)) as recorder:
            await asyncio.gather(*(recorder.put(str(i), Answer(f"a{i}")) for i in range(500)))
            assert await recorder.get("499") == Answer("a499")
            await recorder.put("last", Answer("x"))

    asyncio.run(work())
    assert cache.groups == [500, 1]
    assert _keys(tmp_path) == {*map(str, range(500)), "last"}


def test_an_answer_is_in_the_file_when_put_returns(cache: Watched, tmp_path: Path) -> None:
    async def one(recorder: Recorder, i: int) -> None:
        await asyncio.sleep(i / 1000)
        await recorder.put(str(i), Answer("x"))
        assert str(i) in _keys(tmp_path)

    async def work() -> None:
        async with aclosing(Recorder(cache)) as recorder:
            await asyncio.gather(*(one(recorder, i) for i in range(40)))

    asyncio.run(work())
    assert sum(cache.groups) == 40


def test_what_is_cancelled_is_recorded_all_the_same(cache: Watched, tmp_path: Path) -> None:
    async def work() -> None:
        async with aclosing(Recorder(cache)) as recorder:
            putting = [asyncio.create_task(recorder.put(str(i), Answer("x"))) for i in range(3)]
            await asyncio.sleep(0)
            putting[1].cancel()
            await asyncio.gather(putting[0], putting[2])
            late = asyncio.create_task(recorder.put("late", Answer("x")))
            await asyncio.sleep(0)
            late.cancel()

    asyncio.run(work())
    assert _keys(tmp_path) == {"0", "1", "2", "late"}


@pytest.mark.parametrize("error", [StoreError("no room"), OverflowError("too large")])
def test_all_who_wait_hear_of_a_failure(cache: Watched, error: Exception) -> None:
    cache.error = error

    async def work() -> list[BaseException | None]:
        async with aclosing(Recorder(cache)) as recorder:
            puts = (recorder.put(str(i), Answer("x")) for i in range(3))
            found = await asyncio.gather(*puts, return_exceptions=True)
            cache.error = None
            await recorder.put("after", Answer("x"))
            return found

    assert asyncio.run(asyncio.wait_for(work(), 30)) == [error] * 3
    assert cache.groups == [3, 1]


def test_the_loop_goes_on_while_another_process_writes(cache: Watched, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "responses.sqlite", isolation_level=None)

    async def work() -> int:
        async with aclosing(Recorder(cache)) as recorder:
            other.execute("BEGIN IMMEDIATE")
            putting = asyncio.create_task(recorder.put("a", Answer("x")))
            turns = 0
            while not cache.groups or turns < 20:
                await asyncio.sleep(0.001)
                turns += 1
            assert not putting.done()
            other.execute("COMMIT")
            await putting
            return turns

    assert asyncio.run(asyncio.wait_for(work(), 30)) >= 20
    assert _keys(tmp_path) == {"a"}
    other.close()


def test_reading_does_not_stop_the_loop_while_another_process_writes(
    cache: Watched, tmp_path: Path
) -> None:
    other = sqlite3.connect(tmp_path / "responses.sqlite", isolation_level=None)

    async def work() -> None:
        async with aclosing(Recorder(cache)) as recorder:
            other.execute("BEGIN IMMEDIATE")
            putting = asyncio.create_task(recorder.put("a", Answer("x")))
            while not cache.groups:
                await asyncio.sleep(0.001)
            reading = asyncio.create_task(recorder.get("a"))
            await asyncio.sleep(0.01)
            assert not reading.done()
            other.execute("COMMIT")  # never reached if reading waits in the loop
            assert await reading == Answer("x")
            await putting

    asyncio.run(asyncio.wait_for(work(), 30))
    other.close()
