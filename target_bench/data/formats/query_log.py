"""A log of questions with their SQL as a file of questions: gold are the tables that the SQL reads.

A log is divided by time or by chance into ``train``, the log itself, and ``test``, what is asked.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import Release
from target_bench.core.schema import NO_DATABASE, Corpus, Query, TableId
from target_bench.core.text_tables import first_of
from target_bench.data.formats import records

_QUESTION_FIELDS = ("query", "question", "natural_language", "utterance")
_TIME_FIELDS = (
    *("time", "timestamp", "datetime", "date", "created_at", "asked_at", "executed_at"),
    *("start_time", "creation_time", "query_start_time", "end_time"),
)
_TABLES_READ = "tables_read"  # the entry of a question's metadata with the names in its SQL
_DIALECTS = ("", "bigquery", "snowflake", "tsql", "mysql", "duckdb", "sqlite", "spark", "oracle")
_MOST_BARE_JOINS = 10
_MOST_NAMED = 5  # questions, in a note

LOG, REST, REPEATED = "train", records.DEFAULT_SPLIT, "repeated"
"""The splits of a divided log; questions of the rest whose text is in the log are ``repeated``."""

_UNREADABLE = "rows of the log whose SQL cannot be parsed, which are left out"
_TABLELESS = "rows of the log whose SQL reads no table, which are left out"
_WORDLESS = "rows of the log with SQL and no question, which only the retriever history reads"

Entry = tuple[str, Any]
"""Where a record stands, and the record."""


class Division(NamedTuple):
    """How a log is divided: what orders its rows, and the share of the first ones, the log."""

    order: str
    share: float
    seed: int = 0

    @classmethod
    def parse(cls, text: object, seed: object = 0) -> "Division":
        """Read ``time:.8`` or ``random:.8``.

        Raises:
            ConfigError: it is written otherwise.
        """
        match = re.fullmatch(r"(time|random):(0?\.\d+)", str(text))
        if match is None or not 0 < float(match[2]) < 1:
            raise ConfigError(
                f"split={text}: write time:.8 or random:.8: what divides the questions, and the "
                "share of the first ones, which are the log"
            )
        if type(seed) is not int:
            raise ConfigError(f"seed={seed!r}: a whole number is needed")
        return cls(match[1], float(match[2]), seed)


class LogReader(NamedTuple):
    """Reads a file of questions, which may be a log with SQL, and divides it where asked to.

    Args:
        division: how it is divided; None: by its field ``split``, if it has one.
    """

    division: Division | None = None

    @classmethod
    def take_settings(cls, settings: dict[str, Any]) -> "LogReader":
        """Take ``split`` and ``seed`` out of the settings of a corpus."""
        split, seed = settings.pop("split", None), settings.pop("seed", 0)
        return cls(None if split is None else Division.parse(split, seed))

    def prepare(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Yield the questions of a file under the names of their fields, each in its split."""
        divided = self.divide(entries)
        return (entry for entry in divided if not _is_wordless(entry[1]))

    def divide(self, entries: Iterable[Entry]) -> Iterable[Entry]:
        """Yield all rows, as ``prepare`` does."""
        renamed = _rename(entries)
        return renamed if self.division is None else _divide(list(renamed), self.division)

    def read_queries(
        self,
        release: Release,
        path: Path,
        split: str,
        database_id: str = NO_DATABASE,
        gold_of: records.GoldOf | None = None,
    ) -> Iterator[Query]:
        """Yield the questions of a split, with the names of the tables that their SQL reads."""
        records.note_other_splits(release, path, split, self.prepare)
        for place, record in self.divide(records.read_records(release, path)):
            if _is_wordless(record):
                release.remark(_WORDLESS, place)
        queries = records.read_queries(release, path, split, database_id, gold_of, self.prepare)
        yield from read_sql(queries, release, path)


def _rename(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the rows, those with SQL with fields as a question has them."""
    for number, (place, record) in enumerate(entries, start=1):
        field = records.find_sql_field(record) if isinstance(record, dict) else None
        yield place, record if field is None else _rename_fields(record, field, number)


def _rename_fields(record: Mapping[str, Any], field: str, number: int) -> dict[str, Any]:
    names = {str(name).lower(): name for name in record}
    known = [names[n] for n in _QUESTION_FIELDS if n in names and names[n] != field]
    moved = {field: "sql"} | ({known[0]: "query"} if known else {})
    renamed = {moved.get(name, name): value for name, value in record.items()}
    return {"query_id": str(number), "table_id": None, **renamed}


def _is_wordless(record: Any) -> bool:
    return isinstance(record, dict) and "sql" in record and not record.get("query")


def _divide(entries: Sequence[Entry], division: Division) -> Iterator[Entry]:
    """Yield all rows, each with its split."""
    for place, record in entries:
        if not isinstance(record, dict):
            raise DataError(f"{place}: {record!r:.80} is no question; write an object with fields")
    if division.order == "time":
        times = [_read_time(record, place) for place, record in entries]
        # Rows of one moment stay together: none of them is before any other.
        first = sorted(times)[min(int(division.share * len(times)), len(times) - 1)] if times else 0
        in_log = [time < first for time in times]
    else:
        order = list(range(len(entries)))
        Random(division.seed).shuffle(order)  # noqa: S311 (a sample, no secret)
        chosen = set(order[: int(division.share * len(order))])
        in_log = [number in chosen for number in range(len(entries))]
    pairs = list(zip(entries, in_log, strict=True))
    texts = {_normalize(record) for (_, record), is_log in pairs if is_log}
    for (place, record), is_log in pairs:
        split = LOG if is_log else REPEATED if _normalize(record) in texts else REST
        yield place, {**record, "split": split}


def _normalize(record: Mapping[str, Any]) -> str:
    return " ".join(str(record.get("query") or record.get("sql")).lower().split())


def _read_time(record: Mapping[str, Any], place: str) -> float:
    names = {str(name).lower(): name for name in record}
    name = next((names[field] for field in _TIME_FIELDS if field in names), None)
    if name is None:
        raise DataError(
            f"{place}: split=time needs a field with the time of each question; its name is one of "
            f"{', '.join(_TIME_FIELDS)}"
        )
    text = str(record[name]).strip()
    try:
        return float(text)
    except ValueError:
        text = re.sub(r"\s*(UTC|[+-]\d\d:?\d\d)$", lambda zone: zone[1], text)
    try:
        time = datetime.fromisoformat(text.replace("UTC", "+00:00"))
    except ValueError as error:
        raise DataError(
            f"{place}: field {name!r}: {text!r:.80} is no time; write 2026-03-31 14:05:00"
        ) from error
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def read_sql(queries: Iterable[Query], release: Release, place: Path) -> Iterator[Query]:
    """Yield questions with the names of the tables that their SQL reads; others as they are."""
    for query in queries:
        sql = query.metadata.get("sql")
        if query.gold or not isinstance(sql, str):
            yield query
            continue
        try:
            names = list_tables_read(sql)
        except ValueError:
            release.remark(_UNREADABLE, str(place), query.id)
            continue
        if names:
            yield replace(query, metadata={**query.metadata, _TABLES_READ: names})
        else:
            release.remark(_TABLELESS, str(place), query.id)


def list_tables_read(sql: str) -> list[str]:
    """Return the names of the tables that SQL of any usual dialect reads, as it writes them."""
    from target_bench.sql.names import parse_statements

    n_joins = len(re.findall(r"\bjoin\b", sql, re.IGNORECASE))
    if n_joins - len(re.findall(r"\b(?:on|using)\b", sql, re.IGNORECASE)) > _MOST_BARE_JOINS:
        raise ValueError("joins without conditions")  # sqlglot tries them in 2 to the n ways
    for dialect in _DIALECTS:
        try:
            statements = parse_statements(sql, dialect)
        except ValueError:
            continue
        return list(dict.fromkeys(name for tree in statements for name in _list_names(tree)))
    raise ValueError(f"it cannot be parsed: {sql:.200}")


def _list_names(tree: Any) -> Iterator[str]:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.scope import traverse_scope

    queries = [q for q in tree.find_all(exp.Query) if q.find_ancestor(exp.Query) is None]
    expressions = {cte.alias.lower() for cte in getattr(tree, "ctes", None) or ()}
    for query in queries:
        try:
            scopes = traverse_scope(query)
        except SqlglotError as error:
            raise ValueError(str(error)) from error
        for scope in scopes:
            for source in scope.sources.values():
                parts = [part.name for part in getattr(source, "parts", ())]
                # In "FROM orders o, o.items" the second is a column of the first.
                is_column = len(parts) == 2 and parts[0] in scope.sources
                is_expression = query is not tree and ".".join(parts).lower() in expressions
                is_table = isinstance(source, exp.Table) and parts and all(parts)
                if is_table and not is_column and not is_expression:
                    yield ".".join(parts)


class TableNames:
    """The tables of a corpus by the names that SQL calls them.

    >>> TableNames([TableId("0", "shop/Order Items")]).find("raw.shop.order_items")
    [TableId(database_id='0', table_id='shop/Order Items')]

    Args:
        ids: of the tables.
    """

    def __init__(self, ids: Iterable[TableId]) -> None:
        self._by_name: dict[str, list[tuple[tuple[str, ...], TableId]]] = defaultdict(list)
        for table_id in ids:
            database = [] if table_id.database_id == NO_DATABASE else [table_id.database_id]
            parts = _split_name("/".join([*database, table_id.table_id]))
            self._by_name[parts[-1]].append((parts, table_id))

    def find(self, name: str, database: str = NO_DATABASE) -> list[TableId]:
        """Return the table that a name means; all that a name such as ``events_*`` begins."""
        parts = _split_name(name)
        last = parts[-1]
        if last.endswith("*"):
            candidates = [
                ((*known[:-1], last), table_id)
                for own, tables in self._by_name.items()
                if own.startswith(last[:-1])
                for known, table_id in tables
            ]
        else:
            candidates = self._by_name.get(last, [])
        tables = [
            table_id
            for known, table_id in candidates
            if all(a == b for a, b in zip(reversed(known), reversed(parts), strict=False))
        ]
        if len(tables) > 1 and not last.endswith("*"):
            tables = [table_id for table_id in tables if table_id.database_id == database]
        return tables if last.endswith("*") or len(tables) == 1 else []


def _split_name(name: str) -> tuple[str, ...]:
    return tuple(re.sub(r"[^\w*]+", "_", part.lower()) for part in re.split(r"[./]", name))


def resolve_gold(queries: Sequence[Query], tables: Corpus) -> tuple[Sequence[Query], list[str]]:
    """Return questions with the gold tables that their SQL reads, and notes on those left out."""
    if not any(_TABLES_READ in query.metadata for query in queries):
        return queries, []
    names = TableNames(tables.ids)
    resolved, lost, less = [], [], defaultdict(list)
    for query in queries:
        read: Sequence[str] = query.metadata.get(_TABLES_READ, ())
        found = {name: names.find(name, query.database_id) for name in read}
        gold = tuple(dict.fromkeys(table_id for ids in found.values() for table_id in ids))
        if gold or query.gold or not read:
            resolved.append(replace(query, gold=query.gold or gold))
        else:
            lost.append(f"{query.id} ({', '.join(read):.60})")
        for name in (name for name, ids in found.items() if not ids and gold):
            less[name].append(query.id)
    notes = []
    if lost:
        notes.append(
            f"rows of the log whose SQL reads no table that is here, which are left out: "
            f"{len(lost):,} of {len(queries):,} ({first_of(lost, _MOST_NAMED)})"
        )
    if less:
        notes.append(
            f"names in the SQL of the log that are no table here, or of several, which are left "
            f"out: {len(less):,} ({first_of(list(less), _MOST_NAMED)})"
        )
    return resolved, notes


def read_log(
    path: str | Path, corpus: Corpus, split: str | None = None, seed: int = 0
) -> tuple[list[Query], list[str]]:
    """Return the questions of a log with their gold tables in a corpus, and notes on others.

    Args:
        path: a file of questions, CSV or JSON lines, with gold tables or with SQL. The text of a
            row with SQL alone is its SQL.
        corpus: the tables.
        split: how it is divided, as in ``time:.8``; then the log is its first part. Default: of a
            file with a split ``train`` that, else all rows.
        seed: of ``random``.

    Raises:
        ConfigError: the division is written otherwise.
        DataError: the file is missing or broken.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise DataError(f"log={path}: there is no such file")
    release = Release(path.parent, str(path.parent))
    reader = LogReader(None if split is None else Division.parse(split, seed))
    entries = list(reader.divide(records.read_records(release, path)))
    splits = [records.read_split(record, place) for place, record in entries]
    has_log = LOG in splits
    queries = [
        records.read_query(
            {**record, "query": record["sql"]} if _is_wordless(record) else record, place
        )
        for (place, record), own in zip(entries, splits, strict=True)
        if own == LOG or not has_log
    ]
    resolved, notes = resolve_gold(list(read_sql(queries, release, path)), corpus)
    known = [
        query for query in resolved if query.gold and set(query.gold) <= corpus.positions.keys()
    ]
    notes = [*release.notes, *notes]
    if len(known) < len(resolved):
        n = len(resolved) - len(known)
        notes.append(f"questions of the log without a gold table that is here: {n:,}")
    return known, notes
