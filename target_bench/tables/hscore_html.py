"""The official H-Score of tables and lists in HTML (Struc-Bench, Tang et al. 2023)."""

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from target_bench.tables.official_sides import (
    HTML_PARSER,
    HScore,
    UnreadableTableError,
    similarities,
)
from target_bench.tables.soup import parsed

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

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
    right, left = parsed(gold, parser), parsed(answer, parser)
    kind = next((name for name in _CELLS if right.find(name)), None)
    cells, gold_cells = _texts(left, kind), _texts(right, kind)
    sub = {
        "num_cells_match": float(len(cells) == len(gold_cells)),
        **similarities("cells_text", cells, gold_cells),
        **similarities("struct", _tags(answer, parser), _tags(gold, parser)),
    }
    content = sub["cells_text_levenshtein_score"] + sub["cells_text_difflib_score"]
    structure = (
        sub["num_cells_match"] + sub["struct_levenshtein_score"] + sub["struct_difflib_score"]
    )
    return HScore(sub, content, structure)


def _texts(soup: "BeautifulSoup", kind: str | None) -> list[str]:
    if kind is not None:
        return [cell.text for cell in soup.find_all(_CELLS[kind])]
    return [found.text for found in soup.find_all(_TAGS) if found.text]


@lru_cache(maxsize=256)
def _tags(text: str, parser: str) -> list[str]:
    """Return the official list of tags of a text.

    Raises:
        UnreadableTableError: it is too long.
    """
    soup = parsed(text, parser)
    n_tags = sum(2 << depth for _, depth in _known(soup))
    if n_tags > MOST_TAGS:
        raise UnreadableTableError(
            "too_deep",
            f"nested tags repeat {n_tags} times in the H-Score, the limit is {MOST_TAGS}",
        )
    record: list[str] = []
    _record(soup, record)
    return record


def _known(soup: "BeautifulSoup") -> Iterator[tuple["Tag", int]]:
    """Yield the known tags, each with the number of known tags around it."""
    depths: dict[int, int] = {id(soup): -1}
    for tag in soup.find_all(True):
        depth = depths[id(tag.parent)] + (tag.name in _TAGS)
        depths[id(tag)] = depth
        if tag.name in _TAGS:
            yield tag, min(depth, 40)


def _record(tag: "Tag", record: list[str]) -> None:
    for inner in tag.find_all(_TAGS):
        record.append(f"<{inner.name}>")
        _record(inner, record)
        record.append(f"</{inner.name}>")
