"""Write predictions of MTEB by encoders that count words: ``python write_mteb.py FOLDER``."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import mteb
import numpy as np
from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta

DOCUMENTS = {
    "d0": "rivers of france length",
    "d1": "lakes of france depth",
    "d2": "mountains of peru height",
    "d3": "rivers of peru length",
    "d4": "cities of france people",
    "d5": "cities of peru people",
    "d6": "rivers and lakes of finland",
    "d7": "films of france year",
}
QUERIES = {
    "q0": "longest river of france rivers length",
    "q1": "height of mountains in peru",
    "q2": "people in cities",
    "q3": "deep lakes",
}
GRADES = {"q0": {"d0": 2, "d3": 1}, "q1": {"d2": 1}, "q2": {"d4": 1, "d5": 2}, "q3": {"d1": 2}}
NAMES = ("ndcg_at_10", "recall_at_1", "recall_at_10", "mrr_at_10", "map_at_10")
_UNKNOWN = ("date", "domains", "task_subtypes", "license", "annotations_creators", "dialect")


class OwnTables(AbsTaskRetrieval):
    data_loaded: bool
    metadata = TaskMetadata(
        name="OwnTables",
        description="-",
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="ndcg_at_10",
        dataset={"path": "own/tables", "revision": "1"},
        sample_creation=None,
        bibtex_citation=None,
        reference=None,
        **dict.fromkeys(_UNKNOWN),
    )

    def load_data(self, *_: Any, **__: Any) -> None:
        if not self.data_loaded:
            documents = [{"id": i, "text": t, "title": ""} for i, t in DOCUMENTS.items()]
            queries = [{"id": i, "text": t} for i, t in QUERIES.items()]
            split = RetrievalSplitData(
                corpus=Dataset.from_list(documents),
                queries=Dataset.from_list(queries),
                relevant_docs=GRADES,
                top_ranked=None,
            )
            self.dataset = {"default": {"test": split}}
            self.data_loaded = True


class Words(AbsEncoder):
    def __init__(self, size: int) -> None:
        self.size = size
        names = {"name": f"own/words-{size}", "revision": "1"}
        self.mteb_model_meta = ModelMeta.create_empty(overwrites=names)

    def encode(self, inputs: Any, **_: Any) -> Any:
        vectors = []
        for text in (text for batch in inputs for text in batch["text"]):
            vector = np.zeros(self.size)
            for word in re.findall(r"\w+", text):
                vector[sum(map(ord, word)) % self.size] += 1
            vectors.append(vector / np.linalg.norm(vector))
        return np.array(vectors)


folder = Path(sys.argv[1])
printed: dict[str, dict[str, float]] = {}
for size in (64, 7):
    predictions = folder / f"words-{size}"
    how: dict[str, Any] = {
        "cache": None,
        "prediction_folder": predictions,
        "show_progress_bar": False,
    }
    result = mteb.evaluate(Words(size), [OwnTables()], overwrite_strategy="always", **how)
    (file,) = predictions.glob("*_predictions.json")
    scores = result.task_results[0].scores["test"][0]
    printed[str(file.relative_to(folder))] = {
        name.replace("_at_", "@"): scores[name] for name in NAMES
    }
lines = [f"{q}\t{d}\t{grade}\n" for q, judged in GRADES.items() for d, grade in judged.items()]
(folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
sys.stdout.write(json.dumps(printed))
