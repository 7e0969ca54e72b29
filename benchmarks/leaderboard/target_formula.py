"""The scoring of the original TARGET package's BM25 and TF-IDF, as a plug-in.

    target-bench run ottqa --retriever benchmarks/leaderboard/target_formula.py:TargetFormula
    TARGET_BENCH_DATA=... python -m benchmarks.leaderboard.target_formula   # README.md's table

The original takes it over from OTT-QA (Chen et al. 2021), and that from DrQA (Chen et al. 2017,
section 3.1). A table is its id and its header; section title and cells are left out.

    w(t, d) = idf(t) * ln(1 + tf(t, d))                                               tfidf
    w(t, d) = idf(t) * 2.5 tf / (tf + 1.5 (0.25 + 0.75 |d| / mean |d|))               bm25
    score(q, d) = sum over t of  w(t, d) * idf(t) * ln(1 + tf(t, q))

with idf(t) = max(0, ln((N - n + 0.5) / (n + 0.5))), n of N tables having the term. Terms are words
and pairs of neighbours without a stop word, the id apart from the header. Nothing is brought
to length 1. Differences that are left: terms are not hashed, stop words are bm25s' longer list, and
equal scores are in the order of the tables.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from bm25s.stopwords import STOPWORDS_EN_PLUS

from benchmarks.reproduce import entries
from target_bench import load
from target_bench.core.contract import Retriever
from target_bench.core.ranking import Ranking, top_k
from target_bench.core.schema import Corpus, Dataset, Field, TableId
from target_bench.data.table_text import Serializer
from target_bench.search.lexical.products import rank_product

_TOKEN = re.compile(r"[^\W_]+|[^\s]")
_STOP = frozenset(STOPWORDS_EN_PLUS)
_AT_ONCE = 2000


class TargetFormula(Retriever):
    """Ranks tables as the original package's OTT-QA retrievers do.

    Args:
        scoring: ``bm25`` or ``tfidf``.
        fields: what of a table is indexed; the original has ``[id, header]``, or ``[header]``
            without title.
    """

    packages = ("bm25s", "numpy", "scipy")

    def __init__(
        self,
        scoring: Literal["bm25", "tfidf"] = "bm25",
        fields: Sequence[Field] = ("id", "header"),
    ) -> None:
        self.scoring = scoring
        self.fields = fields

    def embed_corpus(self, corpus: Corpus) -> None:
        parts = [Serializer((field,)) for field in self.fields]
        texts = [" | ".join(write(table) for write in parts) for table in corpus]
        self._ids = corpus.ids
        self._columns: dict[str, int] = {}
        counts = self._counted(texts, grow=True).T.tocsr()
        n_with = np.diff(counts.indptr)
        idf = np.log((len(corpus) - n_with + 0.5) / (n_with + 0.5))
        self._idf = sp.diags_array(np.maximum(idf, 0))
        self._index = (self._idf @ self._weighed(counts)).tocsr()

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        return rank_product(self._weights(queries), [self._index], self._ids, top_k)

    def range_of_ties(self, dataset: Dataset, k: int, database: bool) -> tuple[float, float]:
        """(lowest, highest) recall at ``k`` over all orders that equal scores can have.

        Args:
            dataset: with its corpus embedded here.
            k: the cutoff.
            database: whether any table of the gold database is right, else the gold table, of which
                a query has one.
        """
        self.embed_corpus(dataset.corpus)
        databases = np.array([table.database_id for table in self._ids])
        lowest = highest = 0
        for start in range(0, len(dataset.queries), _AT_ONCE):
            queries = dataset.queries[start : start + _AT_ONCE]
            products = self._weights([q.text for q in queries]) @ self._index
            order, sorted_scores = top_k(products.toarray(), len(self._ids))
            scores_of = np.empty_like(sorted_scores)
            np.put_along_axis(scores_of, order, sorted_scores, axis=1)  # rounded, in their order
            for query, scores in zip(queries, scores_of, strict=True):
                right = np.zeros(len(scores), dtype=bool)
                if database:
                    right = databases == query.gold[0].database_id
                else:
                    right[[dataset.corpus.positions[table] for table in query.gold]] = True
                best = scores[right].max()
                if best > 0:
                    highest += int((scores > best).sum()) < k
                    lowest += int((scores[~right] >= best).sum()) < k
        return lowest / len(dataset.queries), highest / len(dataset.queries)

    def _weights(self, queries: Sequence[str]) -> Any:
        return (self._counted(queries).log1p() @ self._idf).tocsr()

    def _counted(self, texts: Sequence[str], grow: bool = False) -> Any:
        """(texts, terms) how often each term occurs; unknown terms are left out or added."""
        rows, columns, values = [], [], []
        for row, text in enumerate(texts):
            for term, count in Counter(_terms(text)).items():
                if grow:
                    self._columns.setdefault(term, len(self._columns))
                if term in self._columns:
                    rows.append(row)
                    columns.append(self._columns[term])
                    values.append(float(count))
        return sp.csr_array((values, (rows, columns)), shape=(len(texts), len(self._columns)))

    def _weighed(self, counts: Any) -> Any:
        if self.scoring == "tfidf":
            return counts.log1p()
        lengths = counts.sum(axis=0)
        weighed = counts.tocoo()
        saturation = 1.5 * (0.25 + 0.75 * lengths / lengths.mean())
        weighed.data = 2.5 * weighed.data / (weighed.data + saturation[weighed.coords[1]])
        return weighed.tocsr()


def _terms(text: str) -> list[str]:
    words = [word.lower() for word in _TOKEN.findall(unicodedata.normalize("NFD", text))]
    kept = [word not in _STOP and word[0].isalnum() for word in words]
    pairs = [f"{words[i]} {words[i + 1]}" for i in range(len(words) - 1) if kept[i] and kept[i + 1]]
    return [word for word, keep in zip(words, kept, strict=True) if keep] + pairs


def compare_with_paper() -> Iterator[tuple[str, str, float, float, float, float]]:
    """Yield (corpus, method, paper, formula, lowest, highest) for the paper's Table 2."""
    for entry in entries(["Table 2, OTT-QA"]):
        match = re.fullmatch(r"Table 2, (OTT-QA (BM25|TF-IDF)( w/o table title)?)", entry["table"])
        if match is None:
            continue
        scoring: Literal["bm25", "tfidf"] = "bm25" if match[2] == "BM25" else "tfidf"
        fields: tuple[Field, ...] = ("header",) if match[3] else ("id", "header")
        for figure in entry["figures"]:
            dataset, database = load(figure["corpus"]), "[db]" in figure["metric"]
            k = int(figure["metric"].partition("@")[2])
            formula = TargetFormula(scoring, fields)
            lowest, highest = formula.range_of_ties(dataset, k, database)
            rankings = formula.retrieve_batch([query.text for query in dataset.queries], k)
            found = 0
            for query, ranking in zip(dataset.queries, rankings, strict=True):
                tables = [table for table, _ in ranking if isinstance(table, TableId)]
                gold = query.gold[0]
                found += gold in tables or (
                    database and gold.database_id in {table.database_id for table in tables}
                )
            recall = found / len(dataset.queries)
            yield figure["corpus"], match[1], figure["published"], recall, lowest, highest


if __name__ == "__main__":
    print("| corpus | method of the paper | paper | its formula | what ties leave open |")
    print("|---|---|---|---|---|")
    for corpus, method, *figures in compare_with_paper():
        paper, formula, lowest, highest = (f"{x:.3f}".lstrip("0") for x in figures)
        print(f"| `{corpus}` | {method} | {paper} | {formula} | {lowest}–{highest} |", flush=True)
