"""LaTeX parsed into nodes, within a stated depth."""

import logging
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from target_bench.tables.official_sides import UnreadableTableError

DEEPEST = 64
"""Levels of nested groups and environments above which LaTeX is not read."""

logging.getLogger("pylatexenc").setLevel(logging.ERROR)


@lru_cache(maxsize=256)
def nodes(text: str) -> tuple[Any, ...]:
    """Parse LaTeX with pylatexenc, however broken it is.

    Raises:
        UnreadableTableError: groups are nested more than ``DEEPEST`` levels deep, or it cannot be
            parsed.
    """
    from pylatexenc.latexwalker import LatexWalker, LatexWalkerError

    if _depth(text) > DEEPEST:
        raise UnreadableTableError("too_deep", f"nested more than {DEEPEST} levels deep")
    try:
        return tuple(node for node in LatexWalker(text).get_latex_nodes()[0] if node is not None)
    except (LatexWalkerError, RecursionError, ValueError, IndexError) as error:
        raise UnreadableTableError("syntax", f"pylatexenc cannot parse it: {error}") from error


def _depth(text: str) -> int:
    """Return an upper bound of how deeply a text is nested."""
    depth = deepest = 0
    for part in text.replace("\\begin", "{").replace("\\end", "}"):
        depth = max(depth + (part in "{[") - (part in "}]"), 0)
        deepest = max(deepest, depth)
    return deepest


def inside(node: Any) -> list[Any]:
    """Return the nodes of a node: its arguments, then its content."""
    arguments = getattr(node, "nodeargd", None)
    found = [*(arguments.argnlist or ())] if arguments else []
    return [one for one in (*found, *(getattr(node, "nodelist", None) or ())) if one is not None]


def all_nodes(roots: Iterable[Any]) -> Iterator[Any]:
    """Yield nodes and all that is inside them, in the order of the text."""
    left = [*roots][::-1]
    while left:
        node = left.pop()
        yield node
        left.extend(inside(node)[::-1])


def first_tabular(roots: Iterable[Any]) -> Any:
    """Return the first environment ``tabular``, or None."""
    environments = (node for node in all_nodes(roots) if getattr(node, "envname", None))
    return next((node for node in environments if node.envname == "tabular"), None)


def is_group(node: Any) -> bool:
    """Return whether a node is text in braces."""
    return type(node).__name__ == "LatexGroupNode"
