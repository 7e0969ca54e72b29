"""A run in a real tracking store of MLflow."""

import logging
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from target_bench.cli.main import app
from target_bench.core.errors import StoreError
from target_bench.harness.target import TARGET
from target_bench.runs.mlflow_export import Exported, _store, export_to_mlflow
from target_bench.runs.result import Result, read_run
from tests.builders import Recorder

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own


class _Store:
    """A run of answers and one of rankings, exported; making the database takes seconds."""

    def __init__(self, folder: Path) -> None:
        logging.getLogger("alembic").setLevel(logging.WARNING)
        target = TARGET(
            ("retrieval", "mini"), ("qa", "mini"), out=folder / "runs", observer=Recorder()
        )
        self.ranked, self.answered = (
            read_run(one.folder) for one in target.run("bm25:k1=0.9", limit=20)
        )
        self.to = str(folder / "tracking")
        self.exported = [export_to_mlflow(run, self.to) for run in (self.ranked, self.answered)]

    def get(self, exported: Exported) -> Any:
        from mlflow.tracking import MlflowClient

        return MlflowClient(tracking_uri=exported.uri).get_run(exported.run_id)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> _Store:
    for package in ("mlflow", "sqlalchemy", "alembic"):
        pytest.importorskip(package)
    return _Store(tmp_path_factory.mktemp("mlflow"))


def test_scores_parameters_and_tags_are_there(store: _Store) -> None:
    found, run = store.get(store.exported[0]), store.ranked
    assert store.exported[0].experiment == "target-bench/retrieval/mini test"
    metrics = found.data.metrics
    for name, mlflow_name in (("recall@10", "recall_at_10"), ("recall[dup]@1", "recall.dup_at_1")):
        score = run.scores[name]
        ends = [metrics[f"{mlflow_name}{end}"] for end in ("", ".low", ".high")]
        assert ends == [score.value, score.low, score.high]
    assert metrics["counts.asked"] == 20
    assert metrics["seconds.retrieve"] == run.times.seconds["retrieve"]
    assert len([name for name in metrics if name.endswith(".low")]) == len(run.scores)
    params = found.data.params
    assert params["retriever"] == "bm25:k1=0.9"
    assert params["retriever.config.k1"] == "0.9"
    assert (params["corpus"], params["split"], params["options.limit"]) == ("mini", "test", "20")
    tags = found.data.tags
    assert tags["target_bench.id"] == run.id
    assert tags["target_bench.corpus"] == run.identity.corpus_fingerprint
    assert found.info.run_name == "bm25:k1=0.9"
    assert found.info.status == "FINISHED"
    assert found.info.end_time >= found.info.start_time


def test_files_lie_in_the_folder(store: _Store, tmp_path: Path) -> None:
    from mlflow.tracking import MlflowClient

    exported = store.exported[1]
    client = MlflowClient(tracking_uri=exported.uri)
    names = {one.path for one in client.list_artifacts(exported.run_id)}
    assert names == {"manifest.json", "scores.json", "per_query.parquet", "generations.jsonl"}
    copies = sorted(Path(store.to).rglob("generations.jsonl"))
    assert len(copies) == 1
    assert copies[0].read_bytes() == (store.answered.folder / "generations.jsonl").read_bytes()
    assert "rougeL" in store.get(exported).data.metrics


def test_the_same_run_is_written_once(store: _Store) -> None:
    again = export_to_mlflow(store.ranked, store.to)
    assert again == store.exported[0]._replace(new=False)


def test_what_cannot_be_exported_is_an_error(store: _Store, tmp_path: Path) -> None:
    (tmp_path / "half-0123456789ab").mkdir()
    with pytest.raises(StoreError, match="the run is unfinished; only finished runs"):
        export_to_mlflow(Result(tmp_path / "half-0123456789ab"), store.to)
    with pytest.raises(StoreError, match="MLflow cannot read or write this store"):
        export_to_mlflow(store.ranked, "nothing://here")
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StoreError, match="cannot read or write"):
        export_to_mlflow(store.ranked, str(blocked))


def test_a_server_that_is_not_there(store: _Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0")
    with pytest.raises(StoreError, match=r"http://127\.0\.0\.1:9: MLflow cannot read"):
        export_to_mlflow(store.ranked, "http://127.0.0.1:9")


@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "mysql+nosuchdriver", "mssql"])
def test_a_database_that_is_not_there(
    store: _Store, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """It is reported at once; MLflow itself tries ten times, with longer and longer pauses."""
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("waited"))
    with pytest.raises(StoreError) as raised:
        export_to_mlflow(store.ranked, f"{scheme}://me:secret@127.0.0.1:9/runs")
    assert str(raised.value).startswith(f"{scheme}://me:***@127.0.0.1:9/runs: ")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(("name", "char"), [("a?b", "?"), ("50%", "%")])
def test_characters_that_a_uri_reads_otherwise(
    store: _Store, tmp_path: Path, name: str, char: str
) -> None:
    with pytest.raises(StoreError, match=rf"'\{char}' has another meaning"):
        export_to_mlflow(store.ranked, str(tmp_path / name))
    assert not (tmp_path / name).exists()


def test_the_command_names_the_run(store: _Store, tmp_path: Path) -> None:
    words = ["runs", "export", str(store.ranked.folder), "--format", "mlflow", "--out", store.to]
    said = CliRunner().invoke(app, words, catch_exceptions=False).output
    assert f"run {store.exported[0].run_id} (was there already" in said


@pytest.mark.parametrize("uri", ["databricks", "databricks-uc", "databricks://profile", "http://h"])
def test_a_tracking_uri_is_no_folder(uri: str) -> None:
    """``databricks`` alone is what MLFLOW_TRACKING_URI mostly is there."""
    assert _store(uri) == (uri, None)
