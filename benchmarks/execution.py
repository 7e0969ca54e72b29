"""How much faster a pool of workers is than a process for every query.

The ten prediction files of BIRD mini-dev on the databases that are there: prediction and gold are
executed and compared by BIRD's rule (equal sets of rows). Compared, at the same number of cores and
under the same limits of time and rows:

* target-bench, nothing recorded: one pool for all files, gold executed once;
* target-bench, gold recorded by an earlier run;
* a process per query that opens the database, runs both statements and sends the verdict: forked
  from the script (nothing to import, the cheapest there is), or a Python started afresh.

All use the same engine under the same limits, so that the difference is what processes cost.
All give the same verdicts, or the script fails. Predictions that meet the limit of time cost it on
any evaluator: they are found first and left out of the times.

    TARGET_BENCH_DATA=... python benchmarks/execution.py [--workers 2] [--repeat 3] [--files 10]
"""

import argparse
import gzip
import inspect
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from target_bench.core.schema import Executed
from target_bench.sql.engines import SQLite, SQLLimits
from target_bench.sql.gold_results import run_gold
from target_bench.sql.worker import confine
from target_bench.sql.workers import Pool, Worker

LIMITS = SQLLimits(seconds=10.0)
MARK = "\t----- bird -----\t"


Expected = tuple[tuple[Path, str], set[tuple[object, ...]] | None]


class Task(NamedTuple):
    database: Path
    gold: str
    prediction: str


def main() -> None:
    arguments = _arguments()
    tasks = _tasks(Path(os.environ["TARGET_BENCH_DATA"]) / "bird", arguments.files)
    tasks, endless = _within_limits(tasks, arguments.workers)
    times: dict[str, list[float]] = {}
    verdicts: dict[str, list[bool]] = {}
    for _ in range(arguments.repeat):
        with tempfile.TemporaryDirectory() as folder:
            ways: dict[str, Callable[[], list[bool]]] = {
                "target-bench": lambda: _judge_in_pool(tasks, Path(folder), arguments.workers),
                "target-bench, gold recorded": lambda: _judge_in_pool(
                    tasks, Path(folder), arguments.workers
                ),
                "a process per query, forked": lambda: _forked(tasks, arguments.workers),
                "a process per query, afresh": lambda: _afresh(tasks, arguments.workers),
            }
            for name, way in ways.items():
                start = time.perf_counter()
                verdicts[name] = way()
                times.setdefault(name, []).append(time.perf_counter() - start)
    first, *others = verdicts.values()
    assert all(other == first for other in others), "the verdicts differ"

    best = {name: min(runs) for name, runs in times.items()}
    ours = best["target-bench"]
    table = Table(
        title=f"{len(tasks)} BIRD mini-dev predictions, {arguments.workers} workers, "
        f"{sum(first)} correct"
    )
    for column in ("what", "seconds", "predictions/s", "ratio"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, seconds in best.items():
        table.add_row(
            name, f"{seconds:.2f}", f"{len(tasks) / seconds:,.0f}", f"{seconds / ours:.2f}"
        )
    console = Console(width=100)
    console.print(table)
    ratio = best["a process per query, forked"] / ours
    console.print(f"left out: {len(endless)} that met the limit of {LIMITS.seconds:g} s")
    console.print(f"target-bench is {ratio:.1f} × faster (at least 5)")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--files", type=int, default=10)
    return parser.parse_args()


def _tasks(folder: Path, files: int) -> list[Task]:
    questions = json.loads(gzip.decompress((folder / "mini_dev_sqlite.json.gz").read_bytes()))
    tasks = []
    for path in sorted((folder / "mini_dev_predictions").glob("*.json.gz"))[:files]:
        predictions = json.loads(gzip.decompress(path.read_bytes()))
        for number, question in enumerate(questions):
            name = question["db_id"]
            database = folder / "dev_databases" / name / f"{name}.sqlite"
            if database.is_file():
                prediction = str(predictions[str(number)]).split(MARK)[0]
                tasks.append(Task(database, question["SQL"], prediction))
    return tasks


def _within_limits(tasks: list[Task], workers: int) -> tuple[list[Task], list[Task]]:
    def outcome(worker: Worker, task: Task) -> tuple[Task, str]:
        return task, worker.run(task.database, task.prediction).outcome

    with Pool(workers, LIMITS) as pool:
        late = {
            task for task, verdict in pool.map_unordered(outcome, tasks) if verdict == "timeout"
        }
    return [task for task in tasks if task not in late], [task for task in tasks if task in late]


def _judge_in_pool(tasks: list[Task], folder: Path, workers: int) -> list[bool]:
    golds = list(dict.fromkeys((task.database, task.gold) for task in tasks))
    with Pool(workers, LIMITS) as pool:

        def expected_of(worker: Worker, gold: tuple[Path, str]) -> Expected:
            return gold, _rows(run_gold(worker, *gold, folder=folder))

        def verdict_of(worker: Worker, number: int) -> tuple[int, bool]:
            task = tasks[number]
            predicted = _rows(worker.run(task.database, task.prediction))
            return number, _equal(predicted, expected[task.database, task.gold])

        expected = dict(pool.map_unordered(expected_of, golds))
        verdicts = dict(pool.map_unordered(verdict_of, range(len(tasks))))
        return [verdicts[number] for number in range(len(tasks))]


def _rows(result: Executed) -> set[tuple[object, ...]] | None:
    return set(result.rows) if result.outcome == "executed" else None


def _equal(predicted: object, gold: object) -> bool:
    return predicted is not None and gold is not None and predicted == gold


def _forked(tasks: Iterable[Task], workers: int) -> list[bool]:
    with ThreadPoolExecutor(workers) as threads:
        return list(threads.map(_in_a_fork, tasks))


def _in_a_fork(task: Task) -> bool:
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_send_verdict, args=(task, sending))
    process.start()
    sending.close()
    try:
        return bool(receiving.recv()) if receiving.poll(2 * LIMITS.seconds) else False
    except EOFError:
        return False
    finally:
        process.kill()
        process.join()
        receiving.close()


def _send_verdict(task: Task, sending: Connection) -> None:
    sending.send(verdict(str(task.database), task.gold, task.prediction))


def _afresh(tasks: Iterable[Task], workers: int) -> list[bool]:
    with ThreadPoolExecutor(workers) as threads:
        return list(threads.map(_in_a_new_python, tasks))


PROGRAM = """
import sys
from pathlib import Path
from target_bench.sql.engines import SQLLimits, SQLite
from target_bench.sql.worker import confine
"""


def _in_a_new_python(task: Task) -> bool:
    source = "\n".join(inspect.getsource(function) for function in (verdict, _equal))
    program = f"{PROGRAM}\nLIMITS = {LIMITS!r}\n{source}\nprint(verdict(*sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, task)],
        capture_output=True,
        text=True,
        check=True,
        timeout=2 * LIMITS.seconds + 10,
    )
    return done.stdout.strip() == "True"


def verdict(database: str, gold: str, prediction: str) -> bool:
    confine(LIMITS)
    opened = SQLite(Path(database), LIMITS)
    predicted, expected = (
        set(ran.rows) if ran.outcome == "executed" else None
        for ran in map(opened.run, (prediction, gold))
    )
    return _equal(predicted, expected)


if __name__ == "__main__":
    main()
