"""BEIR's layout: documents as tables, judgements as gold tables."""

from pathlib import Path
from typing import Any

import pytest

from target_bench import corpora
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import TableId
from target_bench.data.load import loader
from tests.builders import Record, json_lines

MARKDOWN = "| Year | Winner |\n|---|:---|\n| 2001 | Ann \\| Bo |\n"
DOCUMENTS: list[Record] = [
    {"_id": "d1", "title": "Cups", "text": "first line\n\n  second\u2028line\n"},
    {"_id": 2, "text": "", "table": [["Year", None, 3], ["2001", None, 1.5]]},
    {"_id": "d3", "title": None, "text": "x", "metadata": {"table": [["a"], [["b"]]]}},
    {"_id": "d4", "title": "Marked", "text": MARKDOWN},
    {"_id": "d5", "title": "Prose", "text": f"Before.\n{MARKDOWN}"},
]
QUERIES: list[Record] = [
    {"_id": "q1", "text": "Who won?"},
    {"_id": "q2", "text": "And then?", "metadata": {"hard": True}},
    {"_id": "q3", "text": "Not judged"},
]
HEADER = "query-id\tcorpus-id\tscore\n"
QRELS = f"{HEADER}q2\t2\t1\nq1\td1\t2\nq1\td3\t0\nq2\td3\t1\n"


def _write(
    folder: Path,
    documents: list[Any] = DOCUMENTS,
    queries: list[Any] = QUERIES,
    qrels: str = QRELS,
    split: str = "test",
) -> Path:
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_text(json_lines(documents), encoding="utf-8")
    (folder / "queries.jsonl").write_text(json_lines(queries), encoding="utf-8")
    (folder / "qrels" / f"{split}.tsv").write_text(qrels, encoding="utf-8", newline="")
    return folder


def _check(folder: Path) -> None:
    dataset = corpora.load(folder)
    assert dataset.split == "test"
    tables = {t.id.table_id: [list(t.header), *map(list, t.rows)] for t in dataset.corpus}
    assert tables == {
        "d1": [["text"], ["first line"], ["  second"], ["line"]],
        "2": [["Year", "", "3"], ["2001", None, 1.5]],
        "d3": [["a"], ['["b"]']],
        "d4": [["Year", "Winner"], ["2001", "Ann | Bo"]],
        "d5": [["text"], *([line] for line in ("Before.", *MARKDOWN.splitlines()))],
    }
    titles = [table.context["title"] for table in dataset.corpus]
    assert titles == ["Cups", "", "", "Marked", "Prose"]
    assert [(q.id, q.text, q.gold) for q in dataset.queries] == [
        ("q2", "And then?", (TableId("0", "2"), TableId("0", "d3"))),
        ("q1", "Who won?", (TableId("0", "d1"),)),
    ]
    assert dataset.queries[0].metadata == {"hard": True}


@pytest.mark.parametrize(
    "qrels",
    [
        "\ufeff" + QRELS,
        QRELS.replace("\n", "\r\n"),
        QRELS.replace("\n", "\n\n"),
        QRELS.partition("\n")[2],
        QRELS.rstrip("\n"),
        QRELS + "q1\td1\t2\n",
        QRELS.replace("\t1\n", "\t1.0\n") + "q1\td1\t2.0\n",
    ],
)
def test_every_field_and_form_of_the_judgements(tmp_path: Path, qrels: str) -> None:
    """Byte-order mark, Windows line ends, blank lines, no header, a line twice, decimal scores.

    Read as BEIR, though TARGET's layout may have a ``corpus.jsonl`` too; cached or not.
    """
    for _ in range(2):
        _check(_write(tmp_path, qrels=qrels))


def test_the_folder_by_name(tmp_path: Path) -> None:
    by_name = corpora.load("beir", data_dir=_write(tmp_path))
    by_path, by_setting = corpora.load(tmp_path), corpora.load(f"beir:folder={tmp_path}")
    assert by_name.corpus.fingerprint == by_path.corpus.fingerprint
    assert by_path.queries == by_name.queries == by_setting.queries
    assert loader(tmp_path).info.source == str(tmp_path)


def test_splits(tmp_path: Path) -> None:
    _write(tmp_path)
    _write(tmp_path, qrels="q3\td1\t1\n", split="dev")
    assert corpora.load(tmp_path).info.splits == ("test", "validation")
    assert [query.id for query in corpora.load(tmp_path, "dev").queries] == ["q3"]
    _write(tmp_path, split="validation")
    with pytest.raises(DataError, match=r"validation\.tsv: dev\.tsv is the same split"):
        corpora.load(tmp_path)
    with pytest.raises(ConfigError, match="delimiter is for a folder with one file per table"):
        corpora.load(f"{tmp_path}:delimiter=;")


FORM = "line 2: expected query-id, corpus-id and a number as score"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("q9\td1\t1", "line 2: query-ids that are not in queries.jsonl: 1 (q9)"),
        ("q1\td9\t1", "1 gold table of 1 query missing: d9"),
        ("q1\td1\tyes", FORM),
        ("q1\td1", FORM),
        ("q1\t0\td1\t1", FORM),
        ("x" * 200_000, FORM),
        ("q1\td1\t1\nq1\td1\t0", "line 3: 'q1' and 'd1' have the score 0, but 1 above"),
    ],
)
def test_broken_judgement(tmp_path: Path, line: str, fault: str) -> None:
    with pytest.raises(DataError) as caught:
        corpora.load(_write(tmp_path, qrels=f"{HEADER}{line}\nq1\td1\t1\n"))
    place = "" if "gold table" in fault else f"{tmp_path}/qrels/test.tsv, "
    assert f"{place}{fault}" in str(caught.value)


def test_queries_that_nothing_is_relevant_to_are_reported(tmp_path: Path) -> None:
    folder = _write(tmp_path, qrels="q1\td1\t1\nq2\td1\t0\nq2\td2\t-1\n")
    for _ in range(2):  # read, and from the cache
        dataset = corpora.load(folder)
        assert [query.id for query in dataset.queries] == ["q1"]
        note = "1 queries of qrels/test.tsv have no score above 0 and are left out"
        assert note in " ".join(dataset.notes)


ROOMS = "Table: rooms\n\n| column | type |\n| --- | --- |\n| key | int |\n"
SCHEMAS: list[Record] = [
    {"_id": "dw__rooms", "title": "", "text": ROOMS},
    {"_id": "dw__building_names", "title": "", "text": MARKDOWN},
    {"_id": "zoo__rooms", "title": "Cages", "text": ROOMS},
]


def test_schemas_of_databases(tmp_path: Path) -> None:
    """A table-level subset of Snowflake's SQL-Schema-Retrieval: ids are ``database__table``."""
    qrels = f"{HEADER}q1\tdw__building_names\t1\nq2\tzoo__rooms\t1.0\nq2\tdw__rooms\t0\n"
    folder = _write(tmp_path / "tables", SCHEMAS, qrels=qrels)
    names, cages = TableId("dw", "building_names"), TableId("zoo", "rooms")
    for _ in range(2):  # read, and from the cache
        dataset = corpora.load(folder)
        assert dataset.corpus.ids == (TableId("dw", "rooms"), names, cages)
        titles = [table.context["title"] for table in dataset.corpus]
        assert titles == ["rooms", "building_names", "Cages"]
        assert [(query.gold, query.database_id) for query in dataset.queries] == [
            ((names,), "dw"),
            ((cages,), "zoo"),
        ]
        assert dataset.notes == ("the ids of corpus.jsonl are read as database__table",)
    lines = [line for (line,) in dataset.corpus["dw", "rooms"].rows]
    assert lines == ROOMS.replace("\n\n", "\n").splitlines()
