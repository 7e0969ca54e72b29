"""OTT-QA: open-domain questions over Wikipedia tables and passages (Chen et al. 2021)."""

from collections.abc import Iterable
from typing import Any

from target_bench.core.declarations import GitHub
from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import CorpusInfo, Query, Table, TableId

_FILE_NAME = {"train": "train", "validation": "dev"}
_CONTEXT = ("title", "section_title", "section_text", "intro", "url")


class OTTQA(CorpusLoader):
    """Questions with the one table they start from; the corpus is the tables of the split."""

    info = CorpusInfo(
        name="ottqa",
        title="OTT-QA",
        tasks=("retrieval", "question_answering"),
        splits=("validation", "train"),
        licence="MIT (repository); tables and passages from Wikipedia, CC BY-SA",
        citation="Chen et al., Open Question Answering over Tables and Text, ICLR 2021",
        source="https://github.com/wenhuchen/OTT-QA",
        files=(
            "dev.json (from released_data/)",
            "train_dev_test_table_ids.json and traindev_tables_tok/ (from data/), or, for both,",
            "dev_tables.jsonl with one traindev_tables_tok/<id>.json of the split a line",
            "train.json (and train_tables.jsonl) for the split train",
        ),
        data={
            "validation": GitHub(
                "wenhuchen/OTT-QA",
                (
                    "released_data/train_dev_test_table_ids.json",
                    "data/traindev_tables_tok/*",
                    "released_data/dev.json",
                ),
                commit="b289bcca691db21a5259c3420e6b9819a9be9ba3",
            )
        },
    )

    folder = "ottqa"
    subfolders = ("released_data", "data")

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield the tables of the split; its questions need not be there."""
        for place, record in _table_records(release, _FILE_NAME[split]):
            rows = field(record, "data", list, place)
            context = {name: field(record, name, str, place) for name in _CONTEXT}
            texts = [
                _read_texts(row, f"{place}, data row {n}") for n, row in enumerate(rows, start=1)
            ]
            yield Table(
                id=TableId("0", field(record, "uid", str, place)),
                header=_read_texts(field(record, "header", list, place), f"{place}, header"),
                rows=texts,
                context=context,
            )

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the questions of the split; answers are compared as by the authors' script."""
        path = release.require(f"{_FILE_NAME[split]}.json")
        form = {"normal_form": "ottqa"}
        for place, record in release.json_list(path, "question"):
            yield Query(
                id=field(record, "question_id", str, place),
                text=field(record, "question", str, place),
                gold=(TableId("0", field(record, "table_id", str, place)),),
                answer=field(record, "answer-text", str, place),
                metadata=form,
            )


def _table_records(release: Release, name: str) -> Iterable[tuple[str, Any]]:
    """Yield (place, record) of the split's tables, from one file or from a file each."""
    path = release.find(f"{name}_tables.jsonl")
    if path is not None:
        return release.json_lines(path)
    folder = release.find_folder("traindev_tables_tok")
    if folder is None:
        release.require(f"{name}_tables.jsonl", "traindev_tables_tok/")
    lists = release.require("train_dev_test_table_ids.json")
    table_ids = field(release.json(lists), name, list, str(lists))
    paths = [release.require(f"traindev_tables_tok/{table_id}.json") for table_id in table_ids]
    return ((str(path), release.json(path)) for path in sorted(paths))


def _read_texts(cells: Any, place: str) -> list[str]:
    """Return the texts of ``[text, [links]]`` cells."""
    if not isinstance(cells, list) or not all(map(_is_cell, cells)):
        raise DataError(f"{place}: expected [text, [links]] cells, found {cells!r:.80}")
    return [cell[0] for cell in cells]


def _is_cell(cell: Any) -> bool:
    return isinstance(cell, list) and len(cell) == 2 and isinstance(cell[0], str)
