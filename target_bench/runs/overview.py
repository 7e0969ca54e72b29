"""What lies in a store of runs, for a reader."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from target_bench.core.errors import StoreError
from target_bench.core.schema import NO_CONTEXT
from target_bench.metrics.headlines import headline
from target_bench.metrics.named import spec_of
from target_bench.runs.differing import flat
from target_bench.runs.find import run_folders
from target_bench.runs.integrity import check, first_damage
from target_bench.runs.scored import read_scores
from target_bench.runs.store import read_run
from target_bench.runs.times import cold


@dataclass(frozen=True, slots=True)
class Overview:
    """One run in a line.

    Attributes:
        folder: the run folder.
        state: ``finished``, ``unfinished``, ``unreadable`` (manifest or scores), or ``damaged``.
        task: short name of the task; empty where it cannot be read.
        corpus: name of the corpus.
        split: its split.
        about: the task whose queries were ranked or answered, where it was chosen.
        label: what ranked, and what answered if anything did.
        queries: how many queries were asked, where known.
        metric: the main metric, of a finished run.
        score: its value; None of an unfinished run, and over no query.
        digits: decimals that are shown of it.
        started: when it began.
    """

    folder: Path
    state: str
    task: str = ""
    corpus: str = ""
    split: str = ""
    about: str | None = None
    label: str = ""
    queries: int | None = None
    metric: str | None = None
    score: float | None = None
    digits: int = 3
    started: str = ""

    def to_json(self) -> dict[str, Any]:
        """Field name -> value."""
        return asdict(self) | {"folder": str(self.folder)}


def overview(root: Path) -> list[Overview]:
    """The runs of a store, by task, corpus and name.

    Raises:
        StoreError: there is no such folder.
    """
    folders = run_folders(root)
    bases = set(filter(None, map(_basis, folders)))
    found = [_overview(folder, folder in bases) for folder in folders]
    return sorted(found, key=lambda one: (one.task, one.corpus, one.folder.name))


def _basis(folder: Path) -> Path | None:
    """The run of rankings that a run of answers is built on."""
    try:
        name = read_run(folder)["asked"].get("retrieval_run")
    except StoreError:
        return None
    return folder.parent / name if name else None


def _overview(folder: Path, basis: bool) -> Overview:
    try:
        manifest = read_run(folder)
    except StoreError:
        begun = (folder / "manifest.json").exists()
        return Overview(folder, "unreadable" if begun else "unfinished")
    identity, asked = manifest["identity"], manifest["asked"]
    names = (asked["retriever"], asked.get("generator"))
    metric, score, queries, state = None, None, manifest.get("queries"), "unfinished"
    digits = 3
    if (folder / "scores.json").exists():
        try:
            scores, counts = read_scores(folder)
            metric = headline(scores)
            score, queries = scores[metric].to_json()["value"], counts["asked"]
            digits = spec_of(metric, scores[metric]).digits
            state = "finished"
            if basis and asked["retriever"] == NO_CONTEXT:
                score = None  # nothing was to be ranked
        except StoreError:
            state = "unreadable"
    if state != "unreadable" and first_damage(folder) is not None:
        score, state = None, "damaged"
    return Overview(
        folder=folder,
        state=state,
        task=identity["task"],
        corpus=identity["corpus"],
        split=identity["split"],
        about=asked.get("about"),
        label=" + ".join(str(name) for name in names if name),
        queries=queries,
        metric=metric,
        score=score,
        digits=digits,
        started=str(manifest.get("started", "")),
    )


def described(folder: Path) -> dict[str, Any]:
    """Everything about a run but its answers: part -> entry -> value; ``scores`` as stored.

    ``problems`` is there if the run is damaged: what ``check`` found.

    Raises:
        StoreError: the manifest or the scores cannot be read.
    """
    manifest = read_run(folder)
    finished = (folder / "scores.json").exists()
    scores, counts = read_scores(folder) if finished else ({}, {})
    files = manifest.get("files", {})
    checked = check(folder)
    document: dict[str, Any] = {
        "run": str(folder),
        "state": checked.state,
        "started": manifest.get("started"),
    }
    if checked.problems:
        document["problems"] = {str(i): text for i, text in enumerate(checked.problems, start=1)}
    for part in ("asked", "identity", "environment"):
        document[part] = dict(flat(manifest.get(part, {})))
    times = cold(manifest)
    document["seconds"] = dict(times.seconds)
    if times.left_out:
        document["times_left_out"] = dict(times.left_out)
    document["data"] = {"source": manifest.get("data"), "files": len(files)}
    if manifest.get("distractors"):
        document["distractors"] = {d["spec"]: d["n"] for d in manifest["distractors"]}
    if times.latency:
        document["latency_ms"] = dict(flat(times.latency))
    if manifest.get("notes"):
        document["notes"] = {str(i): note for i, note in enumerate(manifest["notes"], start=1)}
    document["counts"] = counts
    document["scores"] = {name: score.to_json() for name, score in scores.items()}
    return document
