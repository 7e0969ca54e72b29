"""InfoTabS from a small release of two languages, each in the shape of its files."""

import json
from pathlib import Path

import pytest

from target_bench.core import registry
from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset
from target_bench.data.load import read
from tests.builders import zipped

LOADER = registry.create("corpus", "infotabs")
TWICE = '{"title": ["Ann"], "Years": ["1 ", "2"], "Years": ["3"]}'
CAKE = json.dumps({"Typ": ["Gebäck"], "Titel": ["Chorley Cake"]})
ENGLISH = "annotater_id\ttable_id\thypothesis\tlabel\nG\tT1\tAnn sang.\tE\nG\tT1\tAnn is old.\tN\n"
GERMAN = ',annotater_id,table_ids,hypothesis,label\n0,G,T2,"Ein Kuchen, süß.",C\n'


def _load(folder: Path, language: str = "en") -> Dataset:
    files = {
        "data/en/tables/T1.json": TWICE,
        "data/en/en_dev.tsv": ENGLISH,
        "data/de/de_tables/de_T2.json": CAKE,
        "data/de/dev_de.csv": GERMAN,
    }
    for code in ("en", "de"):
        members = {n: text.encode() for n, text in files.items() if n.startswith(f"data/{code}")}
        (folder / f"{code}.zip").write_bytes(zipped(members))
    return read(registry.create("corpus", f"infotabs:language={language}"), folder, "validation")


def test_english(tmp_path: Path) -> None:
    """A key that occurs twice is two columns."""
    dataset = _load(tmp_path)
    (table,) = dataset.corpus
    assert (list(table.header), [list(row) for row in table.rows]) == (
        ["title", "Years", "Years"],
        [["Ann", "1, 2", "3"]],
    )
    assert table.context["title"] == "Ann"
    assert [(q.id, q.text, q.answer) for q in dataset.queries] == [
        ("0", "Ann sang.", "True"),
        ("1", "Ann is old.", "Not Enough Information"),
    ]
    assert {gold for query in dataset.queries for gold in query.gold} == {table.id}


def test_another_language(tmp_path: Path) -> None:
    """Its own corpus, by a name of its own, with the title by its key and not by its place."""
    dataset = _load(tmp_path, "de")
    (table,), (query,) = dataset.corpus, dataset.queries
    assert dataset.info.name == "infotabs-de"
    assert table.context["title"] == "Chorley Cake"
    assert (query.text, query.answer, query.gold) == ("Ein Kuchen, süß.", "False", (table.id,))


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("data/en/tables/T1.json", "[]", "the infobox is empty"),
        (
            "data/en/tables/T1.json",
            '{"Titel": "Oslo"}',
            r"T1\.json: expected an object of keys with lists of texts, but 'Titel' has 'Oslo'",
        ),
        ("data/en/tables/T1.json", '{"a": ["b", null]}', r"but 'a' has \['b', None\]"),
        ("data/en/tables/T1.json", "7", "expected an object of keys with lists of texts"),
        ("data/en/en_dev.tsv", ENGLISH.replace("\tN", "\tX"), "line 3: expected table_id"),
        (
            "data/en/en_dev.tsv",
            f"{ENGLISH}G\tT999\tBo sang.\tE\n",
            r"en_dev\.tsv, line 4: table_id 'T999' has no file among the 1 infoboxes",
        ),
        (
            "data/en/en_dev.tsv",
            f'{ENGLISH}G\tT1\t"A was born.\tE\nG\tT1\tBo was"\tE\n',
            r"en_dev\.tsv, line 5: quotes join it with lines before it; double the quotes",
        ),
        ("data/en/en_dev.tsv", f'{ENGLISH}G\tT1\t"C was" born.\tE\n', r"after line 3: .* expected"),
        (
            "data/en/en_dev.tsv",
            f'{ENGLISH}G\tT1\t"Unclosed\tE\n',
            r"after line 3: the quotes are wrong \(unexpected end of data\); put a field",
        ),
        ("data/en/two_dev.csv", GERMAN, r"two_dev\.csv: .*en_dev\.tsv is the same split"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, text: str, fault: str) -> None:
    files = {"data/en/tables/T1.json": TWICE, "data/en/en_dev.tsv": ENGLISH, name: text}
    (tmp_path / "en.zip").write_bytes(zipped({n: t.encode() for n, t in files.items()}))
    with pytest.raises(DataError, match=fault):
        read(LOADER, tmp_path, "validation")
