"""``data export``: BEIR's layout that this package and MTEB read back, grades included."""

import json
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from target_bench import DataError, load, score_rankings
from target_bench.data.beir_export import _name, export
from target_bench.data.load import of_task
from target_bench.data.tables import MemoryCorpus
from target_bench.metrics.retrieval import GRADES, judge, parse

MTEB = """
import json, sys
import numpy as np
import mteb
for folder in sys.argv[1:]:  # of one name, which ``datasets`` caches
    sys.path.insert(0, folder)
    sys.modules.pop("mteb_task", None)
    from mteb_task import TablesMini
    result = mteb.evaluate(
        mteb.get_model("mteb/baseline-random-encoder"), [TablesMini()], cache=None,
        prediction_folder=folder + "/predictions", overwrite_strategy="always",
    )
print(json.dumps(result.task_results[0].scores["test"][0]["ndcg_at_10"]))
"""


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    dataset = load("mini")
    export(dataset, tmp_path)
    again = load(tmp_path)
    ranked = of_task(dataset, "retrieval").queries
    assert 0 < len(again.queries) < len(dataset.queries)  # some are about no ranking of tables
    assert [(q.id, q.text, [*map(_name, q.gold)]) for q in again.queries] == [
        (q.id, q.text, [*map(_name, q.gold)]) for q in ranked if q.gold
    ]
    for mine, theirs in zip(again.corpus, dataset.corpus, strict=True):
        assert _name(mine.id) == _name(theirs.id)
        assert list(mine.header) == list(theirs.header)
        cells = [["" if cell is None else str(cell) for cell in row] for row in theirs.rows]
        assert [[*map(str, row)] for row in mine.rows] == cells


def test_ndcg_of_grades_is_that_of_trec_eval() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    import random

    chance = random.Random(0)
    documents = [f"d{i:02}" for i in range(12)]
    for _ in range(300):
        grades = {d: chance.choice([1, 2, 3, 0.5]) for d in chance.sample(documents, 5)}
        grades = {d: int(2 * grade) for d, grade in grades.items()}
        ranking = chance.sample(documents, chance.randint(1, 12))
        judged = judge([ranking], [grades], 12, grades=[grades])
        run = {"q": {d: float(-i) for i, d in enumerate(ranking)}}
        measures = {"ndcg_cut.1,5,10"}
        theirs = pytrec_eval.RelevanceEvaluator({"q": grades}, measures).evaluate(run)["q"]
        for k in (1, 5, 10):
            value = parse(f"ndcg@{k}").statistics(judged)[0, 0]
            assert value == pytest.approx(theirs[f"ndcg_cut_{k}"])


def test_wrong_grades() -> None:
    dataset = load("mini")
    query = replace(dataset.queries[0], metadata={GRADES: [1, 2, 3, 4, 5]})
    ranking = {query.id: list(query.gold)}
    with pytest.raises(DataError, match="grades should be"):
        score_rankings(replace(dataset, queries=(query,)), ranking, 5)


def test_mteb_loads_and_scores_it(tmp_path: Path) -> None:
    pytest.importorskip("mteb")
    mini = load("mini")
    mini = replace(mini, corpus=MemoryCorpus(islice(mini.corpus, 30)))
    here = [query for query in mini.queries if all(gold in mini.corpus for gold in query.gold)]
    export(replace(mini, queries=tuple(here[:5])), tmp_path / "former" / "mini")
    export(replace(mini, queries=tuple(here)), tmp_path / "mini")
    folders = (str(tmp_path / "former" / "mini"), str(tmp_path / "mini"))
    words = [sys.executable, "-c", MTEB, *folders]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (file,) = (tmp_path / "mini" / "predictions").glob("*.json")
    predictions = json.loads(file.read_text())["default"]["test"]
    again = load(tmp_path / "mini")
    by_name = {table_id.table_id: table_id for table_id in again.corpus.ids}
    rankings = {
        query: [(by_name[table], score) for table, score in scores.items()]
        for query, scores in predictions.items()
    }
    ours = score_rankings(again, rankings, 10).scores["ndcg@10"]
    assert ours.value == pytest.approx(json.loads(done.stdout.splitlines()[-1]), abs=6e-6)
