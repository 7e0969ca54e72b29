"""What ``runs list`` and ``runs show`` print of a stored run, as JSON documents."""

from collections.abc import Mapping, Sequence
from typing import Any

from target_bench.core.errors import StoreError
from target_bench.metrics.scores import spec_of
from target_bench.runs.manifest import flat
from target_bench.runs.result import Result
from target_bench.runs.times import cold

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
        decimals; none without references, no score over no query or of the empty rankings of
        ``no-context``) and ``started``. What cannot be read is empty or None.
    """
    return [_line(run) for run in runs]


def _line(run: Result) -> dict[str, Any]:
    line = {"folder": str(run.folder), "state": run.status, "problem": run.problem, **_UNKNOWN}
    try:
        line |= {
            "task": run.task,
            "corpus": run.corpus,
            "split": run.split,
            "about": run.command.about,
            "label": run.label,
            "queries": run.manifest.queries,
            "started": run.manifest.started or "",
            "error": run.error,
        }
        if run.is_scored:
            line["queries"] = run.n_queries
        if run.is_scored and run.scores:
            score = run.scores[run.headline]
            line |= {"metric": run.headline, "digits": spec_of(run.headline, score).digits}
            if run.status == "finished" and (
                run.identity.has_answers or not run.identity.is_no_context
            ):
                line["score"] = score.to_json()["value"]
    except StoreError:
        pass  # its state says so
    return line


_OPTIONAL = {
    *("error", "problem", "code", "times_left_out", "latency_ms"),
    *("distractors", "data_notes", "notes"),
}


def described(run: Result) -> dict[str, Any]:
    """Return all of a run but its answers: part -> entry -> value; ``scores`` as stored.

    ``problem`` is there if the run is damaged; ``error`` if the last work on it ended with one;
    ``code`` if a metric was computed by other code than the one here.

    Raises:
        StoreError: the manifest or the scores cannot be read.
    """
    manifest, times = run.manifest, cold(run.manifest)
    scores = run.scores if run.is_scored else {}
    document: dict[str, Any] = {
        "run": str(run.folder),
        "state": run.status,
        "started": manifest.started,
        "error": manifest.error,
        "problem": run.problem,
        "code": run.note_on_edited(scores) if scores else None,
        "asked": dict(flat(manifest.asked.to_json())),
        "identity": dict(flat(manifest.identity.content)),
        "environment": dict(flat(manifest.environment)),
        "seconds": dict(times.seconds),
        "times_left_out": dict(times.left_out),
        "latency_ms": dict(flat(times.latency or {})),
        "data": {"source": manifest.data, "files": len(manifest.files)},
        "distractors": {mixed.spec: mixed.n for mixed in manifest.distractors},
        "data_notes": _numbered(manifest.data_notes),
        "notes": _numbered(manifest.notes),
        "counts": _counts(run) if run.is_scored else {},
        "scores": {name: score.to_json() for name, score in scores.items()},
    }
    return {n: value for n, value in document.items() if value or n not in _OPTIONAL}


def _counts(run: Result) -> dict[str, Any]:
    """Return the denominators; those of the answers where rankings have one of this name."""
    answers = run.answer_counts.to_json() if run.answer_counts is not None else {}
    return {**run.counts.to_json(), **answers}


def _numbered(texts: Sequence[str]) -> dict[str, str]:
    return {str(i): text for i, text in enumerate(texts, start=1)}
