"""Exported rankings read back as they were, and trec_eval scores them as we do."""

import gzip
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from target_bench.core.schema import CorpusInfo, Dataset, Query, Retrieval, Table, TableId
from target_bench.core.unicode_text import compose
from target_bench.data.tables import MemoryCorpus
from target_bench.runs import ranking_files
from target_bench.runs.ranking_files import format_qrels, format_run, to_word, to_words
from tests.runs.judges import ir_measures_values, trec_eval

INFO = CorpusInfo("shop", "Shop", ("retrieval",), ("test",), "ours", "us", "https://example.org")

written = st.one_of(
    st.text(st.characters(), max_size=6),
    st.sampled_from(
        ["", " ", "%", "%20", "%-", "%25-", "a b", "a%20b", "a/b", "/", "%2F", "{", '{"a": 1}']
    ),
    st.sampled_from(["\ufeffq", "q\u2028", "\x85", "\xa0", "\ud800", "é", "e\u0301", "1_0", "Q0"]),
    st.sampled_from(["{\u0307", "/\u0307", "\n\u0301"]),  # a mark after a letter of an escape
)
odd_text = written.map(compose)
"""In the form that tables and queries of every corpus have."""
any_score = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 1e-45, -1e-45, 1e300, -1e300, 3.4e38, 1 + 1e-9]),
    st.integers(min_value=-3, max_value=3).map(float),
)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Dataset, list[Retrieval]]:
    """A dataset with anything for ids, and rankings of its tables."""
    databases = odd_text if draw(st.booleans()) else st.just("0")
    ids = draw(
        st.lists(st.builds(TableId, databases, odd_text), unique=True, min_size=1, max_size=6)
    )
    query_ids = draw(st.lists(odd_text, unique=True, min_size=1, max_size=4))
    golds = st.lists(st.sampled_from(ids), min_size=1, max_size=3).map(tuple)
    queries = tuple(Query(query_id, "text", draw(golds)) for query_id in query_ids)
    retrievals = []
    for query_id in query_ids:
        tables = draw(st.permutations(ids))[: draw(st.integers(0, len(ids)))]
        scores = draw(st.lists(any_score, min_size=len(tables), max_size=len(tables)))
        best_first = sorted(scores, reverse=True) if draw(st.booleans()) else []
        retrievals.append(Retrieval(query_id, tuple(tables), tuple(best_first)))
    return Dataset(
        INFO, "test", MemoryCorpus(Table(t, ("a",), (("1",),)) for t in ids), queries
    ), retrievals


def lines(dataset: Dataset, retrievals: Iterable[Retrieval]) -> str:
    return "".join(format_run(retrievals, to_words(dataset.corpus.ids)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trec")


@given(runs(), st.booleans())
def test_any_rankings_come_back(
    folder: Path, given_run: tuple[Dataset, list[Retrieval]], packed: bool
) -> None:
    """The same tables in the same order, in strictly descending scores."""
    dataset, retrievals = given_run
    text = lines(dataset, retrievals).encode()
    path = folder / ("run.trec.gz" if packed else "run.trec")
    path.write_bytes(gzip.compress(text) if packed else text)
    if not text:
        return
    run_file = ranking_files.read_run_file(path, dataset)
    for query, retrieval in zip(dataset.queries, retrievals, strict=True):
        back = run_file.rank(query, 100)
        assert (back.tables, back.error, back.resorted) == (retrieval.tables, None, False)
    unanswered = any(not retrieval.tables for retrieval in retrievals)
    assert len(run_file.notes(dataset.queries)) == unanswered


@given(st.lists(any_score, max_size=30).map(lambda scores: sorted(scores, reverse=True)))
@example([1e300] * 5000)
@example([-1e300] * 5000)
@example([0.0] * 5000)
def test_scores_fall_strictly_in_single_precision(scores: list[float]) -> None:
    """And stay finite; in double precision too, as ir-measures reads them."""
    tables = tuple(TableId("0", str(i)) for i in range(len(scores)))
    written = format_run([Retrieval("q", tables, tuple(scores))], to_words(tables))
    numbers = [line.split()[4] for line in written]
    for kind in (np.float32, np.float64):
        read = np.array(numbers, dtype=kind)
        assert np.isfinite(read).all()
        assert (np.diff(read) < 0).all()


@given(st.lists(written, unique=True))
def test_words(texts: list[str]) -> None:
    """One word each in UTF-8, no two alike."""
    words = [to_word(text) for text in texts]
    assert len(set(words)) == len(words)
    for made in words:
        assert made.split() == [made]
        assert made.encode().decode() == made


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain_Table-1.(x)", "plain_Table-1.(x)"),
        ("List of cups", "List%20of%20cups"),
        ("100%", "100%25"),
        ("é/ü", "é/ü"),
        ("", "%-"),
        ("a\nb", "a%0Ab"),
    ],
)
def test_word(text: str, expected: str) -> None:
    assert to_word(text) == expected


def test_words_of_tables() -> None:
    """Databases are named where there are any."""
    plain, other = TableId("0", "a/b"), TableId("x/y", "a b")
    assert to_words([plain]) == {plain: "a/b"}
    assert to_words([plain, other]) == {plain: "0/a/b", other: "x%2Fy/a%20b"}
    slashes = [TableId("a", "b/c"), TableId("a/b", "c")]
    assert len(set(to_words(slashes).values())) == 2


@given(runs())
def test_trec_eval_ranks_as_we_do(folder: Path, given_run: tuple[Dataset, list[Retrieval]]) -> None:
    """trec_eval orders by its own reading of the scores; the ranks of gold tables agree."""
    dataset, retrievals = given_run
    words = to_words(dataset.corpus.ids)
    run, qrels = folder / "p.trec", folder / "p.qrels"
    run.write_text(lines(dataset, retrievals), encoding="utf-8")
    qrels.write_text("".join(format_qrels(dataset.queries, words)), encoding="utf-8")
    by_trec_eval, by_ir = trec_eval((run, qrels)), ir_measures_values((run, qrels), ["AP"])["AP"]
    for query, retrieval in zip(dataset.queries, retrievals, strict=True):
        ranks = [i for i, t in enumerate(retrieval.tables, start=1) if t in query.gold]
        precisions = sum(n / rank for n, rank in enumerate(ranks, start=1))
        expected = pytest.approx(precisions / len(set(query.gold)), abs=1e-6)
        name = to_word(query.id)
        assert by_trec_eval.get(name, {"map": 0.0})["map"] == expected
        assert by_ir.get(name, 0.0) == expected


def test_the_lines_of_judgements_and_of_a_ranking_without_scores() -> None:
    """A gold table that is named twice is one; the n-th table scores 1/n."""
    a, b = TableId("0", "a"), TableId("0", "b")
    words = to_words([a, b])
    queries = [Query("q 1", "", (a, b, a)), Query("q2", "", (b,))]
    assert [*format_qrels(queries, words)] == ["q%201 0 a 1\n", "q%201 0 b 1\n", "q2 0 b 1\n"]
    lines = ["q Q0 a 1 1 target-bench\n", "q Q0 b 2 0.5 target-bench\n"]
    assert [*format_run([Retrieval("q", (a, b)), Retrieval("r", ())], words)] == lines
