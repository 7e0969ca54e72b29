"""``target-bench cache``: what loaded corpora and encoded texts left behind."""

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli.options import AsJson, Debug
from target_bench.core.files import cache_root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from target_bench.components.embedding_cache.embedding_files import Entry as Recorded
    from target_bench.core.text_tables import TextTable
    from target_bench.data.cache import Entry

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
    from target_bench.components.embedding_cache import embedding_files
    from target_bench.data import cache

    corpora = [] if only is Part.embeddings else cache.entries()
    embeddings = [] if only is Part.corpora else embedding_files.entries(cache_root())
    if as_json:
        shown = [
            {"part": part.value, **entry.to_json()}
            for part, entries in ((Part.corpora, corpora), (Part.embeddings, embeddings))
            for entry in entries
        ]
        json.dump(shown, sys.stdout, ensure_ascii=False, indent=2)
        sys.stdout.write("\n")
        return
    from target_bench.core.text_tables import print_tables, say

    if corpora or only is Part.corpora or not embeddings:
        print_tables(_corpora_table(corpora))
    if embeddings or only is Part.embeddings:
        print_tables(_embeddings_table(embeddings))
    sizes = [entry.bytes for entry in corpora] + [entry.bytes for entry in embeddings]
    say(f"{len(sizes)} entries, {sum(sizes) / 1e6:.1f} MB")


def _corpora_table(entries: "Sequence[Entry]") -> "TextTable":
    from target_bench.core.text_tables import Column, TextTable
    from target_bench.data import cache

    columns = [Column("entry"), Column("made"), Column("MB", right=True), Column("read from")]
    rows = [
        [
            entry.folder.name,
            _minute(entry.created) if entry.format == cache.FORMAT else entry.state,
            f"{entry.bytes / 1e6:.1f}",
            entry.source,
        ]
        for entry in entries
    ]
    return TextTable(columns, rows, str(cache_root()))


def _embeddings_table(entries: "Sequence[Recorded]") -> "TextTable":
    from target_bench.core.text_tables import Column, TextTable

    numbers = [Column("MB", right=True), Column("rows", right=True)]
    columns = [Column("entry"), Column("made"), *numbers, Column("of"), Column("encoder")]
    rows = [
        [
            entry.folder.name,
            _minute(entry.created) if entry.state == "whole" else entry.state,
            f"{entry.bytes / 1e6:.1f}",
            f"{entry.rows:,}",
            entry.kind,
            entry.encoder,
        ]
        for entry in entries
    ]
    return TextTable(columns, rows, "embeddings")


def _minute(created: str) -> str:
    return created[:16].replace("T", " ")


@app.command("clear", help="Remove every entry; corpora are read, and texts encoded, again.")
def clear(only: Only = None, debug: Debug = False) -> None:
    """Remove the entries and say how many there were."""
    from target_bench.components.embedding_cache import embedding_files
    from target_bench.data import cache

    corpora = [] if only is Part.embeddings else cache.clear()
    embeddings = [] if only is Part.corpora else embedding_files.clear(cache_root())
    sizes = [entry.bytes for entry in corpora] + [entry.bytes for entry in embeddings]
    typer.echo(f"removed {len(sizes)} entries, {sum(sizes) / 1e6:.1f} MB, from {cache_root()}")
