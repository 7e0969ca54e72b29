"""``target-bench verify-gold``: gold SQL run as if it were a prediction."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from target_bench.cli.options import (
    AsJson,
    Database,
    DataDir,
    Debug,
    Limit,
    Split,
)
from target_bench.cli.output import print_json
from target_bench.core import registry

HELP = """Run the gold SQL of a corpus and say which of it fails, returns nothing or wavers.

It exits with 0 whatever it finds; with `--strict` it exits with 3 if a gold query fails, gives
another result the second time, or has no database here.

`target-bench verify-gold spider` runs every statement twice; the report on a whole split is kept in
the cache folder under the fingerprint of the corpus.
"""

FOUND = 3
"""The exit code with ``--strict`` where something was found."""

_NAMED = 10


def verify_gold(
    corpus: Annotated[str, typer.Argument(help="A corpus with databases.", show_default=False)],
    split: Split = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="What runs SQL: sqlite, or duckdb, which runs copies, translated. Default: that "
            "of the task text-to-sql.",
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
        bool, typer.Option("--strict", help="Exit with 3 if gold fails, wavers or has no database.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Load, run, keep the report and print it."""
    from target_bench.cli.progress import TerminalObserver
    from target_bench.core.files import cache_root
    from target_bench.data.select import Loader
    from target_bench.sql import gold_check

    given = {"engine": engine, "timeout": timeout}
    settings = {name: value for name, value in given.items() if value is not None}
    task = registry.build("task", "text_to_sql", settings)
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
