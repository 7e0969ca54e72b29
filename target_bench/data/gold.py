"""Gold tables that are wrong (corrections in a file), and gold tables that are gone.

Corrections are a file of CSV or JSON lines beside a corpus, which stays as it is.

A row corrects the gold of one query. It has the fields

* ``query``: the id of the query;
* ``old``: the gold tables that were published, which have to be those of the corpus; empty where
  it was published that no table answers the query;
* ``new``: the right ones; empty where no table of the corpus answers the query;
* ``source``: where the correction is from: a paper, an issue, whoever looked at it;
* ``reason``: why the published gold is wrong.

Tables are named as results name them: ``table``, or ``database/table``; in the query's own database
the name of the table is enough. Several are a list, in CSV as JSON: ``["a", "b"]``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, DataError, did_you_mean
from target_bench.core.release import Release, field
from target_bench.core.schema import (
    Corpus,
    Dataset,
    GoldCorrections,
    GoldMissing,
    MissingGold,
    Query,
    Table,
    TableId,
)
from target_bench.core.text_tables import counted
from target_bench.data.formats.records import csv_records, identifier
from target_bench.data.near_copies import GoldTables, cells_of, jaccard
from target_bench.data.unanswerable import PartOfCorpus

FIELDS = ("query", "old", "new", "source", "reason")


def with_corrections(dataset: Dataset, file: str | Path) -> Dataset:
    """Return a dataset with corrections of its gold, by which its rankings are scored too.

    Args:
        dataset: tables and queries, which stay as they are.
        file: the corrections, ``.csv`` or ``.jsonl``.

    Raises:
        ConfigError: tables of the dataset were left out.
        DataError: the file cannot be read, or a row is not on a query and tables of this dataset
            and its gold; the message names file, line, field and value.
    """
    if isinstance(dataset.corpus, PartOfCorpus):
        raise ConfigError(
            f"gold corrections {file}: they are for all tables of a corpus, and unanswerable=SHARE "
            "leaves some out; give one of the two"
        )
    release, file = Release(Path(file).parent, ""), Path(file)
    if file.suffix not in (".csv", ".jsonl"):
        raise DataError(f"{file}: expected corrections of gold as .csv or .jsonl")
    lines = release.json_lines(file)
    rows = csv_records(release, file, ("old", "new")) if file.suffix == ".csv" else lines
    queries = {query.id: query for query in dataset.queries}
    tables = {table_id.label: table_id for table_id in dataset.corpus.ids}
    gold: dict[str, tuple[TableId, ...]] = {}
    for place, row in rows:
        query_id = identifier(field(row, "query", object, place), "query", place)
        for name in ("source", "reason"):
            if not field(row, name, str, place).strip():
                raise DataError(f"{place}: field {name!r} is empty. Say why the gold is wrong.")
        if query_id not in queries or query_id in gold:
            where = f"{dataset.info.name} {dataset.split}"
            what = f"is no query of {where}.{did_you_mean(query_id, queries)}"
            what = "has a row already." if query_id in gold else what
            raise DataError(
                f"{place}: field 'query': {query_id!r} {what} Write the id of another query, or "
                "remove the row."
            )
        query = queries[query_id]
        old = _tables(row, "old", query, tables, place)
        gold[query_id] = _tables(row, "new", query, tables, place)
        _check(query, old, gold[query_id], place)
    if not gold:
        raise DataError(f"{file}: it has no row. A row has {', '.join(FIELDS)}.")
    path = file.resolve()
    return replace(dataset, corrections=GoldCorrections(path, release.hashes[path.name], gold))


def corrected(dataset: Dataset) -> Dataset:
    """Return the dataset with the corrected gold tables in place of the published ones."""
    if dataset.corrections is None:
        return dataset
    queries = []
    for query in dataset.queries:
        gold = dataset.corrections.gold.get(query.id)
        if gold is not None:
            metadata = {**query.metadata, "unanswerable": not gold}
            if "passages" in metadata:  # those gold tables that are passages
                names = {table_id.table_id for table_id in gold}
                metadata["passages"] = [name for name in metadata["passages"] if name in names]
            query = replace(query, gold=gold, metadata=metadata)
        queries.append(query)
    return replace(dataset, queries=tuple(queries), corrections=None)


def _tables(
    row: Mapping[str, Any], name: str, query: Query, tables: Mapping[str, TableId], place: str
) -> tuple[TableId, ...]:
    """Return the tables that a field names."""
    value = field(row, name, object, place)
    listed = value if isinstance(value, list) else [] if value in (None, "") else [value]
    ids = []
    for each in listed:
        text = identifier(each, name, place)
        own = TableId(query.database_id, text)
        table_id = tables.get(own.label, tables.get(text))
        if table_id is None:
            raise DataError(
                f"{place}: field {name!r}: {text!r} is no table of the corpus."
                f"{did_you_mean(text, tables)} Name its tables as results do."
            )
        ids.append(table_id)
    return tuple(dict.fromkeys(ids))


def _check(query: Query, old: tuple[TableId, ...], new: tuple[TableId, ...], place: str) -> None:
    """See that a row corrects the gold that is there."""
    if not (query.gold or query.unanswerable) or {*old} != {*query.gold}:
        there = ", ".join(table_id.label for table_id in query.gold) or "none"
        named = ", ".join(table_id.label for table_id in old) or "none"
        raise DataError(
            f"{place}: field 'old' names {named}, but the gold of query {query.id!r} is {there}. "
            "The row is for other data, or they were corrected since: "
            "write the present gold there, or remove the row."
        )
    if {*new} == {*old}:
        raise DataError(f"{place}: field 'new' names the tables of 'old'. Remove the row.")
    if "grades" in query.metadata:
        raise DataError(
            f"{place}: field 'query': the gold tables of {query.id!r} are graded, and a row has no "
            "grades. Correct the file of judgements itself."
        )


# Gold tables that are gone

_NAMED = 5
"""Tables that a message lists."""


def settle_missing(
    queries: Sequence[Query],
    corpus: Corpus,
    former: Corpus | None,
    choice: GoldMissing,
    where: str,
) -> tuple[Sequence[Query], MissingGold | None, list[str]]:
    """Do what was chosen with the queries whose gold tables are not among the tables.

    A table is likely to be the one now that is most like it (``near_copies``) and no other table
    that was there before, or where its content is not known any more, the one of the most similar
    name in its database.

    Args:
        queries: the queries.
        corpus: the tables.
        former: the tables as they were before; None if they are not known.
        choice: what to do.
        where: what an error begins with.

    Returns:
        The queries that are left, what was missing, and a note on it.

    Raises:
        DataError: a gold table is missing, and ``choice`` is to stop, or no query is left.
    """
    of_table = Counter(gold for query in queries for gold in {*query.gold} if gold not in corpus)
    if not of_table:
        return queries, None, []
    likely = likely_tables(list(of_table), corpus, former)
    named = [_told(gold, likely.get(gold), corpus) for gold in list(of_table)[:_NAMED]]
    if len(of_table) > _NAMED:
        named.append(f"{len(of_table) - _NAMED} more")
    affected = [query for query in queries if not of_table.keys().isdisjoint(query.gold)]
    what = f"{counted(len(of_table), 'gold table')} of {counted(len(affected), 'query')}"
    if choice == "stop":
        first = next(gold for gold in affected[0].gold if gold in of_table)
        raise DataError(
            f"{where}: query {affected[0].id!r} has gold table {first}, which is not among the "
            f"{len(corpus)} tables. {what} missing: {'; '.join(named)}. Correct the queries, or "
            "leave them out (--gold-missing drop), or take the likely tables (--gold-missing map)."
        )
    taken = {
        gold: likely[gold][0] if choice == "map" and gold in likely else None for gold in of_table
    }
    kept: list[Query] = []
    mapped = 0
    for query in queries:
        now = [taken.get(table_id, table_id) for table_id in query.gold]
        gold = tuple(dict.fromkeys(table_id for table_id in now if table_id is not None))
        if now == [*query.gold]:
            kept.append(query)
        elif None not in now:
            kept.append(replace(query, gold=gold))
            mapped += 1
    dropped = len(queries) - len(kept)
    if not kept:
        raise DataError(f"{where}: all queries lack their gold tables: {'; '.join(named)}")
    done = f"{counted(dropped, 'query')} left out, {mapped} mapped"
    note = f"{what} missing ({'; '.join(named)}): {done}"
    return kept, MissingGold(taken, dropped, mapped), [note]


def likely_tables(
    missing: Sequence[TableId], corpus: Corpus, former: Corpus | None
) -> dict[TableId, tuple[TableId, float | None]]:
    """Missing table -> the table that it is likely to be, and their similarity if that is known.

    Arguments as for ``settle_missing``. A table that is like none is not in it.
    """
    known = [table_id for table_id in missing if former is not None and table_id in former]
    nearest: dict[TableId, tuple[TableId, float | None]] = {}
    if former is not None and known:
        former_tables = GoldTables(former[table_id] for table_id in known)
        copies = [
            (near[1], near[0], table.id)
            for table in corpus
            if (near := former_tables.nearest(table)) and not _is_itself(table, former, near[1])
        ]
        # Of equally similar tables one that was not there before, then the first.
        copies.sort(key=lambda copy: (-copy[0], copy[2] in former))
        for similarity, gone, table_id in copies:
            nearest.setdefault(gone, (table_id, similarity))
    for gone in missing:
        names = [t.table_id for t in corpus.ids if t.database_id == gone.database_id]
        is_new = gone not in known and len(_tables_in(gone, corpus)) < 2
        close = get_close_matches(gone.table_id, names, 2) if is_new else []
        likeness = [SequenceMatcher(a=name, b=gone.table_id).ratio() for name in close]
        if close and likeness[1:] != likeness[:1]:  # two that are as like it tell nothing
            nearest[gone] = TableId(gone.database_id, close[0]), None
    return nearest


def _is_itself(table: Table, former: Corpus, similarity: float) -> bool:
    """Whether a table is more like the one of its name before than like one that is gone."""
    if table.id not in former:
        return False
    return jaccard(cells_of(table), cells_of(former[table.id])) > similarity


def _told(gone: TableId, likely: tuple[TableId, float | None] | None, corpus: Corpus) -> str:
    if likely is None:
        if tables := _tables_in(gone, corpus):
            more = f" and {len(tables) - _NAMED} more" if len(tables) > _NAMED else ""
            return f"{gone.label} (is several tables: {', '.join(tables[:_NAMED])}{more})"
        return f"{gone.label} (no table is like it)"
    table_id, similarity = likely
    how = "by its name" if similarity is None else f"{similarity:.0%} of the cells"
    return f"{gone.label} (now likely {table_id.label}, {how})"


def _tables_in(gone: TableId, corpus: Corpus) -> list[str]:
    """List the tables of the workbook, or of the folder, that is named where a table should be."""
    return [table.label for table in corpus.ids if table.label.startswith(f"{gone.label}/")]
