"""Instruction, input, output: Struc-Bench's JSON made from a split and FormatCoT."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.schema import GenerationRequest
from target_bench.core.version import __version__
from target_bench.data import load as loading
from target_bench.data.select import of_task
from target_bench.models.instruction_tuning import format_cot
from target_bench.models.instruction_tuning.format_cot import Described, Target
from target_bench.models.instruction_tuning.instruction_files import (
    Instruction,
    write_instructions,
)
from target_bench.models.instruction_tuning.tuning_examples import (
    Example,
    examples_of,
    task_of_tables,
)
from target_bench.models.training import model_folder

RECORD = "format_cot.json"

Consent = Callable[[Any, Sequence[GenerationRequest]], None]
"""Is asked before requests are sent to a generator; raises where they are not agreed to."""


@dataclass(frozen=True, slots=True)
class Built:
    """Files that were written.

    Attributes:
        folder: where they lie; a folder of the corpus ``struc-bench``.
        files: records of each, by name.
        by_generator: how many instructions the generator wrote; the others are the rules'.
        problems: why its others are not used, counted.
    """

    folder: Path
    files: dict[str, int]
    by_generator: int
    problems: dict[str, int]


def build(
    corpus: str | Path,
    folder: Path,
    split: str = "train",
    generator: Any = None,
    limit: int | None = None,
    data_dir: str | Path | None = None,
    observer: Observer | None = None,
    consent: Consent | None = None,
) -> Built:
    """Write an instruction for each target table of a split, and the files to train on.

    Beside the JSON lists lies ``format_cot.json``: corpus, split, generator, and for each record
    the query, who wrote the instruction, and all that the generator said.

    Args:
        corpus: a name or a path.
        folder: where the files go; it must not be there, or be empty.
        split: of the corpus.
        generator: what writes the instructions, as on the command line; None for the rules.
        limit: only the first queries.
        data_dir: as for ``corpora.load``.
        observer: is notified of progress and of instructions that are not used.
        consent: is asked before anything is sent to a generator.

    Raises:
        ConfigError: an unknown corpus, split or generator, or no query that is answered with
            tables.
        DataError: files are missing or broken, or a reference holds no table.
        StoreError: the folder cannot be written.
    """
    observer = observer or Observer()
    task = task_of_tables()
    dataset = of_task(loading.load(corpus, split, data_dir=data_dir), task.name)
    examples = list(examples_of(dataset, task, limit))
    if not examples:
        raise ConfigError(f"{dataset.info.name} {dataset.split}: no query has a reference")
    writer = None if generator is None else registry.part("generator", generator)
    targets = [_target(example) for example in examples]
    if writer is not None and consent is not None:
        consent(writer, [format_cot.request_of(target) for target in targets])
    observer.stage(f"write {len(targets):,} instructions")
    described = format_cot.describe(targets, writer)
    _tell(described, observer)
    with model_folder.whole(folder) as half:
        records = [_record(e, d) for e, d in zip(examples, described, strict=True)]
        files = write_instructions(half, dataset.split, records)
        about = {
            "version": format_cot.VERSION,
            "target_bench": __version__,
            "corpus": dataset.info.name,
            "split": dataset.split,
            "corpus_fingerprint": dataset.corpus.fingerprint,
            "licence": dataset.info.licence,
            "generator": None if writer is None else plugin_identity(writer)[0],
            "records": [_about(e, d) for e, d in zip(examples, described, strict=True)],
        }
        _write(half / RECORD, about)
    problems = Counter(str(one.problem) for one in described if one.problem is not None)
    counts = {path.name: len(some) for path, some in files.items()}
    by_generator = sum(one.written_by == "generator" for one in described)
    return Built(folder.expanduser().absolute(), counts, by_generator, dict(problems))


def _target(example: Example) -> Target:
    return Target(example.query.id, example.output, example.table_format)


def _record(example: Example, described: Described) -> Instruction:
    return Instruction(described.text, example.query.text, example.output, example.table_format)


def _about(example: Example, described: Described) -> dict[str, Any]:
    return {
        "query_id": example.query.id,
        "format": example.table_format,
        "written_by": described.written_by,
        "problem": described.problem,
        "reply": described.reply,
    }


def _tell(described: Sequence[Described], observer: Observer) -> None:
    problems = Counter(one.problem for one in described if one.problem is not None)
    if problems:
        counts = ", ".join(f"{n:,} {name}" for name, n in problems.most_common())
        observer.warning(
            f"{problems.total():,} of {len(described):,} instructions of the generator are not "
            f"used ({counts}): rules wrote those"
        )


def _write(path: Path, about: dict[str, Any]) -> None:
    try:
        text = json.dumps(about, indent=1) + "\n"
        path.write_text(text, encoding="ascii", newline="\n")
    except OSError as error:
        raise StoreError(f"{path}: it cannot be written ({error})") from error
