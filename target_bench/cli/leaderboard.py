"""``target-bench leaderboard``: the site of a folder of submissions."""

from pathlib import Path
from typing import Annotated

import typer

from target_bench.cli.options import Debug

app = typer.Typer(
    help="The leaderboard of verified submissions as a static site.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

HELP = """Build the site of all entries in a folder: an overview, a page a task, a page an entry.

`target-bench leaderboard build submissions/ -o site/` reads the *.entry.json files that
`target-bench verify` writes, and nothing else: no data, no network. The site works from disk and
on any static host. The folder is replaced as a whole, if it is empty or an earlier site.
"""


@app.command("build", help=HELP)
def build(
    submissions: Annotated[
        Path,
        typer.Argument(
            help="The folder of *.entry.json, in sub-folders perhaps.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the site.")] = Path(
        "site"
    ),
    title: Annotated[str, typer.Option(help="Of the overview.")] = "Table retrieval leaderboard",
    baseline: Annotated[
        str | None,
        typer.Option(
            help="Id of the entry that the others are compared with. Default: bm25.",
            show_default=False,
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Read the entries, write the site, say what was written."""
    from target_bench.cli.progress import TerminalObserver
    from target_bench.reporting.leaderboard.site import build as build_site

    with TerminalObserver() as observer:
        built = build_site(submissions, out, title=title, baseline=baseline, observer=observer)
    shown = f"{built.entries:,} {'entry' if built.entries == 1 else 'entries'}"
    rejected = f", {built.rejected:,} rejected and not shown" if built.rejected else ""
    size = f"{built.pages:,} pages, {built.size / 1e6:,.1f} MB"
    typer.echo(f"{out / 'index.html'}: {shown}{rejected}, {size}")
