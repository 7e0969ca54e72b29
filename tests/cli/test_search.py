"""``target-bench search``, and other commands that need no questions."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.data.messy_folder import write_messy_folder


def test_in_the_terminal(inside: Inside) -> None:
    both = ("--retriever", "bm25", "--retriever", "tfidf")
    side = inside.good("search", "mini", "Olympics in 1964", *both, "-k", "2")
    assert side.splitlines()[0].split() == ["rank", "bm25", "tfidf"]
    found = json.loads(inside.good("search", "mini", "Olympics in 1964", *both, "--json"))
    assert list(found) == ["bm25", "tfidf"]
    assert set(found["bm25"][0]) == {"rank", "database_id", "table_id", "score", "title", "header"}
    assert "--skip-bad is for files of your own" in inside.bad(
        2, "search", "mini", "x", "--skip-bad"
    )


def test_an_index_is_saved_and_read(inside: Inside, tmp_path: Path) -> None:
    ask = ("search", "mini", "Olympics in 1964", "--indexes", "saved", "--json")
    first = inside.good(*ask)
    (index,) = (tmp_path / "saved").glob("bm25-*/index.json")
    assert inside.good(*ask) == first
    index.write_text("{", encoding="utf-8")
    assert "index.json" in inside.bad(2, *ask)


def test_a_folder_of_messy_files_needs_no_questions(tmp_path: Path, inside: Inside) -> None:
    pytest.importorskip("openpyxl")
    pytest.importorskip("odf")
    messy = write_messy_folder(tmp_path)
    shown = inside("search", tmp_path, "visitors 37 of cities", "--skip-bad", "-k", "3")
    assert shown.code == 0
    assert "plain/p37" in shown.out.splitlines()[4]
    assert "9 files were left out (skip_bad)" in shown.err
    described = inside.good("describe", "corpus", str(tmp_path), "--skip-bad")
    assert f"tables: {len(messy.tables)}\n" in described
    assert "queries: 0\n" in described
    assert "First table" in described
    assert "left out (skip_bad)" in described
    assert "9 files cannot be read" in inside.bad(2, "search", str(tmp_path), "visitors")


def test_nothing_found(tmp_path: Path, inside: Inside) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    assert inside.good("search", str(tmp_path), "zebra") == "No table was found.\n"


def test_a_retriever_that_is_paid_for_is_asked_on_consent(tmp_path: Path, inside: Inside) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,zebra\n")
    Path("paid.py").write_text(
        "from target_bench.retrievers.bm25 import BM25\n\n\nclass Paid(BM25):\n    paid = True\n"
    )
    words = ("search", str(tmp_path), "zebra", "--retriever", "paid.py:Paid")
    assert "pass --yes to send them" in inside.bad(2, *words)
    agreed = inside(*words, "--yes")
    assert (agreed.code, "up to 2 texts" in agreed.err) == (0, True)
