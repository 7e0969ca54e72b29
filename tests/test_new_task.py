"""A task, a corpus and a metric in files of a user's own, through everything, with no edit here.

The task is row-to-text: its tables are given, its references are several, and one of its queries
has none. Each test is one step and takes the runs that ``made`` left.
"""

import json
from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.reporting.leaderboard.card import read_card
from target_bench.reporting.leaderboard.pack import pack, publish_all
from target_bench.runs.result import Result, read_run
from target_bench.runs.score_tables import summarize_answers
from tests.builders import Recorder
from tests.cli.inside import Inside
from tests.target import TARGET

TASK = '''
"""Row-to-text: is the row that is named told in a sentence?"""

import numpy as np

from target_bench import DataError, Metric, MetricSpec, SummaryBlock, Task, View


class WordRecall(Metric):
    """The share of the words of the best reference that a text has."""

    spec = MetricSpec("word_recall", label="Words", scores="tales", digits=2, rank=1, decides=True)
    signature = "word_recall|version:1"

    def statistics(self, examples):
        values = [max(recall(text, each) for each in references) for text, references in examples]
        return np.array(values, dtype=float)[:, None] @ [[1.0, 0.0]] + [0.0, 1.0]

    def value(self, totals):
        return totals[..., 0] / totals[..., 1]


def recall(text, reference):
    words = set(reference.lower().split())
    return len(words & set((text or "").lower().split())) / len(words)


class RowToText(Task):
    """Sentences compared with several references.

    Args:
        longest: characters of an answer that are read.
    """

    name = "row_to_text"
    title = "Row-to-Text"
    aliases = ("r2t",)
    source = "given"
    view = View(
        slices=("sport",),
        summary=lambda report: [SummaryBlock("length", {"words": report["words"]})],
    )

    def __init__(self, longest: int = 1000):
        self.longest = longest

    def settings(self):
        return [f"longest:{self.longest}"]

    def check(self, dataset):
        for query in dataset.queries:
            if not all(each.endswith(".") for each in query.references):
                raise DataError(f"query {query.id!r}: {query.answer!r} is not a sentence")

    def metrics(self, queries, cutoffs=()):
        return [WordRecall()]

    def examples(self, dataset, predictions):
        given = [predictions.answers[query.id] for query in dataset.queries]
        read = [None if each.error else each.text[: self.longest] or None for each in given]
        return [(text, q.references) for text, q in zip(read, dataset.queries)]

    def parse_answers(self, examples):
        return [text for text, _ in examples]

    def report(self, dataset, examples):
        return {"words": sum(len((text or "").split()) for text, _ in examples)}
'''

PROMPT = """
system: You tell a row of a table in a sentence.
user: "{{ tables }}\\nRow: {{ query }}"
no_context_system: You make up a sentence.
no_context_user: "Row: {{ query }}"
"""

CORPUS = '''
"""Winners of cups."""

from target_bench import CorpusInfo, CorpusLoader, Query, Table, TableId

NAMES, TITLE = {"a": "Ann", "b": "Bob", "c": "Cy"}, {"title": "Cups"}
GOLD = {"a": ("Ann won in 2001.", "In 2001 Ann won."), "b": ("Bo won in 2002.",), "c": ()}


class Cups(CorpusLoader):
    info = CorpusInfo("cups", "Cups", ("row_to_text",), ("test",), "ours", "us", "here")
    cached = False

    def __init__(self):
        from pathlib import Path

        self.embedded = Path(__file__).parent

    def tables(self, release, split):
        for name in GOLD:
            year = 2001 + ord(name) - ord("a")
            yield Table(TableId("0", name), ["Year", "Winner"], [[str(year), NAMES[name]]], TITLE)

    def queries(self, release, split):
        for name, answer in GOLD.items():
            gold = (TableId("0", name),)
            yield Query(name, f"the winner of {name}", gold, answer, metadata={"sport": "chess"})
'''

GENERATOR = '''
class Teller:
    """Says what its first table holds."""

    def generate(self, request):
        (table,) = request.tables
        return f"{table.rows[0][1]} won in {table.rows[0][0]}."
'''


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    texts = {
        "row_to_text.py": TASK,
        "row_to_text.yaml": PROMPT,
        "cups.py": CORPUS,
        "teller.py": GENERATOR,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def target_bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Inside:
    return Inside(capsys, monkeypatch)


def _task(files: Path) -> str:
    return f"{files}/row_to_text.py:RowToText"


def _run(files: Path, generator: str = "gold", task: str | None = None) -> Result:
    pair = (task or _task(files), f"{files}/cups.py:Cups")
    target = TARGET(pair, out=files / "runs", observer=Recorder())
    (result,) = target.run(generator=generator)
    return result


def test_a_run_without_a_retriever(files: Path) -> None:
    """Over the queries that have a reference; it is stored, checked, and used again."""
    result = _run(files, f"{files}/teller.py:Teller")
    score = result.scores["word_recall"]
    assert (result.command.retriever, score.n, score.value) == (None, 2, 0.875)
    assert result.stored.answers is not None
    assert (result.stored.answers.asked, result.stored.answers.unlabelled) == (3, 1)
    assert [str(block) for block in summarize_answers(result)] == ["length: words 8"]
    assert "row-to-text" in result.folder.name
    assert "retriever" not in json.loads((result.folder / "manifest.json").read_text())["command"]
    stored = read_run(result.folder)
    assert (stored.run.status, stored.command.task) == ("finished", _task(files))
    assert (stored.stored.n_queries, list(stored.per_query.ids)) == (3, ["a", "b"])
    assert read_run(result.folder).run.problem is None
    assert _run(files, f"{files}/teller.py:Teller").run.reused


def test_an_edited_task_is_another_run(files: Path) -> None:
    before = _run(files).folder
    path = files / "row_to_text.py"
    path.write_text(path.read_text().replace("each.text[: self.longest]", "each.text"))
    assert _run(files).folder != before
    assert _run(files, task=f"{_task(files)}:longest=5").folder != before


def test_the_command_line(files: Path, target_bench: Inside) -> None:
    """``run``, ``score`` of a run and of predictions, ``compare``, ``generate``."""
    out = ("--out", str(files / "runs"))
    corpus = f"{files}/cups.py:Cups"
    task = ("--task", _task(files))
    shown = target_bench("run", "--corpus", corpus, *task, "--generator", "gold", "-v", *out)
    assert "word_recall" in shown.out
    assert "gold: length: words 8" in shown.out
    assert "1 of 3 queries has no reference answer: scores are over the other 2" in shown.err
    gold = _run(files, "gold").folder
    again = target_bench("score", str(gold), *out, "--json")
    assert json.loads(again.out)["results"][0]["scores"]["word_recall"]["value"] == 1
    predictions = files / "answers.json"
    predictions.write_text(json.dumps({"a": "Ann won", "b": "", "c": "x"}))
    given = ("--predictions", str(predictions))
    scored = target_bench("score", "--corpus", corpus, *task, *given, *out, "--json")
    assert json.loads(scored.out)["results"][0]["scores"]["word_recall"]["value"] == 0.25
    empty = target_bench("run", "--corpus", corpus, *task, "--generator", "empty", *out, "--json")
    folder = json.loads(empty.out)["results"][0]["folder"]
    assert "word_recall" in target_bench("compare", str(gold), folder).out


def test_a_task_that_is_not_installed_is_not_packed(files: Path) -> None:
    result = _run(files, f"{files}/teller.py:Teller")
    (files / "card.yaml").write_text(CARD, encoding="utf-8")
    with pytest.raises(
        ConfigError, match="'row_to_text' is not registered; offer it in an installed"
    ):
        pack(publish_all([result.folder]), read_card(files / "card.yaml"), files / "a.tbs.zip")


CARD = """
name: Teller
authors: [Ann Other]
kind: other
parameters: 0
trained_on: {cups: "no"}
chosen_on: nothing
licence: MIT
"""


def test_a_split_without_references_has_predictions_and_no_scores(
    files: Path, target_bench: Inside
) -> None:
    path = files / "cups.py"
    path.write_text(path.read_text().replace('"Bo won in 2002.",', ""))
    path.write_text(path.read_text().replace('"Ann won in 2001.", "In 2001 Ann won."', ""))
    result = _run(files, f"{files}/teller.py:Teller")
    assert result.scores == {}
    assert read_run(result.folder).run.status == "finished"
    assert set(read_run(result.folder).run.answers) == {"a", "b", "c"}
    assert read_run(result.folder).run.problem is None
    shown = target_bench("runs", "list", "--out", files / "runs")
    assert "row_to_text" in shown.out
    assert "no reference" in shown.out
    path = files / "report.html"
    assert target_bench("report", str(result.folder), "-o", str(path)).code == 0
    assert "no query has a reference" in path.read_text(encoding="utf-8")
    other = _run(files, "empty").folder
    compared = target_bench("compare", str(result.folder), str(other))
    assert (compared.code, "no query has a reference" in compared.err) == (4, True)


def test_a_reference_that_is_not_valid_is_named_before_anything_is_asked(files: Path) -> None:
    path = files / "cups.py"
    path.write_text(path.read_text().replace("Bo won in 2002.", "Bo won"))
    with pytest.raises(DataError, match=r"query 'b': \('Bo won',\) is not a sentence"):
        _run(files)
    assert not (files / "runs").exists()


@pytest.mark.parametrize(
    ("field", "known"), [("source", "retrieved, given, none"), ("answer", "ranking, text, label")]
)
def test_a_task_with_a_field_that_nothing_reads_is_told_with_its_line(
    field: str, known: str, tmp_path: Path
) -> None:
    file = tmp_path / "task.py"
    file.write_text(TASK.replace('    source = "given"', f'    {field} = "gven"'))
    with pytest.raises(ConfigError) as error:
        TARGET(f"{file}:RowToText")
    assert f"RowToText.{field} is 'gven'; it is one of {known}" in str(error.value)
    assert "class RowToText(Task):" in str(error.value)
