"""The SQL in what a language model answered, however it is wrapped."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from sqlglot import exp

from target_bench.core.reasoning import without_reasoning
from target_bench.sql.names import parse_statements, parsed
from target_bench.sql.normalisation import LONGEST

_KEYS = {
    "sql": ("sql", "sql_query", "query"),
    "database_id": ("database_id", "db_id", "database"),
}
_BIRD = re.compile(r"\t----- bird -----\t?")
_FENCE = re.compile(r"```([^\n`]*)\n(.*?)(?:```|\Z)", re.DOTALL)
_INLINE_FENCE = re.compile(
    r"```(sql|sqlite|sqlite3|duckdb)?[ \t]++(?!```)([^\n]+?)```", re.IGNORECASE
)
_NAMED_SQL = ("sql", "sqlite", "sqlite3", "duckdb", "postgresql", "mysql")
_SQL_FENCES = ("", *_NAMED_SQL, "text")
_START = re.compile(
    r"\bSELECT\b|\bWITH\s+(?:RECURSIVE\s+)?[\w\"`\[\]]+\s*(?:\([^()]*\)\s*)?AS\s*(?:MATERIALIZED\s*)?\(",
    re.IGNORECASE,
)
_LINE_START = re.compile(r"\s*(?:(?:--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/|\()\s*)*\Z")
_NEW_LINE = re.compile(r"(?:\A|(?<=[;\n])|\n|:)[ \t]*")
_PROSE = re.compile(
    r"\s*+(?:\Z|```|[#*>]|-(?!-)|[IA]\b|[^()=<>*\"'`]*[.!:]\s*\Z|"
    r"(?!(?:From|Where|And|Or|On|Join|Inner|Left|Cross|Group|Order|Having|Limit|Union|Select)\b)"
    r"[A-Z][a-z']+\b)"
)
_BROKEN = r'"{key}"\s*+:\s*+"'
_BROKEN_END = re.compile(r'"\s*+(?:,\s*+"\w++"\s*+:|\}|,?\s*+\Z)')
_TRIES = 50  # how many starts of an object, and of a statement, are looked at
_PARSED = 2 * LONGEST  # characters that are parsed in the search for the end of a statement


class Extracted(NamedTuple):
    """The SQL in an answer, its last semicolons left out, and the database it names, unchecked."""

    sql: str | None
    database_id: str | None = None


def extract(text: str) -> Extracted:
    """Return the SQL of an answer.

    Looked for in this order:

    1. ``SQL<TAB>----- bird -----<TAB>database``, the form of BIRD's prediction files;
    2. a JSON object with a field ``sql``, bare, in a fence or in a text; trailing commas, line
       breaks and unescaped quotes inside its texts are read too. Its SQL is taken as it stands;
    3. a fence: of several the last one that holds a query, for models try and then correct
       themselves; where none does, the last one that holds other SQL;
    4. the whole text, if it is SQL;
    5. the first SELECT or WITH in the text: up to its semicolon, or as far as it can be parsed;
    6. the last fence that is called SQL: it is none that can be run, and running it says why.

    What is SQL as a whole, a fence's content or the text, is taken as it stands, with any
    kind and number of statements: execution refuses what may not be run. Reasoning blocks
    (``<think>``) are left out first. Never raises.
    """
    answer = without_reasoning(text)
    for read in (_bird, _json, _fenced, _bare, _called_sql):
        extracted = read(answer)
        if extracted is not None:
            return extracted
    return Extracted(None)


def _bird(text: str) -> Extracted | None:
    mark = _BIRD.search(text)
    if mark is None:
        return None
    sql, database = text[: mark.start()], text[mark.end() :]
    return Extracted(_ended(sql), _clean(database.partition("\n")[0]))


def _json(text: str) -> Extracted | None:
    last: Mapping[str, Any] | None = None
    for record in _objects(text):
        if _field(record, "sql") is not None:
            last = record
    if last is None:
        last = _broken_object(text)
    if last is None:
        return None
    sql = _field(last, "sql") or ""
    inner = _fenced(sql) if sql.lstrip().startswith("```") else None
    return Extracted(inner.sql if inner else _ended(sql), _clean(_field(last, "database_id")))


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a text, those inside others left out."""
    decoder = json.JSONDecoder(strict=False)
    place = 0
    for _ in range(_TRIES):
        place = text.find("{", place)
        if place < 0:
            return
        record, end = _decoded(decoder, text, place)
        if isinstance(record, dict):
            yield record
        place = max(end, place + 1)


def _decoded(decoder: json.JSONDecoder, text: str, place: int) -> tuple[Any, int]:
    """Return the object that begins at a place and where it ends; nothing if there is none."""
    try:
        return decoder.raw_decode(text, place)
    except (ValueError, RecursionError):
        pass
    try:
        repaired = _without_last_commas(text[place:])
        return decoder.raw_decode(repaired)[0], len(text)
    except (ValueError, RecursionError):
        return None, place


def _without_last_commas(text: str) -> str:
    """Return JSON without the commas before a closing brace or bracket, texts apart."""
    pattern = r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*+[}\]])'
    return re.sub(pattern, lambda match: match[1] or "", text, flags=re.DOTALL)


def _broken_object(text: str) -> Mapping[str, Any] | None:
    """Return the fields of an object that is cut off, or has unescaped quotes in its texts."""
    fields = {}
    for name, keys in _KEYS.items():
        for key in keys:
            start = re.search(_BROKEN.format(key=key), text, re.IGNORECASE)
            end = _BROKEN_END.search(text, start.end()) if start else None
            if start and end and name not in fields:
                fields[name] = _unescaped(text[start.end() : end.start()])
    return fields if "sql" in fields else None


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def _field(record: Mapping[str, Any], name: str) -> str | None:
    lowered = {str(key).lower(): value for key, value in record.items()}
    values = (lowered.get(key) for key in _KEYS[name])
    return next((value for value in values if isinstance(value, str)), None)


def _fenced(text: str) -> Extracted | None:
    other: str | None = None
    for language, content in _fences(text):
        sql = _in_fence(content) if language in _SQL_FENCES else None
        if sql and not _begins_as_no_query(sql):
            return Extracted(sql)
        other = other or sql
    return Extracted(other) if other else None


def _fences(text: str) -> list[tuple[str, str]]:
    """Return the language and content of each fence, the last one first."""
    fences = [(m.start(), m[1].strip().lower(), m[2]) for m in _FENCE.finditer(text)]
    fences += [(m.start(), (m[1] or "").lower(), m[2]) for m in _INLINE_FENCE.finditer(text)]
    return [(language, content) for _, language, content in sorted(fences, reverse=True)]


def _called_sql(text: str) -> Extracted | None:
    for language, content in _fences(text):
        sql = _ended(content)
        if language in _NAMED_SQL and sql and not _is_comment(sql):
            return Extracted(sql)
    return None


def _in_fence(content: str) -> str | None:
    """Return all of a text if it is SQL, else its first query, with the comments before it."""
    if _is_sql(content):
        return _ended(content)
    start = _START.search(content)
    if start is None:
        return None
    begin = _begin(content, start.start())
    return _ended(content[begin : _end(content, start.start())])


def _bare(text: str) -> Extracted | None:
    if _is_sql(text):
        return Extracted(_ended(text))
    first: str | None = None
    left = _PARSED
    for _, start in zip(range(_TRIES), _START.finditer(text), strict=False):
        begin = _begin(text, start.start())
        whole = text[begin : _end(text, start.start())]
        if _begins_as_no_query(whole):
            return Extracted(_ended(_paragraph(whole)))
        sql, left = _parsable(whole, left)
        if sql is not None:
            return Extracted(_ended(sql))
        is_code = start[0].isupper() or re.search(r"\bfrom\b", whole, re.IGNORECASE)
        if first is None and is_code:
            first = _paragraph(whole)
        if start[0].isupper() and not text[:begin].strip():
            break  # it begins as code does, so it is not a phrase before the query
    return Extracted(_ended(first)) if first else None


def _paragraph(text: str) -> str:
    return re.split(r"\n\s*\n|```", text, maxsplit=1)[0]


def _begin(text: str, start: int) -> int:
    """Return where the statement with this SELECT begins: its brackets, or INSERT INTO."""
    if _LINE_START.match(text[:start]):
        return 0
    boundary = max(text.rfind(";", 0, start), text.rfind("\n\n", 0, start))
    for line in _NEW_LINE.finditer(text, boundary + 1, start):
        if _NO_QUERY.match(text, line.end()):
            return line.end()
    return start


def _parsable(text: str, left: int) -> tuple[str | None, int]:
    """Return the longest prefix of whole lines that is a query, and the characters left.

    It ends before a line that is none of SQL's: of a query that the parser does not know the lines
    that it does would be another query.
    """
    lines = text.split("\n")
    for n in range(len(lines), 0, -1):
        if n < len(lines) and not _PROSE.match(lines[n]):
            continue
        sql = "\n".join(lines[:n])
        left -= len(sql)  # with its blanks, which take time too
        sql = sql.strip()
        if left < 0:
            break
        try:
            return (sql if _is_code(sql, parsed(sql)) else None), left
        except ValueError:
            continue
    return None, left


def _is_code(sql: str, tree: Any) -> bool:
    """Return whether it reads a table, or is written as code: "select one" is a phrase too."""
    return tree.find(exp.From) is not None or sql.lstrip("( \n").startswith(("SELECT", "WITH"))


def _end(text: str, start: int) -> int:
    """Return where a statement ends: at the first semicolon outside of quotes and comments.

    Statements behind it that are not queries belong to it: what is run should be what was written.
    """
    pattern = r"'[^']*+'|\"[^\"]*+\"|`[^`]*+`|\[[^\[\]\n]*+\]|--[^\n]*+|/\*.*?(?:\*/|\Z)|;"
    for match in re.compile(pattern, re.DOTALL).finditer(text, start):
        if match[0] == ";" and not _begins_as_no_query(text, match.end()):
            return match.start()
    return len(text)


def _ended(sql: str) -> str | None:
    end = len(sql)
    while end and (sql[end - 1] == ";" or sql[end - 1].isspace()):
        end -= 1
    return sql[:end].strip() or None


def _clean(text: str | None) -> str | None:
    return (text or "").strip() or None


# ------------------------------------------------------------------------------------------------
# Whether a text is SQL as a whole, of any kind, also INSERT or DROP, which may not be run: a query
# that is cut out of a statement that writes would get points that the statement does not deserve.


_OBJECT = (
    r"(?:TABLE|VIEW|INDEX|TRIGGER|SCHEMA|SEQUENCE|TYPE|MACRO|FUNCTION|DATABASE|SECRET|TEMP|"
    r"TEMPORARY|UNIQUE|VIRTUAL|PERSISTENT)\b"
)
# The first words of a statement that is not a query and does not look like a sentence.
_NO_QUERY = re.compile(
    rf"""(?:
      INSERT \s+ (?: OR \s+ \w+ \s+ )? INTO \b
    | REPLACE \s+ INTO \b
    | UPDATE \s+ (?: OR \s+ \w+ \s+ )? ["`\[]? \w [^\n]{{0,200}}? \s SET \s
    | DELETE \s+ FROM \b
    | MERGE \s+ INTO \b
    | CREATE \s+ (?: OR \s+ REPLACE \s+ )? {_OBJECT}
    | (?: DROP | ALTER ) \s+ {_OBJECT}
    | ATTACH \s+ (?: DATABASE \b | IF \b | ['"] )
    | PRAGMA \s+ \w
    | VACUUM \s+ INTO \b
    | EXPLAIN \s+ (?: QUERY \s+ PLAN \s+ | ANALYZE \s+ )? (?: SELECT | WITH | FROM | VALUES ) \b
    | COPY \s+ [(\w"] [^\n]{{0,200}}? \s (?: TO | FROM ) \s+ ['"]
    )""",  # noqa: S608 (a pattern)
    re.VERBOSE | re.IGNORECASE,
)

_BEFORE = r"(?:\s++|--[^\n]*+(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*+\*/)*+"
_COMMENTS = re.compile(_BEFORE)
_COMMENTS_AND_BRACKETS = re.compile(rf"{_BEFORE}(?:\({_BEFORE})*")
_WORD = re.compile(r"[A-Za-z]+")
_QUERIES = {"SELECT", "WITH", "VALUES", "FROM", "TABLE", "PIVOT", "UNPIVOT"}
_OTHERS = {
    *("SUMMARIZE", "DESCRIBE", "DESC", "SHOW", "EXPLAIN", "PRAGMA", "INSERT", "REPLACE", "UPDATE"),
    *("DELETE", "MERGE", "CREATE", "DROP", "ALTER", "TRUNCATE", "ATTACH", "DETACH", "VACUUM"),
    *("ANALYZE", "REINDEX", "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "COPY"),
    *("INSTALL", "LOAD", "SET", "RESET", "USE", "CALL", "EXPORT", "IMPORT", "CHECKPOINT"),
}
_DIALECTS = ("sqlite", "duckdb")


def _is_sql(text: str) -> bool:
    """Return whether the whole text is one or more statements of SQLite or DuckDB.

    It is if it begins as a statement other than a query, or if all of it parses; but not if it
    reads as a phrase does: "select one", "From Oslo". A longer text than is ever run is not parsed.
    """
    if _begins_as_no_query(text):
        return True
    start = _COMMENTS_AND_BRACKETS.match(text)
    word = _WORD.match(text, start.end() if start else 0)
    if word is None or len(text) > LONGEST or word[0].upper() not in _QUERIES | _OTHERS:
        return False
    sure = word[0].upper() in ("SELECT", "WITH")
    if not sure and not (word[0].isupper() or word[0].islower()):
        return False
    return any(_are_code(word[0], statements) for statements in _parsed_statements(text))


def _is_comment(text: str) -> bool:
    """Return whether a text is nothing but comments."""
    return _COMMENTS.fullmatch(text) is not None


def _begins_as_no_query(text: str, place: int = 0) -> bool:
    """Return whether a statement other than a query begins here, comments aside."""
    comments = _COMMENTS.match(text, place)
    return _NO_QUERY.match(text, comments.end() if comments else place) is not None


def _parsed_statements(text: str) -> Iterator[list[Any]]:
    """Yield the statements of a text in each dialect in which all of it parses."""
    for dialect in _DIALECTS:
        with suppress(ValueError):
            yield parse_statements(text, dialect)


def _are_code(word: str, statements: list[Any]) -> bool:
    if not statements or not all(map(_is_statement, statements)):
        return False
    if any(isinstance(s, exp.Command) and not _is_command(s) for s in statements[1:]):
        return False
    reads = statements[0].find(exp.From) is not None
    return reads or word.isupper() or word.upper() not in ("SELECT", "WITH")


def _is_statement(tree: Any) -> bool:
    """Return whether it is more than an expression, which the words of a sentence can be."""
    if isinstance(tree, exp.Query):
        return all(select.expressions for select in tree.find_all(exp.Select))
    return not isinstance(tree, exp.Condition | exp.Alias | exp.Tuple)


def _is_command(tree: Any) -> bool:
    return _NO_QUERY.match(f"{tree.this} {tree.expression}") is not None
