"""Whether a model was trained on what it is scored on.

A training leaves ``target_bench_pairs.jsonl`` beside the weights: a line a question and gold table
that it has met, with hashes by which both are known again under any id, in any corpus. When a
plug-in with a ``weights_folder()`` is scored, ``notes`` compares these lines with the queries.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from target_bench.core.contract import parts_of
from target_bench.core.files import parse_json
from target_bench.core.schema import Dataset, TableId
from target_bench.data.tables import digests_of

FILE = "target_bench_pairs.jsonl"

Use = Literal["train", "validation"]
_USES = {"train": "was trained on", "validation": "was chosen, among its epochs, by"}
_WORD = re.compile(r"\w+")


class Met(NamedTuple):
    """What a model has met, or what is kept out of a training.

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
    digests = digests_of(dataset.corpus)
    return {t: digest.content.hex() for t, digest in zip(dataset.corpus.ids, digests, strict=True)}


def words_hash(text: str) -> str:
    """Return a hash of the words of a text, without case, width, spaces and punctuation."""
    words = " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def lines_of(dataset: Dataset, use: Use = "train") -> Iterator[dict[str, Any]]:
    """Yield a line for every question and gold table of a split, for ``record``."""
    contents = contents_of(dataset)
    for query in dataset.queries:
        for table in query.gold:
            yield {
                "use": use,
                "corpus": dataset.info.name,
                "split": dataset.split,
                "query_id": query.id,
                "table": list(table),
                "query": words_hash(query.text),
                "content": contents[table],
            }


def record(
    folder: str | Path, lines: Iterable[dict[str, Any]], base: str | Path | None = None
) -> None:
    """Write beside the weights what a model has met in its training.

    Args:
        folder: of the model.
        lines: as ``lines_of`` gives them; ``use``, ``query`` and ``content`` are needed.
        base: the folder of the model that the training began with: its lines are kept.
    """
    before = Path(base, FILE) if base is not None else None
    earlier = before.read_text(encoding="ascii") if before and before.is_file() else ""
    text = earlier + "".join(json.dumps(line) + "\n" for line in lines)
    Path(folder, FILE).write_text(text, encoding="ascii", newline="\n")


def notes(plugin: object, dataset: Dataset) -> list[str]:
    """Return a sentence for each trained model in a plug-in that has met what is scored.

    Models are those parts, at any depth, whose method ``weights_folder`` names a folder with a
    record. A record that cannot be read is a sentence, too.
    """
    folders = dict.fromkeys(_folders(plugin))
    if not folders:
        return []
    scored = met(dataset)
    return [note for folder in folders for note in _notes(folder, scored, dataset)]


def _folders(plugin: object) -> Iterator[Path]:
    find = getattr(plugin, "weights_folder", None)
    folder = find() if callable(find) else None
    if folder is not None and (folder / FILE).is_file():
        yield folder
    for part in parts_of(plugin).values():
        yield from _folders(part)


def _notes(folder: Path, scored: Met, dataset: Dataset) -> Iterator[str]:
    name = f"{dataset.info.name} {dataset.split}"
    try:
        text = (folder / FILE).read_text(encoding="ascii")
        lines = [parse_json(line) for line in text.splitlines()]
        pairs = [(line["use"], line["query"], line["content"]) for line in lines]
    except (OSError, ValueError, TypeError, KeyError) as error:
        yield (
            f"{folder / FILE}: what this model was trained on cannot be read ({error}): whether "
            f"that was {name} is not known"
        )
        return
    for use, words in _USES.items():
        n_questions = len(scored.questions.intersection(q for u, q, _ in pairs if u == use))
        n_tables = len(scored.tables.intersection(t for u, _, t in pairs if u == use))
        if n_questions or n_tables:
            yield (
                f"the model in {folder} {words} {n_questions:,} of the "
                f"{len(scored.questions):,} questions and {n_tables:,} of the "
                f"{len(scored.tables):,} gold tables of {name} (different ones, regardless of "
                "their ids)"
            )
