"""What a model is tuned on: queries and records, without what will be scored."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.files import sha256_of
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Query
from target_bench.core.task import Task
from target_bench.data import load as loading
from target_bench.data.select import of_task
from target_bench.models.instruction_tuning.instruction_files import read_instructions
from target_bench.models.instruction_tuning.target_tables import (
    contents_of_output,
    known_contents,
)
from target_bench.models.training.held_out import KeptOut
from target_bench.models.training.training_record import Used, words_hash
from target_bench.models.training.training_splits import Data, check_apart, kept_out_splits
from target_bench.tables.answer_tables import TableFormat


@dataclass(frozen=True, slots=True)
class Example:
    """A query with the tables that answer it.

    Attributes:
        query: text, format and instruction, as the task's prompts take them.
        output: the tables as they should be answered.
        table_format: how they are written.
        place: where it comes from, for messages.
        used: what the record of the training says of it.
        contents: digests of its tables.
    """

    query: Query
    output: str
    table_format: TableFormat
    place: str
    used: tuple[Used, ...]
    contents: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Examples:
    """All examples, and where they come from.

    Attributes:
        kept: those to train on.
        sources: corpora with fingerprints and files with hashes, as JSON.
        kept_out: ``corpus split`` of each that will be scored.
        left_out: a sentence for each source of which examples were left out.
    """

    kept: tuple[Example, ...]
    sources: tuple[dict[str, Any], ...] = ()
    kept_out: tuple[str, ...] = ()
    left_out: tuple[str, ...] = field(default=())


def task_of_tables() -> Task[Any]:
    """Return the task that is answered with tables from a text alone."""
    every = (registry.create("task", name) for name in registry.names("task"))
    return next(task for task in every if task.answer == "tables" and task.source == "none")


def load(data: Data, files: Sequence[Path], task: Task[Any], observer: Observer) -> Examples:
    """Load corpora and files, and leave out what overlaps with the splits that are kept out.

    Raises:
        ConfigError: nothing to train on, a split that is both trained on and scored, or any
            overlap in mode ``strict``.
        DataError: files are missing or broken, or an output holds no table.
    """
    if not data.corpora and not files:
        raise ConfigError(
            "name what to train on: a corpus, as in --corpus rotowire, or a file of records, as in "
            "--instructions table_train.json"
        )
    if data.limit is not None and data.limit < 1:
        raise ConfigError(f"limit={data.limit}: at least 1 is needed")
    scored, kept = kept_out_splits(data)
    for corpus in data.corpora:
        check_apart(corpus, data, scored)
    observer.stage("load the examples")
    out = _kept_out(
        [loading.load(corpus, split, data_dir=data.data_dir) for corpus, split in kept], task
    )
    if not out.names:
        observer.warning(
            "nothing is kept out of the training: name with --keep-out the splits that will be "
            "scored, as in --keep-out rotowire:test"
        )
    datasets = [
        of_task(loading.load(corpus, data.split, data_dir=data.data_dir), task.name)
        for corpus in data.corpora
    ]
    found = [(_described(d), list(examples_of(d, task, data.limit))) for d in datasets]
    found += [(_file(path), list(_records(path, data.limit))) for path in files]
    return _without(found, out, data, observer)


def examples_of(dataset: Dataset, task: Task[Any], limit: int | None = None) -> Iterator[Example]:
    """Yield the queries of a split that have a reference.

    Raises:
        DataError: a reference holds no table.
    """
    name, split = dataset.info.name, dataset.split
    for query in [q for q in dataset.queries if task.has_reference(q)][:limit]:
        table_format = _format_of(query, task)
        place = f"{name} {split}, query {query.id!r}"
        output = query.references[0]
        contents = contents_of_output(output, table_format, place)
        ids = query.gold if len(query.gold) == len(contents) else [("", "")] * len(contents)
        used = tuple(
            _used(name, split, query, tuple(table), content)
            for table, content in zip(ids, contents, strict=True)
        )
        yield Example(query, output, table_format, place, used, tuple(contents))


def _format_of(query: Query, task: Task[Any]) -> TableFormat:
    found: TableFormat = query.metadata.get("format", getattr(task, "table_format", "text"))
    return found


def _records(path: Path, limit: int | None) -> Iterator[Example]:
    """Yield the records of a file; one without input asks what its instruction says."""
    for number, record in enumerate(read_instructions(path)[:limit]):
        wanted: dict[str, str] = {"format": record.table_format}
        if record.input.strip():
            wanted["instruction"] = record.instruction
        text = record.input if record.input.strip() else record.instruction
        query = Query(str(number), text, gold=(), metadata=wanted)
        contents = contents_of_output(record.output, record.table_format, record.place)
        used = tuple(
            _used(path.name, "", query, ("", str(place)), content)
            for place, content in enumerate(contents)
        )
        output, table_format = record.output, record.table_format
        yield Example(query, output, table_format, record.place, used, tuple(contents))


def _used(corpus: str, split: str, query: Query, table: Any, content: bytes) -> Used:
    words = words_hash(query.text)
    return Used("train", corpus, split, query.id, table, words, content.hex())


def _kept_out(datasets: Sequence[Dataset], task: Task[Any]) -> KeptOut:
    """Return the questions of the splits, the tables they are about and those that answer them."""
    out = KeptOut.of(datasets)
    about = [
        q for d in datasets for q in d.queries if q.metadata.get("task", task.name) == task.name
    ]
    outputs = [(q.references[0], _format_of(q, task)) for q in about if task.has_reference(q)]
    return replace(out, contents=out.contents | known_contents(outputs))


def _without(
    found: Sequence[tuple[dict[str, Any], list[Example]]],
    out: KeptOut,
    data: Data,
    observer: Observer,
) -> Examples:
    kept: list[Example] = []
    left_out: list[str] = []
    for source, examples in found:
        reasons: Counter[str] = Counter()
        for example in examples:
            reason = _overlap(example, out, source["corpus"], data.shared_tables)
            if reason is None:
                kept.append(example)
            else:
                reasons[reason] += 1
        source["examples"] = len(examples) - reasons.total()
        if reasons:
            counts = ", ".join(f"{n:,} {reason}" for reason, n in reasons.most_common())
            left_out.append(
                f"{source['corpus']}: {reasons.total():,} of {len(examples):,} examples are left "
                f"out: {counts} (kept out: {', '.join(out.names)})"
            )
    for note in left_out:
        observer.warning(note)
    if left_out and data.strict:
        raise ConfigError(f"{'; '.join(left_out)}. Without --strict, training leaves them out")
    if not kept:
        raise ConfigError(f"no example is left to train on. {'; '.join(left_out)}")
    sources = tuple(source for source, _ in found)
    return Examples(tuple(kept), sources, out.names, tuple(left_out))


def _overlap(example: Example, out: KeptOut, corpus: str, shared_tables: bool) -> str | None:
    """Name what an example shares with what is kept out; ids begin again in every split."""
    asked = replace(example.query, gold=())
    return out.overlap(corpus, asked, example.contents, shared_tables)


def _described(dataset: Dataset) -> dict[str, Any]:
    return {
        "corpus": dataset.info.name,
        "split": dataset.split,
        "corpus_fingerprint": dataset.corpus.fingerprint,
        "licence": dataset.info.licence,
    }


def _file(path: Path) -> dict[str, Any]:
    try:
        return {"corpus": path.name, "split": "", "sha256": sha256_of(path)}
    except OSError as error:
        raise ConfigError(f"--instructions {path}: it cannot be read: {error}") from error
