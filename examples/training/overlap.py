"""Keep scored questions and tables out of a training set, by their words and cells."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from target_bench.core.schema import Dataset, TableId
from target_bench.data.tables import digest_corpus

_WORD = re.compile(r"\w+")


class Met(NamedTuple):
    """Questions and tables to keep out of a training set.

    Attributes:
        questions: hashes of the words of questions (``words_hash``).
        tables: hashes of the header and rows of gold tables, in hexadecimal.
    """

    questions: frozenset[str]
    tables: frozenset[str]


def apart(dataset: Dataset, kept_out: Sequence[Dataset], shared_tables: bool = False) -> Dataset:
    """Return a split without the questions that overlap with splits that will be scored.

    A question overlaps if it asks the same words, regardless of case, width, spaces and
    punctuation, or is about a table with the header and rows of one of their gold tables.

    Args:
        dataset: what is trained on.
        kept_out: what will be scored.
        shared_tables: keep the questions about their tables, for collections in which all splits
            ask about the same ones.
    """
    scored = [met(split) for split in kept_out]
    questions = {question for split in scored for question in split.questions}
    tables = {table for split in scored for table in split.tables}
    contents = contents_of(dataset)
    kept = tuple(
        query
        for query in dataset.queries
        if query.text.strip()
        and words_hash(query.text) not in questions
        and (shared_tables or tables.isdisjoint(contents[table] for table in query.gold))
    )
    return replace(dataset, queries=kept)


def met(dataset: Dataset) -> Met:
    """Return the questions of a split and the tables they are about."""
    contents = contents_of(dataset)
    return Met(
        frozenset(words_hash(query.text) for query in dataset.queries),
        frozenset(contents[table] for query in dataset.queries for table in query.gold),
    )


def contents_of(dataset: Dataset) -> dict[TableId, str]:
    """Return table id -> the hash of header and rows, in hexadecimal, equal for copies."""
    digests = digest_corpus(dataset.corpus)
    return {t: digest.content.hex() for t, digest in zip(dataset.corpus.ids, digests, strict=True)}


def words_hash(text: str) -> str:
    """Return a hash of the words of a text, without case, width, spaces and punctuation."""
    words = " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
