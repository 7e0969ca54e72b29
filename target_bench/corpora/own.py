"""What every layout of a user's own data shares: the declaration, and the fields of a query."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from target_bench.corpora.cells import plain
from target_bench.errors import DataError
from target_bench.release import field
from target_bench.schema import CorpusInfo, Query, TableId

DEFAULT_SPLIT = "test"
_PREFERENCE = ("test", "validation", "train")
_FIELDS = ("query_id", "query", "table_id", "database_id", "answer", "split")


def info(path: Path, splits: Iterable[str]) -> CorpusInfo:
    """The declaration of a corpus that is a path."""
    name = re.sub(r"[^a-z0-9]+", "-", path.resolve().stem.lower()).strip("-") or "data"
    order = [split for split in _PREFERENCE if split in splits]
    return CorpusInfo(
        name=name,
        title=path.resolve().name,
        tasks=("retrieval",),
        splits=(*order, *sorted(set(splits) - set(order))) or (DEFAULT_SPLIT,),
        licence="your own",
        citation="your own",
        source=str(path.resolve()),
    )


def query(record: Any, place: str, database_id: str = "0") -> Query:
    """A query from ``query_id``, ``query``, ``table_id`` and, where given, the other fields.

    ``table_id`` is a gold table or a list of them, ``database_id`` (default: the argument) where
    they are, ``answer`` a text or a list of accepted texts; what else there is becomes metadata.

    Raises:
        DataError: a field is missing or of another type; the message names place and field.
    """
    query_id = identifier(field(record, "query_id", object, place), "query_id", place)
    database_id = identifier(record.get("database_id", database_id), "database_id", place)
    gold = field(record, "table_id", object, place)
    golds = gold if isinstance(gold, list) else [gold]
    return Query(
        id=query_id,
        text=field(record, "query", str, place),
        gold=tuple(TableId(database_id, identifier(g, "table_id", place)) for g in golds),
        answer=_answer(record.get("answer"), place),
        database_id=database_id,
        metadata={
            name: converted(value, name, place)
            for name, value in record.items()
            if name not in _FIELDS and value is not None
        },
    )


def identifier(value: Any, name: str, place: str) -> str:
    """An id as text.

    Raises:
        DataError: it is neither text nor a whole number.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise DataError(
        f"{place}: field {name!r} should be text or a whole number, but is "
        f"{type(value).__name__}: {value!r:.80}"
    )


def converted(value: Any, name: str, place: str) -> Any:
    """A value as JSON can hold it.

    Raises:
        DataError: it is of a type that has no such form.
    """
    try:
        return plain(value)
    except TypeError as error:
        raise DataError(f"{place}: field {name!r}: {error}") from error


def _answer(value: Any, place: str) -> str | tuple[str, ...]:
    if value is None:
        return ""
    if isinstance(value, list):
        answers = tuple(_one_answer(item, place) for item in value)
        return answers[0] if len(answers) == 1 else answers
    return _one_answer(value, place)


def _one_answer(value: Any, place: str) -> str:
    if isinstance(value, str | int | float):
        return str(value)
    raise DataError(
        f"{place}: field 'answer' should be a text or a list of texts, but holds {value!r:.80}"
    )
