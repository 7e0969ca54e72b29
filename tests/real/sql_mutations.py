"""Gold statements changed in small ways, judged here and by BIRD's rule, which is written anew.

    python -m tests.real.sql_mutations 4000 [FIRST]

prints what differs in either engine, and of how many predictions DuckDB gives other rows.
"""

import random
import re
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

import sqlglot

from target_bench.metrics.sql import JudgedAnswer
from target_bench.sql.databases import EngineName
from target_bench.sql.engines import SQLLimits
from target_bench.sql.workers import Pool
from tests.real.databases import BIRD, SPIDER, bird_file, records, spider_file
from tests.sql.judging import Answer, judged_answers

SEED = 20_240_907
SECONDS = 10.0


class Mutant(NamedTuple):
    """A gold statement and one that was made from it."""

    file: Path
    gold: str
    kind: str
    sql: str


Change = Callable[[str, random.Random], str]


def _swap(sql: str, rng: random.Random) -> str:
    tree: Any = sqlglot.parse_one(sql, read="sqlite")
    items = list(tree.selects)
    rng.shuffle(items)
    tree.set("expressions", items)
    return str(tree.sql("sqlite"))


def _distinct(sql: str, _rng: random.Random) -> str:
    if re.search(r"\bDISTINCT\b", sql, re.IGNORECASE):
        return re.sub(r"\bDISTINCT\b\s*", "", sql, count=1, flags=re.IGNORECASE)
    return re.sub(r"\bSELECT\b", "SELECT DISTINCT", sql, count=1, flags=re.IGNORECASE)


def _like(sql: str, rng: random.Random) -> str:
    """LIKE for =, NOT LIKE for LIKE and the other way round."""
    if re.search(r"\bNOT LIKE\b", sql, re.IGNORECASE):
        return re.sub(r"\bNOT LIKE\b", "LIKE", sql, count=1, flags=re.IGNORECASE)
    if re.search(r"\bLIKE\b", sql, re.IGNORECASE):
        return re.sub(r"\bLIKE\b", "NOT LIKE", sql, count=1, flags=re.IGNORECASE)
    word = rng.choice(["LIKE", "NOT LIKE"])
    return re.sub(r"(?<![<>!=])=\s*(?=['\"])", f"{word} ", sql, count=1)


def _wrap(*forms: str) -> Change:
    def change(sql: str, rng: random.Random) -> str:
        tree: Any = sqlglot.parse_one(sql, read="sqlite")
        items = [item.unalias().sql("sqlite") for item in tree.selects]
        place = rng.randrange(len(items))
        items[place] = rng.choice(forms).format(items[place])
        tree.set("expressions", [sqlglot.parse_one(item, read="sqlite") for item in items])
        return str(tree.sql("sqlite"))

    return change


def _comment(sql: str, rng: random.Random) -> str:
    form = rng.choice(
        ["{}; -- all", "{} -- all; of it", "/* a; b */ {}", "-- a\n{}", "{} /* c */;"]
    )
    return form.format(sql.rstrip("; \n"))


def _limit(sql: str, rng: random.Random) -> str:
    sql = sql.rstrip("; \n")
    n = rng.choice([1, 2, 5, 1000])
    if re.search(r"\bLIMIT\s+\d+\s*\Z", sql, re.IGNORECASE):
        return re.sub(r"\bLIMIT\s+\d+\s*\Z", f"LIMIT {n}", sql, flags=re.IGNORECASE)
    return f"{sql} LIMIT {n}"


def _compare(sql: str, rng: random.Random) -> str:
    """Another operator, or a number as a text."""
    if rng.random() < 0.5:
        return re.sub(r"(=|<|>)\s*(\d+(?:\.\d+)?)\b", r"\1 '\2'", sql, count=1)
    changes = {">=": ">", "<=": "<", ">": ">=", "<": "<=", "=": "<>"}
    found = list(re.finditer(r">=|<=|(?<![<>!=])[<>=](?!=|>)", sql))
    if not found:
        return sql
    chosen = rng.choice(found)
    return f"{sql[: chosen.start()]} {changes[chosen[0]]} {sql[chosen.end() :]}"


CHANGES: dict[str, Change] = {
    "swap": _swap,
    "distinct": _distinct,
    "like": _like,
    "cast": _wrap("CAST({} AS INTEGER)", "CAST({} AS REAL)", "CAST({} AS TEXT)"),
    "function": _wrap("upper({})", "lower({})", "round({}, 1)", "({}) || ''", "coalesce({}, 0)"),
    "comment": _comment,
    "limit": _limit,
    "compare": _compare,
}


def mutants(databases: Sequence[str] | None = None) -> Iterator[Mutant]:
    """Yield statements without end, each kind of change as often; the same every time."""
    rng = random.Random(SEED)
    golds = [(spider_file(r["db_id"]), r["query"]) for r in records(SPIDER / "dev.json.gz")]
    golds += [(bird_file(r["db_id"]), r["SQL"]) for r in records(BIRD / "dev.json.gz")]
    golds = [
        (file, sql)
        for file, sql in golds
        if file.exists() and (databases is None or file.stem in databases)
    ]
    while True:
        for kind, change in CHANGES.items():
            file, gold = rng.choice(golds)
            with suppress(sqlglot.errors.SqlglotError):
                sql = change(gold, rng)
                if sql != gold:
                    yield Mutant(file, gold, kind, sql)


def official(mutant: Mutant) -> int | None:
    """Return BIRD's score: the sets of rows are equal; None if a statement takes too long."""
    with closing(sqlite3.connect(f"file:{mutant.file}?mode=ro", uri=True)) as connection:
        timer = Timer(SECONDS, connection.interrupt)
        timer.start()
        try:
            predicted = connection.execute(mutant.sql).fetchall()
            gold = connection.execute(mutant.gold).fetchall()
        except sqlite3.Error as error:
            return None if "interrupted" in str(error) else 0
        except sqlite3.Warning:  # several statements
            return 0
        finally:
            timer.cancel()
    return int(set(predicted) == set(gold))


def judge(chosen: Sequence[Mutant], engine: EngineName, workers: int) -> list[JudgedAnswer]:
    """Judge statements as answers of a model, in their order."""
    databases = {str(mutant.file): mutant.file for mutant in chosen}
    answers = [
        Answer(str(i), mutant.sql, mutant.gold, str(mutant.file)) for i, mutant in enumerate(chosen)
    ]
    with (
        Pool(workers, SQLLimits(seconds=SECONDS)) as pool,
        tempfile.TemporaryDirectory() as folder,
    ):
        return judged_answers(pool, Path(folder), answers, databases, engine)


def silent_differences(
    chosen: Sequence[Mutant], engine: EngineName, workers: int
) -> tuple[list[str], Counter[str]]:
    """Return where our score is not BIRD's, one line each, and the outcomes with their numbers.

    A query whose gold has no translation is left out, and says so.
    """
    lines = []
    outcomes = Counter[str]()
    for mutant, answer in zip(chosen, judge(chosen, engine, workers), strict=True):
        outcomes[answer.verdict] += 1
        expected = official(mutant)
        if expected is None or answer.verdict == "not_runnable":
            continue
        counted = answer.verdict == "translation_differs"
        if answer.bird != expected or (
            not counted and (answer.verdict == "correct") != bool(expected)
        ):
            lines.append(
                f"{engine} {mutant.kind} {mutant.file.stem}: BIRD {expected}, here "
                f"{answer.bird} ({answer.verdict} {answer.reason}): {mutant.sql!r}"
            )
    return lines, outcomes


def main() -> None:
    n, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    chosen = list(islice(mutants(), first, first + n))
    engines: tuple[EngineName, ...] = ("sqlite", "duckdb")
    for engine in engines:
        lines, outcomes = silent_differences(chosen, engine, workers=2)
        lines.append(f"{engine}: {len(lines)} silent differences, {dict(outcomes)}")
        sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
