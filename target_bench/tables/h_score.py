"""H-Score: content and structure of tables, by the official scripts (Tang et al. 2023).

rapidfuzz counts edits; cydifflib is difflib's algorithm in C++, which the official score takes most
of its time for.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from cydifflib import SequenceMatcher
from rapidfuzz.distance import Levenshtein

from target_bench.tables.answer_tables import TableFormat, UnreadableTableError
from target_bench.tables.read_html import parse_html
from target_bench.tables.read_latex import is_group, list_children, parse_latex, walk_nodes

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

Items = Sequence[Hashable]
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class HScore:
    """The official H-Score of an answer.

    Attributes:
        sub: name of a sub-score, as in the official code -> its value.
        content: the sum of the sub-scores about cells: at most 2, of LaTeX 3; no lower bound.
        structure: the sum of the others that count: at most 4, of HTML 3; no lower bound.
    """

    sub: Mapping[str, float]
    content: float
    structure: float


def _sum_up(sub: Mapping[str, float], content: tuple[str, ...]) -> HScore:
    """Sum up sub-scores: those whose names begin as those of content, and the others."""
    cells = sum(value for name, value in sub.items() if name.startswith(content))
    others = sum(value for name, value in sub.items() if not name.startswith(content))
    return HScore(sub, cells, others)


def levenshtein_similarity(answer: Items, gold: Items) -> float:
    """Return 1 - edits / (2 * length of the gold); 0 for an empty gold. No lower bound."""
    return 1 - Levenshtein.distance(answer, gold) / (2 * len(gold)) if gold else 0.0


def difflib_ratio(first: Items, second: Items) -> float:
    """Return ``difflib.SequenceMatcher(None, first, second).ratio()``, exactly.

    Not symmetric; from 200 items of ``second`` on, those that are more than a hundredth of it match
    only beside others (``autojunk``).
    """
    return float(SequenceMatcher(None, first, second).ratio())


def _compare(name: str, answer: Items, gold: Items) -> dict[str, float]:
    """Return both similarities under the names of the official code."""
    return {
        f"{name}_levenshtein_score": levenshtein_similarity(answer, gold),
        f"{name}_difflib_score": difflib_ratio(answer, gold),
    }


# Plain text. It holds a Team and a Player table, which are cut out by the first word ``team``, the
# first ``player`` after it, and the bars around them; where a word is missing, positions count from
# the end.


def has_both_tables(text: str) -> bool:
    """Return whether a text names a team and after it a player, which the H-Score looks for."""
    lower = text.lower()
    team = lower.find("team")
    return team >= 0 and "player" in lower[team:]


def h_score_text(answer: str, gold: str) -> HScore:
    """Score a text as the official code does: the mean over the Team and the Player table.

    Args:
        answer: the text of the answer.
        gold: the reference, whose line ends may be written ``<NEWLINE>``.
    """
    pairs = zip(_cut_tables(answer), _cut_tables(gold), strict=True)
    team, player = (_compare_shapes(*pair) for pair in pairs)
    return _sum_up({name: (team[name] + player[name]) / 2 for name in team}, ("data",))


def h_score_of_table(answer: Rows, gold: Rows) -> HScore:
    """Score a single table by the official sub-scores, for which the official code needs two.

    Args:
        answer: rows of equal length, the header first.
        gold: those of the reference.
    """
    return _sum_up(_compare_shapes(_measure_shape(answer), _measure_shape(gold)), ("data",))


_Shape = tuple[int, int, tuple[str, ...], tuple[str, ...]]
"""Number of rows and of columns, the names of the columns, and the cells below them."""


def _measure_shape(rows: Rows) -> _Shape:
    names = tuple(rows[0]) if rows else ()
    return len(rows), max(map(len, rows), default=0), names, tuple(chain.from_iterable(rows[1:]))


def _compare_shapes(answer: _Shape, gold: _Shape) -> dict[str, float]:
    return {
        "num_rows_match": float(answer[0] == gold[0]),
        "num_cols_match": float(answer[1] == gold[1]),
        **_compare("columns", answer[2], gold[2]),
        **_compare("data", answer[3], gold[3]),
    }


@lru_cache(maxsize=2048)
def _cut_tables(text: str) -> tuple[_Shape, _Shape]:
    """Return the shapes of the Team and the Player table."""
    lower = text.lower()

    def find(tag: str, start: int) -> int:
        # from the last character where a word was missing
        return lower.find(tag, max(len(lower) + start, 0) if start < 0 else start)

    team = lower.find("team")
    player = find("player", team)
    team_end = text[:player].rfind("|") + 1
    first = text[find("|", team) : team_end]
    second = text[find("|", player) : text.rfind("|") + 1]
    return _measure_shape(_split_rows(first)), _measure_shape(_split_rows(second))


def _split_rows(text: str) -> Rows:
    lines = text.replace("<NEWLINE>", "\n").replace("<newline>", "\n").split("\n")
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    rows = [row for row in rows if "".join(row).strip("-=")]
    if not any(row[0] for row in rows):
        rows = [row[1:] for row in rows]
    return rows if any(row[-1] for row in rows) else [row[:-1] for row in rows]


# HTML: tables and lists.

MOST_TAGS = 50_000  # of the official list of tags

_TAGS = (
    *("table", "tr", "th", "td", "ul", "ol", "li", "div", "span", "p", "a", "img", "embed", "pre"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "input", "button"),
)
_CELLS = {"table": ["th", "td"], "ul": ["li"], "ol": ["li"], "li": ["li"]}


def h_score_html(answer: str, gold: str) -> HScore:
    """Score HTML as the official code does.

    Args:
        answer: the HTML of the answer.
        gold: the HTML of the reference; it says whether cells are those of a table or of a list.

    Raises:
        UnreadableTableError: the list of tags would be longer than ``MOST_TAGS``.
    """
    right, left = parse_html(gold), parse_html(answer)
    kind = next((name for name in _CELLS if right.find(name)), None)
    cells, gold_cells = _list_cells(left, kind), _list_cells(right, kind)
    sub = {
        "num_cells_match": float(len(cells) == len(gold_cells)),
        **_compare("cells_text", cells, gold_cells),
        **_compare("struct", _list_tags(answer), _list_tags(gold)),
    }
    return _sum_up(sub, ("cells_text",))


def _list_cells(soup: "BeautifulSoup", kind: str | None) -> list[str]:
    if kind is not None:
        return [cell.text for cell in soup.find_all(_CELLS[kind])]
    return [tag.text for tag in soup.find_all(_TAGS) if tag.text]


@lru_cache(maxsize=256)
def _list_tags(text: str) -> list[str]:
    soup = parse_html(text)
    # the official list repeats a tag once for each subset of the tags around it, so that it doubles
    # with every level: it is counted first, in time linear in the text
    depths = {id(soup): 0}
    n_tags = 0
    for tag in soup.find_all(True):
        depths[id(tag)] = depths[id(tag.parent)] + (tag.name in _TAGS)
        n_tags += 1 << min(depths[id(tag)], 41) if tag.name in _TAGS else 0
    if n_tags > MOST_TAGS:
        raise UnreadableTableError(
            "too_deep",
            f"nested tags repeat {n_tags} times in the H-Score, the limit is {MOST_TAGS}",
        )
    return list(_repeat_tags(soup))


def _repeat_tags(tag: "Tag") -> Iterator[str]:
    for inner in tag.find_all(_TAGS):
        yield f"<{inner.name}>"
        yield from _repeat_tags(inner)
        yield f"</{inner.name}>"


# LaTeX: the first ``tabular``, its alignment and the caption. Groups and macros in cells are
# skipped, empty cells and rows left out.


def h_score_latex(answer: str, gold: str) -> HScore:
    """Score LaTeX as the official code does.

    Raises:
        UnreadableTableError: a text cannot be parsed, or is nested too deeply.
    """
    alignments, captions, rows = zip(_read_tabular(answer), _read_tabular(gold), strict=True)
    shapes = list(map(_measure_shape, rows))
    sub = {
        **_compare("alignment", *alignments),
        "caption_match_score": float(captions[0] == captions[1]),
        **_compare("data", *(tuple(chain.from_iterable(side)) for side in rows)),
        "num_rows_match": float(shapes[0][0] == shapes[1][0]),
        "num_cols_match": float(shapes[0][1] == shapes[1][1]),
    }
    return _sum_up(sub, ("data", "caption"))


@lru_cache(maxsize=2048)
def _read_tabular(text: str) -> tuple[str, str, tuple[tuple[str, ...], ...]]:
    """Return alignment, caption and rows of the first ``tabular``."""
    roots = parse_latex(text)
    tabulars = (n for n in walk_nodes(roots) if getattr(n, "envname", None) == "tabular")
    tabular = next(tabulars, None)
    if tabular is None:
        return "", "None", ()
    rows = (tuple(c.strip() for c in row if c.strip()) for row in _read_rows(tabular.nodelist))
    arguments = tabular.nodeargd.argnlist if tabular.nodeargd else ()
    first = [argument for argument in arguments[:1] if argument is not None]
    alignment = "".join(n.chars for n in _skip_groups(first) if hasattr(n, "chars"))
    return alignment, _read_caption(roots), tuple(row for row in rows if row)


def _skip_groups(roots: Iterable[Any]) -> Iterator[Any]:
    for node in roots:
        if not is_group(node):
            yield node
            yield from _skip_groups(list_children(node))


def _read_rows(content: Iterable[Any]) -> Iterator[list[str]]:
    row: list[str] = []
    text = ""
    for node in _skip_groups(content):
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


def _read_caption(roots: Iterable[Any]) -> str:
    """Return the text of the first group after a macro ``caption``; ``None`` without one."""
    is_next = False
    for node, is_left in _visit(roots):
        if is_left:
            is_next = is_next or getattr(node, "macroname", None) == "caption"
        elif is_next and is_group(node):
            return "".join(_write(node.nodelist))
    return "None"


def _visit(roots: Iterable[Any]) -> Iterator[tuple[Any, bool]]:
    """Yield every node twice: before and after what is inside it."""
    for node in roots:
        yield node, False
        yield from _visit(list_children(node))
        yield node, True


def _write(nodes: Iterable[Any]) -> Iterator[str]:
    for node in nodes:
        opening, closing = node.delimiters if is_group(node) else ("", "")
        yield opening or str(getattr(node, "chars", "") or getattr(node, "specials_chars", ""))
        yield from _write(list_children(node))
        yield closing


OFFICIAL: Mapping[TableFormat, Callable[[str, str], HScore]] = {
    "text": h_score_text,
    "html": h_score_html,
    "latex": h_score_latex,
}
"""Formats that the official code scores -> how it scores an answer beside a reference."""
