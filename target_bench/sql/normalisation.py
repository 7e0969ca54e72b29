"""Normalisation of a query by Spider's test-suite evaluation (Zhong et al. 2020) before a run.

The official exec_eval.py and parse.py split text with sqlparse; the few kinds of token that decide
what they do are recognised here. Everything is text work: nothing is parsed, so nothing is refused.
"""

import re
from collections.abc import Iterator

LONGEST = 100_000
"""Characters of a statement of a model's; a longer one is neither parsed nor run."""

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
_SPLIT_OPERATORS = (("> =", ">="), ("< =", "<="), ("! =", "!="))


def rewrite_for_test_suite(sql: str) -> str:
    """Return the text that the ``spider`` rule runs in place of a gold or predicted query.

    Operators written with a space (``> =``) are joined, ``YEAR(CURDATE())`` becomes 2020, and every
    DISTINCT goes, the one inside ``COUNT(DISTINCT ...)`` too, and with it everything behind the
    first statement. The official evaluation does the same, inside of string literals as well; it
    fails on an empty query, which stays empty here.
    """
    for split, joined in _SPLIT_OPERATORS:
        sql = sql.replace(split, joined)
    kept = (text for text in _iterate_first_statement(sql) if text.lower() != "distinct")
    return _CURRENT_YEAR.sub("2020", "".join(kept))


def _iterate_first_statement(sql: str) -> Iterator[str]:
    """Yield the tokens up to the first semicolon outside of parentheses and its space."""
    depth, over = 0, False
    for match in _TOKEN.finditer(sql):
        if over and match.lastgroup not in ("space", "comment"):
            return
        depth += (match[0] == "(") - (match[0] == ")")
        over = over or (match[0] == ";" and depth <= 0)
        yield match[0]
