"""Factors: what varies between runs, and the level of each."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench.reporting.conclusions.factors import DEFAULT, NONE, factors
from target_bench.runs.manifest import Identity, Manifest
from target_bench.runs.result import Result
from tests.builders import ASKED, run_identity


def _factors(*asked: dict[str, Any] | str) -> dict[str, tuple[str, ...]]:
    runs = []
    for words in asked:
        run = Result(Path("runs") / "retrieval-mini-test-0123456789ab")
        more = {"retriever": words} if isinstance(words, str) else words
        identity = Identity(run_identity(top_k=[10]))
        run.__dict__["manifest"] = Manifest("a", identity, replace(ASKED, **more))
        runs.append(run)
    return {factor.name: factor.of_run for factor in factors(runs)}


def test_settings_of_one_retriever() -> None:
    assert _factors("bm25:k1=0.9,b=0.4", "bm25:k1=1.2,b=0.4", "bm25:k1=1.2,b=0.5") == {
        "k1": ("0.9", "1.2", "1.2"),
        "b": ("0.4", "0.4", "0.5"),
    }


def test_a_setting_at_its_default_and_one_that_there_is_not() -> None:
    assert _factors("bm25", "bm25:k1=1.2", "lsa") == {
        "retriever": ("bm25", "bm25", "lsa"),
        "k1": (DEFAULT, "1.2", NONE),
    }


def test_what_all_runs_of_a_retriever_share_belongs_to_it() -> None:
    assert _factors("bm25:k1=0.9", "lsa:dims=20") == {"retriever": ("bm25", "lsa")}


def test_settings_that_vary_together_are_one() -> None:
    found = _factors("bm25:k1=0.9,b=0.4", "bm25:k1=1.2,b=0.7")
    assert found == {"k1, b": ("0.9, 0.4", "1.2, 0.7")}


def test_equal_names_of_two_plugins_keep_their_kind() -> None:
    runs = [
        {"retriever": f"lsa:seed={a}", "generator": f"mine.py:Mine:seed={b}"}
        for a in (1, 2)
        for b in (3, 4)
    ]
    assert list(_factors(*runs)) == ["retriever.seed", "generator.seed"]


def test_levels_are_in_their_natural_order() -> None:
    runs = [Result(Path("runs") / "retrieval-mini-test-0123456789ab") for _ in range(3)]
    for run, k1 in zip(runs, ("10", "9", "1e1"), strict=True):
        words = replace(ASKED, retriever=f"bm25:k1={k1}")
        run.__dict__["manifest"] = Manifest("a", Identity(run_identity(top_k=[1])), words)
    (factor,) = factors(runs)
    assert factor.levels == ["9", "10", "1e1"]


def test_options_of_prompts_and_distractors() -> None:
    runs = [
        {"prompting": {"tables": n}, "distractors": mixed}
        for n in (1, 5)
        for mixed in ((), ("ottqa:n=9",))
    ]
    assert _factors(*runs) == {
        "distractors": ("none", "ottqa:n=9") * 2,
        "tables": ("1", "1", "5", "5"),
    }
