"""Tokens -> running text by the rules of Moses's ``detokenizer.perl -q -l en``.

ToTTo's evaluation script sends predictions, references and tables through it, line by line. The
rules are written here again from their description; only those for English are.
"""

import re
import unicodedata
from collections import Counter

import regex

_ENTITIES = (
    (" @-@ ", "-"),
    ("&bar;", "|"),
    ("&#124;", "|"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&bra;", "["),
    ("&ket;", "]"),
    ("&quot;", '"'),
    ("&apos;", "'"),
    ("&#91;", "["),
    ("&#93;", "]"),
    ("&amp;", "&"),
)
_PASSED = re.compile(r"<.+>|\s*")
_OPENS = frozenset("([{¿¡")
_CLOSES = frozenset(",.?!:;\\%}])")
_QUOTES = frozenset("'\"„“`")
_LOW_QUOTES = frozenset("„“”")
_FIRST = _OPENS | _CLOSES | _QUOTES | {"$"}
_MARKED = re.compile("(?<= )[^ A-Za-z0-9][^ ]*")
_SPACES = re.compile(" +")
# Perl's classes, for which ``str.isalpha`` and ``str.isalnum`` are no substitute: those leave out
# combining vowels, and the second one takes in fractions and raised digits.
_APOSTROPHE_AND_LETTER = regex.compile(r"'\p{Alphabetic}")
_LETTER_OR_DIGIT_AT_END = regex.compile(r"[\p{Alphabetic}\p{Nd}]$")
_CJK = (
    (0x1100, 0x11FF),
    (0x2E80, 0xA4CF),
    (0xA840, 0xA87F),
    (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF),
    (0xFE30, 0xFE4F),
    (0xFF65, 0xFFDC),
    (0x20000, 0x2FFFF),
)


def detokenised(line: str) -> str:
    """Join the tokens of a line as a reader would write them.

    A line that is blank, or begins with ``<`` and ends with ``>``, stays as it is. Spaces alone
    divide tokens, so what a TAB joins is one token.
    """
    if _PASSED.fullmatch(line):
        return line
    line = f" {line} "
    if "@" in line or "&" in line:
        for written, meant in _ENTITIES:
            line = line.replace(written, meant)
    return _SPACES.sub(" ", _joined(line)).removeprefix(" ").removesuffix(" ")


def _joined(line: str) -> str:
    """Remove the space beside words that belong to the one before or after them.

    Words that begin with a plain letter or digit do not.
    """
    parts: list[str] = []
    seen: Counter[str] = Counter()
    end = 0
    for marked in _MARKED.finditer(line):
        start = marked.start()
        before = line[line.rfind(" ", 0, start - 1) + 1 : start - 1]
        left, right = _sides(marked[0], before, seen)
        parts.append(line[end : start - 1 if left else start])
        parts.append(marked[0])
        end = marked.end() + right
    parts.append(line[end:])
    return "".join(parts)


def _sides(word: str, before: str, seen: Counter[str]) -> tuple[bool, bool]:
    """Say whether a word is attached to the one before it, and to the one after it."""
    first = word[:1]
    if first.isascii() and first not in _FIRST:
        return False, False
    if _is_cjk(first):
        return before != "" and _is_cjk(before[-1]), False
    if all(c in _OPENS or unicodedata.category(c) == "Sc" for c in word):
        return False, True
    if _CLOSES.issuperset(word):
        return True, False
    if _APOSTROPHE_AND_LETTER.match(word) and _LETTER_OR_DIGIT_AT_END.search(before[-1:]):
        return True, False
    if _QUOTES.issuperset(word):
        return _quote(word, before, seen)
    return False, False


def _quote(word: str, before: str, seen: Counter[str]) -> tuple[bool, bool]:
    kind = '"' if _LOW_QUOTES.issuperset(word) else word
    opens = seen[kind] % 2 == 0
    if opens and word == "'" and before.endswith("s"):
        return True, False
    seen[kind] += 1
    return (False, True) if opens else (True, False)


def _is_cjk(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _CJK)
