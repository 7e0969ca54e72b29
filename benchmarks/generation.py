"""How much the harness's remote generator costs beside a bare loop over the same client.

2,000 requests, 32 at a time, to a local server (a process of its own) that answers after 50 ms:

* a bare loop: asyncio, ``openai.AsyncOpenAI`` and a semaphore, no retries, nothing recorded;
* ``OpenAI.generate_many`` without the cache of answers;
* the same with the cache, empty at first: every answer is recorded;
* the same again, every answer recorded: nothing is sent.

With ``--tables K`` the requests are FeTaQA's 2,003 test questions with the first K tables of BM25,
and ours is the whole stage of generation: it reads the tables, writes them into prompts and records
the answers in a run folder. The bare loop makes the same prompts, each when its turn
comes; with ``--ready`` it is handed them. Needs ``TARGET_BENCH_DATA``.

They take turns, each turn in another order; medians count, and ratios are taken within a
turn. The processor time of this process stands beside them, because other work on the machine moves
it less.

    python -m benchmarks.generation [--requests 2000] [--concurrency 32] [--delay 0.05] [--repeat 5]
    python -m benchmarks.generation --tables 1
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import openai
from rich.console import Console
from rich.table import Table

from target_bench import corpora
from target_bench.core import contract
from target_bench.core.observer import Observer
from target_bench.core.schema import GenerationRequest, Message, Query
from target_bench.core.task_names import make_task
from target_bench.data.load import Loaded
from target_bench.generators.openai import OpenAI
from target_bench.harness.options import Options
from target_bench.harness.stages.generate import AnswerPlan, GenerateStage, GeneratorSpec
from target_bench.harness.stages.retrieve import Experiment
from target_bench.models.prompts.prompting import Prompt, Prompter
from target_bench.retrievers.bm25 import BM25
from target_bench.runs.manifest import Command
from target_bench.runs.store import Run

Times = tuple[float, float]
"""Seconds on the wall clock, and of the processor."""
Make = Callable[[], GenerationRequest]
"""Makes one request."""
Ours = Callable[[OpenAI], int]
"""Has everything answered by a generator; how many answers have text."""

IDENTITY = {
    **{"task": "question_answering", "corpus": "fetaqa", "split": "test"},
    **{"corpus_fingerprint": "", "queries_fingerprint": ""},
}
PROMPT = "| city | people |\n|---|---|\n| Oslo | 709037 |\n" * 40


def main() -> None:
    given = _arguments()
    command = [sys.executable, "-m", "tests.openai_server", "--port", "0"]
    command += ["--brief", "--delay", str(given.delay)]
    makes, ours = _synthetic(given.requests) if given.tables is None else _fetaqa(given.tables)
    if given.ready:
        ready = [make() for make in makes]
        makes = [partial(ready.__getitem__, i) for i in range(len(ready))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            seconds = _measured(server.stdout.readline().strip(), makes, ours, given)
        finally:
            server.terminate()
    _print(seconds, len(makes), given)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--tables", type=int, help="FeTaQA, with this many tables in a prompt")
    parser.add_argument("--ready", action="store_true", help="prompts of the bare loop are made")
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--repeat", type=int, default=5)
    return parser.parse_args()


def _synthetic(n: int) -> tuple[Sequence[Make], Ours]:
    def request(i: int) -> GenerationRequest:
        return GenerationRequest(str(i), "qa", (Message("user", f"{PROMPT}{i}"),), str(i))

    makes = [partial(request, i) for i in range(n)]

    def ours(generator: OpenAI) -> int:
        requests = (make() for make in makes)
        return sum(bool(a.text) for a in generator.generate_many(requests, Observer()))

    return makes, ours


def _fetaqa(k: int) -> tuple[Sequence[Make], Ours]:
    dataset = corpora.load("fetaqa", "test")
    retriever = BM25()
    retriever.embed_corpus(dataset.corpus.handed_out())
    ranked = contract.retrieve(retriever, dataset.queries, k, dataset.corpus.shuffled, stop=True)
    retrievals = {retrieval.query_id: retrieval for retrieval in ranked}
    prompter = Prompter("question-answering", Prompt.load("question_answering"))

    def ours(generator: OpenAI) -> int:
        with tempfile.TemporaryDirectory() as folder:
            store = Run(Path(folder), ["benchmark"], IDENTITY)
            command = Command(corpus="fetaqa", distractors=(), retriever="bm25", generator="openai")
            store.begin(command, len(dataset.queries))
            spec = GeneratorSpec("openai", {}, generator)
            plan = AnswerPlan(make_task("question_answering"), spec, prompter, k, {})
            experiment = Experiment(Loaded(dataset, 0.0), None, Options(), Observer())
            answers, _ = GenerateStage(plan, experiment, retrievals, store).run()
        return sum(bool(answered.generation.text) for answered in answers.values())

    def request(query: Query) -> GenerationRequest:
        tables = prompter.tables(dataset.corpus, retrievals[query.id].tables)
        return prompter.prompted(query, tables).request

    return [partial(request, query) for query in dataset.queries], ours


BARE = "bare asyncio + openai"
WITHOUT = "target-bench, cache off"
FILLING = "target-bench, cache on, all new"
FILLED = "target-bench, cache on, all recorded"


def _measured(
    url: str, makes: Sequence[Make], ours: Ours, given: argparse.Namespace
) -> dict[str, list[Times]]:
    width = given.concurrency

    def bare() -> None:
        asyncio.run(_bare(url, makes, width))

    def answered(cache: bool) -> None:
        assert ours(OpenAI("m", base_url=url, concurrency=width, cache=cache)) == len(makes)

    asyncio.run(_bare(url, makes[:100], width))  # imports and first-use costs, apart
    seconds: dict[str, list[Times]] = {name: [] for name in (BARE, WITHOUT, FILLING, FILLED)}
    order = random.Random(0)
    for _ in range(given.repeat):
        for name in order.sample((BARE, WITHOUT, FILLING), 3):
            if name == BARE:
                seconds[BARE].append(_timed(bare))
            elif name == WITHOUT:
                seconds[WITHOUT].append(_timed(lambda: answered(cache=False)))
            else:
                with tempfile.TemporaryDirectory() as folder:
                    os.environ["TARGET_BENCH_CACHE"] = folder
                    seconds[FILLING].append(_timed(lambda: answered(cache=True)))
                    seconds[FILLED].append(_timed(lambda: answered(cache=True)))
    return seconds


def _timed(work: Callable[[], None]) -> Times:
    start, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - busy


async def _bare(url: str, makes: Iterable[Make], width: int) -> None:
    places = asyncio.Semaphore(width)
    async with openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0) as client:

        async def one(make: Make) -> str | None:
            async with places:
                request = make()
                answer = await client.chat.completions.create(
                    model="m",
                    messages=[{"role": m.role, "content": m.content} for m in request.messages],  # type: ignore[misc]  # roles are text here
                    temperature=0.0,
                    max_tokens=512,
                    seed=0,
                )
            return answer.choices[0].message.content

        answers = await asyncio.gather(*map(one, makes))
    assert all(answers)


def _print(seconds: dict[str, list[Times]], n: int, given: argparse.Namespace) -> None:
    ideal = -(-n // given.concurrency) * given.delay
    title = f"{n:,} requests, {given.concurrency} at a time, {given.delay * 1000:g} ms"
    table = Table(title=f"{title}; waiting alone takes {ideal:.2f} s")
    for column in ("what", "seconds", "least", "most", "ratio", "CPU s", "CPU ratio"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, turns in seconds.items():
        walls, busy = [wall for wall, _ in turns], median(cpu for _, cpu in turns)
        ratio, cpu_ratio = _ratios(turns, seconds[BARE])
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
