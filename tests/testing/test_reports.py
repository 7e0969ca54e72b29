"""What an author is told, and what is a mistake of the call."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import ConfigError, PluginError
from target_bench.testing import (
    CheckError,
    check_corpus,
    check_generator,
    check_retriever,
    retriever_checks,
    run,
)
from tests.testing import broken, test_corpora, test_generators
from tests.testing.sound import Sound

N_CHECKS = len(retriever_checks(Sound))

ON_THE_CLASS = """
class Shared:
    texts = []

    def embed_corpus(self, corpus):
        Shared.ids = corpus.ids

    def retrieve(self, query, top_k):
        return list(Shared.ids[:top_k])
"""


class TwiceBroken(broken.Distances):
    """Scores the wrong way round, and loses tables without rows."""

    def text(self, table: Any) -> str:
        return f"{super().text(table)} {table.rows[0]}"


def test_one_error_lists_all_faults() -> None:
    with pytest.raises(CheckError) as caught:
        check_retriever(TwiceBroken)
    text = str(caught.value)
    assert text.startswith("TwiceBroken: ")
    assert text.splitlines()[1] == "  failed  best_first"
    for part in (
        "failed  best_first",
        "failed  tables",
        "return -distance",
        "raised IndexError",
        "skipped batch",
    ):
        assert part in text
    assert isinstance(caught.value, PluginError)
    assert isinstance(caught.value, AssertionError)


def test_a_report_prints_and_counts() -> None:
    report = check_retriever(Sound)
    lines = str(report).splitlines()
    assert lines[0] == f"Sound: {N_CHECKS - 1} checks passed, 0 failed, 1 skipped"
    assert lines[-1].startswith("  passed  basics, top_k, ")
    found = json.loads(json.dumps(report.to_json()))
    assert found["plugin"] == "Sound"
    assert [o["status"] for o in found["outcomes"]].count("passed") == N_CHECKS - 1


def test_differing_rankings_are_shown_where_they_differ() -> None:
    (failed,) = run("it", retriever_checks(broken.SortedBatch)).failed
    first, got, expected, _ = failed.detail.splitlines()
    assert first.endswith(" got other tables or scores from retrieve_batch than from retrieve:")
    assert got.split("]")[0] != expected.split("]")[0]


def test_what_cannot_start_is_reported_once() -> None:
    report = run("it", retriever_checks(broken.ReturnsNone))
    assert [o.check for o in report.failed] == ["basics"]
    assert not report.passed
    assert str(report).count("not run, because basics failed") == 1


def test_small_differences_are_within_the_tolerance() -> None:
    class Noisy(Sound):
        """Batches are added up in another order."""

        def retrieve_batch(self, queries: Any, top_k: int) -> Any:
            return [
                [(t, s * (1 + (-1) ** i * 1e-3)) for i, (t, s) in enumerate(self.scored(q)[:top_k])]
                for q in queries
            ]

    with pytest.raises(CheckError, match="batch"):
        check_retriever(Noisy)
    assert check_retriever(Noisy, tolerance=0.01, skip={"best_first": "by 1e-3"})


def test_a_class_in_a_file_is_one_class(tmp_path: Path) -> None:
    """The file is read once, so that what its class shares is seen."""
    path = tmp_path / "shared.py"
    path.write_text(ON_THE_CLASS, encoding="utf-8")
    report = run("it", retriever_checks(f"{path}:Shared"))
    assert [o.check for o in report.failed] == ["corpora"]


@pytest.mark.parametrize(
    ("check", "plugin", "options", "message"),
    [
        (check_retriever, Sound(), {}, "Sound is an object.*pass the class"),
        (check_retriever, 3, {}, "int is an object"),
        (check_retriever, "bm26", {}, "Did you mean bm25"),
        (check_retriever, "bm25:k2=1", {}, "unknown setting 'k2'"),
        (check_retriever, "bm25", {"settings": {"k1": "much"}}, "k1='much'"),
        (
            check_retriever,
            Sound,
            {"skip": {"topk": "no"}},
            "unknown check 'topk'. Did you mean top",
        ),
        (check_generator, test_generators.Sound(), {}, "Sound is an object.*pass the class"),
        (check_generator, "extractive:size=2", {}, "unknown setting 'size'"),
        (check_corpus, test_corpora.Sound(), {}, "Sound is an object.*pass the class"),
        (check_corpus, "mimi", {}, "Did you mean mini"),
        (check_corpus, "mini:size=2", {}, "unknown setting 'size'"),
    ],
)
def test_mistakes_of_the_call(
    check: Any, plugin: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        check(plugin, **options)
