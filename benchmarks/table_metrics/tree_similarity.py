"""TEDS: similarity of two tables by the edit distance of their trees (Zhong et al. 2020).

A table is a tree as in HTML: ``table``, ``thead`` and ``tbody``, ``tr``, ``td`` with its text. The
distance is exact: that of Zhang & Shasha (1989), rows of its tables computed at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

Grid = Sequence[Sequence[str]]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TD, _TR, _THEAD, _TBODY, _TABLE = range(5)


@dataclass(frozen=True, slots=True)
class TableTree:
    """The nodes of a table in postorder.

    Attributes:
        tags: (n,) what each node is.
        texts: of each node; empty but for cells.
        left: (n,) the leftmost leaf below each node.
        height: (n,) the levels below each node.
    """

    tags: Ints
    texts: list[str]
    left: Ints
    height: Ints

    @property
    def keyroots(self) -> Ints:
        """The highest node of each leftmost leaf, in postorder."""
        n = len(self.left)
        last = n - 1 - np.unique(self.left[::-1], return_index=True)[1]
        return np.sort(last)


def tree_of(table: Grid) -> TableTree:
    """Return the tree of a table, whose first row is its head."""
    nodes: list[tuple[int, str, int, int]] = []

    def close(tag: int, first: int) -> None:
        inside = [node[3] for node in nodes[first:]]
        leaf = min(first, len(nodes))
        nodes.append((tag, "", leaf, 1 + max(inside, default=-1)))

    for tag, rows in ((_THEAD, table[:1]), (_TBODY, table[1:])):
        start = len(nodes)
        for row in rows:
            first = len(nodes)
            nodes.extend((_TD, cell, first + place, 0) for place, cell in enumerate(row))
            close(_TR, first)
        if rows:
            close(tag, start)
    close(_TABLE, 0)
    tags, texts, left, height = zip(*nodes, strict=True)
    return TableTree(np.array(tags), list(texts), np.array(left), np.array(height))


def teds(reference: Grid, prediction: Grid) -> float:
    """Return TEDS from 0 to 1: 1 less the edit distance over the nodes of the larger tree.

    A node removed or inserted costs 1, a node of another kind 1, a cell of another text the edits
    of the text over the longer length. As in the authors' code (PubTabNet), and not in the paper,
    ``table`` itself is left out of the number of nodes. Rows may differ in length. A table without
    rows is like another one and like nothing else. Takes time and memory of the product of the
    sizes.
    """
    if not reference or not prediction:
        return float(len(reference) == len(prediction))
    first, second = tree_of(reference), tree_of(prediction)
    distance = tree_distance(first, second)
    return 1 - distance / (max(len(first.tags), len(second.tags)) - 1)


def tree_distance(first: TableTree, second: TableTree) -> float:
    """Return the least cost of edits that make one tree the other."""
    renaming = _renaming(first, second)
    distance = _of_leaves(first, second, renaming)
    groups = [
        _Group.of(second, [j for j in second.keyroots if second.height[j] == height])
        for height in range(1, int(second.height[-1]) + 1)
    ]
    for i in first.keyroots:
        if first.height[i]:
            for group in groups:
                _fill(distance, renaming, first.left, int(i), group)
    return float(distance[-1, -1])


def _renaming(first: TableTree, second: TableTree) -> Floats:
    """Return (n, m) costs of making a node of one tree a node of the other."""
    cells, others = first.tags == _TD, second.tags == _TD
    costs: Floats = (first.tags[:, None] != second.tags[None, :]).astype(np.float64)
    texts, given = (
        [text for text, is_cell in zip(tree.texts, which, strict=True) if is_cell]
        for tree, which in ((first, cells), (second, others))
    )
    if texts and given:
        scorer = Levenshtein.normalized_distance
        costs[np.ix_(cells, others)] = cdist(texts, given, scorer=scorer, dtype=np.float64)
    return costs


def _of_leaves(first: TableTree, second: TableTree, renaming: Floats) -> Floats:
    """Return (n, m) distances of subtrees, of which those with a leaf are filled in.

    A leaf becomes a subtree by becoming its most similar node; the rest is inserted.
    """
    distance = np.zeros_like(renaming)
    for leaves, tree, costs, out in (
        (first.height == 0, second, renaming, distance),
        (second.height == 0, first, renaming.T, distance.T),
    ):
        least = costs[leaves]
        for j, start in enumerate(tree.left):
            out[leaves, j] = j - start + least[:, start : j + 1].min(axis=1)
    return distance


@dataclass(frozen=True, slots=True)
class _Group:
    """Subtrees of one height, which do not overlap; shorter ones are filled up at the right."""

    nodes: Ints
    start: Ints
    whole: NDArray[np.bool_]
    inside: NDArray[np.bool_]

    @classmethod
    def of(cls, tree: TableTree, roots: Sequence[int]) -> "_Group":
        ends = np.array(roots, dtype=np.int64)[:, None]
        first = tree.left[ends]
        nodes = first + np.arange(int((ends - first).max(initial=0)) + 1)
        inside = nodes <= ends
        nodes = np.minimum(nodes, ends)
        start = tree.left[nodes] - first
        return cls(nodes, start, start == 0, inside)


def _fill(distance: Floats, renaming: Floats, left: Ints, root: int, group: _Group) -> None:
    """Fill in the distances of the nodes of a subtree to those of a group."""
    count, width = group.nodes.shape
    if not count:
        return
    first = int(left[root])
    places = np.arange(width + 1)
    known = group.whole & group.inside
    forest = np.empty((root - first + 2, count, width + 1))
    forest[0] = places
    for step, node in enumerate(range(first, root + 1)):
        back = int(left[node]) - first
        row = forest[step + 1]
        row[:, 0] = step + 1
        changed = (
            np.take_along_axis(forest[back], group.start, axis=1) + distance[node][group.nodes]
        )
        if not back:
            renamed = forest[step][:, :-1] + renaming[node][group.nodes]
            changed = np.where(group.whole, renamed, changed)
        np.minimum(forest[step][:, 1:] + 1, changed, out=row[:, 1:])
        row -= places
        np.minimum.accumulate(row, axis=1, out=row)
        row += places
        if not back:
            distance[node, group.nodes[known]] = row[:, 1:][known]
