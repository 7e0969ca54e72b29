"""Text as ToTTo's ``totto_eval.sh`` evaluates it: its lines of tables, its tokens.

Lower-cased, detokenised by Moses's rules line by line, and tokenised by sacreBLEU's 13a (mteval).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

import regex

from target_bench.core.grid import GridCell

NULL = "<null>"  # a missing reference, or an empty prediction
ANNOTATORS = 3  # references of an example of a padded set, missing ones included

_BREAKS = re.compile(r"[\t\n\r\v\f\x1c-\x1f\x85\u2028\u2029]+")


class TableEvidence(NamedTuple):
    """What a sentence is about, as lines of ``attribute|||value`` with TABs between.

    Attributes:
        table: every cell that is not empty, then the titles and the text of the section.
        highlighted: the highlighted cells in their order, then the titles.
    """

    table: str
    highlighted: str


def evidence(
    rows: Sequence[Sequence[GridCell]],
    highlighted: Iterable[Sequence[int]],
    title: str = "",
    section_title: str = "",
    section_text: str = "",
) -> TableEvidence:
    """Write a table and its highlighted cells as ToTTo's ``prepare_references_for_eval.py`` does.

    Args:
        rows: the cells of the table, ragged.
        highlighted: row and column of each highlighted cell, as indices in ``rows``.
        title: of the page.
        section_title: of the section.
        section_text: the text of the section.

    Raises:
        IndexError: a highlighted cell is not in the table.
    """
    titles = [("page_title", title), ("section_title", section_title)]
    chosen = (rows[row][column] for row, column in highlighted)
    return TableEvidence(
        _write_line([*_name_cells(chain(*rows)), *titles, ("section_text", section_text)]),
        _write_line([*_name_cells(chosen), *titles]),
    )


def _name_cells(cells: Iterable[GridCell]) -> list[tuple[str, str]]:
    return [("header" if cell.is_header else "cell", cell.text.strip()) for cell in cells]


def _write_line(pairs: Iterable[tuple[str, str]]) -> str:
    # a TAB or line break in a value would break the line there
    return "\t".join(f"{name}|||{one_line(text).replace('|', '-')}" for name, text in pairs if text)


def one_line(text: str) -> str:
    """Write line breaks and TABs as a space."""
    return text if text.isprintable() else _BREAKS.sub(" ", text)


def is_padded(sets: Iterable[Sequence[str]]) -> bool:
    """Return whether missing references of up to three are ``<null>``.

    They are where an example has several: ToTTo's scorer takes a single reference of every example,
    as it is, or three of every example. Where every example has one, a ``<null>`` beside it would
    nearly always be the best for PARENT, as its recall is that of the table alone.
    """
    return any(len(texts) > 1 for texts in sets)


def references(texts: Sequence[str], padded: bool) -> list[str]:
    """Return the references of an example as they are compared; for padding see ``is_padded``."""
    missing = max(0, ANNOTATORS - len(texts)) if padded else 0
    return [detokenize(one_line(text).lower()) for text in texts] + [NULL] * missing


def prediction(text: str) -> str:
    """Return a prediction as it is compared; an empty one is ``<null>``."""
    return detokenize((one_line(text).strip() or NULL).lower())


def values(line: str) -> list[str]:
    """Read the values of a line of a table, detokenised as the whole line."""
    if not line:
        return []
    entries = (entry.split("|||") for entry in detokenize(line.lower()).split("\t"))
    return [e[-1] if len(e) < 3 else f"{e[0]} {e[2]}" for e in entries]


def tokens(text: str) -> list[str]:
    """Split text as the script for PARENT does: lower case, then sacreBLEU's 13a."""
    tokenised: str = _tokenizer_13a()(text.lower())
    return tokenised.split()


def known_tokens(texts: Iterable[str]) -> frozenset[str]:
    """Return the set of the tokens of several texts."""
    return frozenset(chain.from_iterable(map(tokens, texts)))


@cache
def _tokenizer_13a() -> Callable[[str], str]:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    return Tokenizer13a()  # type: ignore[no-untyped-call]


# Moses's ``detokenizer.perl -q -l en``, written here from its description, for English alone.

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


def detokenize(line: str) -> str:
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
    return _SPACES.sub(" ", _join_tokens(line)).removeprefix(" ").removesuffix(" ")


def _join_tokens(line: str) -> str:
    """Remove the space beside words that belong to the one before or after them."""
    texts: list[str] = []
    quotes: Counter[str] = Counter()
    end = 0
    for marked in _MARKED.finditer(line):
        start = marked.start()
        before = line[line.rfind(" ", 0, start - 1) + 1 : start - 1]
        left, right = _find_attached(marked[0], before, quotes)
        texts += [line[end : start - 1 if left else start], marked[0]]
        end = marked.end() + right
    return "".join([*texts, line[end:]])


def _find_attached(word: str, before: str, quotes: Counter[str]) -> tuple[bool, bool]:
    """Return whether a word is attached to the one before it, and to the one after it."""
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
        kind = '"' if _LOW_QUOTES.issuperset(word) else word
        opens = quotes[kind] % 2 == 0
        if opens and word == "'" and before.endswith("s"):
            return True, False
        quotes[kind] += 1
        return not opens, opens
    return False, False


def _is_cjk(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _CJK)
