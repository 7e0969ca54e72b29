"""``target-bench data``: fetch corpora, see to the cache."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from target_bench.cli.command_line import (
    AsJson,
    DataDir,
    Offline,
    Split,
    TerminalObserver,
    argument,
    group,
    option,
)
from target_bench.cli.output import INTERRUPTED, print_json
from target_bench.core.files import cache_root

if TYPE_CHECKING:
    from target_bench.core.schema import CorpusInfo
    from target_bench.data.cache import CacheEntry
    from target_bench.data.download import Download
    from target_bench.models.embedding_cache import EmbeddingFile

HELP = "Fetch corpora, list or clear the cache."

app = group(HELP)

PULL_HELP = """Fetch the data of a corpus: what is missing or damaged, verified byte by byte.

`run`, `search` and the like fetch the split they need by themselves; this fetches all at
once. FeTaQA, OTT-QA and TabFact come from their authors' repositories, other corpora from
TARGET's copies on the Hugging Face hub. --data-dir and $TARGET_BENCH_DATA win over what was
fetched. A download that was interrupted goes on with the files that are missing.
"""


@app.command("pull", help=PULL_HELP)
def pull(
    name: Annotated[str, argument("As in ottqa, fetaqa, spider.")],
    split: Annotated[
        list[str] | None,
        option("A split to fetch; may be repeated. Default: all that can be fetched."),
    ] = None,
) -> None:
    """Fetch, check, and say what is there."""
    from target_bench.data import download

    info = _info(name)
    if info:  # spider-test is the corpus spider with one split
        name = info.name
        split = split or [s for s in download.splits_of(name) if s in info.splits]
    with TerminalObserver() as observer:
        try:
            done = download.fetch(name, split, observer)
        except KeyboardInterrupt:  # what is here was said
            raise typer.Exit(INTERRUPTED) from None
    _print(done, info)


def _print(done: "Download", info: "CorpusInfo | None") -> None:
    n, size = len(done.files), sum(size for size, _ in done.files.values())
    facts = {"corpus": done.name, "splits": ", ".join(done.splits), "folder": str(done.folder)}
    facts |= {f"commit of {repository}": commit for repository, commit in done.commits.items()}
    facts["files"] = f"{n:,}, {size / 1e6:,.1f} MB, all verified; {len(done.fetched):,} fetched now"
    if info:
        to_mix_in = f"ottqa --distractors {done.name}"
        facts |= {"licence": info.licence, "citation": info.citation}
        facts["next"] = f"target-bench run {done.name if info.tasks else to_mix_in}"
    for fact, value in facts.items():
        typer.echo(f"{fact}: {value}")


def _info(name: str) -> "CorpusInfo | None":
    from target_bench.core.errors import ConfigError
    from target_bench.data.load import is_path, loader

    try:
        return None if is_path(name) else loader(name).info
    except ConfigError:
        return None


CACHE_HELP = "List or clear the cache of loaded corpora and embeddings ($TARGET_BENCH_CACHE)."

cache_app = group(CACHE_HELP)
app.add_typer(cache_app, name="cache")


class Part(StrEnum):
    """A part of the cache."""

    corpora = "corpora"
    embeddings = "embeddings"


Only = Annotated[Part | None, typer.Option(help="Only this part of the cache.")]


@cache_app.command("list", help="The entries of the cache and their sizes.")
def list_(only: Only = None, as_json: AsJson = False) -> None:
    """Print one line per entry."""
    from target_bench.core.text_tables import Column, TextTable, print_tables, say
    from target_bench.data import cache
    from target_bench.models import embedding_cache

    corpora = [] if only is Part.embeddings else cache.entries()
    embeddings = [] if only is Part.corpora else embedding_cache.entries(cache_root())
    if as_json:
        parts: dict[str, list[Any]] = {"corpora": corpora, "embeddings": embeddings}
        print_json(
            [
                {"part": part, **entry._asdict(), "path": str(entry.path)}
                for part, listed in parts.items()
                for entry in listed
            ]
        )
        return
    start = [Column("entry"), Column("made"), Column("MB", right=True)]
    if corpora or only is Part.corpora or not embeddings:
        rows = [[*_start(e, bool(e.source) or "unfinished"), e.source] for e in corpora]
        print_tables(TextTable([*start, Column("read from")], rows, str(cache_root())))
    if embeddings or only is Part.embeddings:
        columns = [*start, Column("rows", right=True), Column("of"), Column("encoder")]
        rows = [
            [*_start(e, e.state == "whole" or e.state), f"{e.rows:,}", e.kind, e.encoder]
            for e in embeddings
        ]
        print_tables(TextTable(columns, rows, "embeddings"))
    sizes = [entry.bytes for entry in corpora] + [entry.bytes for entry in embeddings]
    say(f"{len(sizes)} entries, {sum(sizes) / 1e6:.1f} MB")


def _start(entry: "CacheEntry | EmbeddingFile", state: bool | str) -> list[str]:
    """Return name, minute or what is wrong, and MB of an entry."""
    made = entry.created[:16].replace("T", " ") if state is True else str(state)
    return [entry.path.stem, made, f"{entry.bytes / 1e6:.1f}"]


@cache_app.command("clear", help="Remove every entry; corpora are read, and texts encoded, again.")
def clear(only: Only = None) -> None:
    """Remove the entries and say how many there were."""
    from target_bench.data import cache
    from target_bench.models import embedding_cache

    corpora = [] if only is Part.embeddings else cache.clear()
    embeddings = [] if only is Part.corpora else embedding_cache.clear(cache_root())
    sizes = [entry.bytes for entry in corpora] + [entry.bytes for entry in embeddings]
    typer.echo(f"removed {len(sizes)} entries, {sum(sizes) / 1e6:.1f} MB, from {cache_root()}")


EXPORT_HELP = """Write a corpus in BEIR's layout, as a retrieval task of MTEB too.

`target-bench data export fetaqa -o fetaqa` writes corpus.jsonl (tables as Markdown), queries.jsonl,
qrels/test.tsv, a README.md by which `datasets` loads them, and mteb_task.py with the task as a
class. `target-bench run --corpus fetaqa/` reads such a folder.
"""


@app.command("export", help=EXPORT_HELP)
def export(
    corpus: Annotated[str, argument("A corpus, or a path of tables.")],
    output: Annotated[Path, option("The folder.", "--out", "-o")],
    split: Split = None,
    data_dir: DataDir = None,
    offline: Offline = False,
) -> None:
    """Load, write, and say what was written."""
    from target_bench.core.text_tables import say
    from target_bench.data.beir_export import export as written
    from target_bench.data.load import load

    with TerminalObserver():
        dataset = load(corpus, split, data_dir=data_dir)
    for path in written(dataset, output):
        say(str(path))
