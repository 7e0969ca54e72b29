"""H-Score: content and structure of tables, by the official scripts (Tang et al. 2023).

rapidfuzz counts edits; cydifflib is difflib's algorithm in C++, which the official score takes most
of its time for.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from cydifflib import SequenceMatcher
from rapidfuzz.distance import Levenshtein

from target_bench.tables.answer_tables import UnreadableTableError
from target_bench.tables.markup import (
    HTML_PARSER,
    is_group,
    list_children,
    parse_html,
    parse_latex,
    walk_nodes,
)

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

Items = Sequence[Hashable]
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class HScore:
    """The official H-Score of one answer.

    Attributes:
        sub: name of a sub-score, as in the official code -> its value.
        content: the sum of the sub-scores about cells: at most 2, of LaTeX 3; no lower bound.
        structure: the sum of the others that count: at most 4, of HTML 3; no lower bound.
    """

    sub: Mapping[str, float]
    content: float
    structure: float


def _summed(sub: Mapping[str, float], of_content: tuple[str, ...]) -> HScore:
    """Sum up sub-scores: those of which the names begin with one of ``of_content``, and others."""
    content = [value for name, value in sub.items() if name.startswith(of_content)]
    structure = [value for name, value in sub.items() if not name.startswith(of_content)]
    return HScore(sub, sum(content), sum(structure))


def levenshtein_similarity(answer: Items, gold: Items) -> float:
    """Return 1 - edits / (2 * length of the gold); 0 for an empty gold. No lower bound."""
    return 1 - Levenshtein.distance(answer, gold) / (2 * len(gold)) if gold else 0.0


def difflib_ratio(first: Items, second: Items) -> float:
    """Return ``difflib.SequenceMatcher(None, first, second).ratio()``, exactly.

    Not symmetric; from 200 items of ``second`` on, those that are more than a hundredth of it match
    only beside others (``autojunk``).
    """
    return float(SequenceMatcher(None, first, second).ratio())


def _similarities(name: str, answer: Items, gold: Items) -> dict[str, float]:
    """Return both similarities under the names of the official code."""
    return {
        f"{name}_levenshtein_score": levenshtein_similarity(answer, gold),
        f"{name}_difflib_score": difflib_ratio(answer, gold),
    }


# Plain text. It holds a Team and a Player table, which are cut out by the first word ``team``, the
# first ``player`` after it, and the bars around them; where a word is missing, places count from
# the end.


def has_both_tables(text: str) -> bool:
    """Return whether a text names a team and after it a player, which the H-Score looks for."""
    words = text.lower()
    team = words.find("team")
    return team >= 0 and "player" in words[team:]


def h_score_text(answer: str, gold: str) -> HScore:
    """Score a text as the official code does: the mean over the Team and the Player table.

    Args:
        answer: the text of the answer.
        gold: the reference, whose line ends may be written ``<NEWLINE>``.
    """
    pairs = zip(_team_and_player(answer), _team_and_player(gold), strict=True)
    first, second = (_of_shapes(*pair) for pair in pairs)
    return _summed({name: (first[name] + second[name]) / 2 for name in first}, ("data",))


def h_score_of_table(answer: Rows, gold: Rows) -> HScore:
    """Score one table by the official sub-scores, for which the official code asks for two.

    Args:
        answer: rows of equal length, the header first.
        gold: those of the reference.
    """
    return _summed(_of_shapes(_shape(answer), _shape(gold)), ("data",))


_Shape = tuple[int, int, tuple[str, ...], tuple[str, ...]]
"""Number of rows and of columns, the names of the columns, and the cells below them."""


def _of_shapes(answer: _Shape, gold: _Shape) -> dict[str, float]:
    n_rows, n_columns, names, cells = answer
    return {
        "num_rows_match": float(n_rows == gold[0]),
        "num_cols_match": float(n_columns == gold[1]),
        **_similarities("columns", names, gold[2]),
        **_similarities("data", cells, gold[3]),
    }


@lru_cache(maxsize=2048)
def _team_and_player(text: str) -> tuple[_Shape, _Shape]:
    words = text.lower()
    team = words.find("team")
    player = _find_from(words, team, "player")
    team_end = text[:player].rfind("|") + 1
    return (
        _shape(_text_rows(text[_find_from(words, team, "|") : team_end])),
        _shape(_text_rows(text[_find_from(words, player, "|") : text.rfind("|") + 1])),
    )


def _find_from(text: str, start: int, tag: str) -> int:
    """Return the place of a word from ``start`` on (-1: from the last character), or -1."""
    return text.find(tag, max(len(text) + start, 0) if start < 0 else start)


def _text_rows(text: str) -> Rows:
    lines = text.replace("<NEWLINE>", "\n").replace("<newline>", "\n").split("\n")
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    rows = [row for row in rows if "".join(row).strip("-=")]
    if not any(row[0] for row in rows):
        rows = [row[1:] for row in rows]
    return rows if any(row[-1] for row in rows) else [row[:-1] for row in rows]


def _shape(rows: Rows) -> _Shape:
    names = tuple(rows[0]) if rows else ()
    return len(rows), max(map(len, rows), default=0), names, tuple(chain.from_iterable(rows[1:]))


# HTML: tables and lists.

MOST_TAGS = 50_000
"""Tags of the official list above which an answer is not scored: see ``h_score_html``."""

_TAGS = (
    *("table", "tr", "th", "td", "ul", "ol", "li", "div", "span", "p", "a", "img", "embed", "pre"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "input", "button"),
)
_CELLS = {"table": ["th", "td"], "ul": ["li"], "ol": ["li"], "li": ["li"]}


def h_score_html(answer: str, gold: str, parser: str = HTML_PARSER) -> HScore:
    """Score HTML as the official code does.

    The official list of tags repeats every tag once for each subset of the known tags around it: it
    doubles with every level. Here it is counted first, in time linear in the text.

    Args:
        answer: the HTML of the answer.
        gold: the HTML of the reference; it says whether cells are those of a table or of a list.
        parser: what BeautifulSoup parses with: ``html.parser`` or ``lxml``. The official code names
            none, and then it depends on what is installed.

    Raises:
        UnreadableTableError: the list of tags would be longer than ``MOST_TAGS``.
    """
    right, left = parse_html(gold, parser), parse_html(answer, parser)
    kind = next((name for name in _CELLS if right.find(name)), None)
    cells, gold_cells = _cell_texts(left, kind), _cell_texts(right, kind)
    sub = {
        "num_cells_match": float(len(cells) == len(gold_cells)),
        **_similarities("cells_text", cells, gold_cells),
        **_similarities("struct", _tags(answer, parser), _tags(gold, parser)),
    }
    return _summed(sub, ("cells_text",))


def _cell_texts(soup: "BeautifulSoup", kind: str | None) -> list[str]:
    if kind is not None:
        return [cell.text for cell in soup.find_all(_CELLS[kind])]
    return [tag.text for tag in soup.find_all(_TAGS) if tag.text]


@lru_cache(maxsize=256)
def _tags(text: str, parser: str) -> list[str]:
    """Return the official list of tags of a text.

    Raises:
        UnreadableTableError: it is too long.
    """
    soup = parse_html(text, parser)
    around = {id(soup): 0}  # tag -> the known tags around it, itself included
    n_tags = 0
    for tag in soup.find_all(True):
        around[id(tag)] = around[id(tag.parent)] + (tag.name in _TAGS)
        n_tags += 1 << min(around[id(tag)], 41) if tag.name in _TAGS else 0
    if n_tags > MOST_TAGS:
        raise UnreadableTableError(
            "too_deep",
            f"nested tags repeat {n_tags} times in the H-Score, the limit is {MOST_TAGS}",
        )
    return list(_repeated_tags(soup))


def _repeated_tags(tag: "Tag") -> Iterator[str]:
    for inner in tag.find_all(_TAGS):
        yield f"<{inner.name}>"
        yield from _repeated_tags(inner)
        yield f"</{inner.name}>"


# LaTeX: the first ``tabular``, its alignment and the caption. Groups and macros in cells are
# skipped, empty cells and rows left out.

_NO_CAPTION = "None"


def h_score_latex(answer: str, gold: str) -> HScore:
    """Score LaTeX as the official code does.

    Raises:
        UnreadableTableError: a text cannot be parsed, or is nested too deeply.
    """
    alignments, captions, rows = zip(_tabular(answer), _tabular(gold), strict=True)
    (n_rows, n_columns, *_), (other_rows, other_columns, *_) = map(_shape, rows)
    sub = {
        **_similarities("alignment", *alignments),
        "caption_match_score": float(captions[0] == captions[1]),
        **_similarities("data", *(tuple(chain.from_iterable(side)) for side in rows)),
        "num_rows_match": float(n_rows == other_rows),
        "num_cols_match": float(n_columns == other_columns),
    }
    return _summed(sub, ("data", "caption"))


@lru_cache(maxsize=2048)
def _tabular(text: str) -> tuple[str, str, tuple[tuple[str, ...], ...]]:
    """Return alignment, caption and rows of the first ``tabular``."""
    roots = parse_latex(text)
    environments = (node for node in walk_nodes(roots) if getattr(node, "envname", None))
    tabular = next((node for node in environments if node.envname == "tabular"), None)
    if tabular is None:
        return "", _NO_CAPTION, ()
    rows = (
        tuple(cell.strip() for cell in row if cell.strip()) for row in _latex_rows(tabular.nodelist)
    )
    arguments = tabular.nodeargd.argnlist if tabular.nodeargd else ()
    first = [argument for argument in arguments[:1] if argument is not None]
    alignment = "".join(n.chars for n in _outside_groups(first) if hasattr(n, "chars"))
    return alignment, _caption(roots), tuple(row for row in rows if row)


def _outside_groups(roots: Iterable[Any]) -> Iterator[Any]:
    for node in roots:
        if not is_group(node):
            yield node
            yield from _outside_groups(list_children(node))


def _latex_rows(content: Iterable[Any]) -> Iterator[list[str]]:
    row: list[str] = []
    text = ""
    for node in _outside_groups(content):
        special = getattr(node, "specials_chars", None)
        if special == "&":
            row.append(text)
            text = ""
        elif getattr(node, "macroname", None) == "\\":
            yield [*row, text]
            row, text = [], ""
        else:
            text += special or getattr(node, "chars", "") or ""
    yield [*row, text]


def _caption(roots: Iterable[Any]) -> str:
    """Return the text of the first group after a macro ``caption``."""
    is_next = False
    for node, ends in _visited(roots):
        if ends:
            is_next = is_next or getattr(node, "macroname", None) == "caption"
        elif is_next and is_group(node):
            return "".join(_written(node.nodelist))
    return _NO_CAPTION


def _visited(roots: Iterable[Any]) -> Iterator[tuple[Any, bool]]:
    """Yield every node twice: before and after what is inside it."""
    for node in roots:
        yield node, False
        yield from _visited(list_children(node))
        yield node, True


def _written(nodes: Iterable[Any]) -> Iterator[str]:
    for node in nodes:
        if is_group(node):
            opening, closing = node.delimiters
            yield opening
            yield from _written(list_children(node))
            yield closing
        else:
            yield str(getattr(node, "chars", "") or getattr(node, "specials_chars", ""))
            yield from _written(list_children(node))
