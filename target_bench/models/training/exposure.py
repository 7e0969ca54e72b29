"""Says with a score that a model was trained on what is scored."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset
from target_bench.models.training import training_record
from target_bench.models.training.held_out import KeptOut

_USES = {"train": "was trained on", "validation": "was chosen, among its epochs, by"}


def notes(plugin: object, dataset: Dataset) -> list[str]:
    """Return a sentence for each trained model in a plug-in that has met questions or gold tables.

    Models are those parts, at any depth, that have a method ``weights_folder`` and in that folder
    a record of their training. A record that cannot be read is a sentence too.
    """
    folders = dict.fromkeys(_folders(plugin))
    if not folders:
        return []
    scored = KeptOut.of([dataset])
    return [note for folder in folders for note in _notes(folder, scored)]


def _folders(plugin: object) -> Iterator[Path]:
    find = getattr(plugin, "weights_folder", None)
    folder = find() if callable(find) else None
    if folder is not None and training_record.is_recorded(folder):
        yield folder
    parts = getattr(plugin, "parts", None)  # optional; users' own may lack it
    for part in parts().values() if callable(parts) else ():
        yield from _folders(part)


def _notes(folder: Path, scored: KeptOut) -> Sequence[str]:
    try:
        pairs = training_record.read_pairs(folder)
    except DataError as error:
        return [f"{error}. Whether it was trained on {scored.names[0]} is not known"]
    found = []
    for use, verb in _USES.items():
        n_questions, n_tables = scored.overlapping(pair for pair in pairs if pair.use == use)
        if n_questions or n_tables:
            found.append(
                f"the model in {folder} {verb} {n_questions:,} of the {len(scored.questions):,} "
                f"questions and {n_tables:,} of the {len(scored.contents):,} gold tables of "
                f"{scored.names[0]} (different ones, regardless of their ids)"
            )
    return found
