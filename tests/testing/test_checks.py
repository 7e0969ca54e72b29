"""The checks pass what keeps the contract, and name what does not; what an author is told."""

from pathlib import Path
from typing import Any
from unittest import SkipTest

import pytest

from target_bench.core.errors import ConfigError, PluginError
from target_bench.testing import (
    CheckError,
    Report,
    check_corpus,
    check_generator,
    check_retriever,
    retriever_checks,
    run,
)
from tests.testing import broken, test_corpora, test_generators
from tests.testing.sound import Plain, Sound

BUILT_INS = (
    "bm25",
    "bm25:method=bm25+,fields=[header,rows],format=markdown",
    "bm25:fields=[[title],[header],[rows]],weights=[1,2,3],rows=2,stemmer=none,stopwords=none",
    "bm25:backend=rank-bm25",
    "bm25:backend=rank-bm25,method=plus",
    "tfidf",
    "tfidf:ngram=2",
    "lsa",
    "lsa:dims=3,seed=1",
    "random",
    "random:seed=3",
)
"""Those that need no model."""

N_CHECKS = len(retriever_checks(Sound))


def _report(retriever: Any, **options: Any) -> Report:
    return run("it", retriever_checks(retriever, **options))


@pytest.mark.parametrize("spec", BUILT_INS)
def test_built_ins_keep_the_contract(spec: str) -> None:
    if "rank-bm25" in spec:
        pytest.importorskip("rank_bm25")
    report = check_retriever(spec)
    without = {"batch"} if spec.startswith("random") else set()
    assert {outcome.check for outcome in report.skipped} == without


@pytest.mark.parametrize("check", retriever_checks(lambda: Sound(bonus=0.5)), ids=str)
def test_checks_are_parameters_for_pytest(check: Any) -> None:
    if check.name == "batch":
        with pytest.raises(SkipTest, match="no retrieve_batch"):
            check()
    else:
        check()


def test_two_methods_are_enough() -> None:
    report = check_retriever(Plain)
    assert {outcome.check for outcome in report.skipped} == {"batch", "save_load"}


@pytest.mark.parametrize(("cls", "check"), broken.RETRIEVERS)
def test_each_fault_is_named(cls: type, check: str) -> None:
    broken.expect_fault(retriever_checks, cls, check)


@pytest.mark.parametrize("cls", broken.STORED, ids=lambda cls: cls.__name__)
def test_each_fault_of_identity_and_index_is_named(cls: type) -> None:
    broken.expect_fault(retriever_checks, cls, (cls.__doc__ or "").removesuffix("."))


def test_most_checks_share_a_retriever() -> None:
    """Making one may take as long as loading a model."""
    made = []

    class Loaded(Sound):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    check_retriever(Loaded, skip={"save_load": "not now"})
    assert len(made) <= 20


class TwiceBroken(Sound):
    """Scores the wrong way round, and loses tables without rows."""

    def text(self, table: Any) -> str:
        return f"{super().text(table)} {table.rows[0]}"

    def scored(self, query: str) -> Any:
        return [(table_id, -score) for table_id, score in super().scored(query)]


class SortedBatch(Sound):
    """Rankings come in the order of the sorted queries."""

    def retrieve_batch(self, queries: Any, top_k: int) -> Any:
        return [self.retrieve(query, top_k) for query in sorted(queries)]


class ReturnsNone(Sound):
    """No ranking."""

    def retrieve(self, query: str, top_k: int) -> Any:
        return None


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
    report = check_retriever(Sound)
    lines = str(report).splitlines()
    assert lines[0] == f"Sound: {N_CHECKS - 1} checks passed, 0 failed, 1 skipped"
    assert lines[-1].startswith("  passed  basics, top_k, ")
    assert report.outcomes[0] == ("basics", "passed", "")


def test_what_cannot_start_is_reported_once() -> None:
    report = _report(ReturnsNone)
    assert [o.check for o in report.failed] == ["basics"]
    assert len(report.skipped) == N_CHECKS - 1
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
    assert check_retriever(Noisy, tolerance=0.01, skip={"top_k": "by 1e-3"})


def test_a_class_in_a_file_is_one_class(tmp_path: Path) -> None:
    """The file is read once, so that what its class shares is seen."""
    path = tmp_path / "shared.py"
    path.write_text(
        """
class Shared:
    def embed_corpus(self, corpus):
        Shared.ids = corpus.ids

    def retrieve(self, query, top_k):
        return list(Shared.ids[:top_k])
""",
        encoding="utf-8",
    )
    assert [o.check for o in _report(f"{path}:Shared").failed] == ["corpora"]


class NoMethods:
    """Is no retriever."""


@pytest.mark.parametrize(
    ("check", "plugin", "options", "message"),
    [
        (check_retriever, NoMethods, {}, "no method embed_corpus"),
        (check_retriever, Sound(), {}, "Sound is an object.*pass the class"),
        (check_retriever, 3, {}, "int is an object"),
        (check_retriever, "bm26", {}, "Did you mean bm25"),
        (check_retriever, "bm25:k2=1", {}, "unknown setting 'k2'"),
        (check_retriever, "oracle", {}, "declares reads_gold"),
        (check_retriever, Sound, {"skip": {"topk": "no"}}, "check 'topk'. Did you mean top"),
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
