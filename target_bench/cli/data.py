"""``target-bench data``: fetch corpora, see to the cache, check gold SQL."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from target_bench.cli.command_line import (
    AsJson,
    Database,
    DataDir,
    Debug,
    Limit,
    Split,
    TerminalObserver,
)
from target_bench.cli.output import INTERRUPTED, print_json
from target_bench.core import registry
from target_bench.core.files import cache_root

if TYPE_CHECKING:
    from target_bench.components.embedding_cache.embedding_files import Entry as Recorded
    from target_bench.core.schema import CorpusInfo
    from target_bench.core.text_tables import TextTable
    from target_bench.data.cache import Entry
    from target_bench.data.hub import Pull

HELP = "Fetch corpora, list or clear the cache, check the gold SQL of a corpus."

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)

PULL_HELP = """Fetch TARGET's copy of a corpus from the Hugging Face hub (extra: hub).

Every file is checked. From then on the data is used wherever the corpus is named,
without the hub, unless --data-dir or $TARGET_BENCH_DATA has it. The commits of the
repositories are not known to target-bench yet, so the default revision is main as it
is today; the commit it stands for is printed and recorded, and --revision asks for it
again. A second pull checks what is there and fetches damaged files again. HF_TOKEN,
HF_ENDPOINT and proxies work as for huggingface_hub.
"""

_SHOWN = 20  # files


@app.command("pull", help=PULL_HELP)
def pull(
    name: Annotated[str, typer.Argument(show_default=False, help="As in ottqa, fetaqa, spider.")],
    revision: Annotated[
        list[str] | None,
        typer.Option(
            "--revision",
            help="A branch, tag or commit; REPOSITORY=REVISION for one repository, as in "
            "ottqa-corpus=4f2c...; may be repeated. Default: main.",
            show_default=False,
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Fetch, check, and say what is there."""
    from target_bench.data import hub

    try:
        found = hub.pull(name, revision or (), say=lambda text: typer.echo(text, err=True))
    except KeyboardInterrupt:
        typer.echo(
            "Interrupted. Nothing was left half-written; the same command starts again.", err=True
        )
        raise typer.Exit(INTERRUPTED) from None
    _print(found)


def _print(found: "Pull") -> None:
    from target_bench.core.text_tables import Column, TextTable, print_tables

    info = _info(found.name)
    facts = {"corpus": found.name, "folder": str(found.folder), "state": _state(found)}
    facts |= {f"commit of {r.id}": r.commit for r in found.repositories}
    facts["licence"] = info.licence if info else _licences(found)
    if info:
        facts["citation"] = info.citation
    for fact, value in facts.items():
        typer.echo(f"{fact}: {value}")
    files = list(found.files.items())
    rows = [[path, f"{file.size:,}"] for path, file in files[:_SHOWN]]
    print_tables(TextTable([Column("file"), Column("bytes", right=True)], rows))
    if len(files) > _SHOWN:
        typer.echo(f"and {len(files) - _SHOWN} more: {found.folder / 'source.json'}")
    total = sum(file.size for _, file in files)
    typer.echo(f"{len(files)} files, {total / 1e6:,.1f} MB")
    if info:
        typer.echo(f"Next: target-bench describe corpus {found.name}")
    else:
        typer.echo(f"target-bench has no corpus {found.name} yet; use the files in the folder.")


def _state(found: "Pull") -> str:
    n, fetched = len(found.files), len(found.fetched)
    if fetched == n:
        return f"fetched, {n} files checked"
    if fetched:
        return f"was here; {fetched} of {n} files were damaged and fetched again"
    return f"was here; {n} files checked, nothing fetched"


def _info(name: str) -> "CorpusInfo | None":
    from target_bench.core.errors import ConfigError
    from target_bench.data import read_split

    try:
        return read_split.loader(name).info
    except ConfigError:
        return None


def _licences(found: "Pull") -> str:
    """Return the licences that the repositories' README.md files declare."""
    named: dict[str, None] = {}
    for path in found.files:
        if path.count("/") == 1 and path.endswith("/README.md"):
            named |= dict.fromkeys(_declared((found.folder / path).read_bytes()))
    return ", ".join(named) or "none is declared; see the pages of the repositories"


def _declared(readme: bytes) -> list[str]:
    """Return the field ``license`` of a README.md's front matter."""
    import yaml

    start, _, rest = readme.decode(errors="replace").partition("---")
    try:
        front = yaml.safe_load(rest.partition("\n---")[0]) if not start.strip() else None
    except yaml.YAMLError:
        return []
    licence = front.get("license") if isinstance(front, dict) else None
    return [str(each) for each in (licence if isinstance(licence, list) else [licence]) if each]


CACHE_HELP = "List or clear the cache of loaded corpora and embeddings ($TARGET_BENCH_CACHE)."

cache_app = typer.Typer(help=CACHE_HELP, no_args_is_help=True, rich_markup_mode=None)
app.add_typer(cache_app, name="cache")


class Part(StrEnum):
    """A part of the cache."""

    corpora = "corpora"
    embeddings = "embeddings"


Only = Annotated[Part | None, typer.Option(help="Only this part of the cache.")]


@cache_app.command("list", help="The entries of the cache and their sizes.")
def list_(only: Only = None, as_json: AsJson = False, debug: Debug = False) -> None:
    """Print one line per entry."""
    from target_bench.components.embedding_cache import embedding_files
    from target_bench.data import cache_writing

    corpora = [] if only is Part.embeddings else cache_writing.entries()
    embeddings = [] if only is Part.corpora else embedding_files.entries(cache_root())
    if as_json:
        shown = [
            {"part": part.value, **entry.to_json()}
            for part, entries in ((Part.corpora, corpora), (Part.embeddings, embeddings))
            for entry in entries
        ]
        print_json(shown)
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


@cache_app.command("clear", help="Remove every entry; corpora are read, and texts encoded, again.")
def clear(only: Only = None, debug: Debug = False) -> None:
    """Remove the entries and say how many there were."""
    from target_bench.components.embedding_cache import embedding_files
    from target_bench.data import cache_writing

    corpora = [] if only is Part.embeddings else cache_writing.clear()
    embeddings = [] if only is Part.corpora else embedding_files.clear(cache_root())
    sizes = [entry.bytes for entry in corpora] + [entry.bytes for entry in embeddings]
    typer.echo(f"removed {len(sizes)} entries, {sum(sizes) / 1e6:.1f} MB, from {cache_root()}")


VERIFY_GOLD_HELP = """Run the gold SQL of a corpus: which fails, is empty, or differs between runs.

It exits with 0 for any result; with `--strict` it exits with 3 if a gold query fails, gives
another result the second time, or has no database here.

`target-bench data verify-gold spider` runs every statement twice; the report on a whole split is
kept in the cache folder under the fingerprint of the corpus.
"""

FOUND = 3
"""The exit code with ``--strict`` where something was found."""

_NAMED = 10


@app.command("verify-gold", help=VERIFY_GOLD_HELP)
def verify_gold(
    corpus: Annotated[str, typer.Argument(help="A corpus with databases.", show_default=False)],
    split: Split = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Engine that runs SQL: sqlite, or duckdb for translated SQL on copies. Default: "
            "that of the task text-to-sql.",
            show_default=False,
        ),
    ] = None,
    database: Database = None,
    limit: Limit = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            help="Seconds that a statement may take. Default: that of the task text-to-sql.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit with 3 if gold SQL fails, gives varying results or has no database.",
        ),
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Load, run, keep the report and print it."""
    from target_bench.core.files import cache_root
    from target_bench.data.select import Loader
    from target_bench.sql import gold_check

    given = {"engine": engine, "timeout": timeout}
    settings = {name: value for name, value in given.items() if value is not None}
    task = registry.build("task", "text-to-sql", settings)
    with TerminalObserver() as observer:
        loaded = Loader(data_dir, observer).load(corpus, split, (), database)
        dataset = loaded.of_task(task.name).of_database(database).limited(limit).dataset
        observer.stage(f"{corpus}: run gold SQL in {task.engine}")
        report = gold_check.verify_gold(dataset, task.engine, task.timeout, warn=observer.warning)
    whole = database is None and limit is None
    path = gold_check.kept(report, cache_root() / "verified") if whole else None
    if as_json:
        print_json(report)
    else:
        for line in _lines(report):
            typer.echo(line)
        typer.echo(f"kept in {path}" if path else "not kept: it is about a part of the queries")
    if strict and any(report[name] for name in ("failed", "differ_between_runs", "missing")):
        raise typer.Exit(FOUND)


def _lines(report: dict[str, Any]) -> list[str]:
    n, missing = report["queries"], len(report["missing"])
    where = f"{report['corpus']} {report['split']} in {report['engine']}"
    if n == missing:
        return [f"{where}: nothing can be run: the databases of all {n} queries are missing"]
    lines = [
        f"{where}: {report['executed']} of {n - missing} gold queries executed, "
        f"{report['with_rows']} with rows"
    ]
    if missing:
        lines.append(f"{missing} of {n} queries are about databases that are not here")
    lines += [f"{f['query_id']}: {f['outcome']}: {f['message']}" for f in report["failed"]]
    for name in ("empty", "differ_between_runs", "differ_between_engines"):
        if report[name]:
            lines.append(f"{name.replace('_', ' ')}: {_some(report[name])}")
    return lines


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"{len(ids)} ({', '.join(ids[:_NAMED])}{more})"
