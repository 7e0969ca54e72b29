"""BEIR's layout: documents as tables, judgements as gold tables."""

from pathlib import Path
from typing import Any

import pytest

from target_bench import corpora
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import TableId
from tests.builders import Record, json_lines

DOCUMENTS: list[Record] = [
    {"_id": "d1", "title": "Cups", "text": "first line\n\n  second\u2028line\n"},
    {"_id": 2, "text": "", "table": [["Year", None, 3], ["2001", None, 1.5]]},
    {
        "_id": "d3",
        "title": None,
        "text": "x",
        "table": None,
        "metadata": {"table": [["a"], [["b"]]]},
    },
]
QUERIES: list[Record] = [
    {"_id": "q1", "text": "Who won?"},
    {"_id": "q2", "text": "And then?", "metadata": {"hard": True}},
    {"_id": "q3", "text": "Not judged"},
]
QRELS = "query-id\tcorpus-id\tscore\nq2\t2\t1\nq1\td1\t2\nq1\td3\t0\nq2\td3\t1\n"


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


def _fault(folder: Path) -> str:
    with pytest.raises(DataError) as caught:
        corpora.load(folder)
    assert str(folder) in str(caught.value) or "(from corpus.jsonl" in str(caught.value)
    return str(caught.value)


def _soundly_loaded(folder: Path) -> None:
    dataset = corpora.load(folder)
    assert dataset.split == "test"
    one, two, three = dataset.corpus
    assert [t.id.table_id for t in (one, two, three)] == ["d1", "2", "d3"]
    assert (list(one.header), list(one.rows)) == (
        ["text"],
        [["first line"], ["  second"], ["line"]],
    )
    assert (list(two.header), list(two.rows)) == (["Year", "", "3"], [["2001", None, 1.5]])
    assert (list(three.header), list(three.rows)) == (["a"], [['["b"]']])
    assert [t.context for t in (one, two, three)] == [{"title": t} for t in ("Cups", "", "")]
    assert [(q.id, q.text, q.gold) for q in dataset.queries] == [
        ("q2", "And then?", (TableId("0", "2"), TableId("0", "d3"))),
        ("q1", "Who won?", (TableId("0", "d1"),)),
    ]
    assert dataset.queries[0].metadata == {"hard": True}


def test_every_field(tmp_path: Path) -> None:
    """Read as BEIR, though TARGET's layout may have a ``corpus.jsonl`` too; cached or not."""
    _write(tmp_path)
    _soundly_loaded(tmp_path)
    _soundly_loaded(tmp_path)


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
def test_forms_of_the_judgements(tmp_path: Path, qrels: str) -> None:
    """Byte-order mark, Windows line ends, blank lines, no header, a line twice, decimal scores."""
    _soundly_loaded(_write(tmp_path, qrels=qrels))


def test_splits(tmp_path: Path) -> None:
    _write(tmp_path)
    _write(tmp_path, qrels="q3\td1\t1\n", split="dev")
    assert corpora.load(tmp_path).info.splits == ("test", "validation")
    assert [query.id for query in corpora.load(tmp_path, "dev").queries] == ["q3"]
    _write(tmp_path, split="validation")
    assert "validation.tsv: dev.tsv is the same split" in _fault(tmp_path)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("q9\td1\t1", "line 2: query-id 'q9' is not in queries.jsonl"),
        ("q1\td9\t1", "line 2: corpus-id 'd9' is not in corpus.jsonl"),
        ("q1\td1\tyes", "line 2: expected query-id, corpus-id and a number as score"),
        ("q1\td1\tnan", "line 2: expected query-id, corpus-id and a number as score"),
        ("q1\td1\t", "line 2: expected query-id, corpus-id and a number as score"),
        ("q1\td1", "line 2: expected query-id, corpus-id and a number as score"),
        ("q1 0 d1 1", "line 2: expected query-id, corpus-id and a number as score"),
        ("q1\t0\td1\t1", "line 2: expected query-id, corpus-id and a number as score"),
        ("q1\td1\t1\nq1\td1\t0", "line 3: 'q1' and 'd1' have the score 0, but 1 above"),
        ("x" * 200_000, "line 2: expected query-id, corpus-id"),
    ],
)
def test_broken_judgement(tmp_path: Path, line: str, fault: str) -> None:
    qrels = f"query-id\tcorpus-id\tscore\n{line}\nq1\td1\t1\n"
    assert f"test.tsv, {fault}" in _fault(_write(tmp_path, qrels=qrels))


def test_queries_that_nothing_is_relevant_to_are_reported(tmp_path: Path) -> None:
    folder = _write(tmp_path, qrels="q1\td1\t1\nq2\td1\t0\nq2\td2\t-1\n")
    for _ in range(2):  # read, and from the cache
        dataset = corpora.load(folder)
        assert [query.id for query in dataset.queries] == ["q1"]
        assert "1 queries of qrels/test.tsv have no score above 0 and are left out" in " ".join(
            dataset.notes
        )


MARKDOWN = "| Year | Winner |\n|---|:---|\n| 2001 | Ann \\| Bo |\n"


def _write_hub(folder: Path, qrels: list[Any], **documents: list[Any]) -> Path:
    """A repository of IBM's Table + Text IR collection."""
    for name, records in documents.items():
        (folder / f"{name}.jsonl").write_text(json_lines(records), encoding="utf-8")
    (folder / "dev_queries.jsonl").write_text(json_lines(QUERIES), encoding="utf-8")
    (folder / "dev_qrels.jsonl").write_text(json_lines(qrels), encoding="utf-8")
    (folder / "dev_qrels.tsv").write_text("qid\tdid\tscore\n", encoding="utf-8")
    return folder


def test_hub_layout_of_tables_and_texts(tmp_path: Path) -> None:
    """Markdown is read as header and rows; other forms of the same documents are not read."""
    documents = [
        {"_id": "d1", "title": "Cups", "text": MARKDOWN},
        {"_id": "d2", "title": "Prose", "text": f"Before.\n{MARKDOWN}"},
    ]
    linearised = [{"_id": "d1", "title": "", "text": "x"}]
    qrels = [{"qid": "q1", "did": "d1", "score": 1}, {"qid": "q2", "did": "d2", "score": 0}]
    _write_hub(tmp_path, qrels, corpus_md=documents, corpus_linearized=linearised)
    dataset = corpora.load(tmp_path)
    table, prose = dataset.corpus
    assert (list(table.header), [list(row) for row in table.rows]) == (
        ["Year", "Winner"],
        [["2001", "Ann | Bo"]],
    )
    assert (list(prose.header), len(prose.rows)) == (["text"], 4)
    assert dataset.split == "validation"
    assert [(q.id, q.gold) for q in dataset.queries] == [("q1", (TableId("0", "d1"),))]
    notes = " ".join(dataset.notes)
    assert "corpus_md.jsonl is read, and not corpus_linearized.jsonl" in notes
    assert "1 queries of dev_qrels.jsonl have no score above 0" in notes


def test_form_of_the_documents_that_is_read(tmp_path: Path) -> None:
    """A setting after the path; each form is a corpus of its own, also from the cache."""
    plain = [{"_id": "d1", "title": "Cups", "text": "2001 Ann"}]
    marked = [{"_id": "d1", "title": "Cups", "text": MARKDOWN}]
    qrels = [{"qid": "q1", "did": "d1", "score": 1}]
    folder = _write_hub(tmp_path, qrels, corpus_md=marked, corpus_linearized=plain)
    for _ in range(2):  # read, and from the cache
        first, md, linear = (
            corpora.load(f"{folder}{setting}") for setting in ("", ":form=md", ":form=linearized")
        )
        assert [list(next(iter(d.corpus)).header) for d in (first, md, linear)] == [
            ["Year", "Winner"],
            ["Year", "Winner"],
            ["text"],
        ]
        assert first.corpus.fingerprint == md.corpus.fingerprint != linear.corpus.fingerprint
        assert set(linear.files) == {
            "corpus_linearized.jsonl",
            "dev_qrels.jsonl",
            "dev_queries.jsonl",
        }
        assert not any("is read, and not" in note for note in (*md.notes, *linear.notes))


def test_form_that_is_not_there(tmp_path: Path) -> None:
    folder = _write_hub(tmp_path, [], corpus_md=[], corpus_linearized=[])
    for form in ("structure", "5"):
        with pytest.raises(ConfigError, match=f"form=.?{form}.? .*; available: md, linearized"):
            corpora.load(f"{folder}:form={form}")
    with pytest.raises(ConfigError, match="skip_bad is for a folder with one file per table"):
        corpora.load(f"{folder}:form=md,skip_bad=true")


@pytest.mark.parametrize(
    ("gone", "fault"),
    [
        ("corpus_md", r"no corpus\.jsonl or corpus_md\.jsonl or .*corpus_linearized\.jsonl, which"),
        ("dev_qrels", r"no dev_qrels\.jsonl, which"),
        ("dev_queries", r"no queries\.jsonl or dev_queries\.jsonl"),
    ],
)
def test_missing_file_of_the_hub_layout(tmp_path: Path, gone: str, fault: str) -> None:
    """The others are not read as tables."""
    folder = _write_hub(tmp_path, [{"qid": "q1", "did": "d1", "score": 1}], corpus_md=DOCUMENTS)
    (folder / f"{gone}.jsonl").unlink()
    with pytest.raises(DataError, match=fault):
        corpora.load(folder)


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ({"qid": "q1", "did": "d1"}, "dev_qrels.jsonl, line 1: no field 'score'"),
        ({"qid": "q1", "did": "d1", "score": "1"}, "field 'score' should be a finite number"),
        (
            {"qid": "q1", "did": "d1", "score": float("nan")},
            "'score' should be a finite number, but is nan",
        ),
        (
            {"qid": "q1", "did": "d1", "score": float("inf")},
            "'score' should be a finite number, but is inf",
        ),
        ({"qid": "q1", "did": "d7", "score": 1}, "'d7' is not in corpus_structure.jsonl"),
        ({"qid": "q9", "did": "d1", "score": 1}, "'q9' is not in dev_queries.jsonl"),
    ],
)
def test_broken_judgements_of_the_hub_layout(tmp_path: Path, record: Any, fault: str) -> None:
    folder = _write_hub(tmp_path, [record], corpus_structure=[DOCUMENTS[0]])
    assert fault in _fault(folder)


ROOMS = "Table: rooms\n\n| column | type |\n| --- | --- |\n| key | int |\n"
SCHEMAS: list[Record] = [
    {"_id": "dw__rooms", "title": "", "text": ROOMS},
    {
        "_id": "dw__building_names",
        "title": "",
        "text": "| column | type |\n|---|---|\n| id | int |",
    },
    {"_id": "zoo__rooms", "title": "Cages", "text": ROOMS},
]
COLUMNS: list[Record] = [
    {"_id": "dw__rooms__room_key", "title": "", "text": "int, such as 1 and 2"},
    {"_id": "zoo__rooms__key", "title": "", "text": "int"},
]
ABOUT_SCHEMAS: list[Record] = [
    {"_id": "q1", "text": "names of buildings"},
    {"_id": "q2", "text": "room key"},
]
HEADER = "query-id\tcorpus-id\tscore\n"


def test_schemas_of_databases(tmp_path: Path) -> None:
    """A table-level subset of Snowflake's SQL-Schema-Retrieval: ids are ``database__table``."""
    qrels = f"{HEADER}q1\tdw__building_names\t1\nq2\tzoo__rooms\t1.0\nq2\tdw__rooms\t0\n"
    folder = _write(tmp_path / "tables", SCHEMAS, ABOUT_SCHEMAS, qrels)
    for _ in range(2):  # read, and from the cache
        dataset = corpora.load(folder)
        assert dataset.corpus.ids == (
            TableId("dw", "rooms"),
            TableId("dw", "building_names"),
            TableId("zoo", "rooms"),
        )
        titles = [table.context["title"] for table in dataset.corpus]
        assert titles == ["rooms", "building_names", "Cages"]
        assert [(query.gold, query.database_id) for query in dataset.queries] == [
            ((TableId("dw", "building_names"),), "dw"),
            ((TableId("zoo", "rooms"),), "zoo"),
        ]
        assert dataset.notes == ("the ids of corpus.jsonl are read as database__table",)
    rooms, names, _ = dataset.corpus
    assert [line for (line,) in rooms.rows] == ROOMS.replace("\n\n", "\n").splitlines()
    assert (list(names.header), list(names.rows)) == (["column", "type"], [["id", "int"]])


def test_columns_of_databases(tmp_path: Path) -> None:
    """A column-level subset: each column is found by its own name and that of its table."""
    qrels = f"{HEADER}q2\tdw__rooms__room_key\t1\n"
    dataset = corpora.load(_write(tmp_path / "columns", COLUMNS, ABOUT_SCHEMAS, qrels))
    assert dataset.corpus.ids == (TableId("dw", "rooms__room_key"), TableId("zoo", "rooms__key"))
    assert [t.context["title"] for t in dataset.corpus] == ["rooms / room_key", "rooms / key"]
    (query,) = dataset.queries
    assert (query.gold, query.database_id) == ((TableId("dw", "rooms__room_key"),), "dw")
