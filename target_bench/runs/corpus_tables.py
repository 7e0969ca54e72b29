"""The tables that a run ranked, as hashes in its folder, and what changed in them since.

``corpus.jsonl`` has a line for each table of the corpus, without distractors and with those that
were left out (``data.unanswerable``): database, table, and a text of 24
letters with 6 bytes each of the hash of its header, its content (header and rows) and its context
(title, keys, ...). That is some 60 bytes a table: 8 kB for mini, 120 kB for WTQ's 2,108 tables.
"""

import json
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from target_bench.core.errors import DataError, StoreError
from target_bench.core.files import parse_json
from target_bench.core.schema import Corpus, TableId
from target_bench.data.distractors import MixedCorpus
from target_bench.data.tables import digests_of, header_digests
from target_bench.data.unanswerable import PartOfCorpus
from target_bench.runs.record_log import write_file

FILE = "corpus.jsonl"

_BYTES = 6
_PARTS = ("header", "cells", "context")
_LETTERS = 4 * _BYTES // 3


@dataclass(frozen=True)
class TableChanges:
    """What changed in the tables of a corpus.

    Attributes:
        then: how many tables there were.
        now: how many there are.
        added: tables that are new.
        gone: tables that are not there any more.
        renamed: a table that is gone -> one that is new and has the same header and rows.
        changed: a table -> what of it is another: ``header``, ``cells``, ``context``.
        reordered: whether the tables stand in another order, which breaks ties.
    """

    then: int
    now: int
    added: tuple[TableId, ...]
    gone: tuple[TableId, ...]
    renamed: Mapping[TableId, TableId]
    changed: Mapping[TableId, tuple[str, ...]]
    reordered: bool


def write_tables(folder: Path, corpus: Corpus) -> None:
    """Write the hashes of the tables of a run, unless they are there: its identity names them."""
    path = folder / FILE
    if not path.exists():
        lines = (json.dumps([*key, text]) + "\n" for key, text in _hashed(corpus))
        write_file(path, (line.encode() for line in lines))


def changes_since(folder: Path, corpus: Corpus) -> TableChanges:
    """Compare the tables of a corpus with those that a run ranked.

    Args:
        folder: of a run of rankings.
        corpus: the tables now.

    Raises:
        StoreError: the run has no hashes of its tables, or they are damaged.
    """
    then, now = _read(folder / FILE), dict(_hashed(corpus))
    gone = [key for key in then if key not in now]
    added = [key for key in now if key not in then]
    copies = defaultdict(list)
    for key in added:
        copies[_part(now[key], "cells")].append(key)
    renamed = {
        key: copies[_part(then[key], "cells")].pop(0)
        for key in gone
        if copies[_part(then[key], "cells")]
    }
    both = [key for key in now if key in then]
    return TableChanges(
        len(then),
        len(now),
        tuple(key for key in added if key not in {*renamed.values()}),
        tuple(key for key in gone if key not in renamed),
        renamed,
        {key: _differing(then[key], now[key]) for key in both if then[key] != now[key]},
        both != [key for key in then if key in now],
    )


def _hashed(corpus: Corpus) -> Iterator[tuple[TableId, str]]:
    """Yield each table with the text of its hashes, in corpus order."""
    while isinstance(corpus, MixedCorpus | PartOfCorpus):
        corpus = corpus.base
    hashes = zip(corpus.ids, header_digests(corpus), digests_of(corpus), strict=True)
    for table_id, header, digest in hashes:
        whole = b"".join(part[:_BYTES] for part in (header, digest.content, digest.context))
        yield table_id, b64encode(whole).decode()


def _part(text: str, name: str) -> str:
    start = _PARTS.index(name) * _LETTERS
    return text[start : start + _LETTERS]


def _differing(then: str, now: str) -> tuple[str, ...]:
    """Name the parts of a table that differ; a header is part of its content."""
    names = [name for name in _PARTS if _part(then, name) != _part(now, name)]
    return tuple(name for name in names if name != "cells" or "header" not in names)


def _read(path: Path) -> dict[TableId, str]:
    if not path.exists():
        raise StoreError(
            f"{path.parent}: it holds no hashes of its tables ({FILE}). Run the same command again "
            "on the same data, which writes them and ranks nothing again"
        )
    tables = {}
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            database, table, text = parse_json(line)
            if len(text) != len(_PARTS) * _LETTERS:
                raise ValueError(line)
            tables[TableId(database, table)] = text
    except (OSError, ValueError, TypeError, DataError) as error:
        raise StoreError(
            f"{path}: damaged; remove it and run the same command again on the same data"
        ) from error
    return tables
