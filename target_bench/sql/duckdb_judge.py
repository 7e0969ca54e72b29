"""Judge answers on SQLite databases in DuckDB: with copies of them, and translated statements."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock

from target_bench.core.errors import DataError
from target_bench.core.schema import Executed, Generation, Query, Retrieval
from target_bench.metrics.sql import JudgedAnswer, Rule
from target_bench.metrics.sql_results import same_rows
from target_bench.sql.databases import EngineName, database
from target_bench.sql.duckdb_copy import Copy, duckdb_copy
from target_bench.sql.gold_results import run_gold
from target_bench.sql.judge import Databases, LeftOutError, Pairs, SQLJudge, list_rows
from target_bench.sql.normalisation import LONGEST
from target_bench.sql.worker import Attempt, Jobs, explain_difference
from target_bench.sql.workers import Pool, StoppedError, Worker


class DuckDBJudge(SQLJudge):
    """A judge that runs SQLite databases as copies in DuckDB, and those of DuckDB as they are.

    A query whose gold has another result in DuckDB than in SQLite is left out.

    Args:
        pool, databases, rule, repeats, folder: as for ``SQLJudge``.
        dialect: of predictions on such copies: ``sqlite`` translates them, and runs them in SQLite
            too, by whose rows they are judged; ``duckdb`` runs them as they are.
    """

    def __init__(
        self,
        pool: Pool,
        databases: Databases,
        rule: Rule = "bird",
        repeats: int = 1,
        folder: Path | None = None,
        dialect: EngineName = "sqlite",
    ) -> None:
        super().__init__(pool, databases, rule, repeats, folder)
        self._dialect: EngineName = dialect
        self._lock = Lock()
        self._copies: dict[Path, Copy] = {}

    def judge(
        self, worker: Worker, query: Query, generation: Generation, retrieval: Retrieval | None
    ) -> JudgedAnswer:
        """Judge one answer in a worker, with notes on the copies that were used."""
        answer = super().judge(worker, query, generation, retrieval)
        if answer.left_out == "missing":
            return answer
        ids = [query.database_id] if answer.left_out else [query.database_id, answer.database]
        notes: dict[str, None] = {}
        for file in [self._databases[id] for id in ids if id is not None]:
            with suppress(DataError):
                if copy := self._get_copy(file):
                    notes |= {f"{file.name} in DuckDB: {note}": None for note in copy.notes}
        return replace(answer, engine="duckdb", notes=tuple(notes))

    def _run_statements(
        self, worker: Worker, gold_file: Path, file: Path | None, pairs: Pairs
    ) -> tuple[list[Executed], list[Attempt]]:
        here, in_sqlite = self._run_golds(worker, gold_file, pairs)
        if file is None:
            return here, []
        try:
            copy = self._get_copy(file)
            where = None if copy is None else tuple(database(copy.path))
        except DataError as error:
            return here, [Attempt(Executed("unusable", message=str(error)))]
        if copy is None or self._dialect == "duckdb":
            path = file if copy is None else copy.path
            return here, self._run_prediction(worker, path, pairs, here)
        details = where, str(file), copy.columns, list_rows(here)
        attempts = self._run_prediction(worker, file, pairs, in_sqlite, Jobs.run_in_both, *details)
        if not attempts[0].differs:  # its time is that of the engine that judges
            in_sqlite[0] = replace(in_sqlite[0], seconds=here[0].seconds)
        return in_sqlite, attempts

    def _run_golds(
        self, worker: Worker, file: Path, pairs: Pairs
    ) -> tuple[list[Executed], list[Executed]]:
        """Run golds in DuckDB and in SQLite; a ``LeftOutError`` where they differ."""
        here: list[Executed] = []
        in_sqlite: list[Executed] = []
        for sql, _ in pairs:
            is_second = bool(here)  # as Spider's rule runs it
            repeat = 1 if is_second else self._repeats
            try:
                copy = self._get_copy(file)
                path, text = self._translate(worker, file, copy, sql) if copy else (file, sql)
            except DataError as error:
                raise LeftOutError("unusable", str(error), *here[:1]) from error
            except (ValueError, StoppedError) as error:
                reason = f"the gold has no translation: {error}"
                raise LeftOutError("engines", reason, *here[:1]) from error
            here.append(run_gold(worker, path, text, repeat, self._folder))
            in_sqlite.append(
                run_gold(worker, file, sql, repeat, self._folder) if copy else here[-1]
            )
            for gold in (here[-1], in_sqlite[-1]):
                if gold.outcome == "unusable":
                    raise LeftOutError("unusable", gold.message, here[0])
            same = partial(same_rows, here[-1].rows, in_sqlite[-1].rows, is_second)
            if copy and (difference := explain_difference(here[-1], in_sqlite[-1], same)):
                suffix = " as ex[spider] runs it, without DISTINCT," if is_second else ""
                raise LeftOutError("engines", f"the gold{suffix} {difference}", here[0])
        return here, in_sqlite

    def _translate(self, worker: Worker, file: Path, copy: Copy, sql: str) -> tuple[Path, str]:
        """Return the file that a gold runs on, and its text there.

        Raises:
            ValueError: it has no translation.
            DataError: the database cannot be read.
            StoppedError: translating it met a limit.
        """
        if len(sql) > LONGEST:
            raise ValueError(f"it has {len(sql):,} characters; at most {LONGEST:,} are translated")
        details = sql, str(file), copy.columns
        where, text = worker.ask(Jobs.translate, *details, what="reading the statement")
        if where == "none":
            raise ValueError(text)
        return (copy.path if where == "copy" else file), text

    def _get_copy(self, file: Path) -> Copy | None:
        """Return the copy of a database, made once; None of one of DuckDB's.

        Raises:
            DataError: the database cannot be read.
        """
        if database(file).engine == "duckdb":
            return None
        with self._lock:
            if file not in self._copies:
                self._copies[file] = duckdb_copy(file)
            return self._copies[file]

    def _decide(
        self,
        answer: JudgedAnswer,
        problem: Executed | str | None,
        golds: Sequence[Executed],
        attempts: Sequence[Attempt],
    ) -> JudgedAnswer:
        """Return the answer as SQLite has it, or that the engines differ over the prediction."""
        answer = super()._decide(answer, problem, golds, attempts)
        if not attempts:
            return answer
        first, last = attempts[0].differs, attempts[-1].differs
        differs = first or (last and f"{last} (as ex[spider] runs it)")
        if not differs:
            return answer
        reason = f"it {differs}. {answer.verdict} by SQLite's rows"
        reason += f": {answer.reason}" if answer.reason else ""
        return replace(answer, verdict="translation_differs", reason=reason)
