"""Style of all plots: size, colours, legend, and writing of files."""

import io
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from target_bench.core.errors import ConfigError, MissingExtraError, StoreError
from target_bench.core.files import atomic_write
from target_bench.runs.record_log import cannot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#8C6D31",
)
"""Distinguishable by all kinds of colour vision (Okabe & Ito 2008; brown in place of yellow)."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", ":", "-.")

_SUFFIXES = (".svg", ".pdf", ".png")
_SETTINGS: Mapping[str, Any] = {
    "svg.hashsalt": "target-bench",
    "pdf.fonttype": 42,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "figure.dpi": 100,
}
_SIGNED = {"svg": ("Date",), "pdf": ("CreationDate", "Creator", "Producer"), "png": ("Software",)}
"""Entries with a date or the version of matplotlib, which are left out."""

_LABEL_WIDTH = 34


def check_path(path: Path) -> None:
    """See that a picture can be written there, before the work is done.

    Raises:
        ConfigError: the name does not end in .svg, .pdf or .png.
        MissingExtraError: matplotlib is not installed.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(f"{path}: expected a file that ends in .svg, .pdf or .png")
    try:
        import matplotlib  # noqa: F401 (whether it is there)
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots", "a plot") from error


def settings() -> Any:
    """Return the settings of matplotlib, for a ``with`` around all drawing."""
    import matplotlib

    chosen: dict[Any, Any] = {**matplotlib.rcParamsDefault, **_SETTINGS}
    return matplotlib.rc_context(chosen)


def figure(
    width: float, height: float, columns: int = 1, projection: str | None = None
) -> "tuple[Figure, list[Axes]]":
    """Return an empty picture of this many inches, with axes beside each other."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(width, height), layout="constrained")
    axes = drawn.subplots(1, columns, squeeze=False, subplot_kw={"projection": projection})
    return drawn, list(axes[0])


def line_style(i: int) -> dict[str, Any]:
    """Colour, marker and dashes of the i-th line; no two of the first 64 are alike."""
    turn, place = divmod(i, len(COLOURS))
    return {
        "color": COLOURS[place],
        "marker": MARKERS[(place + turn) % len(MARKERS)],
        "linestyle": DASHES[(place + turn) % len(DASHES)],
    }


def label(name: str) -> str:
    """Return a name for the legend, broken into lines after commas where possible."""
    lines = [""]
    for part in re.findall(r"[^,\s]+[,\s]*|[,\s]+", name):
        for piece in textwrap.wrap(part, _LABEL_WIDTH, drop_whitespace=False) or [part]:
            if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > _LABEL_WIDTH:
                lines.append("")
            lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def legend(drawn: "Figure", axes: "Axes") -> None:
    """Draw a legend beside the axes, if there is more than one name."""
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1:
        drawn.legend(handles, names, loc="outside right upper")


def room_for(names: Sequence[str]) -> float:
    """Return the height of a legend with these names, in inches."""
    longest = max((len(line) for name in names for line in label(name).split("\n")), default=0)
    return 0.6 + 0.085 * longest if len(names) > 1 else 0.0


def save(drawn: "Figure", path: Path) -> None:
    """Write the picture as a whole.

    Raises:
        StoreError: the file cannot be written.
    """
    kind = path.suffix.lower()[1:]
    unsigned: Mapping[str, Any] = dict.fromkeys(_SIGNED[kind])
    buffer = io.BytesIO()
    drawn.savefig(buffer, format=kind, metadata=dict(unsigned), dpi=150)
    try:
        atomic_write(path, buffer.getvalue())
    except OSError as error:
        raise StoreError(cannot("be written", path, error, "-o")) from error
