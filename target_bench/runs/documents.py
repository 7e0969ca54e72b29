"""What ``runs list`` and ``runs show`` print of a stored run, as JSON documents."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.core.errors import StoreError
from target_bench.metrics.scores import spec_of
from target_bench.runs.differences import flat
from target_bench.runs.integrity import check
from target_bench.runs.result import Result

_UNKNOWN: Mapping[str, Any] = {
    **{"task": "", "corpus": "", "split": "", "about": None, "label": ""},
    **{"queries": None, "metric": None, "score": None, "digits": 3, "started": "", "error": None},
}


def listed(runs: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the runs, each as a line of a list.

    Returns:
        Of each run ``folder``, ``state`` (its status), ``problem`` (what is damaged), ``error``
        (what ended the last work on it), ``task``, ``corpus``, ``split``, ``about``, ``label``,
        ``queries``, ``metric`` and ``score`` (the headline of a finished run, with ``digits``
        decimals; none without references, no score over no query) and ``started``. What cannot be
        read is empty or None.
    """
    bases = {folder for folder in map(_basis, runs) if folder is not None}
    return [_line(run, run.folder in bases) for run in runs]


def _basis(run: Result) -> Path | None:
    """Return the run of rankings that a run of answers is built on."""
    try:
        return None if run.retrieval is run else run.retrieval.folder
    except StoreError:
        return None


def _line(run: Result, basis: bool) -> dict[str, Any]:
    line = {"folder": str(run.folder), "state": run.status, "problem": run.problem, **_UNKNOWN}
    try:
        line |= {
            "task": run.task,
            "corpus": run.corpus,
            "split": run.split,
            "about": run.asked.about,
            "label": run.label,
            "queries": run.manifest.queries,
            "started": run.manifest.started or "",
            "error": run.error,
        }
        if run.is_scored:
            line["queries"] = run.n_queries
            if run.scores:
                spec = spec_of(run.headline, run.scores[run.headline])
                line |= {"metric": run.headline, "digits": spec.digits}
    except StoreError:
        return line  # its state says so
    if run.status == "finished" and run.scores and not (basis and run.is_no_context):
        line["score"] = run.scores[run.headline].to_json()["value"]
    return line


def described(run: Result) -> dict[str, Any]:
    """Return all of a run but its answers: part -> entry -> value; ``scores`` as stored.

    ``problems`` is there if the run is damaged: what ``check`` found; ``error`` if the last work on
    it ended with one.

    Raises:
        StoreError: the manifest or the scores cannot be read.
    """
    manifest, checked = run.manifest, check(run.folder)
    scores = run.scores if run.is_scored else {}
    document: dict[str, Any] = {
        "run": str(run.folder),
        "state": "damaged" if checked.problems else run.status,
        "started": manifest.started,
    }
    if manifest.error is not None:
        document["error"] = manifest.error
    if checked.problems:
        document["problems"] = _numbered(checked.problems)
    document["asked"] = dict(flat(manifest.asked.to_json()))
    document["identity"] = dict(flat(manifest.identity.content))
    document["environment"] = dict(flat(manifest.environment))
    document |= _times(run)
    document["data"] = {"source": manifest.data, "files": len(manifest.files)}
    if manifest.distractors:
        document["distractors"] = {mixed.spec: mixed.n for mixed in manifest.distractors}
    if manifest.data_notes:
        document["data_notes"] = _numbered(manifest.data_notes)
    if manifest.notes:
        document["notes"] = _numbered(manifest.notes)
    document["counts"] = run.denominators if run.is_scored else {}
    document["scores"] = {name: score.to_json() for name, score in scores.items()}
    return document


def _times(run: Result) -> dict[str, Any]:
    times = run.own_times
    shown: dict[str, Any] = {"seconds": dict(times.seconds)}
    if times.left_out:
        shown["times_left_out"] = dict(times.left_out)
    if times.latency:
        shown["latency_ms"] = dict(flat(times.latency))
    if run.manifest.index_bytes is not None:
        shown["index_bytes"] = run.manifest.index_bytes
    return shown


def _numbered(texts: Sequence[str]) -> dict[str, str]:
    return {str(i): text for i, text in enumerate(texts, start=1)}
