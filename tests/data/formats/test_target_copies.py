"""TARGET's repositories under the names that they really have."""

import json
from pathlib import Path

import pytest

from target_bench import TARGET, corpora
from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.data.formats import target_layout
from tests.data.target_copies import JSON_FORMS, N_GITTABLES, JsonForm, write_copy, write_json


def _copies(folder: Path, *names: str, form: JsonForm = "records") -> Path:
    for name in names:
        write_copy(folder / name, name, form)
    return folder


def test_files_in_the_root_with_titles_from_ids(tmp_path: Path) -> None:
    """OTT-QA's copy has the titles of tables in their ids alone."""
    _copies(tmp_path / "ottqa", "ottqa-corpus", "ottqa-queries")
    for dataset in (corpora.load("ottqa", data_dir=tmp_path), corpora.load(tmp_path / "ottqa")):
        assert dataset.split == "validation"
        assert dict(dataset.corpus["0", "List_of_moons_0"].context) == {
            "title": "List_of_moons_0",
            "section_title": "Inner",
        }
    assert corpora.load("ottqa", "train", data_dir=tmp_path).split == "train"
    result = TARGET(("Table Retrieval", tmp_path / "ottqa"), out=tmp_path / "runs").run(
        "bm25", top_k=1
    )
    assert result.scores["recall@1"].value == 1.0


def test_the_converted_branch_and_the_page_titles(tmp_path: Path) -> None:
    _copies(tmp_path / "fetaqa", "fetaqa-corpus", "fetaqa-queries")
    for split in ("test", "validation", "train"):
        (table,) = corpora.load("fetaqa", split, data_dir=tmp_path).corpus
        assert table.id.table_id == f"totto_source/dev_json/example-{split}.json"
        assert dict(table.context) == {"title": "Moons", "section_title": "Inner planets"}


def test_tables_without_questions_are_described_and_searched(tmp_path: Path) -> None:
    folder = write_copy(tmp_path / "gittables-corpus", "gittables-corpus")
    for name, data_dir in ((folder, None), ("gittables", folder)):
        dataset = corpora.load(name, "train", data_dir=data_dir)
        assert (len(dataset.corpus), len(dataset.queries)) == (N_GITTABLES, 0)


@pytest.mark.parametrize("form", JSON_FORMS)
def test_databases_give_the_tables(
    tmp_path: Path, form: JsonForm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The corpus in JSON, 1.93 GB for BIRD, is not read."""
    read: list[str] = []
    real = Release.content

    def noting(release: Release, path: Path) -> bytes:
        read.append(path.name)
        return real(release, path)

    monkeypatch.setattr(Release, "content", noting)
    home = _copies(
        tmp_path / "bird", "bird-corpus-validation", "bird-queries-validation", form=form
    )
    for _ in range(2):
        dataset = corpora.load("bird", data_dir=tmp_path)
        assert [str(i) for i in dataset.corpus.ids] == [
            "cre_Shop/ITEM",
            "cre_Shop/order lines",
            "zoo/animal",
        ]
        item = dataset.corpus["cre_Shop", "ITEM"]
        assert (list(item.header), item.rows) == (["item_id", "name"], [[1, "tea"], [2, "milk"]])
        assert item.context["title"] == "ITEM"
        assert dataset.queries[0].gold == (("cre_Shop", "ITEM"),)  # "item" in the queries
        assert set(dataset.databases) == {"cre_Shop", "zoo"}
        (home / "bird-corpus-validation" / "bird-corpus-validation.json").unlink(missing_ok=True)
    assert set(read) == {"bird-queries-validation.json"}


def test_json_of_another_form(tmp_path: Path) -> None:
    write_json(tmp_path / "x-queries-test.json", [{"query_id": 1, "query": "?"}], "records")
    (tmp_path / "x-corpus-test.json").write_text(json.dumps({"table": 7, "x": []}, indent=1))
    with pytest.raises(DataError, match=r"x-corpus-test\.json: expected a list of records"):
        corpora.load(tmp_path)


def test_json_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where databases are missing; it would take gigabytes of memory."""
    _copies(tmp_path / "bird", "bird-corpus-validation", "bird-queries-validation")
    home = tmp_path / "bird" / "bird-corpus-validation"
    (home / "validation_database" / "zoo" / "zoo.sqlite").unlink()
    assert len(corpora.load("bird", data_dir=tmp_path).corpus) == 3
    corpus = home / "bird-corpus-validation.json"
    corpus.write_text(corpus.read_text() + 5000 * " ")
    monkeypatch.setattr(target_layout, "_LARGEST_JSON", 5000)
    with pytest.raises(DataError, match=r"bird-corpus-validation\.json: .*Put the databases"):
        corpora.load("bird", data_dir=tmp_path)
