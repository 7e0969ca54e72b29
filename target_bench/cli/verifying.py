"""``target-bench verify-gold``: gold SQL run as if it were a prediction."""

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from target_bench.cli.options import (
    AsJson,
    Database,
    DataDir,
    Debug,
    Engine,
    Limit,
    Split,
    Timeout,
)

HELP = """Run the gold SQL of a corpus and say which of it fails, returns nothing or wavers.

`target-bench verify-gold spider` runs every statement twice; the report on a whole split is kept in
the cache folder under the fingerprint of the corpus.
"""

_NAMED = 10


def verify_gold(
    corpus: Annotated[str, typer.Argument(help="A corpus with databases.", show_default=False)],
    split: Split = None,
    engine: Engine = "sqlite",
    database: Database = None,
    limit: Limit = None,
    timeout: Timeout = 30.0,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Load, run, keep the report and print it."""
    from target_bench.cli.progress import TerminalObserver
    from target_bench.corpora.cache import root
    from target_bench.selection import Loader
    from target_bench.sql import verifying

    with TerminalObserver() as observer:
        loaded = Loader(data_dir, observer).load(corpus, split, ()).of_task("text_to_sql")
        dataset = loaded.of_database(database).limited(limit).dataset
        observer.stage(f"{corpus}: run gold SQL in {engine}")
        report = verifying.verify_gold(dataset, engine, timeout, warn=observer.warning)
    whole = database is None and limit is None
    path = verifying.kept(report, root() / "verified") if whole else None
    if as_json:
        json.dump(report, sys.stdout, ensure_ascii=False, indent=2)
        sys.stdout.write("\n")
        return
    for line in _lines(report):
        typer.echo(line)
    typer.echo(f"kept in {path}" if path else "not kept: it is about a part of the queries")


def _lines(report: dict[str, Any]) -> list[str]:
    n, missing = report["queries"], len(report["missing"])
    lines = [
        f"{report['corpus']} {report['split']} in {report['engine']}: {report['executed']} of "
        f"{n - missing} gold queries executed, {report['with_rows']} with rows"
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
