"""Text-to-SQL: does the predicted SQL return what the gold SQL returns?"""

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from target_bench.core.answer_options import ANSWER_OPTIONS
from target_bench.core.errors import ConfigError
from target_bench.core.interfaces import Dataset, Metric
from target_bench.core.schema import NO_DATABASE, Generation, Query, Retrieval
from target_bench.metrics.sql import JudgedSQL, Rule, sql_metrics
from target_bench.sql.engines.databases import ran_in
from target_bench.sql.outcomes import report


@dataclass(frozen=True)
class JudgedStatements(JudgedSQL):
    """Judged predictions with the statements and their results; n queries.

    Attributes:
        judged: the judgement of each, with what was run and what it gave.
        notes: what a user should know of the databases as they were run.
        engine: what ran the statements; several names with ``+``.
    """

    judged: Sequence[Any] = ()
    notes: Sequence[str] = ()
    engine: str = "sqlite"


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
        workers: how many processes run statements; None for one a core. It changes no score.

    Raises:
        ConfigError: ``timeout`` is not a number above 0, or ``repeats`` or ``workers`` is less
            than 1.
    """

    name = "text_to_sql"
    title = "Text-to-SQL"
    aliases = ("sql", "text2sql", "nl2sql")
    input = "the schema of the database of the tables that were retrieved for a question"
    answer = "a SQL statement"
    reads: ClassVar[frozenset[str]] = frozenset({*ANSWER_OPTIONS, "schema_scope", "structured"})

    def __init__(
        self,
        engine: Literal["sqlite", "duckdb"] = "sqlite",
        rule: Rule = "bird",
        timeout: float = 30.0,
        repeats: int = 1,
        workers: int | None = None,
    ) -> None:
        if not 0 < timeout < math.inf:
            raise ConfigError(f"timeout={timeout:g}: expected seconds above 0")
        for name, number in (("repeats", repeats), ("workers", workers)):
            if number is not None and number < 1:
                raise ConfigError(f"{name}={number}: expected a number from 1")
        self.engine = engine
        self.rule: Rule = rule
        self.timeout = timeout
        self.repeats = repeats
        self.workers = workers
        self._budget: float | None = None
        self._read: dict[str, Any] = {}

    def metrics(self, _queries: Sequence[Query]) -> list[Metric[Any]]:
        """Execution accuracy under every rule, soft F1, and with ``repeats`` efficiency."""
        found: list[Metric[Any]] = []
        found += sql_metrics(timed=self.repeats > 1)
        return found

    def examples(
        self,
        dataset: Dataset,
        generations: Sequence[Generation],
        retrievals: Mapping[str, Retrieval],
    ) -> JudgedStatements:
        """Every prediction, executed and judged.

        Raises:
            ConfigError: the corpus has no databases.
            BudgetError: the budget is spent.
        """
        from target_bench.sql.dialect.engine_choice import speaker
        from target_bench.sql.engines.limits import Limits
        from target_bench.sql.execution import Judge
        from target_bench.sql.gold_results import GoldResults
        from target_bench.sql.workers.pool import Pool

        if all(query.database_id == NO_DATABASE for query in dataset.queries):
            raise ConfigError(f"{dataset.info.name} {dataset.split} has no databases to run SQL on")
        notes: list[str] = []
        speaks = speaker(self.engine, notes.append)
        with Pool(self.workers, Limits(seconds=self.timeout), self._budget) as pool:
            self._read_in(pool, [g.text for g in generations if g.error is None])
            cases = [
                _case(dataset, query, g, self._read.get(g.text), retrievals.get(query.id))
                for query, g in zip(dataset.queries, generations, strict=True)
            ]
            judge = Judge(pool, GoldResults(pool), speaks, self.rule, self.repeats)
            judged = list(judge.judged(cases))
        notes += _unusable(judged)
        ran = ran_in(self.engine, (dataset.databases.get(q.database_id) for q in dataset.queries))
        return JudgedStatements([found.query for found in judged], judged, notes, ran)

    def settings(self) -> list[str]:
        """What changes a score besides the metrics: engines, their versions and the limit."""
        from target_bench.core.identity import installed_version

        versions = [f"sqlite:{sqlite3.sqlite_version}"]
        if self.engine == "duckdb":
            versions += [f"{name}:{installed_version(name)}" for name in ("duckdb", "sqlglot")]
        chosen = [f"engine:{self.engine}", f"rule:{self.rule}", f"timeout:{self.timeout:g}"]
        return [*chosen, f"repeats:{self.repeats}", *versions]

    def limit_time(self, seconds: float) -> None:
        """Give all statements together no more than this."""
        self._budget = seconds

    def parse(self, text: str) -> str | None:
        """The SQL in an answer, or None where there is none, or a limit was met in reading it.

        It is read once, in a worker process, under the limits of a statement.
        """
        from target_bench.core.schema import Executed
        from target_bench.sql.engines.limits import Limits
        from target_bench.sql.workers.pool import Pool

        if text not in self._read:
            with Pool(1, Limits(seconds=self.timeout)) as pool:
                self._read_in(pool, [text])
        found = self._read[text]
        return None if isinstance(found, Executed) else found[0]

    def _read_in(self, pool: Any, texts: Iterable[str]) -> None:
        """Read answers in the processes of a pool, each text once."""
        new = [text for text in dict.fromkeys(texts) if text not in self._read]
        read = partial(pool.read, "extracted", what="reading the answer")
        self._read.update(zip(new, pool.do(partial(read, text) for text in new), strict=True))

    def report(self, dataset: Dataset, examples: JudgedStatements) -> dict[str, Any]:
        """Outcomes, and scores by hardness and by database."""
        more: dict[str, Any] = {"notes": list(examples.notes)} if examples.notes else {}
        if self.engine == "duckdb":
            more["compared"] = _COMPARED
        return report(dataset, examples.judged, examples.engine) | more

    def records(self, examples: JudgedStatements) -> Iterable[dict[str, Any]]:
        """What became of each query, for the run folder; no score of one that is not runnable."""
        from target_bench.sql.result_preview import readable

        for judged in examples.judged:
            case, query = judged.case, judged.query
            scores = {
                "ex[bird]": query.bird,
                "ex[spider]": query.spider,
                "ex[multiset]": query.multiset,
                "soft_f1": query.soft_f1,
            }
            yield {
                "query_id": case.query_id,
                "verdict": query.verdict,
                "reason": judged.reason,
                "sql": case.sql,
                "gold_sql": case.gold_sql,
                **(scores if judged.left_out is None else dict.fromkeys(scores)),
                "rows": judged.predicted_shape and judged.predicted_shape.rows,
                "gold_rows": judged.gold_shape and judged.gold_shape.rows,
                "result": readable(judged.predicted, judged.predicted_shape),
                "gold_result": readable(judged.gold, judged.gold_shape),
            }


def _case(
    dataset: Dataset, query: Query, generation: Generation, read: Any, retrieval: Retrieval | None
) -> Any:
    from target_bench.core.schema import Executed
    from target_bench.sql.execution import Case
    from target_bench.sql.statements import LONGEST

    gold = str(query.answer) if isinstance(query.answer, str) else query.answer[0]
    gold_file = dataset.databases.get(query.database_id)
    if generation.error is not None:
        return Case(query.id, gold, gold_file, None, None, generation.error)
    if isinstance(read, Executed):
        return Case(query.id, gold, gold_file, None, None, stopped=read)
    sql, named = read
    if sql is None:
        return Case(query.id, gold, gold_file, None, None, "no SQL can be read from the answer")
    if len(sql) > LONGEST:
        problem = f"it has {len(sql):,} characters; more than {LONGEST:,} are not run"
        return Case(query.id, gold, gold_file, sql, None, problem)
    asked_on = named or _retrieved(retrieval) or query.database_id
    file = _file(dataset.databases, asked_on)
    problem = "" if file else f"there is no database {asked_on!r:.80}"
    return Case(query.id, gold, gold_file, sql, file, problem)


def _unusable(judged: Sequence[Any]) -> list[str]:
    counts = Counter(found.reason for found in judged if found.left_out == "unusable")
    return [f"{reason} Queries that are therefore not run: {n}" for reason, n in counts.items()]


def _retrieved(retrieval: Retrieval | None) -> str | None:
    return retrieval.tables[0].database_id if retrieval and retrieval.tables else None


def _file(databases: Mapping[str, Path], name: str) -> Path | None:
    """The database of a name, which may come from a model: it is looked up, never made a path."""
    if name in databases:
        return databases[name]
    same = [found for found in databases if found.lower() == name.lower()]
    return databases[same[0]] if len(same) == 1 else None
