"""Judge answers of a model: read their SQL, run it as the gold is run, and compare the results."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.errors import DataError
from target_bench.core.files import digest
from target_bench.core.schema import Executed, Generation, Query, Retrieval
from target_bench.metrics.sql import JudgedAnswer, LeftOut, Rule, give_verdict
from target_bench.sql.databases import database, find_engine
from target_bench.sql.gold_results import run_gold
from target_bench.sql.normalisation import LONGEST, rewrite_for_test_suite
from target_bench.sql.worker import Attempt, Jobs, Rows, preview, to_plain
from target_bench.sql.workers import Pool, StoppedError, Worker

VERSION = "judging:12"
"""The version of how SQL is read, run and compared: raise it if verdicts or scores can change."""

FORMAT = 1
"""The version of records and fingerprints; a record of another version is not used again."""

Databases = Mapping[str, Path]
"""Database id -> its file, of the databases that are here."""

Pairs = Sequence[tuple[str, str | None]]
"""Gold and prediction; then both as Spider's rule runs them, where that is another text."""

_LONGEST_SHOWN = 300  # characters of a statement in a reason
_LIMITS = ("timeout", "memory")
_MOST_STEPS = 16  # of a job that runs two texts once each


def hash_inputs(
    query: Query,
    generation: Generation,
    retrieval: Retrieval | None,
    database_id: str | None,
    databases: Databases,
    settings: Sequence[str],
) -> str:
    """Return a hash of all that the record of an answer follows from, file contents included.

    ``database_id`` is that of the database that its SQL was run on, if any, and ``settings`` all
    that changes a judgement beside answer and data.
    """
    answer = [
        *(query.id, generation.text, generation.error),
        *(query.references[0], query.database_id, _find_retrieved(retrieval)),
    ]
    contents = [_hash_file(databases.get(id or "")) for id in (query.database_id, database_id)]
    parts = [FORMAT, list(settings), answer, database_id, contents, sorted(databases)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _find_retrieved(retrieval: Retrieval | None) -> str | None:
    """Return the database of the first retrieved table."""
    return retrieval.tables[0].database_id if retrieval and retrieval.tables else None


def _hash_file(file: Path | None) -> str | None:
    with suppress(OSError):  # a file that cannot be read
        return None if file is None else digest(file)
    return None


class LeftOutError(Exception):
    """A query that cannot be judged, and what its gold gave, if it was run."""

    def __init__(self, kind: LeftOut, reason: str, gold: Executed | None = None) -> None:
        super().__init__(reason)
        self.kind: LeftOut = kind
        self.gold = gold


class _Reading(NamedTuple):
    """The SQL in an answer and its database; ``problem`` is an outcome, or why there is none."""

    sql: str | None = None
    spiders: str | None = None  # the same as Spider's rule runs it
    database_id: str | None = None
    problem: Executed | str | None = None


class SQLJudge:
    """A judge of answers, in the processes of a pool; every database runs in its own engine.

    Args:
        pool: whose processes, under whose limits.
        databases: the databases that may be asked.
        rule: which rule the verdicts follow.
        repeats: how often gold and prediction are run, for measures of efficiency; 1 for none.
        folder: where results of golds are kept; default: in the cache folder.
    """

    def __init__(
        self,
        pool: Pool,
        databases: Databases,
        rule: Rule = "bird",
        repeats: int = 1,
        folder: Path | None = None,
    ) -> None:
        self._pool = pool
        self._databases = databases
        self._rule: Rule = rule
        self._repeats = repeats
        self._folder = folder
        # What met a limit is not tried again for another query: that would meet it again, and a
        # submission may hold it ten thousand times. Keys are the database, "" for reading; the
        # texts that were run together; and where comparing was stopped the gold, with another of
        # which it may end.
        self._stops: dict[tuple[str, tuple[str, ...], str], Executed] = {}

    def judge_all(
        self,
        queries: Sequence[Query],
        generations: Mapping[str, Generation],
        retrievals: Mapping[str, Retrieval],
    ) -> Iterator[JudgedAnswer]:
        """Judge the answers to queries; each comes as soon as it is judged, in any order.

        Raises:
            BudgetError: the pool's budget is spent.
            StoreError: the result of a gold statement cannot be recorded.
        """

        def judge(worker: Worker, query: Query) -> JudgedAnswer:
            return self.judge(worker, query, generations[query.id], retrievals.get(query.id))

        return self._pool.map_unordered(judge, queries)

    def judge(
        self, worker: Worker, query: Query, generation: Generation, retrieval: Retrieval | None
    ) -> JudgedAnswer:
        """Judge one answer in a worker; errors as for ``judge_all``."""
        gold_sql, gold_file = query.references[0], self._databases.get(query.database_id)
        reading = self._read(worker, query, generation, retrieval)
        file = None if reading.problem else self._databases.get(reading.database_id or "")
        answer = JudgedAnswer(
            query.id,
            gold_sql=gold_sql,
            sql=reading.sql,
            database=reading.database_id,
            engine=find_engine(gold_file),
        )
        pairs = [(gold_sql, reading.sql), (rewrite_for_test_suite(gold_sql), reading.spiders)]
        if pairs[0] == pairs[1]:
            del pairs[1]
        try:
            if gold_file is None:
                raise LeftOutError("missing", "the database of the query is missing")
            golds, attempts = self._run_statements(worker, gold_file, file, pairs)
            if file == gold_file and attempts[0].executed.outcome == "unusable":
                raise LeftOutError("unusable", attempts[0].executed.message, golds[0])
        except LeftOutError as error:
            answer = replace(answer, reason=str(error), left_out=error.kind)
            return replace(answer, **_show(error.gold)) if error.gold else answer
        return self._decide(answer, reading.problem, golds, attempts)

    def _read(
        self, worker: Worker, query: Query, generation: Generation, retrieval: Retrieval | None
    ) -> _Reading:
        if generation.error is not None:
            return _Reading(problem=generation.error)
        if stop := self._stops.get(("", (generation.text,), "")):
            return _Reading(problem=stop)
        try:
            sql, spiders, named = worker.ask(Jobs.read, generation.text, what="reading the answer")
        except StoppedError as error:
            self._stops["", (generation.text,), ""] = error.executed
            return _Reading(problem=error.executed)
        if sql is None:
            return _Reading(problem="no SQL can be read from the answer")
        name = named or _find_retrieved(retrieval) or query.database_id
        database_id = _find_database(self._databases, name)
        if spiders is None:
            problem = f"it has {len(sql):,} characters; more than {LONGEST:,} are not run"
        elif database_id is None:
            problem = f"there is no database {name!r:.80}"
        else:
            return _Reading(sql, spiders, database_id)
        return _Reading(sql, problem=Executed("error", message=problem))

    def _run_statements(
        self, worker: Worker, gold_file: Path, file: Path | None, pairs: Pairs
    ) -> tuple[list[Executed], list[Attempt]]:
        """Run golds, and predictions if they have a file, each compared with its gold.

        Raises:
            LeftOutError: a gold has no result that can be compared.
        """
        golds: list[Executed] = []
        for sql, _ in pairs:
            repeat = 1 if golds else self._repeats
            golds.append(run_gold(worker, gold_file, sql, repeat, self._folder))
            if golds[-1].outcome == "unusable":
                raise LeftOutError("unusable", golds[-1].message, golds[0])
        return golds, self._run_prediction(worker, file, pairs, golds) if file else []

    def _run_prediction(
        self,
        worker: Worker,
        file: Path,
        pairs: Pairs,
        golds: Sequence[Executed],
        job: Callable[..., Any] = Jobs.run_and_compare,
        *details: Any,
    ) -> list[Attempt]:
        """Run and compare; what was stopped is the result of the prediction under every rule."""
        gold_sql, texts = pairs[0][0], tuple(text or "" for _, text in pairs)
        try:
            where = database(file)
        except DataError as error:
            return [Attempt(Executed("unusable", message=str(error)))]
        for gold in ("", gold_sql):
            if stop := self._stops.get((where.path, texts, gold)):
                return [Attempt(stop) for _ in texts]
        stops = [self._stops.get((where.path, (text,), "")) for text in texts]
        if all(stops):
            return [Attempt(stop) for stop in stops if stop]
        plain = [stop and to_plain(stop) for stop in stops]
        request = tuple(where), texts, self._repeats, list_rows(golds), gold_sql, plain, *details
        steps = _MOST_STEPS + 4 * self._repeats
        try:
            reply = worker.ask(job, *request, what="the statement", steps=steps)
        except StoppedError as error:
            gold = gold_sql if error.step.startswith("compare") else ""
            self._stops[where.path, texts, gold] = error.executed
            return [Attempt(error.executed) for _ in texts]
        except DataError as error:
            return [Attempt(Executed("unusable", message=str(error))) for _ in texts]
        attempts = [Attempt.from_plain(attempt) for attempt in reply]
        for text, attempt in zip(texts, attempts, strict=True):
            if attempt.executed.outcome in _LIMITS:  # the engine stopped it by itself
                self._stops[where.path, (text,), ""] = attempt.executed
        return attempts

    def _decide(
        self,
        answer: JudgedAnswer,
        problem: Executed | str | None,
        golds: Sequence[Executed],
        attempts: Sequence[Attempt],
    ) -> JudgedAnswer:
        """Return the answer with its verdict, scores, and the reason in words."""
        gold = golds[0]
        predicted = problem if isinstance(problem, Executed) else None
        values: dict[str, float] = {}
        if attempts:
            first, last = attempts[0], attempts[-1]
            predicted = first.executed
            values = {**first.values, **last.values}
            answer = replace(answer, rows=first.rows, result=first.preview)
        pair = (gold, predicted)  # as the rule runs them
        if attempts and self._rule == "spider":
            # One attempt for two texts, with the first gold, where the database cannot be read.
            pair = (golds[len(attempts) - 1], attempts[-1].executed)
        answer = give_verdict(answer, gold, predicted, values, self._rule, pair)
        if answer.verdict == "gold_failed":
            reason = f"gold: {pair[0].outcome}: {pair[0].message}"
        elif isinstance(problem, str):
            reason = problem
        else:
            reason = _explain_failure(answer, pair[1])
        outcome = predicted.outcome if predicted else None
        return replace(answer, reason=reason, outcome=outcome, **_show(gold))


def list_rows(golds: Sequence[Executed]) -> list[Rows | None]:
    """Return the rows of each gold; None if it failed."""
    return [gold.rows if gold.outcome == "executed" else None for gold in golds]


def _find_database(databases: Databases, name: str) -> str | None:
    """Return the id of a database by a name from a model: looked up, never made a path."""
    if name in databases:
        return name
    same = [other for other in databases if other.lower() == name.lower()]
    return same[0] if len(same) == 1 else None


def _show(gold: Executed) -> dict[str, Any]:
    return {"gold_rows": len(gold.rows), "gold_result": preview(gold)}


def _explain_failure(answer: JudgedAnswer, predicted: Executed | None) -> str:
    if predicted is None or not predicted.message:
        return ""
    if answer.sql is None or answer.spider == 0:
        return predicted.message
    # Spider's script runs another text, which may be right where this one fails.
    text = " ".join(rewrite_for_test_suite(answer.sql).split())
    text = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return f"{predicted.message}. ex[spider] is 1, for Spider's script runs: {text}"
