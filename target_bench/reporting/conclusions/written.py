"""Conclusions of a sweep in words and tables, for the terminal and as Markdown."""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from target_bench.core.errors import StoreError
from target_bench.core.files import atomic_write
from target_bench.core.text_tables import Column, TextTable, interval
from target_bench.reporting.conclusions.conclude import Conclusion, Place, Ranking
from target_bench.reporting.conclusions.effects import Effect, Level, Tested
from target_bench.reporting.plots import heat_map
from target_bench.runs.record_log import cannot

_NAMED = 3
"""Cells that a sentence names."""


def sentences(conclusion: Conclusion) -> list[str]:
    """Return sentences on the best cell, the settings that matter, and what limits both."""
    said = [line for ranking in conclusion.rankings for line in _best(conclusion, ranking)]
    return [*said, *_effects_said(conclusion), *conclusion.notes]


def tables(conclusion: Conclusion, most: int | None = None) -> list[TextTable]:
    """Return rankings, main effects and the table of two settings.

    Args:
        conclusion: what is shown.
        most: how many places of a ranking are shown; None for all.
    """
    found = [_ranking(conclusion, ranking, most) for ranking in conclusion.rankings]
    if conclusion.effects:
        found.append(_effects(conclusion))
    if conclusion.grid is not None:
        found.append(_grid(conclusion))
    return found


def write(folder: Path, name: str, conclusions: Sequence[Conclusion]) -> tuple[Path, list[str]]:
    """Write ``NAME.conclusions.md`` and, with matplotlib, a heat map of each conclusion.

    Args:
        folder: of the sweep's runs.
        name: of the sweep.
        conclusions: what it shows.

    Returns:
        The file, and what is said of heat maps that were not drawn.

    Raises:
        StoreError: a file cannot be written.
    """
    pictures, notes = [], []
    for conclusion in conclusions:
        picture = f"{name}.{conclusion.name}.heat-map.svg" if conclusion.grid else ""
        if picture and find_spec("matplotlib") is None:
            notes, picture = (
                ["A heat map needs the extra plots: pip install target-bench[plots]"],
                "",
            )
        if picture:
            heat_map.draw(conclusion, folder / picture)
        pictures.append(picture)
    path = folder / f"{name}.conclusions.md"
    try:
        atomic_write(path, markdown(name, conclusions, pictures).encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise StoreError(cannot("be written", path, error)) from error
    return path, notes


def markdown(name: str, conclusions: Sequence[Conclusion], pictures: Sequence[str] = ()) -> str:
    """Return the file ``NAME.conclusions.md``.

    Args:
        name: of the sweep.
        conclusions: what it shows.
        pictures: the heat map of each, as a path beside the file; empty where there is none.
    """
    lines = [f"# What the sweep {name} shows", ""]
    for i, conclusion in enumerate(conclusions):
        lines += [f"## {_about(conclusion)}", ""]
        lines += [line for said in sentences(conclusion) for line in (_escaped(said), "")]
        for table in tables(conclusion):
            lines += [f"### {_escaped(table.title)}", "", *_pipes(table), ""]
            lines += [_escaped(table.note), ""] if table.note else []
        if i < len(pictures) and pictures[i]:
            lines += [f"![heat map]({pictures[i].replace(' ', '%20')})", ""]
    return "\n".join(lines)


def _about(conclusion: Conclusion) -> str:
    return f"{conclusion.corpus}: {conclusion.task}, {conclusion.metric}, {conclusion.n:,} queries"


def _best(conclusion: Conclusion, ranking: Ranking) -> Iterator[str]:
    text = conclusion.spec.text
    best, *others = ranking.places
    where = f" with {ranking.tables}" if ranking.tables else ""
    if not others:
        return
    yield (
        f"{conclusion.corpus}{where}, {conclusion.n:,} queries: the best of {len(ranking.places)} "
        f"cells by {conclusion.metric} is {_called(ranking, best)}, with {text(best.score)} "
        f"(95% {_bounds(conclusion, best)}){_tied(ranking)}."
    )
    near = [place for place in others if not place.is_apart]
    how = f"paired randomisation tests, corrected for {len(others)} (Holm)"
    if not near:
        yield f"Every other cell is significantly worse (p < 0.05; {how})."
    elif len(near) == len(others):
        yield f"These queries tell none of the others apart from it ({how})."
    else:
        named = "; ".join(_called(ranking, place) for place in near[:_NAMED])
        more = f"; and {len(near) - _NAMED} more" if len(near) > _NAMED else ""
        cells = "1 other cell" if len(near) == 1 else f"{len(near)} other cells"
        worse = len(others) - len(near)
        yield (
            f"These queries do not tell it apart from {cells} ({named}{more}); "
            f"{worse} {'is' if worse == 1 else 'are'} significantly worse ({how})."
        )
    yield (
        "The best cell was chosen on these queries, so its score is slightly optimistic; confirm "
        "it on another split."
    )


def _tied(ranking: Ranking) -> str:
    """Return how many cells have the score of the best one, where there are any."""
    best, *others = ranking.places
    n = sum(place.score == best.score for place in others)
    return f"; {n} more {'has' if n == 1 else 'have'} the same score" if n else ""


def _effects_said(conclusion: Conclusion) -> Iterator[str]:
    shown = [_range(conclusion, one) for one in conclusion.effects if one.is_shown]
    others = [one.factor for one in conclusion.effects if not one.is_shown]
    if shown:
        yield f"Significant effects on the average, the largest first: {'; '.join(shown)}."
    if others:
        yield f"No significant effect on the average: {', '.join(others)}."


def _range(conclusion: Conclusion, effect: Effect) -> str:
    ordered = sorted(effect.levels, key=lambda level: conclusion.spec.merit(level.score))
    ends = (
        f"{conclusion.spec.text(one.score)} with {one.name}" for one in (ordered[0], ordered[-1])
    )
    return f"{effect.factor} ({' to '.join(ends)})"


def _called(ranking: Ranking, place: Place) -> str:
    pairs = zip(ranking.factors, place.levels, strict=True)
    return ", ".join(_setting(name, level) for name, level in pairs)


def _setting(name: str, level: str) -> str:
    return level if name in ("retriever", "generator") else f"{name}={level}"


_DIFFERENCE = (
    Column("from\nthe best", right=True, label="from the best"),
    Column("95%", right=True, below=True, label="95% of the difference"),
    Column("p", right=True),
)


def _level_column(name: str) -> Column:
    """Return the column of a setting, whose values may be long lists."""
    return Column(name, prose=True)


def _ranking(conclusion: Conclusion, ranking: Ranking, most: int | None) -> TextTable:
    columns = [Column("", right=True, label="rank"), *map(_level_column, ranking.factors)]
    columns += [
        Column(conclusion.metric, right=True),
        Column("95%", right=True, below=True, label="95% of the score"),
        *_DIFFERENCE,
    ]
    rows = [
        [
            str(rank),
            *place.levels,
            conclusion.spec.text(place.score),
            _bounds(conclusion, place),
            *_difference(conclusion, place.difference),
        ]
        for rank, place in enumerate(ranking.places[:most], start=1)
    ]
    where = f" with {ranking.tables}" if ranking.tables else ""
    title = f"{conclusion.corpus}{where}: cells by {conclusion.metric}"
    left = len(ranking.places) - len(rows)
    note = f"{left} more, all in the file NAME.conclusions.md." if left else None
    apart = [i for i, place in enumerate(ranking.places[: len(rows)]) if place.is_apart]
    return TextTable(columns, rows, title, frozenset(apart[:1]), note)


def _effects(conclusion: Conclusion) -> TextTable:
    columns = [
        Column("setting"),
        _level_column("value"),
        Column("mean", right=True),
        Column("95%", right=True, below=True, label="95% of the mean"),
        *_DIFFERENCE,
    ]
    rows: list[list[str]] = []
    rules: set[int] = set()
    for effect in conclusion.effects:
        rules |= {len(rows)} if rows else set()
        rows += [_level(conclusion, effect, level) for level in effect.levels]
    title = f"{conclusion.corpus}: the effect of each setting on {conclusion.metric}"
    times = ", ".join(f"{one.factor} {one.combinations}" for one in conclusion.effects)
    note = (
        "A mean is over the same combinations of the other settings for every value of a setting "
        f"({times}). p: paired randomisation test of two means, corrected for all of these tests "
        "(Holm)."
    )
    return TextTable(columns, rows, title, frozenset(rules), note)


def _level(conclusion: Conclusion, effect: Effect, level: Level) -> list[str]:
    first = level is effect.levels[0]
    return [
        effect.factor if first else "",
        level.name,
        conclusion.spec.text(level.score),
        _bounds(conclusion, level),
        *_difference(conclusion, level.difference),
    ]


def _grid(conclusion: Conclusion) -> TextTable:
    grid = conclusion.grid
    assert grid is not None
    columns = [Column(f"{grid.rows} \\ {grid.columns}")]
    columns += [Column(level, right=True) for level in grid.column_levels]
    rows = [
        [level, *("" if value is None else conclusion.spec.text(value) for value in values)]
        for level, values in zip(grid.row_levels, grid.scores, strict=True)
    ]
    title = f"{conclusion.corpus}: {conclusion.metric} by {grid.rows} and {grid.columns}"
    if grid.averaged_over > 1:
        title += f", each the mean of up to {grid.averaged_over} cells"
    return TextTable(columns, rows, title)


def _bounds(conclusion: Conclusion, found: Place | Level) -> str:
    return interval(found.low, found.high, conclusion.spec.digits)


def _difference(conclusion: Conclusion, found: Tested | None) -> list[str]:
    if found is None:
        return ["best", "", ""]
    text = conclusion.spec.text
    bounds = interval(found.low, found.high, conclusion.spec.digits, " to ", "+")
    return [text(found.value, signed=True), bounds, f"{found.p:.4f}"]


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\*_<>|[]`" else c for c in text)


def _pipes(table: TextTable) -> list[str]:
    header = [column.shown_label for column in table.columns]
    rule = ["---:" if column.right else "---" for column in table.columns]
    rows = [[_escaped(" ".join(cell.split("\n"))) for cell in row] for row in table.rows]
    return [
        f"| {' | '.join(cells)} |" for cells in ([_escaped(name) for name in header], rule, *rows)
    ]
