"""``target-bench runs``."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.builders import Record, rewrite
from tests.cli.inside import Inside
from tests.runs.stored import Runs, copied

CARD = """\
name: Our BM25
authors: [Ann Other]
kind: lexical
chosen_on: nothing
parameters: 0
trained_on: {mini: no}
licence: Apache-2.0
"""


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return copied(tmp_path)


def test_list(inside: Inside, runs: Runs) -> None:
    out = inside.good("runs", "list")
    assert f"{len(list(runs.root.iterdir()))} runs in runs" in out
    assert "recall@10 .982" in out
    listed = json.loads(inside.good("runs", "list", "--json", "--task", "qa"))
    assert [run["label"] for run in listed] == ["bm25 + extractive", "tfidf + extractive"]
    assert [run["state"] for run in listed] == ["finished", "finished"]
    assert json.loads(inside.good("runs", "list", "--json", "--corpus", "other")) == []
    assert "there is no such folder" in inside.bad(4, "runs", "list", "--out", "nowhere")


def test_a_sample_of_the_queries_is_marked(inside: Inside) -> None:
    """Where scores are shown: a reader took them for those of the whole split."""
    run = ("run", "mini", "--retriever", "bm25", "--retriever", "random")
    assert "(a sample of 20 questions)" in inside.good(*run, "--limit", "20")
    assert " 20 (sample) " in inside.good("runs", "list")
    assert [line["limit"] for line in json.loads(inside.good("runs", "list", "--json"))] == [20, 20]
    sentence = "The scores are over a sample of 20 queries (--limit)."
    assert sentence in inside.good("compare", "runs")
    inside.good("report", "runs")
    assert "A sample (--limit) of 20 queries" in Path("report.html").read_text("utf-8")
    gated = inside("gate", "bm25", "--run", "random").out
    assert sentence in " ".join(gated.split())
    out = ("--out", "whole")
    assert "sample" not in inside.good(*run, "--limit", "280", *out)
    assert "sample of" not in inside.good("compare", "whole")
    assert "(sample)" not in inside.good("runs", "list", *out)


def test_rankings_without_tables_have_no_score_in_a_list(inside: Inside) -> None:
    """Those of ``no-context``; the answers to questions alone have one."""
    task = ("--task", "qa", "--retriever", "no-context", "--generator", "gold")
    inside.good("run", "mini", "--limit", "3", *task)
    listed = json.loads(inside.good("runs", "list", "--json"))
    scores = {run["label"]: run["score"] for run in listed}
    assert scores == {"no-context": None, "no-context + gold": 1.0}


def test_unfinished_runs_are_one_line_of_a_list(inside: Inside, runs: Runs) -> None:
    """After the finished ones; each is a line of its own if asked for, or if none is finished."""
    folders = sorted(runs.root.iterdir())
    for folder in folders[:6]:
        (folder / "scores.json").unlink()
    ids = [folder.name[-12:] for folder in folders]
    out = inside.good("runs", "list")
    assert f"6 unfinished: {', '.join(ids[:4])} and 2 more · --verbose shows them\n" in out
    rows = [line.split()[0] for line in out.splitlines() if " recall@" in line or " exact" in line]
    assert not {*rows} & {*ids[:6]}
    every = inside.good("runs", "list", "--verbose")
    assert every.count(" unfinished ") == 6
    assert every.index(ids[-1]) < every.index(ids[0])
    for folder in folders[6:]:
        (folder / "scores.json").unlink()
    assert ids[0] in inside.good("runs", "list").partition(" runs in ")[0]


def test_errors_are_listed_and_shown(inside: Inside, runs: Runs) -> None:
    """Of a run that an error ended, and of one that goes on with what it has."""
    ended = {"status": "running", "error": "PluginError: no luck"}
    rewrite(runs.bm25 / "manifest.json", lambda manifest: manifest.update(ended))
    out = inside.good("runs", "list", "--verbose")
    assert f"{runs.bm25.name[-12:]} unfinished: PluginError: no luck" in out
    listed = json.loads(inside.good("runs", "list", "--json"))
    states = {Path(run["folder"]).name: (run["state"], run["error"]) for run in listed}
    assert states[runs.bm25.name] == ("unfinished", "PluginError: no luck")
    assert states[runs.tfidf.name] == ("finished", None)
    shown = inside.good("runs", "show", runs.bm25.name)
    assert "state: unfinished" in shown
    assert "error: PluginError: no luck" in shown
    assert "error" not in json.loads(inside.good("runs", "show", runs.tfidf.name, "--json"))


def _one_bit(path: Path, text: bytes) -> None:
    """The lowest bit of the last letter of a text is another one."""
    content = path.read_bytes()
    place = content.index(text) + len(text) - 1
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("manifest.json", b'"started": "2'),
        ("manifest.json", b'"python": "3.1'),
        ("scores.json", b"|"),
        ("scores.json", b'"low": 0.'),
        ("generations.jsonl", b'"text": "'),
        ("per_query.parquet", b"PAR1"),
        ("statistics.parquet", b"query_i"),
    ],
)
def test_a_damaged_character_is_not_shown_as_it_is(
    inside: Inside, runs: Runs, name: str, text: bytes
) -> None:
    """A date, a signature, an answer: every command that reads it says so."""
    folder = runs.answers
    _one_bit(folder / name, text)
    shown = inside("runs", "show", folder)
    assert (shown.code, str(folder / name) in shown.err) == (4, True)
    assert f"{folder.name[-12:]} damaged: runs/" in inside.good("runs", "list")
    listed = json.loads(inside.good("runs", "list", "--json"))
    (entry,) = [run for run in listed if run["folder"].endswith(folder.name)]
    assert (entry["state"], entry["score"]) == ("damaged", None)
    Path("card.yaml").write_text(CARD, encoding="utf-8")
    message = inside.bad(
        4, "leaderboard", "submit", folder, "-o", "a.tbs.zip", "--card", "card.yaml"
    )
    assert name in message
    assert not Path("a.tbs.zip").exists()


def _over_no_query(stored: Record) -> None:
    for score in stored["scores"].values():
        score |= {"value": None, "low": None, "high": None, "n": 0}


def test_scores_over_no_query(inside: Inside, runs: Runs) -> None:
    """As of statements that no database is there for: every command takes them as they are."""
    for folder in (runs.bm25, runs.tfidf):
        stored = rewrite(folder / "scores.json", _over_no_query)
        rewrite(folder / "manifest.json", lambda manifest: manifest.update(value_file_hashes={}))
        (folder / "statistics.parquet").unlink()
        table = parquet.read_table(folder / "per_query.parquet")
        for i, name in enumerate(table.column_names):
            if name in stored["scores"]:
                table = table.set_column(i, name, pa.nulls(len(table), pa.float64()))
        parquet.write_table(table, folder / "per_query.parquet")
    two = (runs.bm25, runs.tfidf)
    assert "recall@10 –" in inside.good("runs", "list")
    assert "recall@10" in inside.good("runs", "show", runs.bm25)
    assert "corrected for 0 tests" in inside.good("compare", *two)
    assert "recall@10" in inside.good("compare", *two, "--json")


def test_show_clips_long_lists(inside: Inside, runs: Runs) -> None:
    shown = inside.good("runs", "show", runs.bm25)
    assert ["recall@10", ".982", ".961–.992", "280"] in map(str.split, shown.splitlines())
    assert "retriever.config.k1: 0.5" in shown
    assert not any(long in shown for long in ("precision@10", "packages.pyarrow"))
    whole = inside.good("runs", "show", runs.bm25, "-v")
    assert all(long in whole for long in ("\n precision@10", "packages.pyarrow", "precision@10|"))
