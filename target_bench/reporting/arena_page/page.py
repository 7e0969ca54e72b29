"""The arena as one HTML file that needs no network and no other file."""

from pathlib import Path

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.files import atomic_write
from target_bench.core.version import __version__
from target_bench.harness.arena.arena import Arena
from target_bench.reporting.arena_page.arena_view import (
    FOLDER,
    ArenaView,
    arena_context,
    arena_style,
)
from target_bench.reporting.web import asset, environment, security_policy
from target_bench.runs.record_log import cannot


def write_page(arena: Arena, out: Path) -> Path:
    """Write the page.

    Raises:
        ConfigError: the path is a folder.
        StoreError: the file cannot be written.
    """
    if out.is_dir():
        raise ConfigError(f"-o {out}: is a folder; name a file, as in arena.html")
    script, style = asset("page.js"), f"{asset('theme.css')}\n{arena_style()}"
    text = (
        environment(FOLDER)
        .get_template("arena.html.j2")
        .render(
            version=__version__,
            view=ArenaView(arena, "arena"),
            **arena_context(),
            script=script,
            style=style,
            policy=security_policy([script], [style]),
        )
    )
    try:
        atomic_write(out, text.encode())
    except OSError as error:
        raise StoreError(cannot("be written", out, error)) from error
    return out
