"""Gold tables that are not among the tables: the run ends, and the message lists them."""

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

from target_bench.core.errors import DataError
from target_bench.core.schema import Corpus, Query, TableId
from target_bench.core.text_tables import counted

_NAMED = 5
"""Tables that a message lists."""


def check_gold(queries: Sequence[Query], corpus: Corpus, where: str) -> None:
    """See that every gold table is among the tables.

    Args:
        queries: the queries.
        corpus: the tables.
        where: what an error begins with.

    Raises:
        DataError: gold tables are missing; the message lists them with tables of similar names.
    """
    of_table = Counter(gold for query in queries for gold in {*query.gold} if gold not in corpus)
    if not of_table:
        return
    named = [_describe(gold, corpus) for gold in list(of_table)[:_NAMED]]
    if len(of_table) > _NAMED:
        named.append(f"{len(of_table) - _NAMED} more")
    affected = [query for query in queries if not of_table.keys().isdisjoint(query.gold)]
    first = next(gold for gold in affected[0].gold if gold in of_table)
    what = f"{counted(len(of_table), 'gold table')} of {counted(len(affected), 'query')}"
    raise DataError(
        f"{where}: query {affected[0].id!r} has gold table {first}, which is not among the "
        f"{len(corpus)} tables. {what} missing: {'; '.join(named)}. Correct the queries, or remove "
        "them."
    )


def _describe(gone: TableId, corpus: Corpus) -> str:
    """Name a missing table, with what it may be now."""
    parts = [table.label for table in corpus.ids if table.label.startswith(f"{gone.label}/")]
    if parts:  # a workbook, or a folder
        more = f" and {len(parts) - _NAMED} more" if len(parts) > _NAMED else ""
        return f"{gone.label} (is several tables: {', '.join(parts[:_NAMED])}{more})"
    names = [table.table_id for table in corpus.ids if table.database_id == gone.database_id]
    close = get_close_matches(gone.table_id, names, 1)
    if not close:
        return f"{gone.label} (no table is called like it)"
    return f"{gone.label} (perhaps {TableId(gone.database_id, close[0]).label})"
