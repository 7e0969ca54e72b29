"""``target-bench cache``: what loaded corpora left behind."""

import json
import sys

import typer

from target_bench.cli.options import AsJson, Debug

HELP = "List or clear the cache of loaded corpora ($TARGET_BENCH_CACHE)."

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)


@app.command("list", help="What lies in the cache, and how large it is.")
def list_(as_json: AsJson = False, debug: Debug = False) -> None:
    """Print a line an entry."""
    from target_bench.corpora import cache

    entries = cache.entries()
    if as_json:
        json.dump([entry.to_json() for entry in entries], sys.stdout, ensure_ascii=False, indent=2)
        sys.stdout.write("\n")
        return
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=escape(str(cache.root())), title_justify="left")
    table.add_column("entry", no_wrap=True)  # to be copied
    table.add_column("made")
    table.add_column("MB", justify="right")
    table.add_column("read from", overflow="fold")
    for entry in entries:
        made = entry.created[:16].replace("T", " ") if entry.format == cache.FORMAT else entry.state
        size = f"{entry.bytes / 1e6:.1f}"
        table.add_row(escape(entry.folder.name), made, size, escape(entry.source))
    total = sum(entry.bytes for entry in entries)
    console = Console(emoji=False)
    console.print(table)
    console.print(f"{len(entries)} entries, {total / 1e6:.1f} MB", highlight=False)


@app.command("clear", help="Remove every entry; corpora are read from their files again.")
def clear(debug: Debug = False) -> None:
    """Remove the entries and say how many there were."""
    from target_bench.corpora import cache

    gone = cache.clear()
    freed = sum(entry.bytes for entry in gone) / 1e6
    typer.echo(f"removed {len(gone)} entries, {freed:.1f} MB, from {cache.root()}")
