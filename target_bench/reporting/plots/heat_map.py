"""A heat map: a score by two settings of a sweep."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from target_bench.core.metric import MetricSpec
from target_bench.reporting.plots import style


def draw(
    scores: Sequence[Sequence[float | None]],
    rows: tuple[str, Sequence[str]],
    columns: tuple[str, Sequence[str]],
    spec: MetricSpec,
    title: str,
    path: Path,
) -> None:
    """Draw ``scores[row][column]``, the best in bold; None stays empty.

    Args:
        scores: by row and column.
        rows: the setting of the rows, and its values.
        columns: the same of the columns.
        spec: the declaration of the metric.
        title: of the picture.
        path: the file, .svg, .pdf or .png.

    Raises:
        StoreError: the picture cannot be written.
    """
    values = np.array(scores, dtype=float)  # NaN for None
    with style.settings():
        size = 2.6 + 0.85 * len(columns[1]), 1.8 + 0.5 * len(rows[1])
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
        axes.set_xticks(range(len(columns[1])), list(map(style.label, columns[1])))
        axes.set_yticks(range(len(rows[1])), list(map(style.label, rows[1])))
        axes.grid(visible=False)
        axes.set(xlabel=columns[0], ylabel=rows[0], title=title)
        style.save(drawn, path)
