"""The SQL in what a language model answered, however it is wrapped."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from html import unescape
from itertools import chain, islice
from typing import Any, NamedTuple

from sqlglot import exp

from target_bench.core.reasoning import without_reasoning
from target_bench.sql.names import parse_statements
from target_bench.sql.normalisation import LONGEST

_KEYS = {
    "sql": ("sql", "sql_query"),
    "database_id": ("database_id", "db_id", "database"),
}
_OTHER_KEYS = re.compile(r"sql|query|answer|statement|output|code", re.IGNORECASE)
_BIRD = re.compile(r"\t----- bird -----\t?")
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|end_of_turn)\|>"
    r"|<end_of_turn>|<｜end▁of▁sentence｜>|(?:</s>|<eos>)\s*\Z"
)
_FENCE = re.compile(
    r"```([^\n`]*)\n(.*?)(?:```|\Z)|^~~~+([^\n~]*)\n(.*?)(?:^~~~|\Z)", re.DOTALL | re.MULTILINE
)
_INLINE_FENCE = re.compile(
    r"```(sql|sqlite|sqlite3|duckdb)?[ \t]++(?!```)([^\n]+?)```", re.IGNORECASE
)
_INLINE_CODE = re.compile(r"(?<!`)`\s*+((?:SELECT|WITH)\b[^`]++)`(?!`)", re.IGNORECASE)
_NAMED_SQL = ("sql", "sqlite", "sqlite3", "duckdb", "postgresql", "mysql")
_SQL_FENCES = ("", *_NAMED_SQL, "text", "json")
_TAG = re.compile(
    r"<([A-Za-z][\w-]{0,30})(?:\s[^<>\n]{0,100})?>|\[([A-Za-z]\w{0,30})\]"
    r"|\\(?:boxed|text\w{0,9}|math\w{1,9})\{"
)
_CLOSING = re.compile(r"</[A-Za-z][\w-]{0,30}>|\[/[A-Za-z]\w{0,30}\]|```")
_START = re.compile(
    r"\bSELECT\b|\bWITH\s+(?:RECURSIVE\s+)?[\w\"`\[\]]+\s*(?:\([^()]*\)\s*)?AS\s*(?:MATERIALIZED\s*)?\(",
    re.IGNORECASE,
)
_LINE_START = re.compile(r"\s*(?:(?:--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/|\()\s*)*\Z")
_ASKED = re.compile(r"(?:\A|\n)[ \t#>*]{0,9}(?:question|q)[ \t*]{0,9}:[\s*]{0,9}\Z", re.IGNORECASE)
_NEW_LINE = re.compile(r"(?:\A|(?<=[;\n])|\n|:)[ \t]*")
_UNFINISHED = re.compile(
    r"(?:[,=<(+/|]|\b(?:UNION|ALL|EXCEPT|INTERSECT|AS|FROM|JOIN|IN|NOT|EXISTS|ON|AND|OR|WHERE))\Z"
)
_QUOTES = (
    *((mark, mark) for mark in ("'''", '"""', "**", "`", '"', "'", "*")),
    ("\N{LEFT DOUBLE QUOTATION MARK}", "\N{RIGHT DOUBLE QUOTATION MARK}"),
)
_PROSE = re.compile(
    r"\s*+(?:\Z|```|[#*>]|-(?!-)|[IA]\b|[^()=<>*\"'`]*[.!:]\s*\Z|[A-Za-z][\w ]{0,30}:(?!:)|"
    r"(?!(?:From|Where|And|Or|On|Join|Inner|Left|Cross|Group|Order|Having|Limit|Union|Select)\b)"
    r"[A-Z][a-z']+\b)"
)
_SENTENCE = re.compile(r"\.[ \t]+(?=[A-Z][a-z']* [a-z])")
_GAP = re.compile(r"\n\s*\n|```")
_OUTSIDE = re.compile(
    r"'[^']*+'|\"[^\"]*+\"|`[^`]*+`|\[[^\[\]\n]*+\]|--[^\n]*+|/\*.*?(?:\*/|\Z)|[;()]", re.DOTALL
)
_BROKEN = r'"{key}"\s*+:\s*+"'
_BROKEN_END = re.compile(r'"\s*+(?:,\s*+"\w++"\s*+:|\}|,?\s*+\Z)')
_TRIES = 50  # how many starts of an object, and of a statement, are looked at
_DEEPEST = 4  # wrappings inside of each other that are opened
_PARSED = 2 * LONGEST  # characters that are parsed in the search for a statement


class Extracted(NamedTuple):
    """The SQL in an answer, its last semicolons left out, and the database it names, unchecked."""

    sql: str | None
    database_id: str | None = None


def extract(text: str) -> Extracted:
    r"""Return the SQL of an answer.

    ``SQL<TAB>----- bird -----<TAB>database``, the form of BIRD's prediction files, is taken as it
    stands. Of all else there are candidates, in this order, and the first that is SQL as a whole
    is taken:

    1. a fence: of several the last one that holds a query, for models try and then correct
       themselves; and code in backquotes;
    2. what stands in a tag: ``<sql>...</sql>``, ``[SQL]...[/SQL]``, ``\boxed{...}``;
    3. a text in JSON: what ``sql`` names as it stands, else the first text that is SQL, inside
       other objects and lists too; trailing commas, line breaks and unescaped quotes are read;
    4. the text: all of it, or what follows a label or a sentence, without the sentences behind it.

    A text that is a JSON object as a whole is opened first, and what is in a candidate is read by
    the same rule. A final semicolon changes nothing, and no query is cut out of a statement that
    is none as a whole: it is taken with what makes it none, and so is the first candidate that
    looks like SQL where none is. Execution refuses what may not be run. Reasoning blocks
    (``<think>``) and what follows the end of a turn are left out. Never raises.
    """
    answer = without_reasoning(text)
    mark = _BIRD.search(answer)
    if mark is not None:
        sql, database = answer[: mark.start()], answer[mark.end() :]
        return Extracted(_ended(sql), _clean(database.partition("\n")[0]))
    reader = _Reader()
    found = reader.read(_END_OF_TURN.split(answer, maxsplit=1)[0])
    return found or reader.broken or reader.called_sql or Extracted(None)


class _Reader:
    """Reads one answer.

    Attributes:
        broken: the first candidate that looks like SQL and is none.
        called_sql: the last fence that is called SQL and holds none.
    """

    def __init__(self) -> None:
        self.broken: Extracted | None = None
        self.called_sql: Extracted | None = None
        self._characters = _PARSED
        self._texts = _TRIES

    def read(self, text: str, depth: int = 0) -> Extracted | None:
        """Return the SQL of a text, or of what it wraps; None if nothing is SQL as a whole."""
        self._texts -= 1
        if depth > _DEEPEST or self._texts < 0:
            return None
        whole = _whole_object(text)
        if whole is not None:
            return self._in_json([whole], depth)
        no_query: Extracted | None = None
        for language, content in _fences(text):
            found = self.read(content, depth + 1) if language in _SQL_FENCES else None
            if found and found.sql and not _begins_as_no_query(found.sql):
                return found
            no_query = no_query or found
            if found is None and language in _NAMED_SQL:
                self.called_sql = self.called_sql or _looks_like(content)
        if no_query:
            return no_query
        spans = (span[1] for span in islice(_INLINE_CODE.finditer(text), _TRIES))
        for content in chain(filter(self._is_sql, spans), _tags(text)):
            found = self.read(content, depth + 1)
            if found:
                return found
        records = [record for record in _objects(text) if record] or _broken_object(text)
        return self._in_json(records[::-1], depth) or self._statement(text)

    def _in_json(self, records: list[Mapping[str, Any]], depth: int) -> Extracted | None:
        """Return the SQL in the first of some objects that has any."""
        for record in records:
            inside = list(islice(_mappings(record), _TRIES))
            names = (_field(each, "database_id") for each in inside)
            database_id = _clean(next(filter(None, names), None))
            for each in inside:
                sql = _field(each, "sql")
                if sql is not None:
                    found = self.read(sql, depth + 1) if sql.lstrip().startswith("```") else None
                    sql = found.sql if found else _ended(sql)
                    return Extracted(sql, database_id) if sql else None
            for each in inside:
                texts = [
                    (key, text)
                    for key, value in each.items()
                    for text in (value if isinstance(value, list) else [value])
                    if isinstance(text, str)
                ]
                texts.sort(key=lambda item: _OTHER_KEYS.search(str(item[0])) is None)
                for key, value in texts:
                    found = self.read(value, depth + 1) if _START.search(value) else None
                    if found:
                        return Extracted(found.sql, database_id or found.database_id)
                    if _OTHER_KEYS.search(str(key)) and _START.match(value.lstrip()):
                        self._look_at(value)
        return None

    def _statement(self, text: str) -> Extracted | None:
        """Return the statement that a text is, or that stands between its sentences."""
        if self._is_sql(text):
            return Extracted(_ended(text))
        for start in islice(_START.finditer(text), _TRIES):
            begin = _begin(text, start.start())
            if _ASKED.search(text[:begin]):
                continue
            whole = text[begin:]
            if _begins_as_no_query(whole):
                return Extracted(_ended(_paragraph(whole[: _first_end(whole)])))
            if begin and begin == start.start() and _is_inside(text[:begin]):
                sql = self._quoted(text, begin)
                self.broken = self.broken or _looks_like(text)
                if sql is None:
                    continue
            else:
                sql = self._complete(text, begin)
            if sql is not None:
                return Extracted(sql)
            word = start[0].split()[0]
            alone = text[:begin].rstrip(" \t")[-1:] in ("", "\n", ":")
            if word.isupper() or re.search(r"\bfrom\b", whole, re.IGNORECASE):
                self._look_at(whole[: _first_end(whole)])
            if word.isupper() or (word.islower() and alone):
                return None  # it is code, of which no part is taken
        return None

    def _complete(self, text: str, begin: int) -> str | None:
        """Return the statement that begins at a place, without what follows it."""
        whole = text[begin:]
        sql = self._quoted(text, begin)
        if sql is not None:
            return sql
        end = _first_end(whole)
        if self._is_sql(whole[:end]):
            behind = whole[end:].lstrip("; \t\n")
            return _ended(whole if behind and _is_comment(behind) else whole[:end])
        lines = whole[:end].split("\n")
        behind = ""  # the next line that is not blank
        for n in range(len(lines) - 1, 0, -1):
            if self._characters < 0:
                return None
            behind = lines[n] if lines[n].strip() else behind
            if _PROSE.match(behind):
                sql = "\n".join(lines[:n])
                if self._is_sql(sql):
                    return _ended(sql)
        sentence = _SENTENCE.search(whole, 0, end)
        if sentence and self._is_sql(whole[: sentence.start()]):
            return _ended(whole[: sentence.start()])
        if text[:begin].strip():  # a sentence ends behind the statement
            for sql in (whole[:end].rstrip(), lines[0].rstrip()):
                if sql.endswith(".") and self._is_sql(sql[:-1]):
                    return _ended(sql[:-1])
        return None

    def _quoted(self, text: str, begin: int) -> str | None:
        """Return the statement that stands in quotes or is marked from a place on."""
        whole, before = text[begin:], text[max(0, begin - 3) : begin]
        for mark, closing in _QUOTES:
            for end in islice(_places_from_the_end(whole, closing), 5 * before.endswith(mark)):
                for sql in (whole[:end], _unescaped(whole[:end])):
                    if self._is_sql(sql):
                        return _ended(sql)
        return None

    def _is_sql(self, text: str) -> bool:
        self._characters -= len(text)  # with its blanks, which take time too
        return self._characters >= 0 and _is_sql(text.strip())

    def _look_at(self, text: str) -> None:
        """Keep a text that looks like SQL, where nothing is SQL."""
        self.broken = self.broken or _looks_like(_paragraph(text.strip()))


# ------------------------------------------------------------------------------------------------
# JSON


def _whole_object(text: str) -> Mapping[str, Any] | None:
    """Return the object that a text is as a whole; None if it is something else."""
    text = text.strip()
    if not text.startswith("{") or not text.endswith("}"):
        return None
    record, end = _decoded(json.JSONDecoder(strict=False), text, 0)
    return record if isinstance(record, dict) and end == len(text) else None


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield an object and those inside of it, also of lists and of texts that are JSON."""
    level = [value]
    for _ in range(_DEEPEST):
        yield from (item for item in level if isinstance(item, dict))
        inner: list[Any] = []
        for item in level:
            parts = item.values() if isinstance(item, dict) else item
            for part in parts:
                opened = _whole_object(part) if isinstance(part, str) else part
                if isinstance(opened, dict | list):
                    inner.append(opened)
        level = inner


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


def _broken_object(text: str) -> list[Mapping[str, Any]]:
    """Return the fields of an object that is cut off, or has unescaped quotes in its texts."""
    fields: dict[str, str] = {}
    for name, keys in _KEYS.items():
        for key in keys:
            start = re.search(_BROKEN.format(key=key), text, re.IGNORECASE)
            end = _BROKEN_END.search(text, start.end()) if start else None
            if start and end and name not in fields:
                fields[name] = _unescaped(text[start.end() : end.start()])
    return [fields] if "sql" in fields else []


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def _field(record: Mapping[str, Any], name: str) -> str | None:
    lowered = {str(key).lower(): value for key, value in record.items()}
    values = (lowered.get(key) for key in _KEYS[name])
    return next((value for value in values if isinstance(value, str)), None)


# ------------------------------------------------------------------------------------------------
# Fences and tags


def _fences(text: str) -> list[tuple[str, str]]:
    """Return the language and content of each fence, the last one first."""
    fences = [
        (m.start(), (m[1] or m[3] or "").strip().lower(), m[2] or m[4] or "")
        for m in _FENCE.finditer(text)
    ]
    fences += [(m.start(), (m[1] or "").lower(), m[2]) for m in _INLINE_FENCE.finditer(text)]
    return [(language, content) for _, language, content in sorted(fences, reverse=True)]


def _tags(text: str) -> Iterator[str]:
    """Yield what stands in tags and in LaTeX's boxes, the last one first."""
    contents = []
    for tag in islice(_TAG.finditer(text), _TRIES):
        close = f"</{tag[1]}>" if tag[1] else f"[/{tag[2]}]" if tag[2] else "}"
        end = text.find(close, tag.end()) if tag[1] or tag[2] else text.rfind(close, tag.end())
        if end >= 0:
            contents.append(text[tag.end() : end])
    for content in reversed(contents):
        yield unescape(content) if re.search(r"&(?:lt|gt|amp|quot|#39);", content) else content


# ------------------------------------------------------------------------------------------------
# A statement between sentences


def _paragraph(text: str) -> str:
    """Return a text up to a fence, or the first paragraph that is a sentence."""
    for gap in _GAP.finditer(text):
        line = text[gap.end() :].partition("\n")[0]
        if gap[0] == "```" or _PROSE.match(line):
            return text[: gap.start()]
    return text


def _begin(text: str, start: int) -> int:
    """Return where the statement with this SELECT begins: its brackets, or INSERT INTO."""
    if _LINE_START.match(text[:start]):
        return 0
    boundary = max(text.rfind(";", 0, start), text.rfind("\n\n", 0, start))
    for line in _NEW_LINE.finditer(text, boundary + 1, start):
        if _NO_QUERY.match(text, line.end()):
            return line.end()
    return start


def _looks_like(text: str) -> Extracted | None:
    sql = _ended(text)
    return Extracted(sql) if sql and not _is_comment(sql) else None


def _is_inside(before: str) -> bool:
    """Return whether what follows a text is a part of a statement that began there."""
    paragraph = before[before.rfind("\n\n") + 1 :]
    return paragraph.count("(") > paragraph.count(")") or bool(
        _UNFINISHED.search(before.rstrip()[-20:])
    )


def _first_end(text: str) -> int:
    """Return where a statement ends: at a semicolon or a closing tag that no SQL follows.

    A semicolon in quotes, comments and parentheses ends none. Statements behind it that are SQL
    belong to it: what is run should be what was written.
    """
    closing = _CLOSING.search(text)
    last = closing.start() if closing else len(text)
    depth = 0
    for part in _OUTSIDE.finditer(text, 0, last):
        depth += (part[0] == "(") - (part[0] == ")")
        if part[0] == ";" and depth <= 0 and not _goes_on(text[part.end() : last]):
            return part.start()
    return last


def _goes_on(text: str) -> bool:
    """Return whether a text behind a semicolon is SQL rather than a sentence, or begins as it."""
    start = _COMMENTS.match(text)
    text = text[start.end() if start else 0 :]
    word = _WORD.match(text)
    if word is None:
        return text[:1] in tuple(")=,+")
    if _NO_QUERY.match(text):
        return True
    known = word[0].upper() in _QUERIES | _OTHERS | _CLAUSES
    return known and (word[0].isupper() or word[0] == text.strip() or _is_sql(text))


def _places_from_the_end(text: str, mark: str) -> Iterator[int]:
    place = text.rfind(mark)
    while place > 0:
        yield place
        place = text.rfind(mark, 0, place)


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
_CLAUSES = {
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "JOIN",
    "AND",
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


def _begins_as_no_query(text: str) -> bool:
    """Return whether a statement other than a query begins a text, comments aside."""
    comments = _COMMENTS.match(text)
    return _NO_QUERY.match(text, comments.end() if comments else 0) is not None


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
