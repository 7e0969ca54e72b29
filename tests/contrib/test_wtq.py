"""WikiTableQuestions from a small release: its escapes, lists of values and tagged files."""

from dataclasses import replace
from pathlib import Path

import pytest

from target_bench import score_answers
from target_bench.core import registry
from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.data.reading import read
from tests.builders import write_release, zipped

LOADER = registry.create("corpus", "wtq")
TABLE = '"Act","Said"\n"Ann","\\"No\\",\nshe said"\n"Bo \\\\","–"\n'
HEAD = "id\tutterance\tcontext\ttargetValue\n"
PATH = "csv/203-csv/1.csv"
QUESTIONS = f"{HEAD}nu-0\twho said \\p?\t{PATH}\tAnn\nnu-1\twhen?\t{PATH}\t2004|17 years\n"
TAGGED = "id\ttokens\ttargetCanon\nnu-0\twho\tAnn\nnu-1\twhen\t2004.0|17.0\n"


def _load(folder: Path, questions: str = QUESTIONS, tagged: str | None = None) -> Dataset:
    (folder / "csv.zip").write_bytes(zipped({"csv/203-csv/1.csv": TABLE.encode()}))
    write_release(folder, "data/pristine-unseen-tables.tsv", questions, "gz")
    if tagged is not None:
        write_release(folder, "tagged/data/pristine-unseen-tables.tagged", tagged)
    return read(LOADER, folder, "test")


def test_tables_and_questions(tmp_path: Path) -> None:
    dataset = _load(tmp_path)
    (table,) = dataset.corpus
    assert table.id == TableId("0", "csv/203-csv/1.csv")
    assert list(table.header) == ["Act", "Said"]
    assert [list(row) for row in table.rows] == [["Ann", '"No",\nshe said'], ["Bo \\", "–"]]
    single, several = dataset.queries
    assert (single.text, single.answer, single.gold) == ("who said |?", "Ann", (table.id,))
    assert (several.answer, several.metadata) == (
        "2004 | 17 years",
        {"values": ["2004", "17 years"]},
    )


def test_tagged_files_say_what_values_stand_for(tmp_path: Path) -> None:
    plain = _load(tmp_path)
    tagged = _load(tmp_path, tagged=TAGGED)
    assert tagged.queries[1].metadata["canonical_values"] == ["2004.0", "17.0"]
    (note,) = set(plain.notes) - set(tagged.notes)
    assert note.startswith("pristine-unseen-tables.tagged is missing, so values are compared as")
    answers = {"nu-0": "ann", "nu-1": "17\n2004"}
    for dataset, value, known in (
        (plain, 0.5, "no"),
        (tagged, 1, "yes"),
        (_mixed(tagged), 1, "some"),
    ):
        score = score_answers(dataset, answers, "qa")["denotation"]
        assert score.value == value
        assert f"|tagged:{known}|" in score.signature


def _mixed(dataset: Dataset) -> Dataset:
    first, second = dataset.queries
    return replace(dataset, queries=(replace(first, metadata={"values": ["Ann"]}), second))


@pytest.mark.parametrize(
    ("questions", "tagged", "fault"),
    [
        ("id\tutterance\n", None, "line 1: no column 'context'; it has id, utterance"),
        (f"{HEAD}nu-0\twho\n", None, "line 2: 2 cells under 4 columns"),
        (QUESTIONS, TAGGED.replace("|17.0", ""), "tagged has no such values of nu-1"),
        (QUESTIONS, TAGGED.replace("nu-1", "nu-2"), "tagged has no such values of nu-1"),
    ],
)
def test_broken_files(tmp_path: Path, questions: str, tagged: str | None, fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        _load(tmp_path, questions, tagged)
