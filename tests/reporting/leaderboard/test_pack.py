"""Packing, and the two commands."""

import getpass
import json
import platform
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from target_bench import TARGET, ask
from target_bench.cli import leaderboard
from target_bench.core.errors import ConfigError, StoreError
from target_bench.corpora import load
from target_bench.reporting.leaderboard import entry
from target_bench.reporting.leaderboard.pack import pack, scrubbed
from tests.cli.inside import Inside
from tests.reporting.leaderboard.conftest import card
from tests.reporting.leaderboard.forging import files_of, packed, with_document

CARD = """\
name: Our BM25
authors: [Ann Other]
retriever_kind: lexical
parameters: 0
training_data: {mini: no}
hardware: 2 cores
licence: Apache-2.0
open_weights: yes
"""


def test_the_same_runs_are_the_same_bytes(
    runs: list[Path], packed_bm25: Path, tmp_path: Path
) -> None:
    copied = [Path(shutil.copytree(f, tmp_path / "elsewhere" / f.name)) for f in _with_bases(runs)]
    again = pack(copied[::-1], card(), tmp_path / "again.tbs.zip")
    assert again.read_bytes() == packed_bm25.read_bytes()


def test_the_folder_of_a_submission_is_made(runs: list[Path], tmp_path: Path) -> None:
    assert pack(runs[:1], card(), tmp_path / "new" / "deep" / "a.tbs.zip").is_file()


def test_synthetic_questions_are_not_for_boards(tmp_path: Path) -> None:
    mini = load("mini")
    data = replace(mini, queries=ask(mini, 3).queries)
    run = TARGET(("retrieval", data), out=tmp_path).run("bm25")[0]
    with pytest.raises(ConfigError, match=r"recall@1\[synthetic\] is of synthetic questions"):
        pack([run.folder], card(), tmp_path / "a.tbs.zip")


def test_nothing_of_the_machine_or_the_data_is_packed(packed_bm25: Path, runs: list[Path]) -> None:
    everything = b"".join(files_of(packed_bm25).values()).decode()
    for private in (str(Path.home()) + "/", str(runs[0].parent), "/tmp/", platform.node()):
        assert private not in everything
    assert "Who" not in everything  # a question's first word
    assert "scores" not in files_of(packed_bm25)["runs/0/generations.jsonl"].decode()


def test_scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "annother")
    monkeypatch.setenv("SOME_API_KEY", "abcdefghijkl")
    found = scrubbed(
        {
            "model": "/home/Ann Other/models/wide",
            "url": "http://10.0.0.1:8000/v1",
            "api_key": "x",
            "label": "./my code/x.py:Mine:path=C:\\Users\\ann\\m,name=org/model",
            "note": "key abcdefghijkl",
            "pattern": "[^\\W_]+(?:[.,]\\d+)*",
            "sizes": [1, None, "~/x/y"],
        }
    )
    text = json.dumps(found)
    for private in ("home", "10.0.0.1", "abcdefghijkl", "Users", "ann", "~"):
        assert private not in text
    assert found["model"] == "wide"
    assert found["pattern"] == "[^\\W_]+(?:[.,]\\d+)*"
    assert "org/model" in found["label"]


def test_runs_that_are_refused(tmp_path: Path, runs: list[Path]) -> None:
    def run(retriever: str, limit: int | None = None) -> Path:
        return TARGET(("retrieval", "mini"), out=tmp_path).run(retriever, limit=limit)[0].folder

    out = tmp_path / "a.tbs.zip"
    with pytest.raises(ConfigError, match="upper bound"):
        pack([run("oracle")], card(), out)
    with pytest.raises(ConfigError, match="--partial"):
        pack([run("tfidf", limit=20)], card(), out)
    pack([run("tfidf", limit=20)], card(), out, partial=True)
    with pytest.raises(ConfigError, match="training_data"):
        pack(runs, card().model_copy(update={"training_data": {}}), out)
    with pytest.raises(ConfigError, match=r"\.tbs\.zip"):
        pack(runs, card(), tmp_path / "a.zip")
    unfinished = run("tfidf")
    lines = (unfinished / "retrieval.jsonl").read_text().splitlines(keepends=True)
    (unfinished / "retrieval.jsonl").write_text("".join(lines[1:]))
    with pytest.raises(
        StoreError, match="damaged, so it is not packed: 1 of 280 scored queries have no line"
    ):
        pack([unfinished], card(), out)
    (unfinished / "scores.json").unlink()
    with pytest.raises(StoreError, match="not finished"):
        pack([unfinished], card(), out)


def test_commands(inside: Inside, runs: list[Path], tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text(CARD)
    out = inside.good("leaderboard", "submit", runs[0], "-o", "team.tbs.zip", "--card", "card.yaml")
    assert "team.tbs.zip: 1 run" in out
    out = inside.telling("takes at most 60 minutes", "leaderboard", "verify", "team.tbs.zip")
    assert out.endswith("team.tbs.zip: accepted\n")
    found = entry.read(tmp_path / "team.entry.json")
    assert found.id == "team"
    assert found.card.name == "Our BM25"
    scores = json.loads((runs[0] / "scores.json").read_bytes())["scores"]
    run = found.runs[0]
    assert {name: score.to_json() for name, score in run.scores.items()} == scores
    assert np.mean(run.per_query["recall@10"]) == pytest.approx(run.scores["recall@10"].value)
    told = inside.bad(2, "leaderboard", "submit", runs[0], "-o", "b.tbs.zip")
    template = told.partition("such as\n\n")[2]
    assert "training_data: {mini: no}" in template
    (tmp_path / "mine.yaml").write_text(template)
    inside.good("leaderboard", "submit", runs[0], "-o", "b.tbs.zip", "--card", "mine.yaml")
    assert "no such" in inside.bad(2, "leaderboard", "verify", "none.tbs.zip").lower()


def test_exit_codes(
    inside: Inside,
    packed_retrieval: Path,
    tmp_path: Path,
) -> None:
    files = files_of(packed_retrieval)

    def edited(name: str, change: Callable[[dict[str, dict[str, float]]], object]) -> None:
        packed(tmp_path / name, with_document(files, "runs/0/run.json", change))

    edited("bad.tbs.zip", lambda run: run["seconds"].update(retrieve=-1.0))
    edited("odd.tbs.zip", _slow)
    done = inside("leaderboard", "verify", "bad.tbs.zip", "--json")
    assert done.code == leaderboard.EXIT_CODES["rejected"] == 5
    found = json.loads(done.out)
    assert found["verdict"] == "rejected"
    assert {finding["check"] for finding in found["findings"]} == {"times"}
    (tmp_path / "trash.tbs.zip").write_bytes(b"PK trash")
    (tmp_path / "trash.entry.json").write_text("stale")
    assert inside("leaderboard", "verify", "trash.tbs.zip").code == 5
    assert not (tmp_path / "trash.entry.json").exists()
    done = inside("leaderboard", "verify", "odd.tbs.zip")
    assert (done.code, done.out.splitlines()[-1]) == (6, "odd.tbs.zip: suspicious")


def _slow(run: dict[str, dict[str, float]]) -> None:
    run["seconds"]["retrieve"] = 1e9
    run["latency_ms"] = {"p50": 1.0, "p95": 2.0, "p99": 3.0, "queries": 5}


def _with_bases(runs: list[Path]) -> list[Path]:
    return sorted(runs[0].parent.iterdir())
