"""``target-bench search``, and other commands that need no questions."""

import csv
import io
import json
from pathlib import Path

import pytest

from target_bench.core.schema import LEFT_OUT
from tests.builders import json_lines
from tests.cli.inside import Inside
from tests.data.workbooks import write_workbook


def test_in_the_terminal(inside: Inside) -> None:
    both = ("--retriever", "bm25", "--retriever", "tfidf")
    side = inside.good("search", "mini", "Olympics in 1964", *both, "--top-k", "2")
    assert side.splitlines()[0].split() == ["rank", "bm25", "tfidf"]
    hits = json.loads(inside.good("search", "mini", "Olympics in 1964", *both, "--json"))
    assert list(hits) == ["bm25", "tfidf"]
    names = {"rank", "database_id", "table_id", "file", "score", "title", "header", "rows"}
    assert set(hits["bm25"][0]) == names
    ask = ("search", "mini", "Olympics in 1964", "--top-k", "2", "--retriever", "bm25")
    rows = list(csv.DictReader(io.StringIO(inside.good(*ask, "--format", "csv"))))
    assert [(row["retriever"], row["rank"]) for row in rows] == [("bm25", "1"), ("bm25", "2")]
    assert f"| {rows[0]['table_id']} |" in inside.good(*ask, "--format", "markdown")


def test_a_folder_of_messy_files_needs_no_questions(tmp_path: Path, inside: Inside) -> None:
    (tmp_path / "plain").mkdir()
    for i in range(40):
        path = tmp_path / "plain" / f"p{i}.csv"
        path.write_bytes(f"Stadt;visitors {i}\nKöln;{i}\nNantes;{i}5\n".encode("cp1252"))
    bad = {"blank.csv": b"\n", "nul.csv": b"a,b\n1,\0\n", "broken.xlsx": b"PK\x03\x04 no more"}
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    search = ("search", tmp_path, "visitors 37 of Stadt", "-k", "3")
    assert " notes on these tables: target-bench describe" in inside(*search).err
    for more in ([], ["--verbose"], ["--json"]):
        shown = inside(*search, *more)
        assert shown.code == 3
        assert "plain/p37" in shown.out
        assert f"Note: {LEFT_OUT} {len(bad)}\n" in shown.err
    described = inside("describe", "corpus", str(tmp_path)).out
    assert "tables: 40\n" in described
    assert "queries: 0\n" in described
    assert "First table" in described
    assert f"note: {LEFT_OUT} {len(bad)}\n" in described


def test_a_byte_that_cannot_be_decoded_stops_no_other_file(tmp_path: Path, inside: Inside) -> None:
    """Of 40 files one is in Mac Roman; every command reads the others, and says so by its code."""
    for i in range(40):
        rows = "".join(f"Town{i} {name},{i}0{n}\n" for n, name in enumerate("abcdefgh"))
        (tmp_path / f"city{i}.csv").write_text(f"city,people\n{rows}")
    (tmp_path / "city7.csv").write_bytes(b"city,people\nTown7 \x8f\x81,700\n")
    (tmp_path / "queries.csv").write_text(
        "query,table_id\nhow many people has Town3,city3\nhow many people has Town7,city7\n"
    )
    sweep, rankings = Path("sweep.yaml"), Path("rankings.trec")
    sweep.write_text(f"corpora: [{tmp_path}]\nretrievers: [bm25]\n")
    rankings.write_text("1 Q0 city3 1 1.0 bm25\n")
    for command in (
        ("run", tmp_path, "--retriever", "bm25", "--top-k", "1"),
        ("run", tmp_path, "--retriever", "bm25", "--top-k", "1", "--json"),
        ("search", tmp_path, "Town3"),
        ("describe", "corpus", tmp_path),
        ("ask", tmp_path, "--n", "2", "-o", "asked"),
        ("sweep", sweep, "--dry-run"),
        ("sweep", sweep),
        ("sweep", sweep, "--workers", "2", "--json"),
        ("score", tmp_path, "--run", rankings),
    ):
        done = inside(*command)
        assert done.code == 3, done.err
        assert "city7.csv: not valid cp1252" in done.out + done.err
        if "--json" in command and "run" in command:
            assert json.loads(done.out)["results"][0]["scores"]["recall@1"]["n"] == 1


def test_every_file_that_is_not_read_is_listed(tmp_path: Path, inside: Inside) -> None:
    for name in ("a.csv", *(f"{i}.pdf" for i in range(5))):
        (tmp_path / name).write_text("x\n1\n")
    describe = ("describe", "corpus", str(tmp_path))
    assert "4.pdf" not in inside.good(*describe)
    assert "  4.pdf\n" in inside.good(*describe, "-v")
    document = json.loads(inside.good(*describe, "--json"))
    assert document["not read"] == {".pdf files": [f"{i}.pdf" for i in range(5)]}
    assert document["notes"] == [".pdf files are not read: 5 (0.pdf, 1.pdf, 2.pdf and 2 more)"]
    assert f"note: {document['notes'][0]}\n" in inside.good(*describe)
    assert "is for a corpus" in inside.bad(2, "describe", "task", "qa", "--verbose")


def test_describe_says_what_is_not_recognised(tmp_path: Path, inside: Inside) -> None:
    (tmp_path / "a.csv").write_text("city,mayor\nOslo,Ann\n")
    records = [
        {"query_id": "1", "query": "mayor of Oslo", "table_id": "a"},
        {"query_id": "2", "query": "rent in Rome", "table_id": None},
    ]
    (tmp_path / "queries.jsonl").write_text(json_lines(records))
    shown = inside.good("describe", "corpus", str(tmp_path)).splitlines()
    assert "queries: 2" in shown
    assert "language: not recognised; read as English (en)" in shown
    assert "citation: your own" not in shown


def test_an_empty_file_is_left_out_and_said(tmp_path: Path, inside: Inside) -> None:
    (tmp_path / "a.csv").write_text("city,mayor\nOslo,Ann\n")
    (tmp_path / "b.csv").write_text("")
    (tmp_path / "queries.csv").write_text("query,table_id\nmayor of Oslo,a\n")
    done = inside("search", str(tmp_path), "Oslo")
    assert done.err == "Note: empty files are not read: 1 (b.csv)\n"
    (tmp_path / "c.docx").write_text("x")
    again = inside("search", str(tmp_path), "Oslo")
    command = f"target-bench describe corpus {tmp_path}"
    assert again.err == f"2 notes on these tables: {command}\n"
    run = inside("run", str(tmp_path), "--retriever", "bm25", "--top-k", "1")
    assert run.err == ""
    assert "2 notes: --verbose shows them" in " ".join(run.out.split())


def test_a_wide_table_is_clipped_to_the_terminal(
    tmp_path: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"column{i}" for i in range(40)]
    (tmp_path / "wide.csv").write_text(f"{','.join(names)}\n{','.join(['x' * 50] * 40)}\n" * 9)
    monkeypatch.setattr("target_bench.cli.samples.terminal_width", lambda: 60)
    shown = inside.good("describe", "corpus", str(tmp_path)).split("\n\n")[-1].splitlines()
    assert max(map(len, shown[:-1])) <= 60
    assert shown[0].split() == names[:1]
    assert shown[-1].startswith("12 more rows; 39 more columns: column1, column2")


def test_the_file_and_the_rows_that_match_are_shown(tmp_path: Path, inside: Inside) -> None:
    """With words of the language that the tables are in: Waschmaschinen is a Waschmaschine."""
    rows = [f"Stadt {i};Kühlschrank;{i},5" for i in range(30)]
    rows += ["Kassel;Waschmaschine;7,5", "Köln;Gefriertruhe;9,5"]
    header = "Filiale;Bezeichnung des Gerätes;Umsatz im Geschäftsjahr"
    (tmp_path / "umsatz.csv").write_text("\n".join([header, *rows]))
    write_workbook(
        tmp_path / "kunden.xlsx",
        {"Verträge": [["Firma", "Rabatt"], ["Harz", 3]], "Orte": [["Ort"], ["Ulm"]]},
    )
    question = "Umsatz der Waschmaschinen in Kassel"
    shown = inside("search", tmp_path, question, "--verbose")
    assert "the tables are in German" in shown.err
    assert "umsatz.csv  Filiale: Kassel, Bezeichnung des Gerätes: Waschmaschine" in shown.out
    (record,) = json.loads(inside.good("search", tmp_path, question, "--json"))["bm25"]
    assert record["file"] == "umsatz.csv"
    assert record["rows"] == [{"row": 31, "cells": ["Kassel", "Waschmaschine", "7,5"]}]
    assert "kunden.xlsx, sheet Verträge" in inside("search", tmp_path, "Rabatt für Harz").out


def test_a_retriever_that_is_paid_for_is_asked_on_consent(tmp_path: Path, inside: Inside) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,zebra\n")
    Path("paid.py").write_text(
        "from target_bench.retrievers.bm25 import BM25\n\n\nclass Paid(BM25):\n    paid = True\n"
    )
    assert inside("search", tmp_path, "giraffe").out == "No table was found.\n"
    words = ("search", str(tmp_path), "zebra", "--retriever", "paid.py:Paid")
    assert "pass --yes to send them" in inside.bad(2, *words)
    agreed = inside(*words, "--yes")
    assert (agreed.code, "up to 2 texts" in agreed.err) == (0, True)


def test_long_cells_and_many_columns_fit_one_screen(tmp_path: Path, inside: Inside) -> None:
    """Also in a pipe; --full prints everything."""
    lake = tmp_path / "lake"
    lake.mkdir()
    note = "paid by Steel Supply " + "x" * 5_000
    header = ["vendor", *(f"column_{i}" for i in range(120)), "remark"]
    rows = [[f"Steel Supply {i}", *["1"] * 120, note] for i in range(200)]
    for name in "abcdef":
        text = "\n".join(",".join(row) for row in [header, *rows])
        (lake / f"{name}.csv").write_text(text)
    search = ("search", lake, "contact for vendor Steel Supply 12")
    lines = inside.good(*search).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 130
    assert any("Steel Supply 12" in line for line in lines)
    assert any("remark" in line for line in lines)  # a column that matches is shown
    assert "more columns: column_" in lines[-1]
    assert note in inside.good(*search, "--full")
    described = inside.good("describe", "corpus", lake)
    assert max(map(len, described.splitlines())) <= 130
