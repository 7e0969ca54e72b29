"""BM25 weights against bm25s, and shards against the whole."""

from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from target_bench.core.errors import StoreError
from target_bench.data.table_text import WORDS, Analyzer
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.bm25 import BM25
from target_bench.search.lexical import counts, postings, reader_processes
from target_bench.search.lexical.postings import Formula, Postings
from tests.retrievers.tables import TABLES, ask, table

METHODS = ["lucene", "robertson", "atire", "bm25l", "bm25+"]
LETTERS = "abcdefg"


def _documents(text: str) -> list[list[str]]:
    return [list(document) for document in text.split(" ")]


def _dense(index: Postings, terms: str = LETTERS) -> Any:
    """(terms, tables) weights in the order of the letters."""
    whole = np.concatenate([shard.toarray() for shard in index.shards], axis=1)
    rows = [index.vocabulary.get(term) for term in terms]
    empty = np.zeros(whole.shape[1])
    return np.stack([empty if row is None else whole[row] for row in rows])


@pytest.mark.parametrize("method", METHODS)
@given(
    text=st.text(f"{LETTERS} ", min_size=1, max_size=80).filter(str.strip),
    k1=st.sampled_from([0.0, 0.5, 1.5]),
    b=st.sampled_from([0.0, 0.75, 1.0]),
    delta=st.sampled_from([0.0, 0.5, 1.0]),
)
@settings(deadline=None, max_examples=25)
def test_weights_are_those_of_bm25s(
    method: str, text: str, k1: float, b: float, delta: float
) -> None:
    assume(k1 or method not in ("bm25l", "bm25+"))  # bm25s divides 0 by 0
    documents = _documents(text)
    index = Postings.build(([d] for d in documents), Formula(method, k1, b, delta, [1.0]))
    numbers = {letter: i for i, letter in enumerate(sorted(set("".join(text.split()))))}
    model = bm25s.BM25(method=method, k1=k1, b=b, delta=delta, dtype="float64")
    encoded = [[numbers[letter] for letter in d] for d in documents]
    model.index((encoded, numbers), create_empty_token=False, show_progress=False)
    for letter, number in numbers.items():
        entries = slice(model.scores["indptr"][number], model.scores["indptr"][number + 1])
        expected = np.zeros(len(documents))
        expected[model.scores["indices"][entries]] = model.scores["data"][entries]
        assert _dense(index, letter)[0] == pytest.approx(expected, abs=1e-9)
        if model.nonoccurrence_array is not None:
            absent = index.absent[index.vocabulary[letter]]
            assert absent == pytest.approx(model.nonoccurrence_array[number], abs=1e-9)
    assert model.nonoccurrence_array is not None or not index.absent.any()


@pytest.mark.parametrize("method", METHODS)
def test_formulas_are_those_of_bm25s_bit_for_bit(method: str) -> None:
    rng = np.random.default_rng(0)
    counts, lengths = rng.integers(1, 50, 1000).astype(float), rng.integers(1, 900, 1000)
    formula = Formula(method, 0.7, 0.65, 0.3, [1.0])
    theirs = bm25s.scoring._select_tfc_scorer(method)(counts, lengths, 37.3, 0.7, 0.65, 0.3)
    assert (formula.saturate(counts, lengths, 37.3) == theirs).all()
    idf = bm25s.scoring._select_idf_scorer(method)
    assert all(formula.idf(df, 1000) == idf(df, N=1000) for df in range(1, 1001))


@pytest.mark.parametrize("method", METHODS)
@given(
    text=st.text(f"{LETTERS} ", min_size=1, max_size=60),
    piece=st.integers(1, 4),
)
@settings(deadline=None, max_examples=25)
def test_shards_are_the_whole_cut_up(method: str, text: str, piece: int) -> None:
    """Bit for bit, whatever the pieces: their statistics are of all tables."""
    tables = [[d, d[:2]] for d in _documents(text)]
    formula = Formula(method, 0.5, 0.75, 0.5, [0.4, 0.6])
    whole = Postings.build(tables, formula)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "_PIECE_TABLES", piece)
        patch.setattr(postings, "_AT_ONCE", 2)
        pieces = Postings.build(tables, formula)
        patch.setattr(counts, "MOST_IN_A_SHARD", 0)
        several = Postings.build(tables, formula)
    assert len(pieces.shards) == 1
    if all(fields[0] for fields in tables):
        assert len(several.shards) == -(-len(tables) // piece)
    for index in (pieces, several):
        assert index.vocabulary == whole.vocabulary
        assert (_dense(index) == _dense(whole)).all()
        assert (index.absent == whole.absent).all()


A_TEXT = st.text("aab. –é_的1İß", max_size=12)
TEXTS = st.lists(A_TEXT, min_size=2, max_size=2)
PATTERNS = [WORDS, r"\w+", r"a\w?|\S"]


@given(st.lists(TEXTS, max_size=9), st.sampled_from(PATTERNS), st.booleans())
@settings(deadline=None, max_examples=100)
def test_texts_are_their_tokens(tables: list[list[str]], pattern: str, fold: bool) -> None:
    """Also where a piece of text is several tokens, or of a script without spaces."""
    formula = Formula("lucene", 0.5, 0.75, 0.5, [0.4, 0.6])
    analyzer = Analyzer(pattern, fold, "en", "english")
    expected = Postings.build([list(map(analyzer, fields)) for fields in tables], formula)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "_PIECE_TABLES", 3)
        index = Postings.build_from_texts(tables, Analyzer(pattern, fold, "en", "english"), formula)
    _assert_same(index, expected)


def _assert_same(index: Postings, expected: Postings) -> None:
    assert list(index.vocabulary.items()) == list(expected.vocabulary.items())
    pairs = zip(index.shards, expected.shards, strict=True)
    for ours, theirs in pairs:
        for part in ("data", "indices", "indptr"):
            assert getattr(ours, part).dtype == getattr(theirs, part).dtype
            assert (getattr(ours, part) == getattr(theirs, part)).all()


def test_processes_make_the_same_index(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [[f"Café {i % 7} of the {i}", f"日本 running x{i % 11} a–b"] for i in range(40)]
    analyzer = Analyzer(WORDS, True, "en", "english")
    formula = Formula("lucene", 0.5, 0.75, 0.5, [0.4, 0.6])
    monkeypatch.setattr(postings, "_PIECE_TABLES", 3)
    alone, beside = (Postings.build_from_texts(texts, analyzer, formula, workers=n) for n in (0, 2))
    _assert_same(beside, alone)


@pytest.mark.parametrize("ends_first", [False, True])
def test_a_process_that_ends(ends_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before or after it is told how to read."""
    monkeypatch.setattr(reader_processes, "_PROGRAM", "raise SystemExit(7)")
    if ends_first:
        send = reader_processes._Reader._send

        def late(reader: reader_processes._Reader, value: object) -> None:
            reader._process.wait()
            send(reader, value)

        monkeypatch.setattr(reader_processes._Reader, "_send", late)
    formula = Formula("lucene", 0.5, 0.75, 0.5, [1.0])
    analyzer = Analyzer(WORDS, True, "en", "english")
    with pytest.raises(StoreError, match=r"has ended \(exit code 7\)\. .*OMP_NUM_THREADS=1"):
        Postings.build_from_texts([["a"]], analyzer, formula, workers=1)


def _many() -> MemoryCorpus:
    titles = [f"{t.context['title']} {i}" for i in range(40) for t in TABLES]
    return MemoryCorpus(table(f"t{i}", title) for i, title in enumerate(titles))


@pytest.mark.parametrize("method", METHODS)
def test_shards_change_no_ranking(
    method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    corpus = _many()
    whole = BM25(method=method)  # type: ignore[arg-type]  # one of them
    whole.embed_corpus(corpus)
    monkeypatch.setattr(postings, "_PIECE_TABLES", 16)
    monkeypatch.setattr(counts, "MOST_IN_A_SHARD", 100)
    in_shards, loaded = BM25(method=method), BM25(method=method)  # type: ignore[arg-type]  # same
    in_shards.embed_corpus(corpus)
    in_shards.save(tmp_path)
    loaded.load(tmp_path, corpus)
    for retriever in (in_shards, loaded):
        assert len(retriever._postings.shards) > 3
        assert ask(retriever, k=30) == ask(whole, k=30)


@given(st.lists(st.lists(st.text("ab", max_size=3), min_size=2, max_size=2), max_size=4))
@settings(deadline=None, max_examples=25)
def test_counts_of_any_size(tables: list[list[str]]) -> None:
    """Also where a count needs two or four bytes; ``aab`` is a 300 × 300 times and b once."""
    repeated = [[list(text.replace("aa", "a" * 90_000)) for text in t] for t in tables]
    counter = counts.TableCounter(2)
    for table_ in repeated:
        numbers = np.array([ord(c) - ord("a") for text in table_ for c in text], dtype=np.int32)
        counter.add(numbers, np.array(list(map(len, table_))), 2)
    statistics = counter.statistics(2)
    (shard,) = counter.shards(2)
    for field in range(2):
        expected = [[t[field].count(letter) for t in repeated] for letter in "ab"]
        counted = np.zeros((2, len(tables)), dtype=int)
        for term in range(2):
            places = slice(*shard.indptr[term : term + 2])
            counted[term, shard.tables[places]] = shard.counts[field][places]
        assert counted.tolist() == expected
        assert statistics.frequencies[field].tolist() == [sum(map(bool, n)) for n in expected]
        assert shard.lengths[field].tolist() == [len(t[field]) for t in repeated]
