"""``runs why``, and the sentence of ``run`` on a run that was not used again."""

import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from target_bench import load
from target_bench.metrics import retrieval
from target_bench.retrievers.bm25 import BM25
from target_bench.runs.why import find_changes, read_sources
from tests.builders import first_manifest, json_lines, run_identity
from tests.cli.inside import Inside
from tests.cli.test_runs import CARD
from tests.data.written import asked, write_own


def test_a_setting_of_a_task_is_no_metric() -> None:
    before, after = (
        first_manifest(run_identity(metrics=["ex[bird]|a", f"timeout:{seconds}"]))
        for seconds in (20, 25)
    )
    changes = find_changes(before, after, {}, {})
    assert [change.what for change in changes] == ["timeout of the task changed"]


def test_a_form_feed_ends_no_line() -> None:
    old, new = (b"a = 1\n\x0c\nb = 2\nc = %d\n" % number for number in (3, 4))
    before, after = (
        first_manifest(run_identity(retriever={"class": "A", "code": code}), code={"a.py": code})
        for code in ("1", "2")
    )
    (change, *_) = find_changes(before, after, {"a.py": old}, {"a.py": new})
    assert change.detail == "line 4"


MINE = """
from helper import first

PASSWORD = "hunter2-in-the-open"

class Mine:
    def __init__(self, k1: float = 0.9) -> None:
        self.k1 = k1

    def embed_corpus(self, corpus):
        self.ids = list(corpus.ids)

    def retrieve(self, query, top_k):
        return first(self.ids, top_k)
"""
HELPER = "def first(ids, n):\n    return ids[:n]\nUNUSED = 1\n"
METRIC = "def own(ranking, gold):\n    return 0.25\n"
PROMPT = "".join(
    f"{name}: Question {{{{ query }}}} {{{{ tables }}}}\n"
    for name in ("system", "user", "no_context_system", "no_context_user")
)


def _edit(name: str, old: str, new: str) -> Callable[[pytest.MonkeyPatch], None]:
    def edit(_: pytest.MonkeyPatch) -> None:
        path = Path(name)
        path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")

    return edit


def _add_table(_: pytest.MonkeyPatch) -> None:
    Path("shop/tables/t9.csv").write_text("a,b\nnine,9\n", encoding="utf-8")


def _add_table_and_question(monkeypatch: pytest.MonkeyPatch) -> None:
    _add_table(monkeypatch)
    with Path("shop/queries.jsonl").open("a", encoding="utf-8") as file:
        file.write(json_lines([asked("t1", query_id="q2")]))


def _remove_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(retrieval.DEFINITIONS, "map")


def _change_database(_: pytest.MonkeyPatch) -> None:
    with sqlite3.connect("base/shop.sqlite") as connection:
        connection.execute("INSERT INTO t VALUES (3, 'three')")
    connection.close()


def _new_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BM25, "VERSION", "999")


def _nothing(_: pytest.MonkeyPatch) -> None: ...


class Case(NamedTuple):
    """What changes between two runs, and the sentence that names it."""

    command: str
    change: Callable[[pytest.MonkeyPatch], None] = _nothing
    more: str = ""  # of the second command alone
    why: str = ""
    is_new: bool = True


OWN = "mini --limit 3 --retriever mine.py:Mine"
CASES = {
    "code": Case(
        OWN, _edit("mine.py", "list(corpus.ids)", "sorted(corpus.ids)"),
        why="the code of mine.py changed: line 11",
    ),
    "imported module": Case(
        OWN, _edit("helper.py", "ids[:n]", "ids[::-1][:n]"),
        why="the code of helper.py changed: line 2",
    ),
    "deleted last line": Case(
        OWN, _edit("helper.py", "UNUSED = 1\n", ""), why="the code of helper.py changed: line 2",
    ),
    "setting": Case(OWN, more=":k1=1.2", why="k1 of the retriever changed: 0.9 → 1.2"),
    "data file": Case(
        "./shop --retriever bm25", _add_table, why="1 table was added: 2 → 3",
    ),
    "tables and questions": Case(
        "./shop --retriever bm25", _add_table_and_question, why="1 question was added",
    ),
    "metric": Case(
        "mini --limit 3 --retriever bm25 --metric metrics.py:own",
        _edit("metrics.py", "0.25", "0.75"),
        why="the code of metrics.py changed: line 2",
        is_new=False,
    ),
    "prompt": Case(
        "mini --limit 3 --task qa --retriever bm25 --generator extractive --prompt prompt.yaml",
        _edit("prompt.yaml", "Question", "Please answer"),
        why="the prompt changed",
    ),
    "database": Case(
        "./base --retriever bm25", _change_database, why="the data file shop.sqlite changed",
    ),
    "top-k": Case(
        "mini --limit 3 --retriever bm25 --top-k 1", more=" --top-k 1,5",
        why="top-k changed: 1 → 1, 5",
    ),
    "version": Case(
        "mini --limit 3 --retriever bm25", _new_version,
        why=f"the version of the retriever changed: {BM25.VERSION} → 999",
    ),
    "metrics": Case(
        "mini --limit 3 --retriever bm25", _remove_metric, why="metric map was removed",
    ),
    "nothing": Case(OWN, why="nothing that changes a result differs", is_new=False),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _files(inside: Inside) -> None:
    """All that the commands name, in the folder of ``inside``."""
    for name, text in (
        ("mine.py", MINE), ("helper.py", HELPER), ("metrics.py", METRIC), ("prompt.yaml", PROMPT),
    ):  # fmt: skip
        Path(name).write_text(text, encoding="utf-8")
    tables = {f"t{i}.csv": f"a,b\nx{i},{i}\n" for i in range(2)}
    write_own(Path("shop"), tables, [asked("t0")])
    Path("base").mkdir()
    with sqlite3.connect("base/shop.sqlite") as connection:
        connection.executescript("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'one')")
    connection.close()
    Path("base/queries.csv").write_text("query,table_id\nWhich one?,t\n", encoding="utf-8")


def test_a_metric_that_was_asked_for_again_is_no_cause(inside: Inside) -> None:
    run = ("run", *OWN.split(), "--metric", "metrics.py:own")
    assert inside(*run).code == 0
    _edit("mine.py", "list(corpus.ids)", "sorted(corpus.ids)")(pytest.MonkeyPatch())
    said = " ".join(inside(*run).out.split())
    assert "the code of mine.py changed" in said
    assert "metrics.py:own was" not in said


def test_another_metric_is_no_cause(inside: Inside) -> None:
    """A run takes further metrics without being made again; neither is their file a cause."""
    run, metric = ("run", *OWN.split()), ("--metric", "metrics.py:own")
    assert inside(*run, *metric).code == 0
    _edit("mine.py", "list(corpus.ids)", "sorted(corpus.ids)")(pytest.MonkeyPatch())
    said = " ".join(inside(*run).out.split())
    assert "new run: the code of mine.py changed since" in said
    assert "metric" not in said
    first, second = sorted(_runs(), key=lambda path: (path / "manifest.json").stat().st_mtime)
    for pair in ((first, second), (second, first)):
        words = inside.good("runs", "why", *pair)
        assert "  the code of mine.py changed: line 11\n" in words
        assert "metric" not in words


def test_a_metric_of_an_unfinished_run_is_no_cause(inside: Inside) -> None:
    """Metrics of the command are recorded with the scores, so it is not known what it asked for."""
    _edit("mine.py", "self.ids = ", "raise ")(pytest.MonkeyPatch())
    run = ("run", *OWN.split(), "--metric", "metrics.py:own")
    assert inside(*run).code == 3
    (unfinished,) = _runs()
    assert "nothing that changes a result differs" in inside("runs", "why", unfinished).out
    _edit("mine.py", "raise ", "self.ids = ")(pytest.MonkeyPatch())
    said = [inside(*run).out]
    assert "the code of mine.py changed" in " ".join(said[0].split())
    (finished,) = _runs() - {unfinished}
    said += [inside("runs", "why", *pair).out for pair in ((unfinished, finished),)]
    said += [inside("runs", "why", finished, unfinished).out]
    assert all("metrics.py:own was" not in " ".join(text.split()) for text in said), said


def test_a_metric_that_is_not_asked_for_again_is_told(inside: Inside) -> None:
    run = ("run", *OWN.split())
    assert inside(*run, "--metric", "metrics.py:own").code == 0
    again = inside(*run)
    assert "no longer has own, of an earlier --metric" in " ".join(again.err.split())
    assert "no longer has" not in inside(*run).err


def test_scoring_again_keeps_the_code_of_the_retriever(inside: Inside) -> None:
    run = ("run", *OWN.split())
    assert inside(*run).code == 0
    (folder,) = Path("runs").iterdir()
    assert inside("score", str(folder)).code == 0
    _edit("mine.py", "list(corpus.ids)", "sorted(corpus.ids)")(pytest.MonkeyPatch())
    assert "the code of mine.py changed" in " ".join(inside(*run).out.split())


def test_files_of_one_name_each_have_a_copy(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("p/a.py", "o/b.py", "p/b.py")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(path.as_posix(), encoding="utf-8")
    sources = read_sources(paths)
    assert sources.keys() == {"a.py", "b.py", "o/b.py"}
    assert sources["o/b.py"] == paths[1].read_bytes()


def _runs() -> set[Path]:
    return {path for path in Path("runs").iterdir() if not path.name.startswith("retrieval-for")}


@pytest.mark.parametrize("name", CASES)
def test_the_cause_is_named(inside: Inside, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    case = CASES[name]
    assert inside("run", *case.command.split()).code == 0
    (first,) = _runs()
    case.change(monkeypatch)
    changes_now = case.change is not _nothing or name == "nothing"
    if changes_now:
        assert case.why in " ".join(inside("runs", "why", first).out.split())
    done = inside("run", *(case.command + case.more).split())
    assert done.code == 0, done.err
    second = _runs() - {first}
    assert bool(second) == case.is_new
    if second:
        what, _, detail = case.why.partition(": ")
        said = " ".join(done.out.split())
        # The words of another setting are another system.
        assert ("new run: " in said and what in said and detail in said) == (name != "setting")
        words = " ".join(inside.good("runs", "why", first, *second).split())
        assert case.why in words
    again = " ".join(inside("runs", "why", *(second or {first})).out.split())
    assert "nothing that changes a result differs" in again


def test_copies_hold_no_credential_and_leave_the_machine_in_nothing(inside: Inside) -> None:
    """Not with ``--no-source`` either, and in no submission, report, export or baseline."""
    Path("key.py").write_text('KEY = "sk-abcdefghijklmnopqrstuvwx"\n', encoding="utf-8")
    Path("mine.py").write_text(f"import key\n{MINE}", encoding="utf-8")
    run = ["run", "mini", "--task", "retrieval", "--top-k", "1", "--retriever", "mine.py:Mine"]
    assert inside(*run).code == 0
    (folder,) = _runs()
    copies = {path.name: path.read_text("utf-8") for path in (folder / "source").iterdir()}
    assert copies.keys() == {"mine.py", "helper.py", "key.py"}
    assert "sk-abc" not in copies["key.py"]
    Path("card.yaml").write_text(CARD, encoding="utf-8")
    inside("leaderboard", "submit", folder, "-o", "a.tbs.zip", "--card", "card.yaml")
    inside("report", folder, "-o", "report.html")
    inside("runs", "export", folder, "-o", "trec")
    inside("gate", "base.json", "--run", folder, "--update")
    with zipfile.ZipFile("a.tbs.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert {Path(name).name for name in members} == {
        "card.yaml", "manifest.json", "retrieval.jsonl",
    }  # fmt: skip
    written = [*members.values()]
    written += [Path(name).read_bytes() for name in ("report.html", "base.json", "trec/run.trec")]
    assert all(b"hunter2" not in content for content in written)
    assert inside(*run, "--no-source", "--out", "bare").code == 0
    (bare,) = Path("bare").iterdir()
    assert not (bare / "source").exists()
    Path("helper.py").write_text(f"# other\n{HELPER}", encoding="utf-8")
    assert "the code of helper.py changed\n" in inside("runs", "why", bare).out


def test_a_scored_file_has_no_command_that_makes_it_again(inside: Inside) -> None:
    mini = load("mini")
    ranking = f"{mini.queries[0].id} Q0 {mini.corpus.ids[0]} 1 1 other\n"
    Path("other.trec").write_text(ranking, encoding="utf-8")
    assert inside("score", "mini", "--run", "other.trec").code == 0
    (run,) = _runs()
    done = inside("runs", "why", run)
    assert done.code == 2
    assert "cannot be made again" in done.err
    assert "target-bench runs why RUN RUN" in " ".join(done.err.split())
