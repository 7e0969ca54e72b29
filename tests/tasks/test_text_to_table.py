"""Text to table: what an answer scores, what is recorded of it, and what a judge adds."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench import Generator, judge_answers, score_answers
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.registry import make_task
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.core.user_code import split_user_line
from target_bench.data.load import load
from target_bench.data.selection import select_queries
from target_bench.harness.consent import Estimate
from target_bench.harness.score import Scores
from target_bench.metrics.scores import find_spec
from target_bench.runs.score_tables import summarize_answers
from target_bench.tables.answer_tables import TableFormat
from target_bench.tasks.text_to_table import TextToTable
from tests.builders import Recorder
from tests.tables.test_reading import CUT
from tests.target import TARGET

MINI = select_queries(load("mini"), "text_to_table")
GOLD = {query.id: str(query.answer) for query in MINI.queries}
OTHER = "| Team | Wins |\n|---|---|\n| Nowhereland | 9797 |"
REPLY = """The first row differs.
```json
{"content_similarity": %d, "structural_similarity": 9}
```"""


class Judge(Generator):
    """Rates a pair 8, and 6 with the tables the other way round; says nothing to one of them."""

    def __init__(self, down: bool = False) -> None:
        self.down = down
        self.requests: list[GenerationRequest] = []

    def generate(self, request: GenerationRequest) -> str:
        self.requests.append(request)
        if self.down:
            raise TimeoutError("the server is down")
        query_id, _, order = request.query_id.partition("#")
        return "I cannot." if query_id == "t2t-0003" else REPLY % (8 if order == "1" else 6)


def _score_answers(answers: dict[str, Any], task: TextToTable | None = None) -> Scores[Any]:
    task = task or TextToTable()
    return score_answers(MINI, answers, task, judge_answers(MINI, answers, task))


def test_every_format_is_there_and_its_gold_scores_best() -> None:
    scores = _score_answers(GOLD)
    assert {query.metadata["format"] for query in MINI.queries} == {
        *("text", "html", "latex", "csv", "json")
    }
    for name, score in scores.items():
        if not name.startswith("h_"):
            perfect = find_spec(name).top if find_spec(name).higher_is_better else 0
            assert score.value == pytest.approx(perfect), name
    assert scores["h_content"].n == 0, "no text names a team and a player"
    for name, best in (("html", [2, 3]), ("latex", [3, 3])):
        values = [scores[f"h_{part}[{name}]"] for part in ("content", "structure")]
        assert [(score.n, score.value) for score in values] == [(6, value) for value in best]


def test_faults_and_errors_are_counted_and_shown_for_each_query() -> None:
    answers: dict[str, Any] = GOLD | {
        "t2t-0001": GOLD["t2t-0001"].replace("Ferrari", "ferrari"),
        "t2t-0002": GOLD["t2t-0002"].replace("Season", "Year"),
        "t2t-0004": "none",
        "t2t-0005": Generation("t2t-0005", GOLD["t2t-0005"], error="a test"),
        "t2t-0006": GOLD["t2t-0006"].replace("Victoria", "Sydney").replace("Edmonton", "Calgary"),
    }
    task = TextToTable()
    judgements = judge_answers(MINI, answers, task)
    first = judgements["t2t-0001"].record
    assert (first["verdict"], first["faults"]) == ("readable", [])
    assert judgements["t2t-0004"].record["verdict"] == "no_table"
    assert judgements["t2t-0005"].record["faults"] == ["empty"]
    scored = score_answers(MINI, answers, task, judgements)
    assert scored.counts.unparsed == 1
    assert scored.report is not None
    assert scored.report["faults"] == {"empty": 1, "no_table": 1}
    shown = [str(block) for block in task.view.summary(scored.report)]
    assert shown[0] == "answers by fault: empty 1, no_table 1"


def test_a_judge_is_asked_in_both_orders_and_its_replies_are_recorded() -> None:
    judge = Judge()
    task = TextToTable(judged_by=judge)
    assert not task.is_repeatable
    answers = GOLD | {"t2t-0002": ""}
    judgements = judge_answers(MINI, answers, task)
    n_asked = len(MINI.queries) - 1  # nobody is asked about an empty answer
    assert len(judge.requests) == 2 * n_asked
    assert all(request.messages[1].content for request in judge.requests)
    scored = score_answers(MINI, answers, task, judgements)
    assert [scored[f"p_{part}"].value for part in ("content", "structure")] == [7, 9]
    assert scored["p_content"].n == n_asked - 1
    assert scored.report is not None
    assert scored.report["p_score"] == {"asked": n_asked, "counted": n_asked - 1}
    assert judge_answers(MINI, answers, task, known=judgements) == judgements
    assert len(judge.requests) == 2 * n_asked, "replies are read again"


def test_an_answer_that_a_judge_failed_to_judge_is_judged_again() -> None:
    judge = Judge(down=True)
    task = TextToTable(judged_by=judge)
    few = replace(MINI, queries=MINI.queries[:1])
    answers = {query.id: OTHER for query in few.queries}
    made = judge_answers(few, answers, task)
    failed = made["t2t-0001"].record["failed"]
    error = "raised: TimeoutError: the server is down"
    assert {name: split_user_line(text)[0] for name, text in failed.items()} == {"p_score": error}
    report = score_answers(few, answers, task, made).report
    assert report is not None
    assert report["p_score"] == {"asked": 1, "counted": 0}
    judge.down, n_requests = False, len(judge.requests)
    again = judge_answers(few, answers, task, known=made)
    assert len(judge.requests) == 2 * n_requests
    assert not any(judgement.record.get("failed") for judgement in again.values())
    report = score_answers(few, answers, task, again).report
    assert report is not None
    assert report["p_score"] == {"asked": 1, "counted": 1}


def test_an_answer_that_is_too_long_is_not_sent_to_a_judge() -> None:
    judge = Judge()
    few = replace(MINI, queries=MINI.queries[:1])
    answers = {query.id: OTHER * 300_000 for query in few.queries}
    task = TextToTable(judged_by=judge)
    made = judge_answers(few, answers, task)
    assert (judge.requests, made["t2t-0001"].record["verdict"]) == ([], "too_long")
    assert score_answers(few, answers, task, made)["cell_f1"].value == 0


class Paid(Judge):
    paid = True


def test_a_judge_that_costs_money_is_asked_for_first(tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text(json.dumps(GOLD))
    target = TARGET(
        (f"text-to-table:judged_by={__name__}:Paid", "mini"), out=tmp_path, observer=Recorder()
    )
    consents, estimates = iter([False, False, True]), []

    def confirm(estimate: Estimate) -> bool:
        estimates.append(estimate.requests)
        return next(consents)

    with pytest.raises(ConfigError, match="nothing was sent"):
        target.run(generator="gold", confirm=confirm)
    with pytest.raises(ConfigError, match="nothing was sent"):
        target.score(predictions=tmp_path / "answers.json", confirm=confirm)
    for _ in range(2):  # replies are read again
        (result,) = target.score(predictions=tmp_path / "answers.json", confirm=confirm)
        assert result.scores["p_content"].value == 7
    assert estimates == [30, 30, 30]


def test_a_reference_without_a_table_is_named() -> None:
    query = replace(MINI.queries[0], answer="no bars")
    with pytest.raises(DataError, match=r"query 't2t-0001': no table can be read .* \(no_table\)"):
        TextToTable().check(replace(MINI, queries=(query,)))
    odd = replace(query, metadata={"format": "pdf"})
    with pytest.raises(DataError, match="format 'pdf' is not one of text, html"):
        TextToTable().check(replace(MINI, queries=(odd,)))


def test_requests_hold_the_instruction() -> None:
    from target_bench.core.run_config import RunConfig
    from target_bench.models.prompts.prompting import make_prompt_writer

    writer = make_prompt_writer(make_task("text-to-table"), RunConfig(), {}, follows_schema=False)
    by_format = {str(query.metadata["format"]): query for query in MINI.queries[:5]}
    for name, word in (("html", "<table>"), ("latex", "tabular"), ("json", '"rows"')):
        request = writer.write_prompt(by_format[name], ()).request
        assert word in request.messages[1].content
        assert request.query == by_format[name].text


def test_an_unlabelled_split_is_scored_without_references(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "a.csv").write_text("x,y\n1,2\n")
    records = [
        {"query_id": "a", "query": "Oslo won 3 games, Bergen 2.", "table_id": "a"},
        {"query_id": "b", "query": "Rome has 7 hills.", "table_id": "a"},
    ]
    (tmp_path / "queries.jsonl").write_text(
        "".join(json.dumps(record) + "\n" for record in records)
    )
    answers = {"a": "| City | Won |\n|---|---|\n| Oslo | 3 |\n| Bergen | 4 |", "b": "none"}
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    target = TARGET(("text-to-table", str(tmp_path)), out=tmp_path / "runs", observer=Recorder())
    (result,) = target.score(predictions=tmp_path / "answers.json")
    assert {name: score.value for name, score in result.scores.items()} == {
        "valid[strict]": 0.5,
        "valid[lenient]": 0.5,
    }
    shown = [str(block) for block in summarize_answers(result)]
    assert shown == [
        "answers by fault: no_table 1, prose 1",
        "answers by number of tables: 0 1, 1 1",
    ]
    with pytest.raises(DataError, match="no query has a reference answer"):
        target.run(generator="gold")


RAGGED = {
    "text": "| Team | Wins |\n|---|---|\n| Hawks | 46 | 3 |",
    "html": "<table><tr><td>Team</td><td colspan=5000>Wins</td></tr><tr><td>1</td></tr></table>",
    "latex": r"\begin{tabular}{lr} Team & Wins \\ Hawks & 46 & 3 \\ \end{tabular}",
    "csv": "Team,Wins\nHawks,46,3",
    "json": '[["Team", "Wins"], ["Hawks", 46, 3]]',
}
OWN = {
    "html": ("no_table_tag", "<tr><td>Team</td><td>Wins</td></tr><tr><td>1</td><td>2</td></tr>"),
    "json": ("syntax", "{'Team': 'Hawks'}"),
}


@pytest.mark.parametrize("name", CUT)
def test_each_bad_answer_is_typed_counted_and_shown(name: TableFormat) -> None:
    query = next(query for query in MINI.queries if query.metadata["format"] == name)
    alone, gold = replace(MINI, queries=(query,)), str(query.answer)
    bad = {
        "no_table": "There is no table here.",
        "extra_table": "\n\n".join([gold] * 3),
        "fenced": f"```\n{gold}\n```",
        "prose": f"Here is what was asked for.\n\n{gold}",
        "truncated": CUT[name],
        "ragged": RAGGED[name],
        "empty": "",
    }
    bad |= dict([OWN[name]]) if name in OWN else {}
    task = TextToTable()
    for fault, text in bad.items():
        judgements = judge_answers(alone, {query.id: text}, task)
        scored = score_answers(alone, {query.id: text}, task, judgements)
        assert scored.report is not None
        assert scored.report["faults"][fault] == 1
        assert any(f"{fault} 1" in str(block) for block in task.view.summary(scored.report))
        assert fault in task.view.detail(judgements[query.id].record)["faults"]
        read = fault not in ("no_table", "syntax", "empty")
        assert scored["valid[strict]"].value == 0
        assert scored["valid[lenient]"].value == read
        assert scored.counts.unparsed == (not read)
        if fault == "extra_table":
            assert scored.report["tables"] == {"3": 1}
