"""A finished run as a run of an MLflow tracking store."""

import os
import re
from math import isnan
from pathlib import Path
from typing import Any

from target_bench.core.errors import MissingExtraError, StoreError
from target_bench.runs.differences import flat
from target_bench.runs.record_log import LOGS
from target_bench.runs.result import Result

_FILES = ("manifest.json", "scores.json", "per_query.parquet", *(log.file for log in LOGS))
_LONGEST = 6_000  # characters of a parameter


def export_to_mlflow(run: Result, to: str) -> str:
    """Write parameters, scores with their intervals, tags and files of a run to MLflow.

    Runs of one task and split of a corpus are in one experiment.

    Args:
        run: a finished run.
        to: a tracking URI, as ``http://localhost:5000`` or ``sqlite:///mlflow.db``; or a folder,
            which gets a SQLite store and the files.

    Returns:
        Where it is: tracking URI (``***`` for a password), experiment, and MLflow's id of the run.

    Raises:
        MissingExtraError: MLflow is not installed.
        StoreError: the run is not finished, or the store cannot be read or written.
    """
    if run.status != "finished":
        raise StoreError(f"{run.folder}: the run is {run.status}; only finished runs are exported")
    try:
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param
    except ImportError as error:
        raise MissingExtraError("mlflow", "mlflow", "--format mlflow") from error
    # A server that is not there is reported in seconds; by MLflow's default it takes minutes.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    experiment = f"target-bench/{run.task}/{run.corpus} {run.split}"
    uri, artifacts = to, None
    try:
        if not re.match(r"[a-z][a-z0-9+]*:|databricks(-uc)?$", to):
            folder = Path(to).absolute()
            folder.mkdir(parents=True, exist_ok=True)
            uri, artifacts = f"sqlite:///{folder / 'mlflow.db'}", (folder / "artifacts").as_uri()
        client = MlflowClient(tracking_uri=uri)
        known = client.get_experiment_by_name(experiment)
        place = known.experiment_id if known else client.create_experiment(experiment, artifacts)
        created = client.create_run(place, tags=_tags(run), run_name=run.label)
        run_id: str = created.info.run_id
        now = created.info.start_time
        metrics = [Metric(_name(name), value, now, 0) for name, value in _metrics(run).items()]
        params = [Param(_name(name), str(value)[:_LONGEST]) for name, value in _params(run).items()]
        for i in range(0, max(len(metrics), len(params)), 100):  # as many as a request may hold
            client.log_batch(run_id, metrics[i : i + 100], params[i : i + 100])
        for name in _FILES:
            if (run.folder / name).is_file():
                client.log_artifact(run_id, str(run.folder / name))
        client.set_terminated(run_id)
    except Exception as error:  # MLflow, SQLAlchemy and drivers of databases raise their own
        problem = f"{uri}: MLflow cannot read or write this store: {error}"
        raise StoreError(_without_passwords(problem)) from error
    return _without_passwords(f"{uri}: experiment {experiment!r}, run {run_id}")


def _without_passwords(text: str) -> str:
    """Return a text with ``***`` for the password of each URI."""
    return re.sub(r"(://[^/@:]*):[^/@]*@", r"\1:***@", text)


def _metrics(run: Result) -> dict[str, float]:
    """Return each score with the bounds of its interval, the denominators and the cold times."""
    scores = {
        f"{_name(name)}{end}": value
        for name, score in run.scores.items()
        for end, value in (("", score.value), (".low", score.low), (".high", score.high))
        if not isnan(value)
    }
    counts = {f"counts.{n}": v for n, v in flat(run.denominators) if isinstance(v, int | float)}
    return {**scores, **counts, **{f"seconds.{n}": v for n, v in run.seconds.items()}}


def _params(run: Result) -> dict[str, Any]:
    params = {"task": run.task, "corpus": run.corpus, "split": run.split}
    params |= {name: value for name, value in flat(run.asked.to_json()) if value is not None}
    for plugin in ("retriever", "generator"):
        params |= dict(flat({plugin: run.identity.content.get(plugin) or {}}))
    return params


def _tags(run: Result) -> dict[str, str]:
    git = run.manifest.environment.get("git") or {}
    tags = {
        "target_bench.id": run.id,
        "target_bench.run": run.folder.name,
        "target_bench.corpus": run.identity.corpus_fingerprint,
        "target_bench.queries": run.identity.queries_fingerprint,
        "mlflow.source.git.commit": git.get("commit"),
    }
    return {name: str(value) for name, value in tags.items() if value}


def _name(name: str) -> str:
    """Return a name in the characters that MLflow has: ``recall[dup]@5`` is ``recall.dup_at_5``."""
    name = name.replace("@", "_at_").replace("[", ".").replace("]", "")
    return re.sub(r"[^\w\-. :/]", "_", name, flags=re.ASCII)
