"""A sweep from its file to its results, in this process."""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.observer import Observer
from target_bench.data.load import load
from target_bench.harness.sweeps import Sweep, SweepCell, run_cell
from target_bench.harness.sweeps.executors import Outcomes
from tests.builders import Recorder, only
from tests.harness.sweeps.workplace import TWELVE, contents, produced, write
from tests.target import TARGET


class Here:
    """Runs cells in this process, and stops after so many."""

    def __init__(self, n: int = 1000) -> None:
        self.n = n
        self.closed = False

    def run(self, cells: Sequence[SweepCell], observer: Observer) -> Outcomes:
        try:
            for cell in reversed(cells):
                if not self.n:
                    raise KeyboardInterrupt
                self.n -= 1
                yield run_cell(cell, observer)
        finally:
            self.closed = True


class Heard(Recorder):
    """Keeps the ends of cells too."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: dict[int, Any] = {}

    def cell_finished(self, number: int, name: str, outcome: Any) -> None:
        self.ends[number] = outcome


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _load(folder: Path, text: str, **options: Any) -> Sweep:
    return Sweep.load(write(folder, text), observer=Heard(), **options)


def test_twelve_cells(folder: Path) -> None:
    """Three rankings serve twelve cells; scores are those of TARGET.

    Each of the two retrievers is asked each of 12 queries once at each of two cutoffs.
    """
    outcomes = _load(folder, TWELVE).run(Here())
    assert [outcome.cell.number for outcome in outcomes] == list(range(1, 13))
    assert {outcome.state for outcome in outcomes} == {"finished"}
    ranked = Counter((folder / "ranked").read_text(encoding="utf-8").splitlines())
    assert len(ranked) == 2 * 12
    for shift in ("0", "7"):
        times = [n for asked, n in ranked.items() if asked.startswith(f"{shift}|")]
        assert sorted(times) == [2] * 12
    assert set(produced(folder).values()) == {1}
    assert len(contents(folder / "runs")) == 3 + 12
    cell, folder_of_first = outcomes[0].cell, outcomes[0].folder
    assert folder_of_first is not None
    target = TARGET(("fact_verification", "mini"), out="alone", observer=Heard())
    generator = cell.generator or ""
    alone = only(target.run(cell.retriever, top_k=[1, 5], limit=12, generator=generator))
    assert outcomes[0].scores == alone.scores
    assert alone.folder.name == folder_of_first.name


def test_goes_on_where_it_was_stopped(folder: Path) -> None:
    """The manifest says what is done; the dry stage knows it from the runs alone."""
    whole = _load(folder, TWELVE, out="whole").run(Here())
    (folder / "produced").unlink()
    executor = Here(5)
    with pytest.raises(KeyboardInterrupt):
        _load(folder, TWELVE).run(executor)
    assert executor.closed
    manifest = json.loads((folder / "runs" / "sweep.sweep.json").read_bytes())
    states = [cell["state"] for cell in manifest["cells"]]
    assert states == ["new"] * 7 + ["finished"] * 5
    before = dict(produced(folder))
    again = _load(folder, TWELVE)
    assert [planned.state for planned in again.cells] == ["new"] * 7 + ["finished"] * 5
    assert dict(produced(folder)) == before
    outcomes = again.run(Here())
    assert [outcome.state for outcome in outcomes] == ["finished"] * 7 + ["reused"] * 5
    assert set(produced(folder).values()) == {1}
    assert contents(folder / "runs") == contents(folder / "whole")
    assert [o.scores for o in outcomes] == [o.scores for o in whole]


def test_a_failed_cell_costs_no_other(folder: Path) -> None:
    text = (
        'corpora: {name: mini, limit: 10}\nretrievers: ["plugins.py:Broken", "plugins.py:Slow"]\n'
    )
    heard = Heard()
    failed, done = _load(folder, text).run(Here(), heard)
    assert (failed.state, failed.exit_code) == ("failed", 3)
    assert "raised RuntimeError: the index is gone" in str(failed.error)
    assert done.state == "finished"
    manifest = json.loads((folder / "runs" / "sweep.sweep.json").read_bytes())
    assert [cell["state"] for cell in manifest["cells"]] == ["failed", "finished"]
    assert "the index is gone" in manifest["cells"][0]["error"]
    assert heard.ends == {1: failed, 2: done}


def test_a_cell_that_the_executor_forgets_has_failed(folder: Path) -> None:
    """In the file of states as in that of results."""

    class Forgetful:
        def run(self, cells: Sequence[SweepCell], observer: Observer) -> Outcomes:
            yield from ()

    (lost,) = _load(folder, "corpora: mini\nretrievers: bm25\n").run(Forgetful(), Heard())
    (cell,) = json.loads((folder / "runs" / "sweep.sweep.json").read_bytes())["cells"]
    assert (lost.state, cell["state"]) == ("failed", "failed")
    assert cell["error"] == lost.error


def test_unreadable_runs(folder: Path) -> None:
    """Told by the dry stage, and costing no other cell: of a newer version, or damaged."""
    text = "corpora: {name: mini, limit: 9}\nretrievers: [bm25, tfidf, lsa, random]\n"
    newer, torn, emptied, whole = (
        outcome.folder or Path() for outcome in _load(folder, text).run(Here())
    )
    manifest = (newer / "manifest.json").read_text(encoding="utf-8")
    (newer / "manifest.json").write_text(manifest.replace('"format": 3', '"format": 4'), "utf-8")
    (torn / "manifest.json").write_text("{", encoding="utf-8")
    scores = (emptied / "scores.json").read_bytes()
    (emptied / "scores.json").write_text("{}", encoding="utf-8")
    again = _load(folder, text)
    assert [cell.state for cell in again.cells] == ["damaged", "damaged", "unfinished", "finished"]
    outcomes = again.run(Here())
    assert [outcome.exit_code for outcome in outcomes] == [4, 4, 0, 0]
    assert "of another version of target-bench" in str(outcomes[0].error)
    assert (emptied / "scores.json").read_bytes() == scores
    assert outcomes[3].folder == whole


def test_results_beside_the_runs(folder: Path) -> None:
    """Two forms of one table: settings, denominators, seconds, scores."""
    outcomes = _load(folder, f"name: mine\n{TWELVE}").run(Here())
    rows = json.loads((folder / "runs" / "mine.results.json").read_bytes())["cells"]
    with (folder / "runs" / "mine.results.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(rows) == len(lines) == 12
    for row, line, outcome in zip(rows, lines, outcomes, strict=True):
        assert row["accuracy"] == outcome.scores["accuracy"].value == float(line["accuracy"])
        assert row["generator.label"] in "abcd"
        assert (folder / "runs" / row["folder"] / "scores.json").exists()
    assert [row.get("retriever.shift") for row in rows] == ["0"] * 4 + ["7"] * 4 + [None] * 4
    state = {path: path.stat().st_mtime_ns for path in (folder / "runs").glob("mine.*")}
    _load(folder, f"name: mine\n{TWELVE}").run(Here())
    assert {path: path.stat().st_mtime_ns for path in state} == state


def test_cost_of_what_is_paid(folder: Path) -> None:
    """Before and after the rankings are there; what is recorded is not counted."""
    text = TWELVE.replace(":Counting", ":Paid").replace("[a, b, c, d]", "[a, b]")
    dry = _load(folder, text)
    assert sum(estimate.requests for estimate in dry.estimates) == 6 * 12
    assert sum(estimate.cost or 0 for estimate in dry.estimates) == 6 * 12 * 0.5
    assert all(estimate.input_tokens for estimate in dry.estimates)
    with pytest.raises(KeyboardInterrupt):
        dry.run(Here(4))
    again = _load(folder, text)
    assert sum(estimate.requests for estimate in again.estimates) == 2 * 12
    again.run(Here())
    assert _load(folder, text).estimates == []


def test_recorded_answers_do_not_make_guessed_prompts_free(folder: Path) -> None:
    """Which tables a retriever will find is guessed, so what it is asked may be new."""
    (folder / "known.py").write_text(
        "from plugins import Paid\n\nclass Known(Paid):\n"
        "    def find_unanswered(self, requests):\n        return []\n",
        encoding="utf-8",
    )
    text = TWELVE.replace("plugins.py:Counting", "known.py:Known").replace("[a, b, c, d]", "a")
    assert sum(estimate.requests for estimate in _load(folder, text).estimates) == 2 * 12


def test_the_entry_that_is_wrong_is_blamed(folder: Path) -> None:
    text = "corpora: [nosuch]\ndistractors: ['mini:n=3']\nretrievers: bm25\n"
    with pytest.raises(ConfigError, match=r"corpora: unknown corpus 'nosuch'"):
        _load(folder, text)


def test_a_plugin_that_cannot_be_made_is_told_with_the_other_problems(folder: Path) -> None:
    (folder / "broken.py").write_text(
        "class Broken:\n    def __init__(self):\n        raise ValueError('no')\n\n"
        "    def embed_corpus(self, corpus): ...\n    def retrieve(self, query, top_k): ...\n",
        encoding="utf-8",
    )
    text = "corpora: mini\nretrievers: ['broken.py:Broken', bm26]\n"
    with pytest.raises(ConfigError, match=r"Broken[^\n]*no[^$]*bm26"):
        _load(folder, text)
    text = "corpora: nosuch\nretrievers: 'broken.py:Broken'\ngenerators: opnai\ntasks: qa\n"
    with pytest.raises(ConfigError, match=r"retrievers: [^$]*generators: [^$]*corpora: "):
        _load(folder, text)


def test_a_cell_without_its_log_is_unfinished(folder: Path) -> None:
    """It was removed because it was damaged: its queries are asked again."""
    text = TWELVE.replace("[a, b, c, d]", "a")
    _load(folder, text).run(Here())
    for log in folder.glob("runs/*/generations.jsonl"):
        log.unlink()
    assert {(cell.state, cell.recorded) for cell in _load(folder, text).cells} == {
        ("unfinished", 0)
    }


FLAKY = """
from plugins import Paid

class Flaky(Paid):
    def generate(self, request):
        self.n_asked = getattr(self, "n_asked", 0) + 1
        if self.n_asked == 1:
            raise ValueError("no")
        return super().generate(request)
"""


def test_what_failed_is_counted_again(folder: Path) -> None:
    """The same command asks it again, for money."""
    (folder / "flaky.py").write_text(FLAKY, encoding="utf-8")
    text = TWELVE.replace("plugins.py:Counting", "flaky.py:Flaky").replace("[a, b, c, d]", "[a, b]")
    _load(folder, text).run(Here())
    again = _load(folder, text)
    assert sum(estimate.requests for estimate in again.estimates) == 6
    assert [(cell.state, cell.recorded) for cell in again.cells] == [("unfinished", 11)] * 6


def test_queries_are_counted_that_are_on_disk(folder: Path) -> None:
    """However often a log has them, as after two processes that wrote it."""
    text = TWELVE.replace("[a, b, c, d]", "a")
    _load(folder, text).run(Here())
    for log in folder.glob("runs/*/generations.jsonl"):
        log.with_name("scores.json").unlink()
        first, second, *_ = log.read_bytes().splitlines(keepends=True)
        log.write_bytes(first + second + first)
    assert [(cell.state, cell.recorded) for cell in _load(folder, text).cells] == [
        ("unfinished", 2)
    ] * 3
    for log in folder.glob("runs/*/generations.jsonl"):
        log.write_text("{}\n", encoding="utf-8")
    assert [(cell.state, cell.recorded) for cell in _load(folder, text).cells] == [
        ("damaged", 0)
    ] * 3


def test_a_generator_that_reads_no_prompt_is_told_of_whichever_cell_comes_first(
    folder: Path,
) -> None:
    for prompts in ("[null, paper]", "[paper, null]"):
        observer = Heard()
        Sweep.load(write(folder, f"{TWELVE}\nprompts: {prompts}"), observer=observer)
        assert [text for text in observer.warnings if "reads prompts" in text]


PAID_RETRIEVER = """
import os

class Hosted:
    paid = True

    def embed_corpus(self, corpus):
        self.ids = list(corpus.ids)

    def retrieve(self, query, top_k):
        if "heaviest" in query and getattr(os, "path").exists("down"):
            raise ValueError("the server is down")
        return self.ids[:top_k]
"""


def test_a_retriever_that_was_timed_is_not_timed_again(folder: Path) -> None:
    """The estimate has what is sent: tables, failed queries, and single queries not timed yet."""
    (folder / "hosted.py").write_text(PAID_RETRIEVER, encoding="utf-8")
    (folder / "down").touch()
    text = "corpora: {name: mini, limit: 9}\nretrievers: hosted.py:Hosted\nlatency: 3"
    dry = _load(folder, text)
    n_tables, n_timed = len(load("mini").corpus), 3 + 10
    assert [estimate.requests for estimate in dry.estimates] == [n_tables + 9 + n_timed]
    dry.run(Here())
    again = _load(folder, text)
    assert [estimate.requests for estimate in again.estimates] == [n_tables + 1]
    (folder / "down").unlink()
    (result,) = again.run(Here())
    assert result.folder is not None
    (result.folder / "scores.json").unlink()
    unscored = _load(folder, text)
    assert [planned.state for planned in unscored.cells] == ["unfinished"]
    assert unscored.estimates == []


JUDGE = """
import os
from target_bench.core.contract import Generator

class Judge(Generator):
    paid = True

    def generate(self, request):
        if getattr(os, "path").exists("down"):
            raise ValueError("the server is down")
        return '{"content_similarity": 8, "structural_similarity": 9}'
"""

JUDGED = """
corpora: {name: mini, limit: 5}
tasks: {name: text-to-table, judged_by: "judge.py:Judge"}
generators: gold
"""


def test_judging_again_is_counted_where_all_answers_are_there(folder: Path) -> None:
    (folder / "judge.py").write_text(JUDGE, encoding="utf-8")
    (folder / "down").touch()
    dry = _load(folder, JUDGED)
    assert [estimate.requests for estimate in dry.estimates] == [5]
    dry.run(Here())
    again = _load(folder, JUDGED)
    assert [estimate.requests for estimate in again.estimates] == [5]
    assert [planned.state for planned in again.cells] == ["unfinished"]
    (folder / "down").unlink()
    again.run(Here())
    done = _load(folder, JUDGED)
    assert (done.estimates, [planned.state for planned in done.cells]) == ([], ["finished"])


def test_judging_an_answer_that_is_asked_for_again_is_counted(folder: Path) -> None:
    (folder / "flaky.py").write_text(FLAKY, encoding="utf-8")
    (folder / "judge.py").write_text(JUDGE, encoding="utf-8")
    text = JUDGED.replace("gold", '"flaky.py:Flaky"')
    _load(folder, text).run(Here())
    estimates = _load(folder, text).estimates
    assert [(each.requests, each.unit) for each in estimates] == [(1, "texts"), (1, "answers")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("mini", "minni"), "corpora: unknown corpus 'minni'. Did you mean mini"),
        (
            ("shift: [0, 7]", "shfit: [0, 7]"),
            "retrievers: retriever plugins.py:Slow: unknown setting 'shfit'.",
        ),
        (("fact_verification", "text_to_text"), "tasks: unknown task"),
        (("limit: 12", "splits: tset"), "corpora: corpus mini has no split 'tset'"),
        (("limit: 12", "database: x"), "corpora.database: unknown key 'database'"),
        (("top_k: [1, 5]", "prompts: none.yaml"), "none.yaml: there is no such file"),
        (("top_k: [1, 5]", "distractors: {name: ./no, n: 3}"), "no: there is no"),
    ],
)
def test_impossible_settings(folder: Path, change: tuple[str, str], message: str) -> None:
    """Refused before anything runs, each with its entry."""
    with pytest.raises((ConfigError, DataError), match=r"sweep\.yaml: ") as error:
        _load(folder, TWELVE.replace(*change))
    assert message in str(error.value)
    assert not (folder / "runs").exists()


def test_a_corpus_without_answers_is_told(folder: Path) -> None:
    text = "name: x\ncorpora: [tabxbench]\nretrievers: [bm25]\ngenerators: [extractive]\n"
    with pytest.raises(ConfigError, match="no corpus has answers"):
        _load(folder, text)
