"""Text-to-SQL: does the predicted SQL return what the gold SQL returns?"""

import sqlite3
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from target_bench.core.errors import ConfigError
from target_bench.core.interfaces import Dataset
from target_bench.core.metric import Metric
from target_bench.core.schema import NO_DATABASE, Generation, Judgement, Query, Retrieval
from target_bench.metrics.sql import VERSION as METRICS_VERSION
from target_bench.metrics.sql import JudgedSQL, Rule, sql_metrics
from target_bench.sql.answers import Answer, AnswerJudge, fingerprint
from target_bench.sql.engines.databases import named
from target_bench.sql.engines.limits import Limits
from target_bench.sql.execution import VERSION as JUDGING_VERSION
from target_bench.sql.judged_answer import JudgedAnswer
from target_bench.sql.outcomes import report
from target_bench.sql.workers.pool import Pool


@dataclass(frozen=True)
class JudgedStatements(JudgedSQL):
    """Judged predictions with the statements and their results; n queries.

    Attributes:
        judged: what became of each answer.
        asked_engine: ``sqlite`` or ``duckdb``, as it was asked for.
    """

    judged: Sequence[JudgedAnswer] = ()
    asked_engine: str = "sqlite"

    @property
    def engine(self) -> str:
        """What ran the statements; several names with ``+``."""
        return named(self.asked_engine, (found.engine for found in self.judged))

    @cached_property
    def notes(self) -> list[str]:
        """What a user should know of the databases as they were run."""
        return [
            *dict.fromkeys(note for found in self.judged for note in found.notes),
            *_unusable(self.judged),
        ]


_COMPARED = (
    "the gold in DuckDB with the gold in SQLite: floats within 1e-9 of each other are equal; "
    "predictions with the gold, both in DuckDB: exactly"
)


class TextToSQL:
    """Predicted SQL is executed, and its result compared with that of the gold SQL.

    A prediction runs on the database that it names (as ``{"sql": ..., "database_id": ...}``), else
    on that of the first retrieved table, else, where nothing was retrieved, on that of the query.
    The gold runs on the database of the query. A query whose database is missing or cannot be read
    is not runnable: it is in no denominator. A prediction of more than 100,000 characters is not
    run.

    Args:
        engine: ``sqlite`` runs every database in its own engine; ``duckdb`` runs SQLite databases
            as copies in DuckDB, statements translated, and leaves out queries whose gold gives
            another result there.
        rule: which rule the verdicts follow; every rule is scored.
        timeout: seconds that one statement may take.
        repeats: how often gold and prediction are run for VES and R-VES; 1 for neither.
        workers: how many processes run statements; default: as many as there are cores.
        budget: seconds that all statements together may take; None for no end.

    Raises:
        ConfigError: ``repeats`` is less than 1.
    """

    name = "text_to_sql"
    title = "Text-to-SQL"
    aliases = ("sql", "text2sql", "nl2sql")
    scores = "SQL"
    default_slices: ClassVar[tuple[str, ...]] = ("hardness", "difficulty", "database")
    judges: ClassVar[bool] = True

    def __init__(
        self,
        engine: Literal["sqlite", "duckdb"] = "sqlite",
        rule: Rule = "bird",
        timeout: float = 30.0,
        repeats: int = 1,
        workers: int | None = None,
        budget: float | None = None,
    ) -> None:
        if repeats < 1:
            raise ConfigError(f"repeats={repeats}: expected a number from 1")
        self.engine = engine
        self.rule: Rule = rule
        self.timeout = timeout
        self.repeats = repeats
        self.workers = workers
        self.budget = budget

    def metrics(self, _queries: Sequence[Query]) -> list[Metric[Any]]:
        """Execution accuracy under every rule, soft F1, and with ``repeats`` efficiency."""
        found: list[Metric[Any]] = []
        found += sql_metrics(timed=self.repeats > 1)
        return found

    def unjudged(
        self,
        dataset: Dataset,
        generations: Mapping[str, Generation],
        retrievals: Mapping[str, Retrieval],
        known: Mapping[str, Judgement],
    ) -> list[Query]:
        """The queries without a judgement of the answer and the data as they are now.

        A judgement is not kept either where a database was locked or damaged.

        Raises:
            ConfigError: the corpus has no databases.
        """
        if all(query.database_id == NO_DATABASE for query in dataset.queries):
            raise ConfigError(f"{dataset.info.name} {dataset.split} has no databases to run SQL on")
        answers = _answers(dataset.queries, generations, retrievals)
        settings = self.settings()

        def holds(judgement: Judgement | None, answer: Answer) -> bool:
            if judgement is None:
                return False
            with suppress(KeyError, TypeError, ValueError):
                judged = JudgedAnswer.from_json(judgement.query_id, judgement.record)
                now = fingerprint(answer, judged.database, dataset.databases, settings)
                return judged.is_final and judgement.fingerprint == now
            return False

        return [q for q in dataset.queries if not holds(known.get(q.id), answers[q.id])]

    def judge(
        self,
        queries: Sequence[Query],
        dataset: Dataset,
        generations: Mapping[str, Generation],
        retrievals: Mapping[str, Retrieval],
    ) -> Generator[Judgement, None, None]:
        """Execute the answers to some queries; each judgement comes as soon as it is there.

        Raises:
            BudgetError: the budget is spent.
            StoreError: the result of a gold statement cannot be recorded.
        """
        answers = _answers(queries, generations, retrievals)
        databases, settings = dataset.databases, self.settings()
        with Pool(self.workers, Limits(seconds=self.timeout), self.budget) as pool:
            judge = AnswerJudge(pool, databases, self.engine, self.rule, self.repeats)
            for found in judge.judged(answers.values()):
                of = fingerprint(answers[found.query_id], found.database, databases, settings)
                yield Judgement(found.query_id, of, found.to_json())

    def examples(
        self,
        dataset: Dataset,
        _generations: Sequence[Generation],
        judgements: Mapping[str, Judgement],
    ) -> JudgedStatements:
        """The judged answers to all queries of the dataset, in its order."""
        found = (judgements[query.id] for query in dataset.queries)
        judged = [JudgedAnswer.from_json(one.query_id, one.record) for one in found]
        return JudgedStatements([one.query for one in judged], judged, self.engine)

    def parsed(self, examples: JudgedStatements) -> list[str | None]:
        """The SQL in each answer; None where there is none, or a limit was met in reading it."""
        return [found.sql for found in examples.judged]

    def settings(self) -> list[str]:
        """What changes a score besides the metrics: versions of rules and engines, the limit."""
        from target_bench.core.identity import installed_version

        versions = [METRICS_VERSION, JUDGING_VERSION, f"sqlite:{sqlite3.sqlite_version}"]
        if self.engine == "duckdb":
            versions += [f"{name}:{installed_version(name)}" for name in ("duckdb", "sqlglot")]
        chosen = [f"engine:{self.engine}", f"rule:{self.rule}", f"timeout:{self.timeout:g}"]
        return [*chosen, f"repeats:{self.repeats}", *versions]

    def check_budget(self) -> None:
        """Do nothing: the budget is for executing, and scoring takes no time beside it."""

    def report(self, _dataset: Dataset, examples: JudgedStatements) -> dict[str, Any]:
        """Outcomes and schema linking."""
        more: dict[str, Any] = {"notes": examples.notes} if examples.notes else {}
        if self.engine == "duckdb":
            more["compared"] = _COMPARED
        return report(examples.judged, examples.engine) | more


def _answers(
    queries: Sequence[Query],
    generations: Mapping[str, Generation],
    retrievals: Mapping[str, Retrieval],
) -> dict[str, Answer]:
    """Query id -> the answer to it."""
    return {q.id: _answer(q, generations[q.id], retrievals.get(q.id)) for q in queries}


def _answer(query: Query, given: Generation, retrieval: Retrieval | None) -> Answer:
    gold = query.answer if isinstance(query.answer, str) else query.answer[0]
    retrieved = retrieval.tables[0].database_id if retrieval and retrieval.tables else None
    return Answer(query.id, given.text, given.error, gold, query.database_id, retrieved)


def _unusable(judged: Sequence[JudgedAnswer]) -> list[str]:
    counts = Counter(found.reason for found in judged if found.left_out == "unusable")
    return [f"{reason} Queries that are therefore not run: {n}" for reason, n in counts.items()]
