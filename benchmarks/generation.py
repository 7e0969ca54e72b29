"""How much the harness's remote generator costs beside a bare loop over the same client.

2,000 requests, 32 at a time, to a local server (a process of its own) that answers after 50 ms:

* a bare loop: asyncio, ``openai.AsyncOpenAI`` and a semaphore, no retries, nothing recorded;
* ``OpenAI.generate_many`` without the cache of answers;
* the same with the cache, empty at first: every answer is recorded;
* the same again, every answer recorded: nothing is sent.

They take turns, each turn in another order; medians count, and ratios are taken within a
turn. The processor time of this process stands beside them, because other work on the machine moves
it less.

    python -m benchmarks.generation [--requests 2000] [--concurrency 32] [--delay 0.05] [--repeat 5]
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from statistics import median

import openai
from rich.console import Console
from rich.table import Table

from target_bench.generators.openai import OpenAI
from target_bench.interfaces import Observer
from target_bench.schema import GenerationRequest, Message

Times = tuple[float, float]
"""Seconds on the wall clock, and of the processor."""

PROMPT = "| city | people |\n|---|---|\n| Oslo | 709037 |\n" * 40


def main() -> None:
    given = _arguments()
    command = [sys.executable, "-m", "tests.openai_server", "--port", "0"]
    command += ["--delay", str(given.delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            seconds = _measured(server.stdout.readline().strip(), given)
        finally:
            server.terminate()
    _print(seconds, given)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--repeat", type=int, default=5)
    return parser.parse_args()


BARE = "bare asyncio + openai"
WITHOUT = "target-bench, cache off"
FILLING = "target-bench, cache on, all new"
FILLED = "target-bench, cache on, all recorded"


def _measured(url: str, given: argparse.Namespace) -> dict[str, list[Times]]:
    n, width = given.requests, given.concurrency
    seconds: dict[str, list[Times]] = {name: [] for name in (BARE, WITHOUT, FILLING, FILLED)}
    asyncio.run(_bare(url, 100, width))  # imports and first-use costs, apart
    _ours(url, 100, width, cache=False)
    order = random.Random(0)
    for _ in range(given.repeat):
        turns: list[tuple[str, Callable[[], None]]] = [
            (BARE, lambda: asyncio.run(_bare(url, n, width))),
            (WITHOUT, lambda: _ours(url, n, width, cache=False)),
            (FILLING, lambda: None),
        ]
        order.shuffle(turns)
        for name, work in turns:
            if name != FILLING:
                seconds[name].append(_timed(work))
                continue
            with tempfile.TemporaryDirectory() as folder:
                os.environ["TARGET_BENCH_CACHE"] = folder
                seconds[FILLING].append(_timed(lambda: _ours(url, n, width, cache=True)))
                seconds[FILLED].append(_timed(lambda: _ours(url, n, width, cache=True)))
    return seconds


def _timed(work: Callable[[], None]) -> Times:
    start, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - busy


async def _bare(url: str, n: int, width: int) -> None:
    places = asyncio.Semaphore(width)
    async with openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0) as client:

        async def one(i: int) -> str | None:
            async with places:
                answer = await client.chat.completions.create(
                    model="m",
                    messages=[{"role": "user", "content": f"{PROMPT}{i}"}],
                    temperature=0.0,
                    max_tokens=512,
                    seed=0,
                )
            return answer.choices[0].message.content

        answers = await asyncio.gather(*(one(i) for i in range(n)))
    assert all(answers)


def _ours(url: str, n: int, width: int, cache: bool) -> None:
    generator = OpenAI("m", base_url=url, concurrency=width, cache=cache)
    answers = list(generator.generate_many(_requests(n), Observer()))
    assert len(answers) == n
    assert all(answer.text for answer in answers)


def _requests(n: int) -> Iterator[GenerationRequest]:
    for i in range(n):
        yield GenerationRequest(str(i), "qa", (Message("user", f"{PROMPT}{i}"),), str(i))


def _print(seconds: dict[str, list[Times]], given: argparse.Namespace) -> None:
    ideal = -(-given.requests // given.concurrency) * given.delay
    title = f"{given.requests:,} requests, {given.concurrency} at a time, {given.delay * 1000:g} ms"
    table = Table(title=f"{title}; waiting alone takes {ideal:.2f} s")
    for column in ("what", "seconds", "least", "most", "ratio", "CPU s", "CPU ratio"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, found in seconds.items():
        walls, busy = [wall for wall, _ in found], median(cpu for _, cpu in found)
        ratio, cpu_ratio = _ratios(found, seconds[BARE])
        row = (median(walls), min(walls), max(walls), ratio, busy, cpu_ratio)
        table.add_row(name, *(f"{value:.3f}" for value in row))
    console = Console(width=110)
    console.print(table)
    for name in (WITHOUT, FILLING):
        over = _ratios(seconds[name], seconds[BARE])[0] - 1
        console.print(f"{name}: {over:+.1%} beside the bare loop (must stay under +5%)")


def _ratios(ours: list[Times], bare: list[Times]) -> Times:
    """Medians over the turns."""
    turns = list(zip(ours, bare, strict=True))
    return median(a[0] / b[0] for a, b in turns), median(a[1] / b[1] for a, b in turns)


if __name__ == "__main__":
    main()
