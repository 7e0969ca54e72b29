"""The arena on mini: people, known errors, weights, a judge, and the page."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.schema import Dataset, GenerationRequest
from target_bench.data.select import load
from target_bench.harness.arena.arena import Arena, run_arena
from target_bench.harness.arena.comparison_sets import ranked_sets, tables_of
from target_bench.harness.arena.human_agreement import (
    FILE_ORDER,
    agreement_of,
    file_order,
    paired_tests,
)
from target_bench.harness.arena.known_errors import error_detection
from target_bench.harness.arena.tested_metrics import DEFAULT, metric_under_test
from target_bench.models.perturbations.drawing import CHANGES, draw
from target_bench.reporting.arena_page.page import write_page
from tests.browser import OpenPage


class Judge:
    """Says of every pair that it is half as good as can be, and of every text that it is another.

    Of the alignment it says what the rules say, but nothing of the first set.
    """

    def generate(self, request: GenerationRequest) -> str:
        prompt = request.messages[-1].content
        said: object = {"content_similarity": 5, "structural_similarity": 5}
        if request.query_id.endswith("#align"):
            if request.query_id.startswith("cmp-01"):
                return "I do not know."
            said = json.loads(prompt.split("first:\n")[1].splitlines()[0])
        elif request.query_id.endswith("#compare"):
            said = dict.fromkeys(re.findall(r"^(\d+)\. ", prompt, re.MULTILINE), "different")
        return f"```json\n{json.dumps(said)}\n```"


@pytest.fixture(scope="module")
def mini() -> Dataset:
    return load("mini")


@pytest.fixture(scope="module")
def found(mini: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Arena:
    own = tmp_path_factory.mktemp("own") / "own.py"
    own.write_text("def silent(reference, answer):\n    return float('nan')\n")
    drawn = draw(tables_of(mini), 90, seed=1)
    few = replace(mini, queries=tuple(q for q in mini.queries if q.id < "cmp-09"))
    return run_arena(few, [f"{own}:silent"], drawn.perturbations, Judge())


def test_mini_has_30_sets_of_our_own_ratings(mini: Dataset) -> None:
    sets = ranked_sets(mini)
    assert len(sets) == 30
    assert {len(one.pairs) for one in sets} == {5}
    assert all(one.answer.error is None for each in sets for one in each.pairs)
    assert abs(file_order(sets).means["spearman"].value) < 0.2


def test_people_and_known_errors(found: Arena) -> None:
    rho = {one.name: one.means["spearman"].value for one in found.people}
    judged = {"p_content", "p_structure", "tabxeval[judge]"}
    assert set(rho) == {*DEFAULT, FILE_ORDER, *judged, "silent"}
    *known, silent = rho.values()
    assert known == sorted(known, reverse=True)
    assert np.isnan(silent)
    assert [rho["equal"], rho["p_content"]] == [0, 0]
    assert rho["tabxeval"] > max(rho["teds"], rho["equal"])
    sensitivity = {one.name: one.sensitivity.value for one in found.errors}
    specificity = {one.name: one.specificity.value for one in found.errors}
    assert [sensitivity["equal"], specificity["equal"]] == [1, 0]
    assert sensitivity["tabxeval"] > 0.9
    assert specificity["tabxeval"] == 1
    assert np.isnan([sensitivity.pop("silent"), specificity.pop("silent")]).all()
    assert all(0 <= share <= 1 for share in (*sensitivity.values(), *specificity.values()))
    for one in found.errors:
        assert {*one.by_change} <= {*CHANGES}
        count = sum(share.n for share in one.by_change.values())
        assert count == (0 if one.name == "silent" else 90)
    assert len(found.tests) == len(rho) * (len(rho) - 1) // 2
    assert all(one.corrected >= one.p for one in found.tests)
    assert found.weights.drawn[0] <= found.weights.named["default"] <= 1


def test_rules_do_not_stand_in_for_a_model_that_does_not_answer(found: Arena) -> None:
    judged = next(one for one in found.people if one.name == "tabxeval[judge]")
    assert judged.n == found.sets - 1
    assert np.isnan(judged.rho).tolist() == [True] + [False] * judged.n


def test_figures_as_json(found: Arena) -> None:
    record = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert record["corpus"] == "mini test"
    assert len(record["people"][0]["rho"]) == record["sets"]
    assert {"sensitivity", "specificity", "auc"} <= set(record["errors"][0])


def test_page(found: Arena, tmp_path: Path, open_page: OpenPage) -> None:
    path = write_page(found, tmp_path / "arena.html")
    watched = open_page(path)
    page = watched.page
    assert page.title() == "Metrics of tables on mini test"
    assert page.locator("#people tbody").first.locator("tr").count() == len(found.people)
    assert page.locator("#arena-tests tbody tr").count() == len(found.tests)
    assert page.locator("#arena-board tbody tr").count() == len(found.people)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#people button.sort", has_text="footrule").click()
    first = page.locator("#people tbody tr").first.inner_text()
    assert first.split("\t")[0] != found.label(found.people[0].name)
    watched.check()


def test_page_that_cannot_be_written(found: Arena, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder; name a file"):
        write_page(found, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        write_page(found, tmp_path / "file" / "arena.html")


def test_a_set_with_a_table_that_has_no_score_is_left_out(mini: Dataset) -> None:
    sets = ranked_sets(mini)[:3]
    scores = [np.arange(5.0), np.array([1, 2, 3, 4, np.nan]), np.ones(5)]
    one = agreement_of("one", sets, scores, 1.0)
    assert (one.n, one.tied, one.pairs) == (2, 0.5, 15)
    assert np.isnan(one.rho).tolist() == [False, True, False]
    none = agreement_of("none", sets, [np.full(5, np.nan)] * 3, 0.0)
    assert none.n == 0
    assert np.isnan(none.means["rbo"].value)
    assert [test.p for test in paired_tests([one, none])] == [1.0]


def test_a_table_without_a_score_is_noticed(mini: Dataset, tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "def strict(reference, answer):\n    return 1.0 if answer == reference else float('nan')\n"
    )
    drawn = draw(tables_of(mini), 60, changes=["typo", "transposed"])
    found = error_detection(drawn.perturbations, metric_under_test(f"{own}:strict"))
    assert (found.sensitivity.value, found.specificity.value) == (1, 0)


def test_a_harmless_change_that_scores_more_than_the_reference_is_not_kept(
    mini: Dataset, tmp_path: Path
) -> None:
    own = tmp_path / "own.py"
    own.write_text("def odd(reference, answer):\n    return 1.0 if answer == reference else 2.0\n")
    drawn = draw(tables_of(mini), 60, changes=["typo", "transposed"])
    found = error_detection(drawn.perturbations, metric_under_test(f"{own}:odd"))
    assert (found.sensitivity.value, found.specificity.value) == (0, 0)
    assert {name: share.value for name, share in found.by_change.items()} == {
        "typo": 0,
        "transposed": 0,
    }


def test_data_without_rankings(mini: Dataset) -> None:
    with pytest.raises(ConfigError, match="mini has no tables ranked by people"):
        ranked_sets(replace(mini, queries=mini.queries[:3]))
    rated = [query for query in mini.queries if "rank" in query.metadata]
    with pytest.raises(DataError, match=r"cmp-01/0: the ranks .* are not 0 to 2"):
        ranked_sets(replace(mini, queries=tuple(rated[:3])))
    with pytest.raises(ConfigError, match="unknown metric 'tedz'"):
        run_arena(mini, ["tedz"])
    with pytest.raises(ConfigError, match="two of the metrics have the same name"):
        run_arena(mini, ["p_content"], judge=Judge())
