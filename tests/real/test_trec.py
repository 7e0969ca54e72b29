"""The real corpora: trec_eval and ir-measures score exported runs to our figures."""

from pathlib import Path
from typing import Any

import pytest

from target_bench import corpora, read_run
from target_bench.core.schema import Corpus
from target_bench.runs.ranking_files import export_trec
from tests.builders import Recorder, only, same_scores
from tests.real.data import DATA, needs_data
from tests.runs.judges import check_figures
from tests.target import TARGET

pytestmark = needs_data

CUTOFFS = [1, 5, 10, 50]


class Ties:
    """Every third query fails or finds little; all scores are equal, or huge, or tiny.

    It cuts in the order that breaks ties, so that every ranking begins the longer ones, and leaves
    that order to the harness.
    """

    def embed_corpus(self, corpus: Corpus) -> None:
        self._ids = corpus.ids

    def retrieve(self, query: str, top_k: int) -> Any:
        n = sum(query.encode())
        if n % 9 == 0:
            raise RuntimeError("no")
        length = n % CUTOFFS[-1] if n % 3 == 0 else CUTOFFS[-1]
        score = (1.0, 1e300, -1e300, 1e-9)[n % 4]
        places = sorted((n * 31 + i * 7) % len(self._ids) for i in range(length))
        return [(self._ids[place], score) for place in places[:top_k][::-1]]


@pytest.mark.parametrize(("corpus", "retriever"), [("ottqa", "bm25"), ("fetaqa", Ties)])
def test_judges_agree(tmp_path: Path, corpus: str, retriever: Any) -> None:
    target = TARGET(("retrieval", corpus), data_dir=DATA, out=tmp_path, observer=Recorder())
    subject = retriever if isinstance(retriever, str) else retriever()
    result = only(target.run(subject, top_k=CUTOFFS))
    dataset = corpora.load(corpus, None, data_dir=DATA)
    paths = export_trec(read_run(result.folder), dataset, tmp_path / "trec")
    check_figures(result, paths, CUTOFFS)
    same_scores(result, only(target.score(paths[0], top_k=CUTOFFS)))
