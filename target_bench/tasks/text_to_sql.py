"""Text-to-SQL: does the predicted SQL return what the gold SQL returns?"""

import math
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Literal

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric import Metric
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import (
    NO_DATABASE,
    AnswerKind,
    Dataset,
    Generation,
    Judgement,
    Query,
    Retrieval,
    TableId,
)
from target_bench.core.task import AnswerJudge, Predictions, PromptStyle, SummaryBlock, Task, View
from target_bench.core.text_tables import count_noun
from target_bench.metrics.sql import VERSION as METRICS_VERSION
from target_bench.metrics.sql import JudgedAnswer, JudgedSQL, Rule, sql_metrics
from target_bench.models.answer_reading import seconds_left
from target_bench.models.prompts.prompting import load_prompt
from target_bench.models.prompts.schema_prompting import (
    ANSWER_SCHEMA,
    DUCKDB_PROMPT,
    SchemaPrompter,
)
from target_bench.sql.duckdb_judge import DuckDBJudge
from target_bench.sql.engines import SQLLimits
from target_bench.sql.judge import VERSION as JUDGING_VERSION
from target_bench.sql.judge import SQLJudge, hash_inputs
from target_bench.sql.workers import Pool

_RETRIEVED = "gold_retrieved"
_COMPARED = {
    "sqlite": "gold and predictions run in DuckDB and in SQLite, and are scored by SQLite's rows; "
    "floats of both engines within 1e-9 of each other are equal",
    "duckdb": "the gold in DuckDB with the gold in SQLite: floats within 1e-9 of each other are "
    "equal; predictions with the gold, both in DuckDB: exactly",
}


class TextToSQL(Task[JudgedSQL], AnswerJudge):
    """Results of predicted SQL, compared with those of the gold SQL.

    A prediction runs on the database that it names (as ``{"sql": ..., "database_id": ...}``), else
    on that of the first retrieved table, else, where nothing was retrieved, on that of the query.
    The gold runs on the database of the query. A query whose database is missing or cannot be read
    is not runnable: no score counts it. A prediction of more than 100,000 characters is not run.

    Args:
        engine: ``sqlite`` runs every database in its own engine; ``duckdb`` runs SQLite databases
            as copies in DuckDB, with translated statements, and leaves out queries whose gold has
            another result there.
        rule: which rule the verdicts follow; every rule is scored.
        timeout: seconds that one statement may take.
        repeats: how often gold and prediction are run for R-VES, which 1 leaves out.
        workers: how many processes run statements; None for one a core. It changes no score.
        dialect: of predictions, with the engine ``duckdb``. ``sqlite`` runs them in SQLite and,
            translated, in DuckDB; SQLite's rows are scored, and predictions with other rows in
            DuckDB are counted as ``translation_differs``. ``duckdb`` asks for DuckDB's SQL and runs
            it as it is.

    Raises:
        ConfigError: ``timeout`` is not a number above 0, ``repeats`` or ``workers`` is less than
            1, or the dialect is DuckDB's and the engine is not.
    """

    name = "text_to_sql"
    title = "Text-to-SQL"
    aliases = ("sql", "text2sql", "nl2sql", "text_to_sql_task")
    scores = "SQL"
    main = "ex[bird]"
    answer: ClassVar[AnswerKind] = "sql"
    view = View(
        "the schema of the database of the tables that were retrieved for a question",
        "a SQL statement",
        slices=("hardness", "difficulty", "database", _RETRIEVED),
        summary=lambda report: _summarize(report),  # functions and names below
        breakdown=lambda report: {_WHY[why]: n for why, n in report.get("wrong", {}).items()},
        properties=("outcome", _RETRIEVED),
        detail=lambda record: {name: record[name] for name in _DETAIL if name in record},
    )

    def __init__(
        self,
        engine: Literal["sqlite", "duckdb"] = "sqlite",
        rule: Rule = "bird",
        timeout: float = 30.0,
        repeats: int = 1,
        workers: int | None = None,
        dialect: Literal["sqlite", "duckdb"] = "sqlite",
    ) -> None:
        if not 0 < timeout < math.inf:
            raise ConfigError(f"timeout={timeout:g}: expected seconds above 0")
        for name, number in (("repeats", repeats), ("workers", workers)):
            if number is not None and number < 1:
                raise ConfigError(f"{name}={number}: expected a number from 1")
        if dialect == "duckdb" and engine == "sqlite":
            raise ConfigError("dialect=duckdb: SQL of DuckDB runs in DuckDB; add engine=duckdb")
        self.engine = engine
        self.dialect = dialect
        if engine == "duckdb":
            self.packages = ("duckdb", "sqlglot")
        self.rule: Rule = rule
        self.timeout = timeout
        self.repeats = repeats
        self.workers = workers
        self.judge = self
        self.prompt = PromptStyle(
            writer=self._prompt_writer,
            schema=ANSWER_SCHEMA,
            reads_prose=True,  # SQL in a fence, say, of a server that ignores the schema
            file=DUCKDB_PROMPT if dialect == "duckdb" else None,
        )

    def check(self, dataset: Dataset) -> None:
        """Check that every query has one gold statement.

        Raises:
            DataError: one has several.
        """
        for query in dataset.queries:
            if not isinstance(query.answer, str) and len(query.answer) > 1:
                raise DataError(
                    f"query {query.id!r}: expected one SQL statement as the answer, found "
                    f"{len(query.answer)}; results are compared with that of one"
                )

    def _prompt_writer(
        self, options: RunConfig, databases: Mapping[str, Path], _follows_schema: bool
    ) -> SchemaPrompter:
        """Make the writer of prompts with schemas, which ask for JSON in words, as of any model."""
        return SchemaPrompter(
            self.name,
            load_prompt(self, options),
            options.table_format,
            ANSWER_SCHEMA if options.structured else None,
            self.answer,
            self.prompt.reads_prose,
            scope=options.schema_scope,
            databases=databases,
            dialect=self.dialect,
        )

    def metrics(
        self, _queries: Sequence[Query], _cutoffs: Sequence[int] = ()
    ) -> list[Metric[JudgedSQL]]:
        """Return execution accuracy under every rule, soft F1, and with ``repeats`` efficiency."""
        return [*sql_metrics(timed=self.repeats > 1)]

    def find_unjudged(
        self,
        dataset: Dataset,
        generations: Mapping[str, Generation],
        retrievals: Mapping[str, Retrieval],
        stored: Mapping[str, Judgement],
    ) -> list[Query]:
        """Return the queries without a judgement of the answer and the data as they are now.

        A judgement is not kept either where a database was locked or damaged.

        Raises:
            ConfigError: the corpus has no databases.
        """
        if all(query.database_id == NO_DATABASE for query in dataset.queries):
            raise ConfigError(f"{dataset.info.name} {dataset.split} has no databases to run SQL on")
        databases, settings = dataset.databases, self.settings()

        def is_current(query: Query) -> bool:
            generation, retrieval = generations[query.id], retrievals.get(query.id)
            judgement = stored.get(query.id)
            if judgement is None:
                return False
            with suppress(KeyError, TypeError, ValueError):
                answer = JudgedAnswer.from_json(query.id, judgement.record)
                inputs = query, generation, retrieval, answer.database
                fingerprint = hash_inputs(*inputs, databases, settings)
                return answer.is_final and judgement.fingerprint == fingerprint
            return False

        return [query for query in dataset.queries if not is_current(query)]

    def make_judgements(
        self,
        queries: Sequence[Query],
        dataset: Dataset,
        generations: Mapping[str, Generation],
        retrievals: Mapping[str, Retrieval],
    ) -> Generator[Judgement, None, None]:
        """Execute the answers to some queries; yield each judgement as soon as it is made.

        Raises:
            BudgetError: the budget is spent.
            StoreError: the result of a gold statement cannot be recorded.
        """
        databases, settings = dataset.databases, self.settings()
        by_id = {query.id: query for query in queries}
        with Pool(self.workers, SQLLimits(seconds=self.timeout), seconds_left()) as pool:
            options = pool, databases, self.rule, self.repeats
            judge = SQLJudge(*options)
            if self.engine == "duckdb":
                judge = DuckDBJudge(*options, dialect=self.dialect)
            for answer in judge.judge_all(queries, generations, retrievals):
                id = answer.query_id
                inputs = by_id[id], generations[id], retrievals.get(id), answer.database
                fingerprint = hash_inputs(*inputs, databases, settings)
                yield Judgement(id, fingerprint, answer.to_json())

    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedSQL:
        """Return the judged answers to all queries of the dataset, in its order."""
        judgements = (predictions.judgements[query.id] for query in dataset.queries)
        judged = [JudgedAnswer.from_json(stored.query_id, stored.record) for stored in judgements]
        # With ``no-context``, and of a file of predictions, no query has tables.
        tables = {id: ranking.tables for id, ranking in predictions.rankings.items()}
        retrieved = [_are_shown(query.gold, tables.get(query.id, ())) for query in dataset.queries]
        return JudgedSQL(judged, retrieved if any(tables.values()) else ())

    def properties(self, examples: JudgedSQL) -> dict[str, list[str]]:
        """Return the outcome of each answer, and whether the gold tables had been retrieved."""
        outcomes: list[str] = [answer.verdict for answer in examples.answers]
        retrieved = ["yes" if all_there else "no" for all_there in examples.gold_retrieved]
        return {"outcome": outcomes} | ({_RETRIEVED: retrieved} if retrieved else {})

    def parse_answers(self, examples: JudgedSQL) -> list[str | None]:
        """Return the SQL in each answer; None if there is none or a limit stopped its parsing."""
        return [answer.sql for answer in examples.answers]

    def settings(self) -> list[str]:
        """List the settings that change a score: versions of rules, the engine, the limit."""
        versions = [METRICS_VERSION, JUDGING_VERSION]
        chosen = [f"engine:{self.engine}", f"rule:{self.rule}", f"timeout:{self.timeout:g}"]
        if self.dialect != "sqlite":
            chosen.append(f"dialect:{self.dialect}")
        return [*chosen, f"repeats:{self.repeats}", *versions]

    def report(self, _dataset: Dataset, examples: JudgedSQL) -> dict[str, Any]:
        """Return the outcomes, and notes on the databases."""
        answers = examples.answers
        engines = {answer.engine for answer in answers if answer.engine is not None}
        left_out = {a.query_id: a for a in answers if a.left_out is not None}
        report: dict[str, Any] = {
            "engine": "+".join(sorted(engines)) or self.engine,
            "judged": len(answers) - len(left_out),
            "not_runnable": dict(Counter(answer.left_out for answer in left_out.values())),
            "outcomes": dict(Counter(answer.verdict for answer in answers).most_common()),
            "left_out": {id: answer.reason for id, answer in left_out.items()},
        }
        if notes := _list_notes(answers):
            report["notes"] = notes
        if wrong := self._count_wrong(examples):
            report["wrong"] = wrong
        if self.engine == "duckdb":
            report["compared"] = _COMPARED[self.dialect]
        return report

    def _count_wrong(self, examples: JudgedSQL) -> dict[str, dict[str, int]]:
        """Count the outcomes of wrong predictions by whether the gold tables were retrieved."""
        counts: dict[str, Counter[str]] = {}
        unknown: Sequence[bool | None] = [None] * len(examples.answers)
        retrieved = examples.gold_retrieved or unknown
        names = {True: "retrieved", False: "not_retrieved", None: "not_ranked"}
        for answer, all_there in zip(examples.answers, retrieved, strict=True):
            if answer.verdict not in _NO_FAULT and not getattr(answer, self.rule):
                counts.setdefault(names[all_there], Counter())[answer.verdict] += 1
        return {name: dict(counted.most_common()) for name, counted in sorted(counts.items())}


def _list_notes(answers: Sequence[JudgedAnswer]) -> list[str]:
    """Return the notes on the databases."""
    unusable = Counter(answer.reason for answer in answers if answer.left_out == "unusable")
    return [
        *dict.fromkeys(note for answer in answers for note in answer.notes),
        *(f"{why} Queries that are therefore not run: {n}" for why, n in unusable.items()),
    ]


def _are_shown(gold: Sequence[TableId], ranking: Sequence[TableId]) -> bool:
    """Return whether all gold tables were retrieved, and are of the database that a prompt shows.

    That is the database of the first table, whichever tables of it are shown.
    """
    databases = {table.database_id for table in gold}
    return set(gold) <= {*ranking} and databases <= {table.database_id for table in ranking[:1]}


_NO_FAULT = ("not_runnable", "gold_failed")  # of the prediction, though the second scores 0
_MOST_NOTES = 5
_DETAIL: tuple[str, ...] = (
    "verdict",
    "reason",
    "sql",
    "gold_sql",
    "rows",
    "gold_rows",
    "result",
    "gold_result",
)
DIFFER = "gave other rows in DuckDB than in SQLite, scored by SQLite's"
_LEFT_OUT = {
    "missing": "not runnable (their databases are missing)",
    "unusable": "not runnable (their databases cannot be read)",
    "engines": "left out (their gold is not the same in DuckDB as in SQLite)",
}


def _summarize(report: Mapping[str, Any]) -> list[SummaryBlock]:
    """Return scored and excluded queries, outcomes, notes, and accuracy by group."""
    blocks = [_count_judged(report), SummaryBlock("outcomes", report["outcomes"])]
    if "wrong" in report:
        shares = [_describe_wrong(name, counts) for name, counts in report["wrong"].items()]
        blocks.append(SummaryBlock("wrong", text=", ".join(shares), is_always_shown=True))
    notes = report.get("notes", ())
    blocks += [SummaryBlock("note", text=note) for note in notes[:_MOST_NOTES]]
    if len(notes) > _MOST_NOTES:
        more = f"{len(notes) - _MOST_NOTES} more notes are in scores.json"
        blocks.append(SummaryBlock("", text=more))
    return [*blocks, *_list_groups(report.get("by", {}))]


def _count_judged(report: Mapping[str, Any]) -> SummaryBlock:
    """Return how many queries are scored, in which engine, and why others are left out."""
    left_out = report["not_runnable"]
    reasons = [f"{n} {_LEFT_OUT[why]}" for why, n in left_out.items()]
    counts = f"{report['judged']} of {report['judged'] + sum(left_out.values())} queries"
    if differing := report["outcomes"].get("translation_differs"):
        reasons.append(f"{count_noun(differing, 'prediction')} {DIFFER}")
    text = "; ".join([counts, *reasons])
    return SummaryBlock(f"judged in {report['engine']}", text=text, is_always_shown=bool(differing))


_WHY: Mapping[str, str] = {
    "not_retrieved": "because not retrieved",
    "retrieved": "although retrieved",
    "not_ranked": "",
}


def _describe_wrong(name: str, counts: Mapping[str, int]) -> str:
    """Say how many predictions are wrong, and how many of them name unknown tables or columns."""
    unknown = [
        f"{counts[outcome]} of unknown {what}s"
        for outcome, what in (("unknown_table", "table"), ("unknown_column", "column"))
        if outcome in counts
    ]
    details = f" ({', '.join(unknown)})" if unknown else ""
    return f"{sum(counts.values())} {_WHY[name]}".rstrip() + details


def _list_groups(by: Mapping[str, Mapping[str, Any]]) -> Iterator[SummaryBlock]:
    for name, groups in by.items():
        shares = {
            f"{group} ({accuracies['runnable']})": f"{accuracies['ex[bird]']:.3f}"
            for group, accuracies in groups.items()
            if accuracies["runnable"]
        }
        if len(shares) > 1:
            yield SummaryBlock(f"ex[bird] by {name}", shares)
