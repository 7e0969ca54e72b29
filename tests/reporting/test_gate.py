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

from target_bench import TARGET, gate
from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.reporting.gate import Rule, parse_rule
from target_bench.runs.baseline_file import opened_baseline, write_baseline
from target_bench.runs.result import read_run
from tests.builders import only
from tests.runs.stored import Runs, copied


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return copied(tmp_path)


@pytest.fixture
def baseline(runs: Runs, tmp_path: Path) -> Path:
    path = tmp_path / "ci" / "baseline.json"
    write_baseline(read_run(runs.bm25), path)
    return path


@given(
    st.sampled_from(["recall@10", "recall[db]@1", "mrr", "P(rel=2)@5"]),
    st.floats(0, 100),
    st.booleans(),
)
def test_rules_are_read_as_they_are_written(metric: str, size: float, lower: bool) -> None:
    rule = Rule(metric, "<", -size) if lower else Rule(metric, ">", size)
    assert parse_rule(str(rule)) == rule
    assert parse_rule(f" {rule} ") == rule
    assert not rule.broken_by(0)
    assert rule.broken_by(rule.limit * 2 + (-1 if lower else 1))


@pytest.mark.parametrize(
    "text", ["", "recall@10", "<-0.1", "recall@10<", "recall@10<=-.1", "a<nan"]
)
def test_what_is_not_a_rule(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a rule"):
        parse_rule(text)


@pytest.mark.parametrize("text", ["recall@10<0.9", "tokens>-1"])
def test_a_rule_that_an_equal_run_breaks(text: str) -> None:
    with pytest.raises(ConfigError, match="a run that is equal to the baseline would fail"):
        parse_rule(text)


def test_a_run_is_no_worse_than_itself(runs: Runs) -> None:
    """As in continuous integration where nothing changed; a rule named twice counts once."""
    (check,) = gate(runs.bm25, runs.bm25, ["recall@10<-0.01", "recall@10<-0.010"]).checks
    assert (check.verdict, check.difference.value) == ("passed", 0.0)


def test_verdicts(runs: Runs, baseline: Path) -> None:
    """Of a drop that is real, of one that is noise, and of one within the limit."""
    found = gate(baseline, runs.tfidf, ["recall@10<-0.01"], by=["task"])
    assert {c.slice: c.verdict for c in found.checks} == {
        "task=fact_verification": "passed",
        "task=question_answering": "within noise",
        "task=text_to_sql": "failed",
    }
    assert found.failed
    assert "The gate failed: recall@10<-0.01 of task=text_to_sql. " in found.sentence
    assert found.sentence.endswith(
        " Beyond the limit, but not failed, because the paired test shows no difference at the "
        "level 0.05: recall@10<-0.01 of task=question_answering."
    )
    assert "recall@10: 144 or 57 queries are likely to show differences from .0" in found.shown[0]
    assert found.shown[0] in found.markdown()
    assert not gate(baseline, runs.tfidf, ["recall@10<-0.2"], by=["task"]).failed


def test_queries_that_are_too_few_to_fail(tmp_path: Path) -> None:
    """With five, no difference has a p-value below 0.0625; with six, of two tests, below 0.0625."""
    mini = TARGET(("retrieval", "mini"), out=tmp_path)
    bm25, random = (
        {n: only(mini.run(name, limit=n)) for n in (5, 6)} for name in ("bm25", "random")
    )
    with pytest.raises(ConfigError, match=r"cannot fail: .* of 5 queries, corrected for 1 test,"):
        gate(bm25[5], random[5], ["recall@10<-0.01"])
    assert gate(bm25[5], random[5], ["recall@10<-0.01"], alpha=0.1).failed
    assert gate(bm25[6], random[6], "recall@10<-0.01").checks[0].can_fail
    with pytest.raises(ConfigError, match="corrected for 2 tests"):
        gate(bm25[6], random[6], ["recall@10<-0.01", "mrr<-0.01"])


def test_a_slice_that_is_too_small_to_fail(runs: Runs) -> None:
    """``mini`` has questions with four gold tables, but few."""
    found = gate(runs.bm25, runs.tfidf, ["recall@10<-0.01"], by=["gold_tables"])
    few = [check for check in found.checks if not check.can_fail]
    assert few
    assert len(few) < len(found.checks)
    assert all(check.n < 9 for check in few)
    assert "cannot fail: there are too few queries for the test." in found.sentence


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("recall@10<-1", r"never fails, .* from 0 to 1; for one point .* 'recall@10<-0\.01'"),
        ("recall@10>0.01", "fails runs that are better .* higher is better for recall@10"),
    ],
)
def test_rules_that_make_no_sense(runs: Runs, rule: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        gate(runs.bm25, runs.tfidf, [rule])


def test_a_stored_run_is_the_same_baseline(runs: Runs, baseline: Path) -> None:
    rules = ["recall@10<-0.01", "mrr<-0.9"]
    of_file, of_run = (gate(one, runs.tfidf, rules) for one in (baseline, runs.bm25))
    assert of_file.checks == of_run.checks
    assert [check.verdict for check in of_file.checks] == ["failed", "passed"]


def test_the_run_itself_made_again(runs: Runs, baseline: Path) -> None:
    found = gate(baseline, runs.bm25, ["recall@10<0"])
    assert (found.checks[0].difference.value, found.failed) == (0, False)
    assert found.run == runs.bm25


def test_documents(runs: Runs, baseline: Path) -> None:
    found = gate(baseline, runs.tfidf, ["recall@10<-0.01", "mrr<-0.9"])
    record = json.loads(json.dumps(found.to_json()))
    assert [one["verdict"] for one in record["checks"]] == ["failed", "passed"]
    assert record["checks"][0]["reason"] == (
        ".988 to .936, a difference of -.051 (-.083 to -.026) over 280 queries, p < .001"
    )
    suite = ElementTree.fromstring(found.junit())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.find("failure") is None for case in suite] == [False, True]
    assert r"| recall@10\<-0.01 | .988 | .936 | -.051 |" in found.markdown()


def test_junit_of_a_slice_with_control_characters(runs: Runs, baseline: Path) -> None:
    found = gate(baseline, runs.tfidf, ["mrr<-0.9"])
    checks = (replace(check, slice="town=\x1b[1mOslo\x00") for check in found.checks)
    odd = replace(found, checks=tuple(checks))
    (case,) = ElementTree.fromstring(odd.junit())
    assert case.get("name") == "mrr<-0.9 [town=\ufffd[1mOslo\ufffd]"


def test_what_is_refused(runs: Runs, baseline: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"alpha=1\.5"):
        gate(baseline, runs.tfidf, ["mrr<-0.9"], alpha=1.5)
    with pytest.raises(ConfigError, match="no metric 'accuracy'"):
        gate(baseline, runs.tfidf, ["accuracy<-1"])
    with pytest.raises(DataError, match=rf"^{re.escape(str(baseline))} and .* different tables"):
        gate(baseline, runs.mixed, ["mrr<-0.9"])
    with pytest.raises(ConfigError, match=r"no such file.*--update"):
        gate(tmp_path / "none.json", runs.tfidf, ["mrr<-0.9"])
    with pytest.raises(ConfigError, match=r"ends in \.json"):
        write_baseline(read_run(runs.bm25), tmp_path / "baseline.yaml")


def test_answers_from_rankings(runs: Runs, tmp_path: Path) -> None:
    """The file has what tells the rankings of its run, which lie elsewhere or nowhere."""
    path = tmp_path / "answers.json"
    write_baseline(read_run(runs.answers), path)
    rules = ["exact_match<-0.01"]
    same, other = gate(path, runs.answers, rules), gate(path, runs.other, rules)
    assert same.sentence == "The gate passed."
    assert other.checks == gate(runs.answers, runs.other, rules).checks
    assert gate(runs.answers, runs.answers, rules).checks == same.checks
    path.write_text(
        path.read_text().replace('"rankings": {\n  "run": "', '"rankings": {"run": "../')
    )
    with pytest.raises(StoreError, match="is not the name of a run"):
        gate(path, runs.answers, rules)


class Failing:
    """Fails on the first queries; ``extractive`` of nothing on the others."""

    def __init__(self, n: int) -> None:
        self.n = n

    def generate(self, request: Any) -> str:
        self.n -= 1
        if self.n >= 0:
            raise ValueError("no")
        return "Oslo"


def test_failures_are_no_baseline(tmp_path: Path) -> None:
    target = TARGET(("question_answering", "mini"), out=tmp_path)
    runs = {n: only(target.run("bm25", generator=Failing(n), limit=4)) for n in (0, 1, 2, 4)}
    path = tmp_path / "base.json"
    with pytest.raises(ConfigError, match="is no baseline: it failed on all of 4 queries"):
        write_baseline(runs[4], path)
    write_baseline(runs[0], path)
    with pytest.raises(ConfigError, match=r"failed on 1 of 4 queries, that of .*base\.json on 0"):
        write_baseline(runs[1], path)
    path.unlink()
    write_baseline(runs[2], path)
    write_baseline(runs[1], path)


DAMAGES: dict[str, Callable[[str], str]] = {
    "not JSON": lambda text: text[:-9],
    "a list": lambda _: "[]",
    "another format": lambda text: text.replace('baseline": 1', 'baseline": 2'),
    "a path for a name": lambda text: text.replace('"run": "', '"run": "../'),
    "files that are a list": lambda text: json.dumps(json.loads(text) | {"files": [1]}),
    "not base64": lambda text: text.replace('parquet": "', 'parquet": "%'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_baseline(baseline: Path, damage: str, tmp_path: Path) -> None:
    baseline.write_text(DAMAGES[damage](baseline.read_text()))
    with (
        pytest.raises(StoreError, match=r"baseline\.json: is not a baseline file .*--update"),
        opened_baseline(baseline, Path("runs"), tmp_path),
    ):
        pass


def test_edited_scores_in_a_baseline(runs: Runs, baseline: Path) -> None:
    """The seals of the run still hold in the file; the message names this file, not a copy."""
    text = baseline.read_text()
    assert '\\"n\\": 280' in text
    baseline.write_text(text.replace('\\"n\\": 280', '\\"n\\": 281', 1))
    with pytest.raises(StoreError) as caught:
        gate(baseline, runs.tfidf, ["mrr<-0.9"])
    assert str(caught.value) == (
        f"{baseline}: damaged ({runs.bm25.name}/scores.json: cannot be read (it is not what was "
        f"written)); write it again with target-bench gate {baseline} --run RUN --update"
    )
