"""A heat map: a score by two settings of a sweep, averaged over the others."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from target_bench.core.errors import ConfigError
from target_bench.reporting.conclusions.conclude import Conclusion, conclude
from target_bench.reporting.plots import style


def heat_map(
    folders: Sequence[Path],
    path: Path,
    metric: str | None = None,
    settings: Sequence[str] = (),
) -> None:
    """Draw a score by two settings.

    Args:
        folders: runs that were asked the same queries.
        path: the picture, .svg, .pdf or .png.
        metric: which score; default: the main one.
        settings: the settings of rows and columns; default: the two with the largest effects.

    Raises:
        ConfigError: a name that cannot be drawn, runs of several sets of queries, or fewer than
            two settings that vary.
        StoreError: a run is damaged, or the picture cannot be written.
    """
    style.check_path(path)
    found = conclude(folders, metric, settings)
    if len(found) > 1:
        names = ", ".join(f"{one.corpus} ({one.task})" for one in found)
        raise ConfigError(f"the runs are on several sets of queries: {names}; draw one at a time")
    if not found or found[0].grid is None:
        raise ConfigError(
            "a heat map needs two settings that vary between the runs, each value of one with "
            "each value of the other"
        )
    draw(found[0], path)


def draw(conclusion: Conclusion, path: Path) -> None:
    """Draw the grid of a conclusion, which has one; errors as for ``heat_map``."""
    grid, spec = conclusion.grid, conclusion.spec
    assert grid is not None
    values = np.array([[np.nan if v is None else v for v in row] for row in grid.scores])
    columns, rows = [map(style.label, names) for names in (grid.column_levels, grid.row_levels)]
    with style.settings():
        size = 2.6 + 0.85 * len(grid.column_levels), 1.8 + 0.5 * len(grid.row_levels)
        drawn, (axes,) = style.figure(max(size[0], 4.6), max(size[1], 2.6))
        shown = values if spec.higher_is_better else -values
        axes.imshow(shown, cmap="cividis", aspect="auto")
        middle = (np.nanmin(shown) + np.nanmax(shown)) / 2
        best = np.unravel_index(np.nanargmax(shown), shown.shape)
        for (i, j), value in np.ndenumerate(values):
            if value == value:
                axes.text(
                    *(j, i, spec.text(value)),
                    ha="center",
                    va="center",
                    color="black" if shown[i, j] > middle else "white",
                    fontweight="bold" if (i, j) == best else "normal",
                )
        axes.set_xticks(range(len(grid.column_levels)), list(columns))
        axes.set_yticks(range(len(grid.row_levels)), list(rows))
        axes.grid(visible=False)
        title = f"{conclusion.corpus}: {conclusion.metric}"
        if grid.averaged_over > 1:
            title += f", mean of up to {grid.averaged_over} cells each"
        axes.set(xlabel=grid.columns, ylabel=grid.rows, title=title)
        style.save(drawn, path)
