"""The questions of a user's own tables: a file beside them, which may be a log with SQL.

Gold are the tables that the SQL of a question reads. A log is divided, by time or by chance,
into ``train``, the log itself, and ``test``, what is asked; questions of the rest that the log has
are ``repeated``.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from target_bench.core import registry
from target_bench.core.built_in import SQL_TASK
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import parse_json
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import (
    NO_DATABASE,
    SPLIT_ALIASES,
    Corpus,
    CorpusInfo,
    Query,
    TableId,
)
from target_bench.core.text_tables import list_first
from target_bench.data.formats.csv_files import read_csv
from target_bench.data.formats.records import (
    convert_value,
    read_answer,
    read_database_id,
    read_identifier,
)

DEFAULT_SPLIT = "test"
FILES = ("queries.jsonl", "queries.csv")
"""The files that may hold the queries of a folder."""

GoldOf = Callable[[str, str, str], Sequence[TableId]]
"""(SQL, database id, place) -> the tables that the SQL reads."""

Entry = tuple[str, Any, str]
"""Where a record of a question stands, the record, and its split."""

_SPLITS = ("test", "validation", "train")
_FIELDS = ("query_id", "query", "table_id", "database_id", "answer", "split")
_QUESTION_FIELDS = ("query", "question", "natural_language", "utterance")
_SQL_FIELDS = ("sql", "query_text", "sql_text", "statement_text", "statement")
"""Fields of a log that hold SQL: by hand, of Snowflake, Oracle, Databricks, and others."""
_TIME_FIELDS = (
    *("time", "timestamp", "datetime", "date", "created_at", "asked_at", "executed_at"),
    *("start_time", "creation_time", "query_start_time", "end_time"),
)
_NO = {"false", "f", "no", "n", "0", "none"}
_QUOTE = "Quote the cells that hold the separator."
_GOLD_TABLE = re.compile(r"(gold[ _-]?)?tables?([ _-]?(ids?|names?))?|gold", re.IGNORECASE)
_TABLES_READ = "tables_read"  # the entry of a question's metadata with the names in its SQL
_DIALECTS = ("", "bigquery", "snowflake", "tsql", "mysql", "duckdb", "sqlite", "spark", "oracle")
_MOST_BARE_JOINS = 10
_MOST_NAMED = 5  # questions, in a note

_UNREADABLE = "rows of the log whose SQL cannot be parsed, which are left out"
_TABLELESS = "rows of the log whose SQL reads no table, which are left out"
_WORDLESS = "rows of the log with SQL and no question, which only the retriever history reads"


class OwnCorpus(CorpusLoader):
    """A user's own tables, with questions from a file beside them."""

    has_databases = False
    has_settings = False  # besides split

    def __init__(self, path: Path, settings: Mapping[str, Any] | None = None) -> None:
        self.embedded = path if path.is_dir() else path.parent
        self._settings = dict(settings or {})
        split, seed = self._settings.pop("split", None), self._settings.pop("seed", 0)
        self._division = parse_division(split, seed)
        for name in () if self.has_settings else self._settings:
            raise ConfigError(
                f"{path}: the setting {name} is for a folder with one file per table, and this is "
                "none; it has split and seed"
            )
        release = Release(self.embedded, str(path))
        file = self._find_queries(release)
        entries = read_questions(release, file, self._division) if file else ()
        splits = dict.fromkeys(own for _, record, own in entries if not _is_wordless(record))
        self.tables_alone = not splits
        self.info = describe_path(path, splits, with_database=self.has_databases)

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Return the questions of the split; none if there is no file of questions."""
        file = self._find_queries(release)
        return self._read_queries(release, file, split) if file else ()

    def _read_queries(
        self,
        release: Release,
        path: Path,
        split: str,
        database_id: str = NO_DATABASE,
        gold_of: GoldOf | None = None,
    ) -> Iterator[Query]:
        """Yield the questions of a split, with the names of the tables that their SQL reads."""
        entries = read_questions(release, path, self._division)
        asked = [entry for entry in entries if not _is_wordless(entry[1])]
        counts = Counter(own for *_, own in asked if own != split)
        if counts:
            others = ", ".join(f"{n:,} of {name}" for name, n in counts.items())
            release.notes.append(f"queries of other splits, which are not asked: {others}")
        for place, record, _ in entries:
            if _is_wordless(record):
                release.remark(_WORDLESS, place)
        queries = (
            read_query(record, place, database_id, gold_of)
            for place, record, own in asked
            if own == split
        )
        yield from _read_sql(queries, release, path)

    def answerable(
        self, queries: Sequence[Query], tables: Corpus
    ) -> tuple[Sequence[Query], Sequence[str]]:
        """Find the gold tables of the questions of a log; those without any are left out."""
        return _resolve_gold(queries, tables)

    def _find_queries(self, release: Release) -> Path | None:
        return next(filter(None, map(release.find, FILES)), None)


def describe_path(
    path: Path, splits: Iterable[str], others: Iterable[str] = (), with_database: bool = False
) -> CorpusInfo:
    """Return the declaration of a path; ``others`` are splits with tables alone."""
    path = path.resolve()
    stem = path.name if path.is_dir() else path.stem
    name = re.sub(r"[\W_]+", "-", stem.lower()).strip("-") or "data"
    in_order = (*sorted(splits, key=_rank_split), *sorted(others, key=_rank_split))
    return describe_own_data(
        name, path.name, str(path), in_order or (DEFAULT_SPLIT,), with_database
    )


def describe_own_data(
    name: str, title: str, source: str, splits: tuple[str, ...], with_database: bool = False
) -> CorpusInfo:
    """Return the declaration of a user's own data; arguments as ``CorpusInfo`` has them."""
    tasks = tuple(n for n in registry.names("task") if with_database or n != SQL_TASK)
    yours = "your own"
    return CorpusInfo(name, title, tasks, splits, yours, yours, source, any_task=True)


def normalize_split(name: str) -> str:
    """Return ``train``, ``validation`` or ``test`` for any spelling of it; other names stay."""
    name = name.strip()
    split = SPLIT_ALIASES.get(name.lower(), name.lower())
    return split if split in _SPLITS else name


def _rank_split(split: str) -> tuple[int, str]:
    # train after any split that is held out
    return {"test": 0, "validation": 1, "train": 3}.get(split, 2), split


# Records as questions


class Division(NamedTuple):
    """How a log is divided: what orders its rows, and the share of the first ones, the log."""

    order: Literal["time", "random"]
    share: float
    seed: int = 0


def read_questions(release: Release, path: Path, division: Division | None = None) -> list[Entry]:
    """Return the rows of a file of questions, those of a log with a question's fields.

    In CSV an empty cell is a missing field, and the number of a row its id by default. The division
    says which rows are the log; without one the field ``split`` does.
    """
    is_csv = path.name.removesuffix(".gz").endswith(".csv")
    entries = _read_rows(release, path) if is_csv else release.json_lines(path)
    renamed = [
        (place, _rename_fields(record, number) if isinstance(record, dict) else record)
        for number, (place, record) in enumerate(entries, start=1)
    ]
    if division is not None:
        return list(_divide(renamed, division))
    return [(place, record, read_split(record, place)) for place, record in renamed]


def _read_rows(release: Release, path: Path) -> Iterator[tuple[str, Any]]:
    (table,) = read_csv(release, path)
    _check_header(path, table.header)
    for number, row in enumerate(table.rows, start=1):
        place = f"{path}, row {number}"
        record: dict[str, Any] = {"query_id": str(number), "table_id": None}
        record |= {n: c for n, c in zip(table.header, row, strict=True) if c != ""}
        if "" in table.header[1:] and "" in record:
            raise DataError(f"{place}: {record['']!r:.80} has no column name. {_QUOTE}")
        for name in ("table_id", "answer"):
            if str(record.get(name)).startswith("["):
                record[name] = _read_list(record[name], name, place)
        yield place, record


def _read_list(cell: str, name: str, place: str) -> Any:
    try:
        return parse_json(cell)
    except ValueError as error:
        raise DataError(
            f"{place}: field {name!r} is not a JSON list: {cell!r:.80}. Write a text that begins "
            'with a bracket as a list, in CSV as "[""[text]""]".'
        ) from error


def _check_header(path: Path, header: Sequence[str]) -> None:
    repeated = sorted({name for name in header if name and header.count(name) > 1})
    if repeated:
        raise DataError(f"{path}: the column {repeated[0]!r} occurs twice. Rename or remove one.")
    if _find_sql_field(header) is not None:
        return
    if "query" not in header:
        raise DataError(
            f"{path}: no column 'query'; its columns are {', '.join(header)}. Rename the one that "
            f"holds the questions to query. {_QUOTE}"
        )
    meant = [name for name in header if _GOLD_TABLE.fullmatch(name.strip())]
    if meant and "table_id" not in header:
        raise DataError(
            f"{path}: no column 'table_id', but {meant[0]!r}. Rename it to table_id if it holds "
            "the ids of gold tables; else add a column table_id, empty where none is known."
        )


def read_query(
    record: Any, place: str, database_id: str = NO_DATABASE, gold_of: GoldOf | None = None
) -> Query:
    """Read a query from ``query_id``, ``query``, ``table_id`` and perhaps the other fields.

    What is none of the fields of ``queries.jsonl`` becomes metadata. Where ``gold_of`` finds the
    tables that SQL reads, ``table_id`` may be missing.
    """
    query_id = read_identifier(field(record, "query_id", object, place), "query_id", place)
    text = field(record, "query", str, place)
    database_id = read_database_id(record, place, database_id)
    answer = read_answer(record.get("answer"), "answer", place)
    metadata = {
        name: convert_value(value, name, place)
        for name, value in record.items()
        if name not in _FIELDS and value is not None
    }
    if str(metadata.get("synthetic", "")).strip().lower() in _NO:
        metadata["synthetic"] = False
    gold: Sequence[TableId]
    if gold_of is not None and record.get("table_id") is None and answer:
        gold = gold_of(answer if isinstance(answer, str) else answer[0], database_id, place)
    else:
        value = convert_value(field(record, "table_id", object, place), "table_id", place)
        names = value if isinstance(value, list) else [] if value is None else [value]
        gold = [TableId(database_id, read_identifier(name, "table_id", place)) for name in names]
    return Query(query_id, text, tuple(gold), answer, database_id, metadata)


def read_split(record: Any, place: str, default: str = DEFAULT_SPLIT) -> str:
    """Read the split of a record, or the default where the field is missing or null."""
    if isinstance(record, dict) and record.get("split") is None:
        return default
    return normalize_split(field(record, "split", str, place))


# A log of questions with their SQL


def parse_division(text: object, seed: object = 0) -> Division | None:
    """Read ``time:.8`` or ``random:.8``; None stays None."""
    if text is None:
        return None
    match = re.fullmatch(r"(time|random):(0?\.\d+)", str(text))
    if match is None or not 0 < float(match[2]) < 1:
        raise ConfigError(
            f"split={text}: expected time:.8 or random:.8, that is how to order the queries, and "
            "the share of them that becomes the log"
        )
    if type(seed) is not int:
        raise ConfigError(f"seed={seed!r}: a whole number is needed")
    return Division("time" if match[1] == "time" else "random", float(match[2]), seed)


def _find_sql_field(names: Iterable[Any]) -> str | None:
    known = {str(name).lower(): str(name) for name in names}
    fields = [*_SQL_FIELDS, *(["query"] if "question" in known else [])]
    return next((known[name] for name in fields if name in known), None)


def _rename_fields(record: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """Return a record with SQL with fields as a question has them, others as they are."""
    sql = _find_sql_field(record)
    if sql is None:
        return record
    names = {str(name).lower(): name for name in record}
    known = [names[n] for n in _QUESTION_FIELDS if n in names and names[n] != sql]
    moved = {sql: "sql"} | ({known[0]: "query"} if known else {})
    renamed = {moved.get(name, name): value for name, value in record.items()}
    return {"query_id": str(number), "table_id": None, **renamed}


def _is_wordless(record: Any) -> bool:
    return isinstance(record, dict) and "sql" in record and not record.get("query")


def _divide(entries: Sequence[tuple[str, Any]], division: Division) -> Iterator[Entry]:
    """Yield all rows, each with its split; rows of one moment stay together."""
    for place, record in entries:
        if not isinstance(record, dict):
            raise DataError(f"{place}: expected an object with fields, found {record!r:.80}")
    n, n_log = len(entries), int(round(division.share * len(entries), 9))
    times: Sequence[float] = Random(division.seed).sample(range(n), n)  # noqa: S311 (no secret)
    if division.order == "time":
        times = [_read_time(record, place) for place, record in entries]
    first = sorted(times)[min(n_log, n - 1)] if times else 0
    pairs = list(zip(entries, (time < first for time in times), strict=True))
    texts = {_normalize(record) for (_, record), is_log in pairs if is_log}
    for (place, record), is_log in pairs:
        rest = "repeated" if _normalize(record) in texts else DEFAULT_SPLIT
        yield place, record, "train" if is_log else rest


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
        seconds = float(text)
        # 20260131 is a date, and no second of 1970
        if isfinite(seconds) and not re.fullmatch(r"(?:19|20)\d{6}", text):
            return seconds
    except ValueError:
        text = re.sub(r"\s*(UTC|[+-]\d\d:?\d\d)$", lambda zone: zone[1], text)
    try:
        time = datetime.fromisoformat(text.replace("UTC", "+00:00"))
    except ValueError as error:
        raise DataError(
            f"{place}: field {name!r}: {text!r:.80} is not a time; write 2026-03-31 14:05:00"
        ) from error
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _read_sql(queries: Iterable[Query], release: Release, path: Path) -> Iterator[Query]:
    """Yield questions with the names of the tables that their SQL reads; others as they are."""
    for query in queries:
        sql = query.metadata.get("sql")
        if query.gold or not isinstance(sql, str):
            yield query
            continue
        try:
            names = list_tables_read(sql)
        except ValueError:
            release.remark(_UNREADABLE, str(path), query.id)
            continue
        if names:
            yield replace(query, metadata={**query.metadata, _TABLES_READ: names})
        else:
            release.remark(_TABLELESS, str(path), query.id)


def list_tables_read(sql: str) -> list[str]:
    """Return the names of the tables that SQL of any dialect reads, or raise a ValueError."""
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

    ```python
    from target_bench import TableId
    from target_bench.data.formats.queries import TableNames

    names = TableNames([TableId("0", "shop/Order Items")])
    print(names.find("raw.shop.order_items"))
    # [TableId(database_id='0', table_id='shop/Order Items')]
    ```
    """

    def __init__(self, ids: Iterable[TableId]) -> None:
        self._by_name: dict[str, list[tuple[tuple[str, ...], TableId]]] = defaultdict(list)
        for table_id in ids:
            database = [] if table_id.database_id == NO_DATABASE else [table_id.database_id]
            parts = _split_name("/".join([*database, table_id.table_id]))
            self._by_name[parts[-1]].append((parts, table_id))

    def find(self, name: str, database: str = NO_DATABASE) -> list[TableId]:
        """Return the table that a name means; all that a name such as ``events_*`` begins."""
        *outer, last = _split_name(name)
        if last.endswith("*"):
            starting = (own for own in self._by_name if own.startswith(last[:-1]))
            candidates = [entry for own in starting for entry in self._by_name[own]]
        else:
            candidates = self._by_name.get(last, [])
        tables = [
            table_id
            for known, table_id in candidates
            if all(a == b for a, b in zip(known[-2::-1], outer[::-1], strict=False))
        ]
        if last.endswith("*") or len(tables) == 1:
            return tables
        there = [table_id for table_id in tables if table_id.database_id == database]
        return there if len(there) == 1 else []


def _split_name(name: str) -> tuple[str, ...]:
    return tuple(re.sub(r"[^\w*]+", "_", part.lower()) for part in re.split(r"[./]", name))


def _resolve_gold(queries: Sequence[Query], tables: Corpus) -> tuple[Sequence[Query], list[str]]:
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
            f"{len(lost):,} of {len(queries):,} ({list_first(lost, _MOST_NAMED)})"
        )
    if less:
        notes.append(
            f"names in the SQL of the log that are no table here, or of several, which are left "
            f"out: {len(less):,} ({list_first(list(less), _MOST_NAMED)})"
        )
    return resolved, notes


def read_log(
    path: str | Path, corpus: Corpus, split: str | None = None, seed: int = 0
) -> tuple[list[Query], list[str]]:
    r"""Return the questions of a log with their gold tables in a corpus, and notes on others.

    ```python
    from pathlib import Path

    from target_bench import load
    from target_bench.plugin_tools import read_log

    corpus = load("mini").corpus
    table_id = corpus.ids[0]
    Path("log.csv").write_text(f"query,table_id\nWho won most?,{table_id.table_id}\n")
    queries, notes = read_log("log.csv", corpus)
    print(queries[0].text, queries[0].gold == (table_id,), notes)  # Who won most? True []
    ```

    Args:
        path: a file of questions, CSV or JSON lines, with gold tables or with SQL. The text of a
            row that has only SQL is that SQL.
        corpus: the tables.
        split: how it is divided, as in ``time:.8`` or ``random:.8``; then the log is its first
            part. Default: of a file with a split ``train`` that, else all rows.
        seed: of ``random``.

    Raises:
        ConfigError: the division is written otherwise.
        DataError: the file is missing or broken.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise DataError(f"log={path}: there is no such file")
    release = Release(path.parent, str(path.parent))
    entries = read_questions(release, path, parse_division(split, seed))
    has_log = any(own == "train" for *_, own in entries)
    queries = [
        read_query({**record, "query": record["sql"]} if _is_wordless(record) else record, place)
        for place, record, own in entries
        if own == "train" or not has_log
    ]
    resolved, notes = _resolve_gold(list(_read_sql(queries, release, path)), corpus)
    known = [
        query for query in resolved if query.gold and set(query.gold) <= corpus.positions.keys()
    ]
    notes = [*release.notes, *notes]
    if len(known) < len(resolved):
        n = len(resolved) - len(known)
        notes.append(f"questions of the log without a gold table that is here: {n:,}")
    return known, notes
