"""How checks are run, skipped and reported, and mistakes of who calls them."""

from typing import Any
from unittest import SkipTest

import pytest

from target_bench.core.errors import ConfigError, PluginError
from target_bench.testing import (
    Check,
    CheckError,
    check_generator,
    check_retriever,
    retriever_checks,
    run,
)
from tests.testing import test_generators
from tests.testing.test_retrievers import Sound


@pytest.mark.parametrize("check", retriever_checks(lambda: Sound(bonus=0.5)), ids=str)
def test_checks_are_parameters_for_pytest(check: Check) -> None:
    if check.name == "batch":
        with pytest.raises(SkipTest, match="no retrieve_batch"):
            check()
    else:
        check()


class TwiceBroken(Sound):
    """Scores the wrong way round, and loses tables without rows."""

    def text(self, table: Any) -> str:
        return f"{super().text(table)} {table.rows[0]}"

    def scored(self, query: str) -> Any:
        return [(table_id, -score) for table_id, score in super().scored(query)]


def test_one_error_lists_all_faults_with_remedies() -> None:
    with pytest.raises(CheckError) as caught:
        check_retriever(TwiceBroken)
    text = str(caught.value)
    assert text.splitlines()[1] == "  failed  top_k"
    parts = ("  failed  inputs", "return -distance", "raised IndexError", "  skipped batch")
    assert all(part in text for part in parts)
    assert isinstance(caught.value, PluginError)
    assert isinstance(caught.value, AssertionError)


def test_a_report_prints() -> None:
    report = check_retriever(Sound, skip={"corpora": "not now"})
    n_passed = len(report.outcomes) - 2
    lines = str(report).splitlines()
    assert lines[0] == f"Sound: {n_passed} checks passed, 0 failed, 2 skipped"
    assert lines[3:5] == ["  skipped corpora", "    not now"]
    assert lines[5].startswith("  passed  basics, top_k, ")
    assert run("mine.py:Mine:api_key=sk-1", []).plugin == "mine.py:Mine:api_key=***"


def test_what_cannot_start_is_reported_once() -> None:
    class ReturnsNone(Sound):
        def retrieve(self, query: str, top_k: int) -> Any:
            return None

    report = run("it", retriever_checks(ReturnsNone))
    assert [outcome.check for outcome in report.failed] == ["basics"]
    assert len(report.skipped) == len(report.outcomes) - 1
    assert str(report).count("not run, because basics failed") == 1


class NoMethods:
    """Is no retriever."""


@pytest.mark.parametrize(
    ("check", "plugin", "options", "message"),
    [
        (check_retriever, NoMethods, {}, "no method embed_corpus"),
        (check_retriever, Sound(), {}, "Sound is an object.*pass its class"),
        (check_retriever, 3, {}, "int is an object"),
        (check_retriever, "bm26", {}, "Did you mean bm25"),
        (check_retriever, "bm25:k2=1", {}, "unknown setting 'k2'"),
        (check_retriever, "oracle", {}, "declares reads_gold"),
        (check_retriever, Sound, {"skip": {"topk": "no"}}, "check 'topk'. Did you mean top"),
        (check_generator, test_generators.Sound(), {}, "Sound is an object"),
        (check_generator, "extractive:size=2", {}, "unknown setting 'size'"),
    ],
)
def test_mistakes_of_the_call(
    check: Any, plugin: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        check(plugin, **options)
