"""Packing, and the commands from a run to the site."""

import getpass
import json
import platform
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench import AnswerJudge, ask
from target_bench.core.errors import ConfigError, StoreError
from target_bench.corpora import load
from target_bench.reporting.leaderboard.pack import pack, scrubbed
from target_bench.reporting.leaderboard.verify import verify
from tests.cli.inside import Inside
from tests.reporting.leaderboard.conftest import card
from tests.reporting.leaderboard.forging import RANKINGS, files_of, packed, with_lines
from tests.target import TARGET


def test_the_same_runs_are_the_same_bytes(
    runs: list[Path], packed_bm25: Path, tmp_path: Path
) -> None:
    """Wherever they lie; the folder of a submission is made."""
    folders = sorted(runs[0].parent.iterdir())
    copies = [Path(shutil.copytree(f, tmp_path / "elsewhere" / f.name)) for f in folders]
    again = pack(copies[::-1], card(), tmp_path / "new" / "again.tbs.zip")
    assert again.read_bytes() == packed_bm25.read_bytes()


def test_nothing_of_the_machine_or_the_data_is_packed(packed_bm25: Path, runs: list[Path]) -> None:
    everything = b"".join(files_of(packed_bm25).values()).decode()
    for private in (str(Path.home()) + "/", str(runs[0].parent), "/tmp/", platform.node()):
        assert private not in everything
    assert "Who" not in everything  # a question's first word
    assert "scores" not in files_of(packed_bm25)["runs/0/generations.jsonl"].decode()


def test_scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "annother")
    monkeypatch.setenv("SOME_API_KEY", "abcdefghijkl")
    public = scrubbed(
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
    text = json.dumps(public)
    for private in ("home", "10.0.0.1", "abcdefghijkl", "Users", "ann", "~"):
        assert private not in text
    assert public["model"] == "wide"
    assert public["pattern"] == "[^\\W_]+(?:[.,]\\d+)*"
    assert "org/model" in public["label"]


def test_runs_that_are_refused(tmp_path: Path, retrieval_run: Path) -> None:
    def run(data: Any = "mini", limit: int | None = None) -> Path:
        return TARGET(("retrieval", data), out=tmp_path).run("tfidf", limit=limit)[0].folder

    def refuse(folder: Path, message: str, its_card: Any = None, name: str = "a.tbs.zip") -> None:
        with pytest.raises((ConfigError, StoreError), match=message):
            pack([folder], its_card or card(), tmp_path / name)

    mini = load("mini")
    synthetic = run(replace(mini, queries=ask(mini, 3).queries))
    refuse(synthetic, "its questions are synthetic")
    refuse(run(replace(mini, queries=mini.queries[:3])), "is of a corpus made in Python")
    refuse(run(limit=20), "with --limit, on a part of the queries")
    refuse(retrieval_run, "training_data", card(corpus="other"))
    refuse(retrieval_run, r"\.tbs\.zip", name="a.zip")
    unfinished = run()
    lines = (unfinished / "retrieval.jsonl").read_text().splitlines(keepends=True)
    (unfinished / "retrieval.jsonl").write_text("".join(lines[1:]))
    refuse(unfinished, r"damaged, so it is not packed: .*retrieval\.jsonl: damaged")
    other = TARGET(("retrieval", "mini"), out=tmp_path / "other").run("tfidf")[0].folder
    (other / "scores.json").unlink()
    refuse(other, "not finished")


def test_answers_that_a_model_judges(
    runs: list[Path], packed_bm25: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No model is asked for a submission."""
    monkeypatch.setattr(AnswerJudge, "replays", True)
    with pytest.raises(ConfigError, match="a model judges answers to text_to_sql"):
        pack(runs, card(), tmp_path / "a.tbs.zip")
    (finding,) = verify(packed_bm25).findings
    assert (finding.level, "a model judges" in finding.message) == ("rejected", True)


def test_from_run_to_site(inside: Inside, retrieval_run: Path, tmp_path: Path) -> None:
    """What verify writes is what build reads; the card to fill in is one."""
    message = inside.bad(2, "leaderboard", "submit", retrieval_run, "-o", "team.tbs.zip")
    template = message.partition("such as\n\n")[2]
    assert "training_data: {mini: no}" in template
    Path("card.yaml").write_text(template)
    words = ("leaderboard", "submit", retrieval_run, "-o", "team.tbs.zip", "--card", "card.yaml")
    assert "team.tbs.zip: 1 run" in inside.good(*words)
    verified = inside("leaderboard", "verify", "team.tbs.zip")
    assert verified.code == 0
    assert verified.out.endswith("team.tbs.zip: accepted\n")
    first = verified.err.splitlines()[0]
    assert first.endswith("team.tbs.zip: verifying it takes at most 60 minutes (--minutes)")
    scores = json.loads((retrieval_run / "scores.json").read_bytes())["scores"]
    printed = json.loads(inside("leaderboard", "verify", "team.tbs.zip", "--json").out)
    (run,) = printed["runs"]
    assert run["scores"] == scores
    assert "1 entry, 1 page\n" in inside.good("leaderboard", "build", ".", "-o", "site")
    page = Path("site/index.html").read_text("utf-8")
    assert "My retriever" in page
    assert "chosen on validation" in page


def test_exit_codes(inside: Inside, packed_retrieval: Path, tmp_path: Path) -> None:
    """A board shows what is accepted, and says what is not."""
    files = files_of(packed_retrieval)
    board = tmp_path / "board"
    board.mkdir()
    twice = with_lines(files, RANKINGS, lambda lines: [*lines, lines[0]])
    packed(board / "bad.tbs.zip", twice)
    done = inside("leaderboard", "verify", board / "bad.tbs.zip", "--json")
    verification = json.loads(done.out)
    assert (done.code, verification["verdict"]) == (5, "rejected")
    assert {finding["check"] for finding in verification["findings"]} == {"complete"}
    (board / "trash.tbs.zip").write_bytes(b"PK trash")
    assert inside("leaderboard", "verify", board / "trash.tbs.zip").code == 5
    assert "no such" in inside.bad(2, "leaderboard", "verify", "none.tbs.zip").lower()
    built = inside.good("leaderboard", "build", board, "-o", "site")
    assert "bad.tbs.zip: rejected\n" in built
    assert built.endswith("site/index.html: 0 entries, 2 rejected and not shown, 1 page\n")
    assert "2 rejected entries are not shown" not in Path("site/index.html").read_text("utf-8")
