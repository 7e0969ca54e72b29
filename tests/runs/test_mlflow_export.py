"""Runs in a real tracking store of MLflow."""

import logging
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from target_bench.cli.main import app
from target_bench.core.errors import StoreError
from target_bench.harness.target import TARGET
from target_bench.runs.mlflow_export import export_to_mlflow
from target_bench.runs.result import Result
from tests.builders import Recorder

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own


class _Store:
    """A run of rankings and one of answers, exported; making the database takes seconds."""

    def __init__(self, folder: Path) -> None:
        from mlflow import MlflowClient

        logging.getLogger("alembic").setLevel(logging.WARNING)
        target = TARGET(
            ("retrieval", "mini"), ("qa", "mini"), out=folder / "runs", observer=Recorder()
        )
        self.ranked, self.answered = target.run("bm25:k1=0.9", limit=20)
        self.to = str(folder / "tracking")
        words = ["runs", "export", str(self.ranked.folder), "--format", "mlflow", "-o", self.to]
        printed = CliRunner().invoke(app, words, catch_exceptions=False).output.strip()
        self.places = [printed, export_to_mlflow(self.answered, self.to)]
        self.client: Any = MlflowClient(tracking_uri=f"sqlite:///{self.to}/mlflow.db")
        self.ids = [place.rpartition("run ")[2] for place in self.places]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> _Store:
    for package in ("mlflow", "sqlalchemy", "alembic"):
        pytest.importorskip(package)
    return _Store(tmp_path_factory.mktemp("mlflow"))


def test_scores_parameters_and_tags_are_there(store: _Store) -> None:
    exported, run = store.client.get_run(store.ids[0]), store.ranked
    assert "experiment 'target-bench/retrieval/mini test'" in store.places[0]
    metrics, params, tags = exported.data.metrics, exported.data.params, exported.data.tags
    for name, mlflow_name in (("recall@10", "recall_at_10"), ("recall[dup]@1", "recall.dup_at_1")):
        score = run.scores[name]
        ends = [metrics[f"{mlflow_name}{end}"] for end in ("", ".low", ".high")]
        assert ends == [score.value, score.low, score.high]
    assert metrics["counts.asked"] == 20
    assert metrics["seconds.retrieve"] == run.times.seconds["retrieve"]
    assert (params["retriever"], params["retriever.config.k1"]) == ("bm25:k1=0.9", "0.9")
    assert (params["corpus"], params["split"], params["options.limit"]) == ("mini", "test", "20")
    assert tags["target_bench.id"] == run.id
    assert (exported.info.run_name, exported.info.status) == ("bm25:k1=0.9", "FINISHED")


def test_files_lie_in_the_folder(store: _Store) -> None:
    names = {file.path for file in store.client.list_artifacts(store.ids[1])}
    assert names == {"manifest.json", "scores.json", "per_query.parquet", "generations.jsonl"}
    [copy] = sorted(Path(store.to).rglob("generations.jsonl"))
    assert copy.read_bytes() == (store.answered.folder / "generations.jsonl").read_bytes()


def test_what_cannot_be_exported_is_an_error(
    store: _Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0")
    (tmp_path / "half-0123456789ab").mkdir()
    with pytest.raises(StoreError, match="the run is unfinished; only finished runs"):
        export_to_mlflow(Result(tmp_path / "half-0123456789ab"), store.to)
    blocked = tmp_path / "file"
    blocked.write_text("")
    for place in (str(blocked), "nothing://me:secret@here", "http://127.0.0.1:9"):
        with pytest.raises(StoreError, match="MLflow cannot read or write") as raised:
            export_to_mlflow(store.ranked, place)
        assert "secret" not in str(raised.value)
