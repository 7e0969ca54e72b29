"""Rules of a gate, and what they say of two runs."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench import gate
from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.reporting.gate import Rule, parse_rule
from target_bench.runs.baseline_file import write_baseline
from target_bench.runs.result import read_run
from tests.builders import only
from tests.runs.stored import Runs
from tests.target import TARGET


@pytest.fixture
def baseline(runs: Runs, tmp_path: Path) -> Path:
    path = tmp_path / "ci" / "baseline.json"
    write_baseline(read_run(runs.bm25), path)
    return path


@given(st.sampled_from(["recall@10", "recall[db]@1", "P(rel=2)@5"]), st.floats(0, 100))
def test_rules_are_read_as_they_are_written(metric: str, size: float) -> None:
    for rule, worse in (Rule(metric, "<", -size), -1), (Rule(metric, ">", size), 1):
        assert parse_rule(f" {rule} ") == rule
        assert not rule.is_broken_by(0)
        assert rule.is_broken_by(rule.limit * 2 + worse)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(
            (t, "is not a rule")
            for t in ("", "recall@10", "<-0.1", "recall@10<", "a<=-.1", "a<nan")
        ),
        ("recall@10<0.9", "a run that is equal to the baseline would fail"),
        ("tokens>-1", "a run that is equal to the baseline would fail"),
    ],
)
def test_what_is_no_rule(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_rule(text)


def test_verdicts(runs: Runs, baseline: Path) -> None:
    """Of a drop that is real, of one that is noise, and of one within the limit."""
    outcome = gate(baseline, runs.tfidf, ["recall@10<-0.01"], by=["task"])
    assert {check.row.subset: check.verdict for check in outcome.checks} == {
        "task=fact_verification": "passed",
        "task=question_answering": "not significant",
        "task=text_to_sql": "failed",
    }
    assert outcome.failed
    assert "The gate failed: recall@10<-0.01 of task=text_to_sql. " in outcome.sentence
    assert outcome.sentence.endswith(
        " Not failed (not significant at 0.05): recall@10<-0.01 of task=question_answering."
    )
    assert "smallest difference that 144 or 57 queries can detect: .0" in outcome.power[0]
    assert outcome.power[0] in outcome.markdown()
    assert str(outcome).startswith(f"{outcome.sentence}\n\n fail on ")
    assert not gate(baseline, runs.tfidf, ["recall@10<-0.2"], by=["task"]).failed


def test_a_run_is_no_worse_than_itself(runs: Runs, baseline: Path) -> None:
    """As in continuous integration where nothing changed; a rule named twice counts once."""
    for base in (runs.bm25, baseline):
        outcome = gate(base, runs.bm25, ["recall@10<-0.01", "recall@10<-0.010"])
        (check,) = outcome.checks
        assert (check.verdict, check.difference.value) == ("passed", 0.0)
        assert outcome.run == runs.bm25
        (note,) = outcome.notes
        assert f"of bm25 ({base}), " in note, "the baseline as it was named, not its copy"
        assert f" Note: {note}." in f" {outcome.table().note}"


def test_a_run_without_scores_is_no_baseline(own_runs: Runs, tmp_path: Path) -> None:
    run = own_runs.bm25
    (run / "scores.json").unlink()
    with pytest.raises(StoreError):
        gate(run, run, ["recall@10<-0.01"])
    with pytest.raises(StoreError):
        write_baseline(read_run(run), tmp_path / "baseline.json")


def test_queries_that_are_too_few_to_fail(runs: Runs, tmp_path: Path) -> None:
    """With five, no difference has a p-value below 0.0625; with six, of two tests, below 0.0625."""
    mini = TARGET(("retrieval", "mini"), out=tmp_path)
    bm25, random = (
        {n: only(mini.run(name, limit=n)) for n in (5, 6)} for name in ("bm25", "random")
    )
    with pytest.raises(ConfigError, match=r"cannot fail: .* of 5 queries, corrected for 1 test,"):
        gate(bm25[5], random[5], ["recall@10<-0.01"])
    assert gate(bm25[5], random[5], ["recall@1<-0.01"], alpha=0.1).failed
    assert gate(bm25[6], random[6], "recall@10<-0.01").checks[0].can_fail
    with pytest.raises(ConfigError, match="corrected for 2 tests"):
        gate(bm25[6], random[6], ["recall@10<-0.01", "mrr<-0.01"])
    by_tables = gate(runs.bm25, runs.tfidf, ["recall@10<-0.01"], by=["gold_tables"])
    small = [check.row.score.n for check in by_tables.checks if not check.can_fail]
    assert 0 < len(small) < len(by_tables.checks)
    assert max(small) < 9, "few questions of mini have four gold tables"
    assert "cannot fail: too few queries for the test." in by_tables.sentence


def test_documents(runs: Runs, baseline: Path) -> None:
    rules = ["recall@10<-0.01", "mrr<-0.9"]
    outcome = gate(baseline, runs.tfidf, rules)
    assert outcome.checks == gate(runs.bm25, runs.tfidf, rules).checks
    record = json.loads(json.dumps(outcome.to_json()))
    assert [check["verdict"] for check in record["checks"]] == ["failed", "passed"]
    assert record["checks"][0]["reason"] == (
        ".982 to .936, a difference of -.046 (-.077 to -.020) over 280 queries, p < .001"
    )
    suite = ElementTree.fromstring(outcome.junit())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.find("failure") is None for case in suite] == [False, True]
    assert r"| recall@10\<-0.01 | .982 | .936 | -.046 [-.077, -.020] |" in outcome.markdown()
    check = outcome.checks[1]
    row = replace(check.row, subset="town=\x1b[1mOslo\x00")  # no characters of XML
    odd = replace(check, row=row)
    (case,) = ElementTree.fromstring(replace(outcome, checks=(odd,)).junit())
    assert case.get("name") == "mrr<-0.9 [town=\ufffd[1mOslo\ufffd]"


def test_what_is_refused(runs: Runs, baseline: Path, tmp_path: Path) -> None:
    refused: list[tuple[Any, Path, str, type[Exception], str]] = [
        (baseline, runs.tfidf, "accuracy<-1", ConfigError, "unknown metric 'accuracy'"),
        (baseline, runs.tfidf, "recall@10<-1", ConfigError, r"never fails, .* 'recall@10<-0\.01'"),
        (baseline, runs.tfidf, "recall@10>0.01", ConfigError, "better .* higher is better for rec"),
        (
            *(baseline, runs.mixed, "mrr<-0.9", DataError),
            rf"^{re.escape(str(baseline))} and .* different tables",
        ),
        (tmp_path / "none.json", runs.tfidf, "mrr<-0.9", ConfigError, r"no such file.*--update"),
    ]
    for base, run, rule, error, message in refused:
        with pytest.raises(error, match=message):
            gate(base, run, [rule])
    with pytest.raises(ConfigError, match=rf"place of 2: .*{runs.tfidf.name}.*`runs list`"):
        gate(runs.root, runs.tfidf, ["mrr<-0.9"])
    with pytest.raises(ConfigError, match=r"alpha=1\.5"):
        gate(baseline, runs.tfidf, ["mrr<-0.9"], alpha=1.5)
    with pytest.raises(ConfigError, match=r"ends in \.json"):
        write_baseline(read_run(runs.bm25), tmp_path / "baseline.yaml")


def test_answers_from_rankings(runs: Runs, tmp_path: Path) -> None:
    """The file has what tells the rankings of its run, which lie elsewhere or nowhere."""
    path = tmp_path / "answers.json"
    write_baseline(read_run(runs.answers), path)
    rules = ["exact_match<-0.01"]
    same, other = gate(path, runs.answers, rules), gate(path, runs.other, rules)
    assert same.sentence == "The gate passed."
    assert same.to_records() == gate(runs.answers, runs.answers, rules).to_records()
    assert other.to_records() == gate(runs.answers, runs.other, rules).to_records()
    path.write_text(
        path.read_text().replace('"rankings": {\n  "run": "', '"rankings": {"run": "../')
    )
    with pytest.raises(StoreError, match="is not the name of a run"):
        gate(path, runs.answers, rules)


class Failing:
    """Fails on the first queries."""

    def __init__(self, n: int) -> None:
        self.n = n

    def generate(self, request: Any) -> str:
        self.n -= 1
        if self.n >= 0:
            raise ValueError("no")
        return "Oslo"


def test_failures_are_no_baseline(tmp_path: Path) -> None:
    target = TARGET(("question_answering", "mini"), out=tmp_path)
    failing = {n: only(target.run("bm25", generator=Failing(n), limit=4)) for n in (0, 1, 2, 4)}
    path = tmp_path / "base.json"
    with pytest.raises(ConfigError, match="cannot be a baseline: it failed on all of 4 queries"):
        write_baseline(failing[4], path)
    write_baseline(failing[0], path)
    with pytest.raises(
        ConfigError, match=r"base\.json was kept: .* failed on 1 of 4 queries, the run in it on 0"
    ):
        write_baseline(failing[1], path)
    path.unlink()
    write_baseline(failing[2], path)
    write_baseline(failing[1], path)


DAMAGES: dict[str, Callable[[str], str]] = {
    "not JSON": lambda text: text[:-9],
    "a list": lambda _: "[]",
    "another format": lambda text: text.replace('baseline": 1', 'baseline": 2'),
    "a path for a name": lambda text: text.replace('"run": "', '"run": "../'),
    "not base64": lambda text: text.replace('parquet": "', 'parquet": "%'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_baseline(runs: Runs, baseline: Path, damage: str) -> None:
    baseline.write_text(DAMAGES[damage](baseline.read_text()))
    with pytest.raises(StoreError, match=r"baseline\.json: is not a baseline file .*--update"):
        gate(baseline, runs.tfidf, ["mrr<-0.9"])


def test_edited_scores_in_a_baseline(runs: Runs, baseline: Path) -> None:
    """The seals of the run still hold in the file; the message names this file, not a copy."""
    text = baseline.read_text()
    assert '\\"n\\": 280' in text
    baseline.write_text(text.replace('\\"n\\": 280', '\\"n\\": 281', 1))
    with pytest.raises(StoreError) as caught:
        gate(baseline, runs.tfidf, ["mrr<-0.9"])
    assert str(caught.value) == (
        f"{baseline}: damaged ({runs.bm25.name}/scores.json: cannot be read (it has changed "
        f"since it was written)); write it again with "
        f"target-bench gate {baseline} --run RUN --update"
    )
