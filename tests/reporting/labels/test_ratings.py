"""Ratings of answers: what is asked, what comes back, and how metrics correlate with it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr

from target_bench import evaluate
from target_bench.core.errors import ConfigError, DataError
from target_bench.reporting.labels.ratings import (
    compare_ratings,
    rating_agreement,
    rating_items,
    read_ratings,
)
from target_bench.runs.result import Result
from target_bench.tables.compared_tables import ERROR_TYPES
from tests.reporting.labels.conftest import write_records
from tests.reporting.report.written import ranked


def _rated(items: list[Any], **replies: Any) -> list[dict[str, Any]]:
    return [{**item.key, **replies} for item in items]


def test_a_form_asks_the_four_axes_of_totto(described: Result) -> None:
    items = rating_items([described.folder], sample=4)
    assert len(items) == 4
    for item in items:
        names = [criterion.name for criterion in item.criteria]
        n = sum(text[0].startswith("reference") for text in item.texts)
        information = [f"information_{number}" for number in range(1, n + 1)]
        assert names == ["fluency", "faithfulness", "covered_cells", *information]
        (table,) = item.tables
        assert len(table["marked"]) == item.key["cells"] == len(item.criteria[2].options) - 1
        hidden = repr(item).lower()
        assert not [word for word in ("template", described.folder.name) if word in hidden]
    again = [item.key for item in rating_items([described.folder], sample=4)]
    assert again == [item.key for item in items]
    assert again != [item.key for item in rating_items([described.folder], sample=4, seed=1)]


def test_struc_bench_asks_about_content_format_and_errors(tabled: Result, tmp_path: Path) -> None:
    items = rating_items([tabled.folder], sample=2)
    assert [criterion.name for criterion in items[0].criteria] == [
        "content",
        "format",
        *ERROR_TYPES,
    ]
    file = write_records(tmp_path, _rated(items, content=10, format="3", structure=1))
    (ratings,) = read_ratings([file], [tabled])
    for criterion, expected in (("content", 10), ("format", 3), ("structure", 1)):
        assert {*ratings[criterion]["ann"].values()} == {expected}


def test_abilities_of_two_runs_are_rated_side_by_side(
    tabled: Result, answers: dict[str, Result], tmp_path: Path
) -> None:
    """The mean ratings of a run are its ability map, from 0 to 1 as the computed one."""
    other = answers["extracted tables"]
    assert tabled.report is not None
    items = rating_items([tabled.folder, other.folder], "abilities", sample=2)
    *names, last = [criterion.name for criterion in items[0].criteria]
    assert names == [f"{name}_{x}" for name in tabled.report["abilities"] for x in "ab"]
    assert last == "better"
    assert [name for name, _ in items[0].texts][:2] == ["answer A", "answer B"]
    key = tabled.identity.key
    replies = [
        {**i.key, "better": "A", **{f"coverage_{x}": 9 if i.key[x] == key else 4 for x in "ab"}}
        for i in items
    ]
    ratings = read_ratings([write_records(tmp_path, replies)], [tabled, other])
    assert [{*rated["coverage"]["ann"].values()} for rated in ratings] == [{0.9}, {0.4}]
    assert rating_agreement(tabled, ratings[0])["means"]["coverage"] == pytest.approx(0.9)
    assert sum(ratings[0]["better"]["ann"].values()) == sum(i.key["a"] == key for i in items)
    alone = rating_items([tabled.folder], "abilities", sample=2)
    (rated,) = read_ratings([write_records(tmp_path, _rated(alone, reasoning=10))], [tabled])
    assert {*rated["reasoning"]["ann"].values()} == {1}


def test_correlations_with_metrics_and_between_raters(described: Result, tmp_path: Path) -> None:
    items = rating_items([described.folder])
    ann = [
        {**item.key, "fluency": i % 3, "covered_cells": item.key["cells"]}
        for i, item in enumerate(items)
    ]
    bob = [{**item.key, "fluency": (i * i) % 3} for i, item in enumerate(items)]
    files = [write_records(tmp_path, ann), write_records(tmp_path, bob, "bob.json")]
    (ratings,) = read_ratings(files, [described])
    assert {*ratings["coverage"]["ann"].values()} == {1}
    agreement = rating_agreement(described, ratings)
    assert agreement["answers"] == len(items)
    assert {name for _, name, _ in agreement["metrics"]} == set(described.scores)
    ids = [str(item.key["query_id"]) for item in items]
    at = [list(described.query_ids).index(name) for name in ids]
    metric = next(iter(described.per_query))
    mean = [(i % 3 + (i * i) % 3) / 2 for i in range(len(items))]
    expected = pearsonr(mean, np.asarray(described.per_query[metric])[at])[0]
    (same,) = [c for *names, c in agreement["metrics"] if names == ["fluency", metric]]
    assert same.pearson.value == pytest.approx(expected)
    ((criterion, names, between),) = agreement["raters"]
    assert (criterion, names, between.n) == ("fluency", "ann and bob", len(items))


def test_two_outputs_side_by_side(
    described: Result, described_by_gold: Result, tmp_path: Path
) -> None:
    gold = described_by_gold
    items = rating_items([described.folder, gold.folder], sample=8)
    firsts = {item.key["a"] for item in items}
    assert firsts == {described.identity.key, gold.identity.key}, "either may be on the left"
    for item in items:
        shown = dict(item.texts)
        for side in "ab":
            run = gold if item.key[side] == gold.identity.key else described
            answer = run.answers[str(item.key["query_id"])].generation.text
            assert shown[f"answer {side.upper()}"] == answer
    records = [
        {**item.key, "better": "A" if item.key["a"] == gold.identity.key else "B"} for item in items
    ]
    records[0]["better"] = "tie"
    file = write_records(tmp_path, records)
    ours, theirs = read_ratings([file], [gold, described])
    assert sorted(ours["better"]["ann"].values()) == [0.5] + [1.0] * 7
    assert sorted(theirs["better"]["ann"].values()) == [0.0] * 7 + [0.5]
    (row,) = compare_ratings(ours, theirs)
    assert (row["n"], row["difference"]) == (8, pytest.approx(0.875))
    assert row["p"] == pytest.approx(2 / 2**7), "the tie decides nothing"


def test_the_four_axes_of_two_systems(
    described: Result, described_by_gold: Result, tmp_path: Path
) -> None:
    """Shares as in Table 6 of the paper on ToTTo, and their difference."""
    gold = described_by_gold
    items = rating_items([gold.folder, described.folder], "totto", sample=10)
    runs = [item.key["run"] for item in items]
    assert len(items) == 20
    assert runs != sorted(runs) != runs[::-1], "mixed"
    records = []
    for item in items:
        is_gold = item.key["run"] == gold.identity.key
        names = [c.name for c in item.criteria if c.name.startswith("information")]
        compared = {name: 1 if not is_gold and i == 0 else 0 for i, name in enumerate(names)}
        records.append({**item.key, "fluency": 2 if is_gold else 1, "faithfulness": 1, **compared})
    ratings = read_ratings([write_records(tmp_path, records)], [gold, described])
    rows = {row["criterion"]: row for row in compare_ratings(*ratings)}
    assert (rows["fluent"]["first"], rows["fluent"]["second"]) == (1, 0)
    assert rows["fluent"]["p"] == pytest.approx(2 / 2**10)
    assert (rows["faithfulness"]["difference"], rows["faithfulness"]["p"]) == (0, 1)
    assert (rows["less"]["second"], rows["more"]["first"]) == (0, 0)
    assert 1 / 3 <= rows["more"]["second"] <= 1 / 2
    assert rows["neutral"]["second"] == pytest.approx(1 - rows["more"]["second"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"run": "0"}, "is of the run '0', and .* name the run whose form was filled in"),
        ({"query_id": "x"}, "the run has no answer to this query"),
        ({"fluency": 3}, "fluency: expected one of 0, 1, 2, found 3"),
        ({"fluency": True}, "fluency: expected one of"),
        ({"covered_cells": 99}, "covered_cells: expected one of"),
        ({"fluency": None}, "no answer is rated"),
    ],
)
def test_broken_ratings(
    change: dict[str, Any], message: str, described: Result, tmp_path: Path
) -> None:
    (record,) = _rated(rating_items([described.folder], sample=1), fluency=1)
    file = write_records(tmp_path, json.dumps([record | change]))
    with pytest.raises(DataError, match=rf"ann\.json: .*{message}"):
        read_ratings([file], [described])


def test_faults(described: Result, tabled: Result, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="side-by-side is of two runs"):
        rating_items([described.folder], "side-by-side")
    with pytest.raises(ConfigError, match="no query has highlighted cells"):
        rating_items([tabled.folder], "totto")
    (rankings,) = ranked(tmp_path / "runs", "bm25", top_k=1)
    evaluate("bm25", "mini", task="qa", limit=2, out=tmp_path / "qa")
    for folders in ([rankings], sorted((tmp_path / "qa").glob("*mini*"))):  # answers, rankings
        with pytest.raises(ConfigError, match="people rate answers"):
            rating_items(folders)
    with pytest.raises(ConfigError, match="side-by-side is of two runs"):
        rating_items([tabled.folder, tabled.folder], "side-by-side")
