"""OTT-QA: open-domain questions over Wikipedia tables and passages (Chen et al. 2021)."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import KIND, PASSAGE, CorpusInfo, Query, Table, TableId

_FILE_NAME = {"train": "train", "validation": "dev"}
_CONTEXT = ("title", "section_title", "section_text", "intro", "url")


class OTTQA(CorpusLoader):
    """Questions with the one table they start from; the corpus is the tables of the split.

    Args:
        passages: whether the passages that the tables link to are in the corpus too, each as a
            table of one cell whose id is its path (``/wiki/South_Bend,_Indiana``). A table then has
            the paths of each of its rows in its context, as ``links``. The gold of a question whose
            answer stands in no cell of its table is the table and the passages that hold it; these
            are in its metadata as ``passages``. The corpus is then called ``ottqa-passages``.
    """

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
    )

    folder = "ottqa"
    subfolders = ("released_data", "data")

    def __init__(self, passages: bool = False) -> None:
        self.passages = passages
        if passages:
            files = (
                "dev.traced.json (from released_data/) in the place of dev.json, and",
                "traindev_request_tok/ (from data/), or dev_request_passages.jsonl with",
                '{"table_id": ..., "passages": {path: text}} of a table a line, beside',
                *self.info.files[1:],
            )
            title = f"{self.info.title} with passages"
            self.info = replace(self.info, name="ottqa-passages", title=title, files=files)

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield the tables of the split, then the passages; its questions need not be there."""
        name, table_ids = _FILE_NAME[split], []
        for place, record in _table_records(release, name):
            table_ids.append(field(record, "uid", str, place))
            rows = field(record, "data", list, place)
            context = {name: field(record, name, str, place) for name in _CONTEXT}
            texts = [_texts(row, f"{place}, data row {n}") for n, row in enumerate(rows, start=1)]
            links = {"links": [[link for _, links in row for link in links] for row in rows]}
            yield Table(
                id=TableId("0", table_ids[-1]),
                header=_texts(field(record, "header", list, place), f"{place}, header"),
                rows=texts,
                context=context | links if self.passages else context,
            )
        if self.passages:
            passages: dict[str, str] = {}
            for place, of_table in _passage_records(release, name, table_ids):
                passages |= {path: field(of_table, path, str, place) for path in of_table}
            for path, text in sorted(passages.items()):
                title = path.removeprefix("/wiki/").replace("_", " ")
                context = {"title": title, KIND: PASSAGE}
                yield Table(TableId("0", path), [PASSAGE], [[text]], context)

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the questions of the split; answers are compared as by the authors' script."""
        traced = ".traced" if self.passages else ""
        path = release.require(f"{_FILE_NAME[split]}{traced}.json")
        form = {"normal_form": "ottqa"}
        for place, record in release.json_list(path, "question"):
            passages = _answer_passages(record, place) if self.passages else []
            gold = (field(record, "table_id", str, place), *passages)
            yield Query(
                id=field(record, "question_id", str, place),
                text=field(record, "question", str, place),
                gold=tuple(TableId("0", name) for name in gold),
                answer=field(record, "answer-text", str, place),
                metadata=form | {"passages": passages} if self.passages else form,
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


def _passage_records(
    release: Release, name: str, table_ids: Iterable[str]
) -> Iterator[tuple[str, Any]]:
    """Yield (place, {path: text}) of each table, from one file or from a file each."""
    path = release.find(f"{name}_request_passages.jsonl")
    if path is not None:
        for place, record in release.json_lines(path):
            yield place, field(record, "passages", dict, place)
        return
    if release.find_folder("traindev_request_tok") is None:
        release.require(f"{name}_request_passages.jsonl", "traindev_request_tok/")
    for table_id in table_ids:
        path = release.require(f"traindev_request_tok/{table_id}.json")
        yield str(path), release.json(path)


def _answer_passages(record: Any, place: str) -> list[str]:
    """Return the paths of the passages that hold the answer; none where a cell holds it.

    The authors traced it by its words: an answer node is [text, [row, column], path, kind].
    """
    nodes = field(record, "answer-node", list, place)
    for node in nodes:
        known = isinstance(node, list) and len(node) == 4 and node[3] in ("table", PASSAGE)
        if not known or (node[3] == PASSAGE and not isinstance(node[2], str)):
            raise DataError(
                f"{place}: field 'answer-node': expected [text, [row, column], path, kind], found "
                f"{node!r:.80}"
            )
    in_cell = any(node[3] == "table" for node in nodes)
    return [] if in_cell else list(dict.fromkeys(node[2] for node in nodes))


def _texts(cells: Any, place: str) -> list[str]:
    """Return the texts of ``[text, [links]]`` cells."""
    if not isinstance(cells, list) or not all(map(_is_cell, cells)):
        raise DataError(f"{place}: expected [text, [links]] cells, found {cells!r:.80}")
    return [cell[0] for cell in cells]


def _is_cell(cell: Any) -> bool:
    return isinstance(cell, list) and len(cell) == 2 and isinstance(cell[0], str)
