"""TabFact: statements to be verified against Wikipedia tables (Chen et al. 2020)."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from target_bench.core.declarations import GitHub
from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release, decode
from target_bench.core.schema import CorpusInfo, Query, Table, TableId

_FILE_NAME = {"train": "train", "validation": "val", "test": "test"}
_LABELS = {0: "False", 1: "True"}


class TabFact(CorpusLoader):
    """Statements with the table they are about; its caption is the table's title."""

    info = CorpusInfo(
        name="tabfact",
        title="TabFact",
        tasks=("retrieval", "fact_verification"),
        splits=("test", "validation", "train"),
        licence="MIT (repository); data CC BY 4.0, tables from Wikipedia",
        citation="Chen et al., TabFact: A Large-scale Dataset for Table-based Fact Verification, "
        "ICLR 2020",
        source="https://github.com/wenhuchen/Table-Fact-Checking",
        files=(
            "test_examples.json, val_examples.json, train_examples.json (from tokenized_data/)",
            "all_csv/ or all_csv.zip (from data/); test_csv.zip, val_csv.zip do for their splits",
        ),
        data={
            "test": GitHub(
                "wenhuchen/Table-Fact-Checking",
                ("tokenized_data/test_examples.json", "data/all_csv/*"),
                commit="2ab782ba42b5808076ac91fec846473aa5315a79",
            )
        },
    )

    subfolders = ("tokenized_data", "data")

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield the tables that the split has statements about, in the order of its examples."""
        examples = _read_examples(release, split)
        files = dict(_read_files(release, _FILE_NAME[split], examples.keys()))
        missing = [table_id for table_id in examples if table_id not in files]
        if missing:
            raise DataError(
                f"{release.folder}: {len(missing)} tables of {_FILE_NAME[split]}_examples.json "
                f"have no CSV file, the first is {missing[0]}. Get all_csv/ from {release.source}."
            )
        for table_id, (_, _, caption) in examples.items():
            header, *rows = _read_cells(*files[table_id])
            yield Table(TableId("0", table_id), header, rows, {"title": caption})

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the statements of the split."""
        for table_id, (statements, labels, _) in _read_examples(release, split).items():
            gold = (TableId("0", table_id),)
            for number, (statement, label) in enumerate(zip(statements, labels, strict=True)):
                yield Query(f"{table_id}:{number}", statement, gold, _LABELS[label])


Example = tuple[list[str], list[int], str]
"""Statements, their labels, and the caption of their table."""


def _read_examples(release: Release, split: str) -> dict[str, Example]:
    path = release.require(f"{_FILE_NAME[split]}_examples.json")
    records = release.json(path)
    if not isinstance(records, dict):
        raise DataError(f"{path}: expected an object keyed by table id")
    return {
        name: _check_example(record, f"{path}, table {name}") for name, record in records.items()
    }


def _check_example(record: Any, place: str) -> Example:
    try:
        statements, labels, caption = record
        pairs = list(zip(statements, labels, strict=True))
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{place}: expected [statements, labels, caption], with a label for each statement"
        ) from error
    for statement, label in pairs:
        if not isinstance(statement, str) or label not in (0, 1):
            raise DataError(
                f"{place}: expected statements as texts and labels that are 0 or 1, found "
                f"{statement!r:.80} with {label!r:.80}"
            )
    if not isinstance(caption, str):
        raise DataError(f"{place}: caption: expected text, found {caption!r:.80}")
    return statements, labels, caption


def _read_files(
    release: Release, name: str, table_ids: Collection[str]
) -> Iterator[tuple[str, tuple[str, bytes]]]:
    """Yield (id, (place, content)) from ``<split>_csv.zip``, ``all_csv.zip`` or ``all_csv/``."""
    path = release.find(f"{name}_csv") or release.find("all_csv")
    if path is not None and path.suffix == ".zip":
        for member, content in release.members(path):
            table_id = PurePosixPath(member).name
            if table_id in table_ids:
                yield table_id, (f"{path}, {member}", content)
        return
    folder = release.find_folder("all_csv")
    if folder is None:
        release.require(f"{name}_csv.zip", "all_csv.zip", "all_csv/")
        return
    for table_id in sorted(table_ids):
        file = folder / table_id
        # an id from a hostile file must not lead out of the folder
        if PurePosixPath(table_id).name == table_id and len(table_id) < 256 and file.is_file():
            yield table_id, (str(file), release.content(file))


def _read_cells(place: str, content: bytes) -> list[list[str]]:
    """Return the cells of a file whose separator is ``#``, without any quoting."""
    text = decode(content, place).replace("\r\n", "\n").removesuffix("\n")
    if not text:
        raise DataError(f"{place}: the file is empty; its first line is the header")
    return [line.split("#") for line in text.split("\n")]
