"""``target-bench cache``: what loaded corpora and encoded texts left behind."""

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli.options import AsJson, Debug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from target_bench.corpora.cache import Entry
    from target_bench.embedding_files import Entry as Recorded

HELP = "List or clear the cache of loaded corpora and embeddings ($TARGET_BENCH_CACHE)."

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)


class Part(StrEnum):
    """A part of the cache."""

    corpora = "corpora"
    embeddings = "embeddings"


Only = Annotated[Part | None, typer.Option(help="Only this part of the cache.")]


@app.command("list", help="What lies in the cache, and how large it is.")
def list_(only: Only = None, as_json: AsJson = False, debug: Debug = False) -> None:
    """Print a line an entry."""
    from target_bench import embedding_files
    from target_bench.corpora import cache

    corpora = [] if only is Part.embeddings else cache.entries()
    embeddings = [] if only is Part.corpora else embedding_files.entries(cache.root())
    if as_json:
        shown = [
            {"part": part.value, **entry.to_json()}
            for part, entries in ((Part.corpora, corpora), (Part.embeddings, embeddings))
            for entry in entries
        ]
        json.dump(shown, sys.stdout, ensure_ascii=False, indent=2)
        sys.stdout.write("\n")
        return
    from rich.console import Console

    console = Console(emoji=False) if sys.stdout.isatty() else Console(width=140, emoji=False)
    if corpora or only is Part.corpora or not embeddings:
        _show_corpora(console, corpora)
    if embeddings or only is Part.embeddings:
        _show_embeddings(console, embeddings)
    sizes = [entry.bytes for entry in corpora] + [entry.bytes for entry in embeddings]
    console.print(f"{len(sizes)} entries, {sum(sizes) / 1e6:.1f} MB", highlight=False)


def _show_corpora(console: "Console", entries: "Sequence[Entry]") -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from target_bench.corpora import cache

    table = Table(box=box.SIMPLE_HEAD, title=escape(str(cache.root())), title_justify="left")
    table.add_column("entry", no_wrap=True)  # to be copied
    table.add_column("made")
    table.add_column("MB", justify="right")
    table.add_column("read from", overflow="fold")
    for entry in entries:
        made = _minute(entry.created) if entry.format == cache.FORMAT else entry.state
        size = f"{entry.bytes / 1e6:.1f}"
        table.add_row(escape(entry.folder.name), made, size, escape(entry.source))
    console.print(table)


def _show_embeddings(console: "Console", entries: "Sequence[Recorded]") -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title="embeddings", title_justify="left")
    table.add_column("entry", no_wrap=True)
    table.add_column("made")
    table.add_column("MB", justify="right")
    table.add_column("rows", justify="right")
    table.add_column("of")
    table.add_column("encoder", overflow="fold")
    for entry in entries:
        made = _minute(entry.created) if entry.state == "whole" else entry.state
        size, rows = f"{entry.bytes / 1e6:.1f}", f"{entry.rows:,}"
        name, encoder = escape(entry.folder.name), escape(entry.encoder)
        table.add_row(name, escape(made), size, rows, entry.kind, encoder)
    console.print(table)


def _minute(created: str) -> str:
    return created[:16].replace("T", " ")


@app.command("clear", help="Remove every entry; corpora are read, and texts encoded, again.")
def clear(only: Only = None, debug: Debug = False) -> None:
    """Remove the entries and say how many there were."""
    from target_bench import embedding_files
    from target_bench.corpora import cache

    corpora = [] if only is Part.embeddings else cache.clear()
    embeddings = [] if only is Part.corpora else embedding_files.clear(cache.root())
    sizes = [entry.bytes for entry in corpora] + [entry.bytes for entry in embeddings]
    typer.echo(f"removed {len(sizes)} entries, {sum(sizes) / 1e6:.1f} MB, from {cache.root()}")
