"""Attempts, waits and requests that are the same, with a clock that does not wait."""

from collections.abc import Iterable
from itertools import pairwise
from random import Random

import pytest

from target_bench.core.errors import ConfigError, PluginError
from target_bench.models.remote.answer_cache import Answer
from target_bench.models.remote.endpoint import Asked, Endpoint, RetryPolicy, ServerState
from target_bench.models.remote.failures import Failure
from target_bench.models.remote.rate_limits import ConcurrencyWindow, Limiter
from tests.models.remote.fake_clock import FakeClock


class Memory:
    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}

    async def get(self, key: str) -> Answer | None:
        return self.answers.get(key)

    async def put(self, key: str, answer: Answer) -> None:
        self.answers[key] = answer


class Setting:
    """An endpoint whose server answers from a list; then it says ok, after a second."""

    def __init__(
        self,
        replies: Iterable[Failure] = (),
        recorded: Memory | None = None,
        retry_policy: RetryPolicy | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.sent: list[float] = []
        self.told: list[tuple[str, float]] = []
        self.state = ServerState()
        self._replies = iter(replies)
        self.endpoint = Endpoint(
            Limiter(clock=self.clock),
            ConcurrencyWindow(32),
            retry_policy or RetryPolicy(),
            self.state,
            recorded,
            Random(7),
            lambda reason, seconds: self.told.append((reason, seconds)),
            lambda failure: f"do something about {failure}",
        )

    async def send(self) -> Answer:
        self.sent.append(self.clock.now())
        failure = next(self._replies, None)
        await self.clock.sleep(0)
        if failure is not None:
            raise failure
        await self.clock.sleep(1)
        return Answer("ok")

    async def ask(self, key: str = "a") -> tuple[str, bool] | str:
        try:
            reply = await self.endpoint.ask(Asked(key, 10, self.send))
        except Failure as failure:
            return str(failure)
        return reply.answer.text, reply.cached


def _busy(wait: float | None = None) -> Failure:
    return Failure("rate_limit", "HTTP 429", again=True, wait=wait)


def _broken() -> Failure:
    return Failure("server_error", "HTTP 500", again=True)


def test_waits_grow_at_random_and_end() -> None:
    setting = Setting(_broken() for _ in range(99))
    [error] = setting.clock.run(setting.ask())
    assert error == "server_error: HTTP 500 (after 6 attempts)"
    waits = [b - a for a, b in pairwise(setting.sent)]
    assert len(waits) == 5
    assert all(wait <= 0.5 * 2**i for i, wait in enumerate(waits))
    assert len(set(waits)) == 5


def test_a_final_failure_is_sent_once() -> None:
    setting = Setting([Failure("bad_request", "HTTP 400")])
    assert setting.clock.run(setting.ask()) == ["bad_request: HTTP 400"]
    assert len(setting.sent) == 1


def test_retry_after_holds_all_and_is_reported_once() -> None:
    setting = Setting(_busy(20) for _ in range(8))
    replies = setting.clock.run(*(setting.ask(str(i)) for i in range(8)))
    assert replies == [("ok", False)] * 8
    assert set(setting.sent[:8]) == {1000.0}
    assert min(setting.sent[8:]) == 1020.0
    assert setting.told == [("HTTP 429", 20)]


def test_after_a_pause_not_all_come_back_at_once() -> None:
    setting = Setting(_busy(20) for _ in range(32))
    setting.clock.run(*(setting.ask(str(i)) for i in range(32)))
    assert sum(time == 1020.0 for time in setting.sent) <= 16


def test_a_wait_that_is_too_long_is_not_waited_for() -> None:
    """Nor is any other request sent: the run ends, and goes on another day."""
    setting = Setting([_busy(3600)])
    with pytest.raises(PluginError, match=r"429\. The server asks to wait 3600 s; .* again"):
        setting.clock.run(setting.ask())
    assert setting.clock.time == 1000.0
    assert len(setting.sent) == 1


def test_a_wait_of_nothing_is_as_if_none_was_asked_for() -> None:
    setting = Setting([_busy(0)] * 3)
    setting.clock.run(setting.ask())
    assert setting.clock.time > 1000.0


def test_all_waits_together_have_an_end() -> None:
    setting = Setting(
        (_busy(50) for _ in range(99)), retry_policy=RetryPolicy(attempts=99, total=120)
    )
    [error] = setting.clock.run(setting.ask())
    assert isinstance(error, str)
    assert len(setting.sent) == 3


def test_the_same_request_is_sent_once() -> None:
    setting = Setting(recorded=Memory())
    replies = setting.clock.run(*(setting.ask() for _ in range(10)))
    assert sorted(map(str, replies)) == ["('ok', False)"] + ["('ok', True)"] * 9
    assert len(setting.sent) == 1


def test_the_same_requests_fail_together_and_are_not_recorded() -> None:
    memory = Memory()
    setting = Setting([Failure("refusal", "no")], memory)
    assert setting.clock.run(*(setting.ask() for _ in range(3))) == ["refusal: no"] * 3
    assert not memory.answers
    assert setting.clock.run(setting.ask()) == [("ok", False)]


def test_without_records_every_request_is_sent() -> None:
    setting = Setting()
    setting.clock.run(*(setting.ask() for _ in range(10)))
    assert len(setting.sent) == 10


def test_hopeless_before_the_first_answer_ends_the_run() -> None:
    setting = Setting([Failure("authentication", "HTTP 401", hopeless=True)])
    with pytest.raises(ConfigError, match="do something about authentication: HTTP 401"):
        setting.clock.run(setting.ask())


@pytest.mark.parametrize(
    "failure",
    [
        Failure("authentication", "HTTP 401", hopeless=True),
        Failure("rate_limit", "HTTP 429", again=True, wait=9999),
    ],
)
def test_who_waits_for_a_place_is_not_sent_after_the_end(failure: Failure) -> None:
    setting = Setting(failure for _ in range(99))
    setting.endpoint._window = ConcurrencyWindow(4)

    async def ask(key: str) -> str:
        try:
            return str(await setting.ask(key))
        except (ConfigError, PluginError) as error:
            return type(error).__name__

    found = setting.clock.run(*(ask(str(i)) for i in range(16)))
    assert set(found) <= {"ConfigError", "PluginError"}
    assert len(setting.sent) == 4


def test_hopeless_after_the_first_answer_costs_one_query() -> None:
    setting = Setting()
    setting.clock.run(setting.ask())
    setting._replies = iter([Failure("authentication", "HTTP 401", hopeless=True)])
    assert setting.clock.run(setting.ask()) == ["authentication: HTTP 401"]


def test_connecting_takes_no_time_of_a_turn() -> None:
    setting = Setting()
    order: list[str] = []

    async def turn(tokens: int, tell: object) -> None:
        order.append("turn")

    setting.endpoint._limiter.turn = turn  # type: ignore[method-assign]  # to hear of it
    asked = Asked("a", 1, setting.send, lambda: order.append("connect"))
    setting.clock.run(setting.endpoint.ask(asked))
    assert order == ["connect", "turn"]


def test_no_attempt_is_refused() -> None:
    with pytest.raises(ConfigError, match="attempts=0"):
        RetryPolicy(attempts=0)
