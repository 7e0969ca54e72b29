"""When requests are sent: limits a minute, pauses, and the window after them."""

import asyncio
from email.utils import formatdate
from itertools import pairwise

import pytest

from target_bench.core.errors import ConfigError
from target_bench.models.remote.rate_limits import ConcurrencyWindow, Limiter, retry_after
from tests.models.remote.fake_clock import FakeClock


def _silent(reason: str, seconds: float) -> None:
    pass


async def _timed(limiter: Limiter, tokens: int = 0) -> float:
    await limiter.turn(tokens, _silent)
    return limiter.clock.now()


def test_no_limit_makes_no_one_wait() -> None:
    clock = FakeClock()
    limiter = Limiter(clock=clock)
    assert set(clock.run(*(_timed(limiter, 10**6) for _ in range(20)))) == {1000.0}


def test_no_minute_has_more_requests_than_rpm() -> None:
    clock = FakeClock()
    limiter = Limiter(rpm=120, clock=clock)
    times = sorted(clock.run(*(_timed(limiter) for _ in range(300))))
    assert times[0] == 1000.0
    assert times[-1] == pytest.approx(1000 + 299 / 2)
    assert all(sum(t <= other < t + 59.99 for other in times) <= 120 for t in times)


def test_no_minute_has_more_tokens_than_tpm() -> None:
    clock = FakeClock()
    limiter = Limiter(tpm=6000, clock=clock)
    times = sorted(clock.run(*(_timed(limiter, 1000) for _ in range(13))))
    assert times[-1] == pytest.approx(1000 + 12 * 10)


def test_a_request_of_more_than_a_minute_of_tokens_is_sent_all_the_same() -> None:
    clock = FakeClock()
    limiter = Limiter(tpm=100, clock=clock)
    assert sorted(clock.run(*(_timed(limiter, 200) for _ in range(2)))) == [1000.0, 1120.0]


def test_tokens_that_were_not_used_are_given_back() -> None:
    clock = FakeClock()
    limiter = Limiter(tpm=6000, clock=clock)

    async def twice() -> float:
        await limiter.turn(1000, _silent)
        limiter.settle(1000, 100)
        return await _timed(limiter, 1000)

    assert clock.run(twice()) == [pytest.approx(1001.0)]


def test_a_pause_holds_everybody_and_is_reported_once() -> None:
    clock, told = FakeClock(), list[tuple[str, float]]()
    limiter = Limiter(clock=clock)
    begun = [limiter.pause(7, "HTTP 429", lambda r, s: told.append((r, s))) for _ in range(5)]
    assert set(clock.run(*(_timed(limiter) for _ in range(5)))) == {1007.0}
    assert begun == [True, False, False, False, False]
    assert told == [("HTTP 429", 7)]


def test_who_waits_for_a_place_is_held_by_a_pause_that_begins_meanwhile() -> None:
    clock = FakeClock()
    limiter = Limiter(rpm=60, clock=clock)

    async def pause() -> float:
        await clock.sleep(0.5)
        limiter.pause(10, "HTTP 429", _silent)
        return 0.0

    times = sorted(clock.run(pause(), *(_timed(limiter) for _ in range(4))))[1:]
    assert times[0] == 1000.0
    assert times[1] >= 1010.5
    assert all(later - earlier >= 0.999 for earlier, later in pairwise(times))


def test_the_own_limit_is_reported_once() -> None:
    clock, told = FakeClock(), list[str]()
    limiter = Limiter(rpm=6, tpm=90000, clock=clock)

    async def turn() -> None:
        await limiter.turn(1, lambda reason, _: told.append(reason))

    clock.run(*(turn() for _ in range(10)))
    assert told == ["at most 6 requests per minute and 90,000 tokens per minute"]


@pytest.mark.parametrize("name", ["rpm", "tpm"])
def test_a_limit_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}=0"):
        Limiter(**{name: 0})  # type: ignore[arg-type]  # one of both


def test_retry_after_in_every_form() -> None:
    today = 1_800_000_000.0
    assert retry_after({"Retry-After": "3"}, today) == 3
    assert retry_after({"retry-after": "0.5"}, today) == 0.5
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}, today) == 0.25
    assert retry_after({"retry-after": formatdate(today + 90, usegmt=True)}, today) == 90
    assert retry_after({"retry-after": formatdate(today - 90, usegmt=True)}, today) == 0
    assert retry_after({"retry-after": "-4"}, today) == 0


@pytest.mark.parametrize("value", ["soon", "", "nan", "inf"])
def test_a_senseless_retry_after_is_none(value: str) -> None:
    assert retry_after({"retry-after": value}, 0) is None


def test_a_window_halves_and_grows_again() -> None:
    inside, most = 0, list[int]()

    async def work(window: ConcurrencyWindow) -> None:
        nonlocal inside
        await window.enter()
        inside += 1
        most.append(inside)
        await asyncio.sleep(0)
        inside -= 1
        window.grow()
        window.leave()

    async def run() -> None:
        window = ConcurrencyWindow(8)
        await asyncio.gather(*(work(window) for _ in range(20)))
        assert max(most) == 8
        window.shrink()  # nobody inside: one at a time
        most.clear()
        await asyncio.gather(*(work(window) for _ in range(100)))
        assert most[0] == 1
        assert max(most) == 8

    asyncio.run(run())


def test_who_gives_up_waiting_takes_no_place() -> None:
    async def run() -> None:
        window = ConcurrencyWindow(1)
        await window.enter()
        waiting = asyncio.create_task(window.enter())
        await asyncio.sleep(0)
        window.leave()  # the place is given just before the wait is given up
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.wait_for(window.enter(), 1)

    asyncio.run(run())
