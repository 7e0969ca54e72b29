"""The official H-Score of tables in LaTeX (Struc-Bench, Tang et al. 2023)."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from target_bench.tables.latex_nodes import first_tabular, inside, is_group, nodes
from target_bench.tables.official_sides import HScore, similarities

_NO_CAPTION = "None"


class _Side(NamedTuple):
    alignment: str
    n_rows: int
    n_columns: int
    cells: tuple[str, ...]
    caption: str


def h_score_latex(answer: str, gold: str) -> HScore:
    """Score LaTeX as the official code does: the first ``tabular``, its alignment and the caption.

    Groups and macros in cells are skipped, empty cells and rows left out.

    Raises:
        UnreadableTableError: a text cannot be parsed, or is nested too deeply.
    """
    left, right = _side(answer), _side(gold)
    sub = {
        **similarities("alignment", left.alignment, right.alignment),
        **similarities("data", left.cells, right.cells),
        "caption_match_score": float(left.caption == right.caption),
        "num_rows_match": float(left.n_rows == right.n_rows),
        "num_cols_match": float(left.n_columns == right.n_columns),
    }
    content = sub["caption_match_score"] + sub["data_levenshtein_score"] + sub["data_difflib_score"]
    structure = (
        sub["alignment_levenshtein_score"]
        + sub["alignment_difflib_score"]
        + sub["num_rows_match"]
        + sub["num_cols_match"]
    )
    return HScore(sub, content, structure)


@lru_cache(maxsize=2048)
def _side(text: str) -> _Side:
    roots = nodes(text)
    tabular = first_tabular(roots)
    if tabular is None:
        return _Side("", 0, 0, (), _NO_CAPTION)
    rows = [[cell.strip() for cell in row if cell.strip()] for row in _rows(tabular.nodelist)]
    rows = [row for row in rows if row]
    cells = tuple(cell for row in rows for cell in row)
    width = max(map(len, rows), default=0)
    return _Side(_alignment(tabular), len(rows), width, cells, _caption(roots))


def _alignment(tabular: Any) -> str:
    """Return the characters of the first argument that stand outside of groups."""
    arguments = tabular.nodeargd.argnlist if tabular.nodeargd else ()
    first = [one for one in arguments[:1] if one is not None]
    return "".join(node.chars for node in _outside_groups(first) if hasattr(node, "chars"))


def _outside_groups(roots: Iterable[Any]) -> Iterator[Any]:
    for node in roots:
        if not is_group(node):
            yield node
            yield from _outside_groups(inside(node))


def _rows(found: Iterable[Any]) -> Iterator[list[str]]:
    row: list[str] = []
    text = ""
    for node in _outside_groups(found):
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
        yield from _visited(inside(node))
        yield node, True


def _written(found: Iterable[Any]) -> Iterator[str]:
    for node in found:
        if is_group(node):
            opening, closing = node.delimiters
            yield opening
            yield from _written(inside(node))
            yield closing
        else:
            yield str(getattr(node, "chars", "") or getattr(node, "specials_chars", ""))
            yield from _written(inside(node))
