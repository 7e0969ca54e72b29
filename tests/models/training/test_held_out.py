"""No question and no gold table of a kept-out split gets into training."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError
from target_bench.data.table_text import Serializer
from target_bench.models.training import training_splits
from target_bench.models.training.held_out import contents_of
from target_bench.models.training.pairs import mined
from target_bench.models.training.training_record import words_hash
from target_bench.models.training.training_splits import Data
from tests.builders import Recorder
from tests.models.training.shops import shops


def _load(corpus: Path, heard: Recorder | None = None, **changes: Any) -> training_splits.Splits:
    settings = {"keep_out": ["test"], **changes}
    return training_splits.load(Data([corpus], **settings), heard or Recorder())


def test_nothing_overlaps(tmp_path: Path) -> None:
    found = _load(shops(tmp_path / "shops"), strict=True)
    assert len(found.train[0].queries) == 24
    assert found.left_out == ()


def test_copies_of_tables_are_left_out(tmp_path: Path) -> None:
    heard = Recorder()
    corpus = shops(tmp_path / "shops", copies=True)
    found = _load(corpus, heard)
    assert {q.id for q in found.train[0].queries}.isdisjoint({"t-fig", "u-fig"})
    assert len(found.train[0].queries) == 22
    assert heard.warnings == [
        "shops train: 2 of 24 questions are left out: 2 are about a copy of a gold table "
        "(kept out: shops test)"
    ]
    with pytest.raises(ConfigError, match=r"2 of 24 questions .* Without --strict"):
        _load(corpus, strict=True)
    shared = _load(corpus, shared_tables=True)
    assert len(shared.train[0].queries) == 24


def test_gold_tables_and_questions_are_left_out(tmp_path: Path) -> None:
    extra: list[dict[str, Any]] = [
        {"query_id": "a", "query": "Who  MINES it ?!", "table_id": "iron", "split": "train"},
        {"query_id": "b", "query": "another", "table_id": ["iron", "coal"], "split": "train"},
        {"query_id": "c", "query": " ", "table_id": "iron", "split": "train"},
        {"query_id": "s-coal-2", "query": "fine", "table_id": "iron", "split": "train"},
    ]
    heard = Recorder()
    found = _load(shops(tmp_path / "shops", extra), heard)
    kept = {q.id for q in found.train[0].queries}
    assert "s-coal-2" in kept
    assert kept.isdisjoint("abc")
    assert "3 of 28 questions are left out" in heard.warnings[0]
    for reason in ("1 ask the same", "1 are about a gold table", "1 are empty"):
        assert reason in heard.warnings[0]
    shared = _load(tmp_path / "shops", shared_tables=True)
    assert {q.id for q in shared.train[0].queries} & set("abc") == {"b"}


def test_validation_stays_out_of_training_too(tmp_path: Path) -> None:
    extra = [{"query_id": "a", "query": "Trade of OSLO", "table_id": "fig", "split": "train"}]
    corpus = shops(tmp_path / "shops", extra)
    found = _load(corpus, validation_split="dev", shared_tables=True)
    assert "a" not in {q.id for q in found.train[0].queries}
    assert len(found.validation[0].queries) == 12
    with pytest.raises(ConfigError, match=r"no question is left.*--shared-tables"):
        _load(corpus, validation_split="dev")


def test_another_corpus_is_kept_out(tmp_path: Path) -> None:
    """Tables are known again under another id, in another corpus; ids count within one alone."""
    corpus = shops(tmp_path / "shops")
    other = tmp_path / "other"
    (other / "tables").mkdir(parents=True)
    (other / "tables" / "kiwi.csv").write_text("price,weight\n0,0\n")  # the content of fig
    question = '{"query_id": "t-lime", "query": "about a fig", "table_id": "kiwi"}\n'
    (other / "queries.jsonl").write_text(question)
    found = _load(corpus, keep_out=["test", f"{other}:test"])
    assert found.kept_out.names == ("shops test", "other test")
    left = {q.id for q in found.train[0].queries}
    assert "t-fig" not in left
    assert {"t-kiwi", "t-lime"} <= left


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split": "test"}, "--split test: this split of .* will be scored"),
        ({"validation_split": "test"}, "--validation-split test: .* will be scored"),
        ({"validation_split": "train"}, "it is what is trained on"),
        ({"keep_out": ["tset"]}, "no split 'tset'.*--keep-out"),
        ({"limit": 0}, "limit=0"),
    ],
)
def test_what_cannot_be(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _load(shops(tmp_path / "shops"), **changes)


def test_negatives_are_not_gold_no_copies_and_not_kept_out(tmp_path: Path) -> None:
    """Every table shares its words with every question; copies of gold and of others are one."""
    extra = [{"query_id": "m", "query": "price weight", "table_id": "fig", "split": "train"}]
    corpus = shops(tmp_path / "shops", extra, copies=True)
    found = _load(corpus, shared_tables=True)
    dataset = found.train[0]
    contents = contents_of(dataset)
    coal = next(content for table, content in contents.items() if table.table_id == "coal")
    for shared in (False, True):
        pairs = mined(dataset, found.kept_out, Serializer(), "bm25", 20, shared)
        (pair,) = (p for p in pairs if p.used.query_id == "m")
        negatives = [table.content for table in pair.negatives]
        assert len(set(negatives)) == len(negatives) == (13 if shared else 12)
        assert not set(negatives) & pair.gold
        assert (coal in negatives) is shared


def test_several_gold_tables_are_several_pairs(tmp_path: Path) -> None:
    extra = [{"query_id": "m", "query": "both", "table_id": ["fig", "kiwi"], "split": "train"}]
    found = _load(shops(tmp_path / "shops", extra))
    pairs = mined(found.train[0], found.kept_out, Serializer(), "bm25", 0, False)
    both = [p for p in pairs if p.used.query_id == "m"]
    assert [p.used.table for p in both] == [("0", "fig"), ("0", "kiwi")]
    assert both[0].gold == both[1].gold
    assert len(both[0].gold) == 2


def test_negatives_of_a_paid_retriever(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    found = _load(shops(tmp_path / "shops"))
    spec = "dense:encoder='openai:model=any'"
    with pytest.raises(ConfigError, match="may cost money"):
        mined(found.train[0], found.kept_out, Serializer(), spec, 1, False)


def test_negatives_of_a_search_within_databases(tmp_path: Path) -> None:
    """It would be asked without the database of a question."""
    found = _load(shops(tmp_path / "shops"))
    with pytest.raises(ConfigError, match=r"negatives=within-database.*which training does not"):
        mined(found.train[0], found.kept_out, Serializer(), "within-database", 1, False)


@given(st.lists(st.text(alphabet="abcÀé0 9", min_size=1, max_size=6), max_size=5))
def test_case_spaces_and_punctuation_make_no_other_question(words: list[str]) -> None:
    text = " ".join(words)
    assert words_hash(text) == words_hash(f"  {text.upper().lower()}?! ".replace(" ", "  "))
    assert words_hash(text) != words_hash(f"{text} b7")
