"""The declarations of metrics: complete, read back as they are printed, and found by name."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core import registry
from target_bench.core.built_in import BUILT_IN
from target_bench.core.errors import ConfigError
from target_bench.core.metric import Metric, MetricSpec, Score
from target_bench.core.schema import Query, TableId
from target_bench.core.task import Outputs, Predictions
from target_bench.data.load import load
from target_bench.harness.score import _compute_scores
from target_bench.metrics import scores as scores_module
from target_bench.metrics.bertscore import SPEC as BERT_SCORE
from target_bench.metrics.scores import (
    all_specs,
    find_spec,
    find_specs,
    is_built_in,
    make_default_metric,
    parse,
)
from target_bench.metrics.sql import DEFINITIONS as OF_SQL
from target_bench.models.text_metrics import DEFINITIONS as BY_MODELS
from target_bench.runs.score_tables import score_cell
from target_bench.tables.answer_tables import FORMATS
from target_bench.tables.table_metrics import DEFINITIONS as OF_TABLES

SPECS = {spec.name: spec for spec in all_specs()}
QUERIES = [
    Query(
        name,
        "?",
        (TableId("d", "t"),),
        "True",
        "d",
        {"values": ["True"], "format": name},
    )
    for name in FORMATS
]
SHARDS = replace(QUERIES[0], id="shards", gold=(TableId("d", "a_2020"), TableId("d", "a_2021")))
"""Its gold tables are one family."""

EVERYTHING: dict[str, dict[str, Any]] = {
    "text_to_sql": {"repeats": 3},
    "retrieval": {"sets": True},
}
"""Task -> the settings with which it has all of its metrics."""


def _metrics_of(task: str) -> list[Metric[Any]]:
    """Every metric that a task can return."""
    made = registry.build("task", task, EVERYTHING.get(task, {}))
    return list(made.metrics([*QUERIES, SHARDS], [1, 10]))


def test_every_metric_of_a_task_is_declared_and_every_declaration_is_of_one() -> None:
    judged = (OF_TABLES["p_content"], OF_TABLES["p_structure"], *BY_MODELS.values())
    by_name = (OF_SQL["unknown_table"], OF_SQL["unknown_column"])
    asked_for = (BERT_SCORE, *(definition.spec for definition in (*judged, *by_name)))
    met = {spec.name: spec for spec in asked_for}
    for task in BUILT_IN["task"]:
        for metric in _metrics_of(task):
            assert find_spec(metric.name) == metric.spec
            assert metric.spec.scores == registry.resolve("task", task).scores
            met[metric.spec.name] = metric.spec
    assert met == SPECS
    assert load("mini").info.tasks == tuple(BUILT_IN["task"])


@pytest.mark.parametrize("spec", SPECS.values(), ids=str)
def test_every_metric_has_a_definition_and_a_source(spec: MetricSpec) -> None:
    assert spec.description
    assert spec.source or spec.name.startswith("valid[")


NAMES = st.text(st.characters(exclude_characters="@", exclude_categories=("Z", "C")), min_size=1)


@pytest.mark.parametrize("spec", SPECS.values(), ids=str)
def test_every_name_is_read_back(spec: MetricSpec) -> None:
    k = 7 if spec.at_k else None
    assert parse(spec.at(k)) == (spec, k)
    assert is_built_in(spec.at(k))
    if spec.name not in ("bertscore", *BY_MODELS):  # which need a model
        made = make_default_metric(spec.at(k))
        assert made is not None
        assert (made.name, made.spec) == (spec.at(k), spec)


@given(
    st.builds(
        MetricSpec,
        name=NAMES,
        label=st.text(max_size=9),
        scores=st.text(max_size=9),
        at_k=st.booleans(),
        scale=st.sampled_from(["share", "percent", "unbounded"]),
        highest=st.one_of(st.none(), st.floats(0, 1e6)),
        digits=st.integers(0, 12),
        higher_is_better=st.booleans(),
        rank=st.one_of(st.none(), st.integers(0, 99)),
        needs=st.lists(st.text(max_size=9)).map(tuple),
        references=st.sampled_from(["any", "short", "long"]),
    )
)
def test_a_stored_declaration_is_read_back(spec: MetricSpec) -> None:
    assert MetricSpec.from_json(spec.to_json()) == spec
    score = Score(0.5, 0.25, 0.75, 4, "a|b", spec)
    assert Score.from_json(score.to_json()) == score
    assert Score.from_json(score.to_json()).spec == spec


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "expected an object with a name"),
        ({"label": "a"}, "expected an object with a name"),
        ({"name": "a b"}, "expected a name without white space"),
        ({"name": "a@3"}, "declared as recall with at_k=True"),
        ({"name": "a", "digits": "2"}, "digits="),
        ({"name": "a", "digits": 99}, "digits="),
        ({"name": "a", "scale": "inches"}, "scale="),
        ({"name": "a", "higher_is_better": 1}, "higher_is_better="),
        ({"name": "a", "needs": "x"}, "needs="),
    ],
)
def test_a_damaged_declaration(record: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MetricSpec.from_json(record)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("recal@10", "Did you mean recall"),
        ("recall", "write it with a cutoff, as in recall@10"),
        ("mrr@10", "it has no cutoff; write it as mrr"),
        ("recall@0", "expected a name, or a name and a cutoff"),
        ("recall@x", "expected a name, or a name and a cutoff"),
        ("", "expected a name"),
    ],
)
def test_names_that_are_not_those_of_metrics(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        parse(name)
    assert not is_built_in(name)
    assert make_default_metric(name) is None


TOY = MetricSpec("edits", "ED", scale="unbounded", digits=1, higher_is_better=False, rank=1)


class Edits(Metric[Any]):
    """The length of each text."""

    spec = TOY

    @property
    def signature(self) -> str:
        return "edits|length"

    def statistics(self, examples: Any) -> Any:
        return np.array([[len(text), 1.0] for text in examples])

    def value(self, totals: Any) -> Any:
        return totals[..., 0] / totals[..., 1]


def test_a_plugin_is_declared_beside_its_score() -> None:
    dataset = load("mini")
    two = Outputs(replace(dataset, queries=dataset.queries[:2]), Predictions())
    ids = [query.id for query in two.dataset.queries]
    scores, _, _ = _compute_scores([(Edits(), ["a", "abcd"], two)], ids)
    score = scores["edits"]
    assert (score.value, score.spec) == (2.5, TOY)
    stored = Score.from_json(score.to_json())
    assert find_spec("edits", stored) == find_spec("edits", score.to_json()) == TOY
    assert score_cell("edits", stored).splitlines()[0] == "2.5"
    assert find_spec("edits") == MetricSpec("edits")
    assert find_specs({"edits": stored, "recall@3": stored})["recall@3"] == SPECS["recall"]


def test_an_installed_plugin_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {"target_bench.metrics": {"edits": f"{__name__}:Edits"}}
    monkeypatch.setattr(registry, "_map_installed", lambda group, _path: entries.get(group, {}))
    assert parse("edits") == (TOY, None)
    assert find_spec("edits") == TOY
    assert isinstance(make_default_metric("edits"), Edits)
    assert TOY in all_specs()


def test_plugins_stand_for_a_run_by_their_rank() -> None:
    none = Score(0.5, 0.4, 0.6, 10, "")
    scores = {"recall@1": none, "recall@10": none, "other": none, "edits": none}
    ranked = {name: Score(0.5, 0.4, 0.6, 10, "", TOY) for name in ("edits",)}
    del scores["other"]
    assert scores_module.list_main_metrics({**scores, **ranked}) == ["edits"]
    assert scores_module.list_column_metrics({**scores, **ranked}) == ["recall@10", "edits"]


def test_the_first_metric_decides_whatever_its_rank() -> None:
    """It is the one that the task declares, of answers and of rankings."""
    none = Score(0.5, 0.4, 0.6, 10, "")
    scores = {"recall@1": none, "recall@10": none, "other": none, "edits": none}
    ranked = {name: Score(0.5, 0.4, 0.6, 10, "", TOY) for name in ("edits",)}
    assert scores_module.list_main_metrics({**scores, **ranked}) == ["other", "edits"]
    assert scores_module.list_main_metrics(scores) == ["other", "edits"]
    by_mrr = ["mrr", "recall@1", "recall@10"]
    assert scores_module.list_main_metrics(by_mrr) == by_mrr
    by_success = ["success@1", "success@10", "recall@1", "recall@10", "mrr"]
    assert scores_module.find_main_metric(by_success) == "success@10"
    assert (
        scores_module.find_main_metric(["recall@1", "recall@5", "recall@10", "mrr"], 5)
        == "recall@5"
    )
    assert scores_module.find_correctness_metric(["recall@1", "rougeL", "token_f1"]) == "token_f1"
    assert scores_module.find_correctness_metric(["recall@1", "rougeL"]) is None
