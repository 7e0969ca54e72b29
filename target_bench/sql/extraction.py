"""The SQL in what a language model answered, however it is wrapped."""

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import suppress
from html import unescape
from itertools import islice
from typing import Any, NamedTuple

from sqlglot import exp

from target_bench.core.reasoning import without_reasoning
from target_bench.sql.names import parse_statements
from target_bench.sql.normalisation import LONGEST

_SQL_KEYS = ("sql", "sql_query")
_DATABASE_KEYS = ("database_id", "db_id", "database")
_OTHER_KEYS = re.compile(r"sql|query|answer|statement|output|code")
_BIRD = re.compile(r"\t----- bird -----\t?")
_END_OF_TURN = re.compile(
    r"<\|[\w ▁-]{1,40}\|>|<｜[\w▁]{1,40}｜>|</?s>|<eos>|<end_of_turn>|\[EOS\]|\[/?INST\]"
)
_FENCE = re.compile(
    r"(```|^~~~+)(?:([^\n`~]*)\n|(sql|sqlite3?|duckdb)?[ \t]++)(?!```)(.*?)(?:\1|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_NAMED_SQL = ("sql", "sqlite", "sqlite3", "duckdb", "postgresql", "mysql")
_SQL_FENCES = ("", *_NAMED_SQL, "text", "json")
_TAG = re.compile(
    r"<([A-Za-z][\w-]{0,30})(?:\s[^<>\n]{0,100})?>|\[([A-Za-z]\w{0,30})\]"
    r"|\\(?:boxed|text\w{0,9}|math\w{1,9})\{"
)
_QUOTES = (
    *((mark, mark) for mark in ("```", "'''", '"""', "**", "`", '"', "'", "*")),
    ("\N{LEFT DOUBLE QUOTATION MARK}", "\N{RIGHT DOUBLE QUOTATION MARK}"),
)
_ESCAPED = re.compile(r"\\([_*%&#$<>{}\[\]~])")  # as Markdown and LaTeX write these signs
_QUESTION = re.compile(
    r"(?:\A|\n)[ \t#>*]{0,9}(?:question|q)[ \t*]{0,9}:[\s*]{0,9}\Z", re.IGNORECASE
)
_UNFINISHED = re.compile(
    r"(?:[,=<(+/|]|\b(?:UNION|ALL|EXCEPT|INTERSECT|AS|FROM|JOIN|IN|NOT|EXISTS|ON|AND|OR|WHERE))\Z"
)
_BROKEN_TEXT = r'"{key}"\s*+:\s*+"'
_BROKEN_TEXT_END = re.compile(r'"\s*+(?:,\s*+"\w++"\s*+:|\}|,?\s*+\Z)')
_TRIES = 50  # how many starts of an object or a statement, and ends of one, are looked at
_DEEPEST = 4  # wrappings inside of each other that are opened
_PARSED = 2 * LONGEST  # characters that are parsed in the search for a statement

# ------------------------------------------------------------------------------------------------
# How a statement begins

_OBJECT = r"(?:TABLE|VIEW|INDEX|TRIGGER|SCHEMA|MACRO|SECRET|TEMP|TEMPORARY|UNIQUE|VIRTUAL)\b"
# The first words of a statement that is not a query and does not look like a sentence.
_NO_QUERY = re.compile(
    rf"""(?:
      (?: INSERT (?: \s+ OR \s+ \w+ )? | REPLACE | MERGE | VACUUM ) \s+ INTO \b
    | UPDATE \s+ (?: OR \s+ \w+ \s+ )? ["`\[]? \w [^\n]{{0,200}}? \s SET \s
    | DELETE \s+ FROM \b
    | CREATE \s+ (?: OR \s+ REPLACE \s+ )? {_OBJECT}
    | (?: DROP | ALTER ) \s+ {_OBJECT}
    | ATTACH \s+ (?: DATABASE \b | IF \b | ['"] )
    | PRAGMA \s+ \w
    | EXPLAIN \s+ (?: QUERY \s+ PLAN \s+ | ANALYZE \s+ )? (?: SELECT | WITH | FROM | VALUES ) \b
    | COPY \s+ [(\w"] [^\n]{{0,200}}? \s (?: TO | FROM ) \s+ ['"]
    )""",  # noqa: S608 (a pattern)
    re.VERBOSE | re.IGNORECASE,
)
_START = re.compile(
    r"\bSELECT\b|\bWITH\s+(?:RECURSIVE\s+)?[\w\"`\[\]]+\s*(?:\([^()]*\)\s*)?AS\s*(?:MATERIALIZED\s*)?\(",
    re.IGNORECASE,
)
_NEW_LINE = re.compile(r"(?:\A|(?<=[;\n])|\n|:)[ \t]*")
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
_CLAUSES = (
    *("WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "UNION", "EXCEPT", "INTERSECT"),
    *("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "ON", "AND", "OR", "AS", "IN"),
)
_DIALECTS = ("sqlite", "duckdb")

# ------------------------------------------------------------------------------------------------
# What a sentence looks like, and a line of SQL does not: three words in a row of which none is
# SQL's, a word that SQL does not begin a line with, a label, a mark of a list.

_KEYWORD = (
    rf"(?i:{'|'.join(_CLAUSES)}|SELECT|FROM|OUTER|BY|IS|NOT|NULL|LIKE|GLOB|BETWEEN|EXISTS|CASE|WHEN|"
    r"THEN|ELSE|END|ASC|DESC|DISTINCT|USING|OVER|CAST|COLLATE|VALUES|WITH)\b"
)
_PLAIN = rf"(?!{_KEYWORD})[A-Za-z][a-z']*+(?![\w(]|\.\w)"
_SENTENCE = rf"""(?:
      \# | ``` | \*\*\w
    | (?: \*+ | > | ->? (?!-) | => | [^\x00-\x7f\w]+ | \d+[.)] ) \s* {_PLAIN} (?: \s | [.:!,] | \Z )
    | [^\W\d_a-zA-Z] [^=<>(]*? (?: \n | \Z )                            # another script
    | (?! [A-Z]{{2,}}\b ) (?: [^()=<>*"'`\n] | (?<=[a-z]) ' )* [.!?:] \s* (?: \n | \Z )
    | [A-Za-z] [\w\ ]{{0,30}} : (?!:)
    | (?! {_KEYWORD} ) [A-Z] [a-z']+ \b (?! \s*[.(=] )
    | (?i: {_KEYWORD} [ \t]+ )? {_PLAIN} [ \t]+ (?=[a-z]) {_PLAIN} [ \t]+ (?=[a-z]) {_PLAIN}
    | (?i: ON | AND | OR | WHERE | HAVING | IN ) [ \t]+ {_PLAIN}
      (?: [ \t]+ {_PLAIN} | (?i: [ \t]+ IS [ \t]+ (?: THE | AN? ) \b ) )
    | (?i: {_KEYWORD} (?: [ \t]+ BY )? [ \t]+ (?: IS | ARE | WAS ) \s )
    | \( \s* {_PLAIN} [ \t]+ (?: {_PLAIN} | IS\b | is\b )
    )"""
_ON_A_LINE = rf"""(?:
      (?! {_KEYWORD} ) [A-Z] [a-z']+ (?: \  [a-z']+ ){{0,3}} : \s
    | (?! {_KEYWORD} ) [A-Z] [a-z']* [ \t]+ [a-z']+ [ \t]+ [a-z]
    | \( \s* {_PLAIN} [ \t]+ {_PLAIN}
    )"""
_PROSE = re.compile(rf"\s*+(?:\Z|{_SENTENCE})", re.VERBOSE)
# Before a sentence: the end of a line, a place within a line, and a full stop at a line's end.
_LINE_END, _WITHIN_LINE, _FULL_STOP = (
    re.compile(rf"(?<=\S) {pattern}", re.VERBOSE)
    for pattern in (
        rf"[^\S\n]*+ \n \s*+ (?={_SENTENCE})",
        rf"(?: \. [ \t]++ (?=[A-Z] [a-z']* \  [a-z]) | \.? [ \t]++ (?={_ON_A_LINE}) )",
        rf"\. [^\S\n]*+ \n \s*+ (?={_SENTENCE})",
    )
)
_LAST_WORD = re.compile(rf"\n[ \t]*((?!{_KEYWORD})[A-Z][a-z]+|[^\W\d_a-zA-Z]\w*)\s*\Z")
_HEAD = re.compile(rf"\bSELECT\b|^[ \t]*(?P<clause>{'|'.join(_CLAUSES)}|FROM)\b", re.M)
_CLOSING = r"</[A-Za-z][\w-]{0,30}>|\[/[A-Za-z]\w{0,30}\]|```"
_OUTSIDE = re.compile(
    rf"(?P<closing>{_CLOSING})|'[^']*+'|\"[^\"]*+\"|`[^`]*+`|\[[^\[\]\n]*+\]|--[^\n]*+"
    r"|/\*.*?(?:\*/|\Z)|[;()]",
    re.DOTALL,
)


class Extracted(NamedTuple):
    """The SQL in an answer, its last semicolons left out, and the database it names, unchecked."""

    sql: str | None
    database_id: str | None = None


def extract(text: str) -> Extracted:
    r"""Return the SQL of an answer; never raises.

    The form of BIRD's prediction files (``SQL<TAB>----- bird -----<TAB>database``) is taken as it
    stands. Else the first of these that is SQL as a whole is taken:

    1. the last fence that holds a query (models try and then correct themselves), or code in
       backquotes;
    2. the content of a tag (``<sql>``, ``[SQL]``, ``\boxed{}``), or lines that Markdown quotes;
    3. in JSON the field ``sql``, else the first text that is SQL, however deep;
    4. the text: all of it, or what follows a label or a sentence, without the sentences behind it.

    No query is cut out of a statement that is none as a whole: that is taken as it is, and does
    not run.
    """
    answer = without_reasoning(text)
    mark = _BIRD.search(answer)
    if mark is not None:
        sql, database = answer[: mark.start()], answer[mark.end() :]
        return Extracted(_strip(sql), _clean(database.partition("\n")[0]))
    reader = _Reader()
    turns = _END_OF_TURN.split(answer)
    for turn in turns:
        found = reader.read(turn)
        if found or reader.broken or reader.named_sql:
            break
    if not found and len(turns) > 1 and turns[0].count("'") % 2:  # the mark stands in a text
        found = reader.read(answer)
    return found or reader.broken or reader.named_sql or Extracted(None)


class _Reader:
    """A reader of one answer, with a budget of texts and characters that it tries."""

    def __init__(self) -> None:
        self.broken: Extracted | None = None  # the first candidate that looks like SQL
        self.named_sql: Extracted | None = None  # the last fence that is called SQL
        self._characters = _PARSED
        self._texts = _TRIES

    def read(self, text: str, depth: int = 0) -> Extracted | None:
        """Return the SQL of a text, or of a text in it; None if nothing is SQL as a whole."""
        self._texts -= 1
        if depth > _DEEPEST or self._texts < 0:
            return None
        whole = _load_object(text)
        if whole is not None:
            return self._read_json(whole, depth)
        no_query: Extracted | None = None
        for language, content in _list_fences(text):
            found = self.read(content, depth + 1) if language in _SQL_FENCES else None
            if found and found.sql and not _begins_as_no_query(found.sql):
                return found
            no_query = no_query or found
            if found is None and language in _NAMED_SQL:
                self.named_sql = self.named_sql or _take(content)
        if no_query:
            return no_query
        for content in (*_list_tagged(text), *_list_block_quotes(text)):
            found = self.read(content, depth + 1)
            if found:
                return found
        records = [record for record in _find_objects(text) if record]
        for record in records[::-1] or [_repair_object(text)]:
            found = self._read_json(record, depth)
            if found:
                return found
        return self._read_text(text)

    def _read_json(self, record: Mapping[str, Any], depth: int) -> Extracted | None:
        """Return the SQL in an object: of the field ``sql``, else of the first text that is SQL."""
        texts = list(islice(_list_texts(record), _TRIES))
        database_id = next((_clean(text) for key, text in texts if key in _DATABASE_KEYS), None)
        for key, text in texts:
            if key in _SQL_KEYS:
                found = self.read(text, depth + 1) if text.lstrip().startswith("```") else None
                sql = found.sql if found else _strip(text)
                return Extracted(sql, database_id) if sql else None
        for key, text in sorted(texts, key=lambda item: _OTHER_KEYS.search(item[0]) is None):
            found = self.read(text, depth + 1) if _START.search(text) else None
            if found:
                return Extracted(found.sql, database_id or found.database_id)
            if _OTHER_KEYS.search(key) and _START.match(text.lstrip()):
                self.broken = self.broken or _take(text)
        return None

    def _read_text(self, text: str) -> Extracted | None:
        """Return the statement that a text is, or that stands between its sentences."""
        whole = text[: _find_end(text)]
        head = whole
        last = _LAST_WORD.search(whole)  # "Done", which SQL would take for the name of a table
        if last and f"{last[1]}." not in whole and not _UNFINISHED.search(whole[: last.start()]):
            head = whole[: last.start()]
        sql = self.parse(head) or (self.parse(whole) if head != whole else None)
        if sql:
            return Extracted(sql)
        for start in islice(_START.finditer(text), _TRIES):
            begin = _find_begin(text, start.start())
            if _QUESTION.search(text[:begin]):
                continue
            whole = text[begin:]
            end = _find_end(whole)
            places = _find_places(whole, end)
            shortest = _take(whole[: min(places, default=end)])
            if _begins_as_no_query(whole):
                return shortest
            sql = self._read_quoted(text, begin)
            if sql is None and begin == start.start() and _is_inside(text[:begin]):
                self.broken = self.broken or _take(text)
                continue
            # Where nothing stands before, the whole was parsed above.
            ends = [end, *places] if text[:begin].strip() else places
            if ends and ends[0] == end and whole[:end].rstrip().endswith("."):
                ends.insert(0, whole.rindex(".", 0, end))  # of the sentence around
            sql = sql or next(filter(None, (self.parse(whole[:end]) for end in ends)), None)
            if sql is not None:
                return Extracted(sql)
            word = start[0].split()[0]
            if _is_code(word, text[:begin], whole[:end]):
                self.broken = self.broken or shortest
                return None  # of code no part is taken
        return None

    def _read_quoted(self, text: str, begin: int) -> str | None:
        """Return the statement that stands in quotes or is marked from a place on."""
        whole, before = text[begin:], text[:begin]
        if before.rstrip(" \t").endswith("`"):  # Markdown allows blanks inside of backquotes
            before = before.rstrip(" \t")
        for mark, closing in _QUOTES:
            ends = re.finditer(re.escape(closing), whole) if before.endswith(mark) else ()
            for end in [match.start() for match in ends][:-6:-1]:
                sql = self.parse(whole[:end]) or self.parse(_decode(whole[:end]))
                if sql:
                    return sql
        return None

    def parse(self, text: str) -> str | None:
        """Return a text without its last semicolons if it is SQL, escapes of markup read."""
        for form in dict.fromkeys((text, _ESCAPED.sub(r"\1", text))):
            self._characters -= len(form)  # with its blanks, which take time too
            if self._characters >= 0 and _is_sql(form.strip()):
                return _strip(form)
        return None


# ------------------------------------------------------------------------------------------------
# JSON


def _load_object(text: str) -> Mapping[str, Any] | None:
    """Return a text as a JSON object; None if it is something else."""
    text = text.strip()
    if not text.startswith("{") or not text.endswith("}"):
        return None
    record, end = _decode_object(text, 0)
    return record if isinstance(record, dict) and end == len(text) else None


def _list_texts(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each text in an object, in lists and in texts that are JSON, with its key."""
    level: list[tuple[str, Any]] = [("", record)]
    for _ in range(2 * _DEEPEST):
        inner: list[tuple[str, Any]] = []
        for key, value in level:
            opened = (_load_object(value) or value) if isinstance(value, str) else value
            if isinstance(opened, str):
                yield key, opened
            elif isinstance(opened, dict):
                inner += ((str(name).lower(), item) for name, item in opened.items())
            elif isinstance(opened, list):
                inner += ((key, item) for item in opened)
        level = inner


def _find_objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a text, those inside others left out."""
    place = 0
    for _ in range(_TRIES):
        place = text.find("{", place)
        if place < 0:
            return
        record, end = _decode_object(text, place)
        if isinstance(record, dict):
            yield record
        place = max(end, place + 1)


def _decode_object(text: str, place: int) -> tuple[Any, int]:
    """Return the object that begins at a place and where it ends; nothing if there is none."""
    decoder = json.JSONDecoder(strict=False)
    with suppress(ValueError, RecursionError):
        return decoder.raw_decode(text, place)
    # Commas before a closing brace or bracket go, those in texts apart.
    pattern = r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*+[}\]])'
    body = text[place:]
    with suppress(ValueError, RecursionError):
        repaired = re.sub(pattern, lambda match: match[1] or "", body, flags=re.DOTALL)
        record, end = decoder.raw_decode(repaired)
        for match in re.finditer(pattern, body, flags=re.DOTALL):
            if match[1] is None and match.start() < end:
                end += 1  # it is further back by each comma that went
        return record, place + end
    return None, place


def _repair_object(text: str) -> Mapping[str, Any]:
    """Return the fields of an object that is cut off, or has unescaped quotes in its texts."""
    fields: dict[str, str] = {}
    for key in (*_SQL_KEYS, *_DATABASE_KEYS):
        start = re.search(_BROKEN_TEXT.format(key=key), text, re.IGNORECASE)
        end = _BROKEN_TEXT_END.search(text, start.end()) if start else None
        if start and end:
            fields[key] = _decode(text[start.end() : end.start()])
    return fields if any(key in fields for key in _SQL_KEYS) else {}


def _decode(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


# ------------------------------------------------------------------------------------------------
# Fences and tags


def _list_fences(text: str) -> list[tuple[str, str]]:
    """Return the language and content of each fence, the last one first."""
    fences = [((m[2] or m[3] or "").strip().lower(), m[4]) for m in _FENCE.finditer(text)]
    return fences[::-1]


def _list_tagged(text: str) -> Iterator[str]:
    """Yield the contents of tags and LaTeX's boxes, the last one first."""
    contents = []
    braces: dict[int, int] | None = None
    for tag in islice(_TAG.finditer(text), _TRIES):
        close = f"</{tag[1]}>" if tag[1] else f"[/{tag[2]}]" if tag[2] else ""
        if close:
            ends = [text.find(close, tag.end())]
        else:  # the brace that closes it, or, where a text has one, the last
            braces = _match_braces(text) if braces is None else braces
            ends = [text.rfind("}", tag.end()), braces.get(tag.end() - 1, -1)]
        contents += [text[tag.end() : end] for end in dict.fromkeys(ends) if end >= 0]
    for content in reversed(contents):
        yield unescape(content) if re.search(r"&(?:lt|gt|amp|quot|#39);", content) else content


_BLOCK_QUOTE = re.compile(r"(?:\A|\n[ \t]*\n|:[ \t]*\n)((?: {0,3}>[^\n]*(?:\n|\Z))+)")
"""Lines that begin with ``>``; within a statement that sign stands in no paragraph of its own."""


def _list_block_quotes(text: str) -> Iterator[str]:
    """Yield the lines that Markdown quotes, without its marks, where they begin as a query does."""
    for match in _BLOCK_QUOTE.finditer(text):
        content = re.sub(r"(?m)^ {0,3}>", "", match[1]).strip()
        if _START.match(content):
            yield content


def _match_braces(text: str) -> dict[int, int]:
    """Return where each brace that is opened is closed, of those that no backslash escapes."""
    opened, closed = [], {}
    for brace in re.finditer(r"(?<!\\)[{}]", text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            closed[opened.pop()] = brace.start()
    return closed


# ------------------------------------------------------------------------------------------------
# A statement between sentences


def _find_begin(text: str, start: int) -> int:
    """Return where the statement with this SELECT begins: its brackets, or INSERT INTO."""
    if _COMMENTS_AND_BRACKETS.fullmatch(text, 0, start):
        return 0
    boundary = max(text.rfind(";", 0, start), text.rfind("\n\n", 0, start))
    for line in _NEW_LINE.finditer(text, boundary + 1, start):
        if _NO_QUERY.match(text, line.end()):
            return line.end()
    return start


def _is_inside(before: str) -> bool:
    """Return whether what follows a text is a part of a statement that began there."""
    paragraph = before[before.rfind("\n\n") + 1 :]
    return paragraph.count("(") > paragraph.count(")") or bool(
        _UNFINISHED.search(before.rstrip()[-20:])
    )


def _find_end(text: str) -> int:
    """Return where a statement ends: at a semicolon or a closing tag that no SQL follows."""
    # Statements behind it that are SQL belong to it: what is run should be what was written.
    depth = 0
    for part in _OUTSIDE.finditer(text):
        depth += (part[0] == "(") - (part[0] == ")")
        if part["closing"] or (part[0] == ";" and depth <= 0 and not _goes_on(text[part.end() :])):
            return part.start()
    return len(text)


def _goes_on(text: str) -> bool:
    """Return whether a text behind a semicolon is SQL rather than a sentence, or begins as it."""
    start = _COMMENTS.match(text)
    behind = text[start.end() if start else 0 :]
    word = _WORD.match(behind)
    if word is None:
        return behind[:1] in tuple(")=,+") if behind else bool(text.strip())  # a comment
    text = behind
    if _NO_QUERY.match(text):
        return True
    known = word[0].upper() in _QUERIES | _OTHERS | {*_CLAUSES}
    return known and (word[0].isupper() or word[0] == text.strip() or _is_sql(text))


def _find_places(text: str, end: int) -> list[int]:
    """Return where a statement may end before a sentence.

    These are the ends of lines, the last one first; then places within a line; then full stops.
    """
    lines, inside, ended = (
        [match.start() for match in pattern.finditer(text, 0, end)]
        for pattern in (_LINE_END, _WITHIN_LINE, _FULL_STOP)
    )
    # where a clause or another SELECT begins, and whether it is a clause
    heads = [(match.start(), match["clause"] is not None) for match in _HEAD.finditer(text, 0, end)]

    def goes_on(place: int) -> bool:  # with a clause of the same statement
        at = bisect_left(heads, (place, False))
        return at < len(heads) and heads[at][1]

    places = [*lines[: -_TRIES - 1 : -1], *inside[:_TRIES], *ended[:_TRIES]]
    return [place for place in places if not goes_on(place)]


def _is_code(word: str, before: str, text: str) -> bool:
    """Return whether a text that is no SQL is meant as it, rather than the words of a sentence."""
    text = _cut_at_next(text)
    if word.isupper() or re.search(r"[(*=]", text):
        return True
    alone = before.rstrip(" \t")[-1:] in ("", "\n", ":", ">")
    return alone and re.search(r"\bfrom\b", text, re.I) is not None and not _PROSE.match(text)


def _cut_at_next(text: str) -> str:
    """Return a text up to the line on which another statement begins."""
    for start in islice(_START.finditer(text, 1), _TRIES):
        before = text[: start.start()]
        if before.rstrip(" \t>*`\"'[")[-1:] in ("\n", ":") and not _is_inside(before):
            return before
    return text


def _take(text: str) -> Extracted | None:
    """Return a text as SQL, unless there is nothing in it but comments."""
    sql = _strip(text)
    return Extracted(sql) if sql and _COMMENTS.fullmatch(sql) is None else None


def _strip(sql: str) -> str | None:
    end = len(sql)
    while end and (sql[end - 1] == ";" or sql[end - 1].isspace()):
        end -= 1
    return sql[:end].strip() or None


def _clean(text: str | None) -> str | None:
    return (text or "").strip() or None


# ------------------------------------------------------------------------------------------------
# Whether a text is SQL as a whole, also INSERT or DROP, which may not be run: a query that is cut
# out of a statement that writes would get points that the statement does not deserve.


def _is_sql(text: str) -> bool:
    """Return whether the whole text is SQL, and no phrase: "select one", "From Oslo"."""
    if _begins_as_no_query(text):
        return True
    start = _COMMENTS_AND_BRACKETS.match(text)
    word = _WORD.match(text, start.end() if start else 0)
    if word is None or len(text) > LONGEST or word[0].upper() not in _QUERIES | _OTHERS:
        return False
    sure = word[0].upper() in ("SELECT", "WITH")
    if not sure and not (word[0].isupper() or word[0].islower()):
        return False
    for dialect in _DIALECTS:
        with suppress(ValueError):
            if _are_code(word[0], parse_statements(text, dialect)):
                return True
    return False


def _begins_as_no_query(text: str) -> bool:
    """Return whether a statement other than a query begins a text, comments aside."""
    comments = _COMMENTS.match(text)
    return _NO_QUERY.match(text, comments.end() if comments else 0) is not None


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
