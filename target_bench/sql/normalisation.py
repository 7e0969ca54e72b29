"""Normalisation of a query by Spider's test-suite evaluation (Zhong et al. 2020) before a run.

The official exec_eval.py and parse.py split text with sqlparse; the few kinds of token that decide
what they do are recognised here. Everything is text work: nothing is parsed, so nothing is refused.
"""

import re
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
      (?P<comment> (?: -- | \#[ ] ) [^\r\n]* (?: \r\n | \r | \n | $ ) | /\* .*? (?: \*/ | \Z ) )
    | (?P<newline> [\r\n]+ )
    | (?P<space> [^\S\r\n]+ )
    | (?P<name> `(?:``|[^`])*` | (?<![\w\]]) \[ [^\]\[]+ \] )
    | (?P<string> '(?:''|\\'|[^'])*' | "(?:""|\\"|[^"])*" )
    | (?P<number>
          -? \d+ (?:\.\d+)? E -? \d+
        | -? (?: \d+\.\d* | \.\d+ ) (?! [_A-ZÀ-Ü] )
        | -? \d+ (?! [_A-ZÀ-Ü] ) )
    | (?P<word> \w [$\#\w]* )
    | (?P<sign> :: | ->>? | - | [<>=~!]+ | [+/@\#%^&|-]+ | . )
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_CURRENT_YEAR = re.compile(r"YEAR\s*\(\s*CURDATE\s*\(\s*\)\s*\)", re.IGNORECASE)
_EMPTY = ("space", "newline", "comment")
_SPLIT_OPERATORS = (("> =", ">="), ("< =", "<="), ("! =", "!="))
_VALUE = re.compile(r"-?\d*\.?\d+|[^\W\dtT]\d+")


class _Token(NamedTuple):
    kind: str
    text: str


def for_test_suite(sql: str, keep_distinct: bool = False) -> str:
    """Return the text that the ``spider`` rule runs in place of a gold or predicted query.

    Operators written with a space (``> =``) are joined, ``YEAR(CURDATE())`` becomes 2020, and
    unless ``keep_distinct`` every DISTINCT goes, the one inside ``COUNT(DISTINCT ...)`` too, and
    with it everything behind the first statement. The official evaluation does the same, inside of
    string literals as well; it fails on an empty query, which stays empty here.
    """
    for split, joined in _SPLIT_OPERATORS:
        sql = sql.replace(split, joined)
    if not keep_distinct:
        sql = without_distinct(sql)
    return _CURRENT_YEAR.sub("2020", sql)


def without_distinct(sql: str) -> str:
    """Return the first statement, without the word DISTINCT outside of quotes and comments."""
    return "".join(
        token.text for token in _first_statement(sql) if token.text.lower() != "distinct"
    )


def plugged(gold_sql: str, predicted_sql: str) -> Iterator[str]:
    """Yield the prediction with the gold's values in its place of values, in every possible way.

    For scores that leave the choice of values out ("plug value"): a prediction is right if it, or
    one of these, is. There are as many as (values of the gold) to the power of (places in the
    prediction), so take no more than you can run. Both texts as ``for_test_suite`` gives them.
    """
    values = sorted(value_slots(gold_sql)[1])
    words = value_slots(predicted_sql)[0]
    for chosen in product(values, repeat=words.count(None)):
        filling = iter(chosen)
        yield " ".join(next(filling) if word is None else word for word in words)


def value_slots(sql: str) -> tuple[tuple[str | None, ...], frozenset[str]]:
    """Return a query's words in lower case, None in the place of every value, and the values.

    Values are numbers and what stands in single or double quotes, as they are written. As in the
    official evaluation a name of one letter and digits (``A11``, unless the letter is a T) is taken
    for a value, and semicolons and tabs go, quoted ones too. Unlike there, so do comments.
    """
    words: list[str | None] = []
    values = set()
    for kind, text in _tokens(sql.strip().replace(";", "").replace("\t", "")):
        if kind == "string" or _VALUE.fullmatch(text):
            words.append(None)
            values.add(text)
        elif kind not in _EMPTY:
            words.extend(text.lower().split())
    return tuple(words), frozenset(values)


def _first_statement(sql: str) -> Iterator[_Token]:
    """Yield the tokens up to the first semicolon outside of parentheses and its space."""
    depth, over = 0, False
    for token in _tokens(sql):
        if over and token.kind not in ("space", "comment"):
            return
        depth += (token.text == "(") - (token.text == ")")
        over = over or (token.text == ";" and depth <= 0)
        yield token


def _tokens(sql: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(sql):
        yield _Token(match.lastgroup or "", match[0])
