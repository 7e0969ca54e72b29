"""Run folders -> the runs of a report: their names, what they recorded, what they share."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.observer import Observer
from target_bench.core.schema import NO_CONTEXT
from target_bench.data.select import Loaded
from target_bench.evaluation.resume import StoredRun
from target_bench.reporting.report.line_reader import Lines
from target_bench.runs.run_identity import (
    answers_fingerprint,
    earlier_answers_fingerprint,
    earlier_note,
    is_earlier,
)
from target_bench.runs.scored import check_tables, scores_file
from target_bench.runs.slices import PREFIX
from target_bench.runs.store import read_run
from target_bench.runs.times import ColdTimes, cold


@dataclass(frozen=True)
class ReportRun:
    """A finished run, with the retrieval it is built on if it is one of answers.

    Attributes:
        folder: the run folder.
        label: what it is called in the report; no other run of the report is called so.
        manifest: of the folder.
        retrieval: manifest of the retrieval; the same one for a run of rankings.
        scores: ``scores.json`` of both: metric -> value, low, high, n, signature.
        counts: the denominators of the retrieval.
        answers: the denominators of the answers, or None.
        values: metric -> (n,) value of every query, in the order of the queries.
        rankings: lines of ``retrieval.jsonl``.
        generations: lines of ``generations.jsonl``; none for a run of rankings.
        judgements: lines of ``judgements.jsonl``; none where nothing was judged.
    """

    folder: Path
    label: str
    manifest: Mapping[str, Any]
    retrieval: Mapping[str, Any]
    scores: Mapping[str, Mapping[str, Any]]
    counts: Mapping[str, int]
    answers: Mapping[str, Any] | None
    values: Mapping[str, NDArray[np.float64]]
    rankings: Lines
    generations: Lines
    judgements: Lines

    @property
    def task(self) -> str:
        """Short name of its task."""
        return str(self.manifest["identity"]["task"])

    @property
    def is_ranked(self) -> bool:
        """Whether anything was to be ranked: not for answers that were given without tables."""
        return self.answers is None or self.retrieval["asked"]["retriever"] != NO_CONTEXT

    @property
    def depth(self) -> int:
        """How many tables a ranking holds at most."""
        return int(max(self.retrieval["identity"]["top_k"]))

    @property
    def times(self) -> ColdTimes:
        """The times that may be shown."""
        found = cold(self.retrieval)
        return found if self.answers is None else found.with_answers(cold(self.manifest))

    @property
    def identity_text(self) -> str:
        """All that changes its figures, to be read."""
        return json.dumps(self.manifest["identity"], ensure_ascii=False, indent=2)

    def close(self) -> None:
        """Close its files."""
        for lines in (self.rankings, self.generations, self.judgements):
            lines.close()


def open_runs(
    folders: Sequence[Path], data_dir: str | Path | None, observer: Observer
) -> tuple[list[ReportRun], Loaded]:
    """The runs, and the tables and queries that all of them are of.

    Raises:
        ConfigError: no run, one run twice, or runs of different tables or queries.
        DataError: the data are missing, or not what they were.
        StoreError: a folder holds no finished run.
    """
    folders = [folder.resolve() for folder in folders]
    if not folders:
        raise ConfigError("name at least one run folder")
    for folder in folders:
        if folders.count(folder) > 1:
            raise ConfigError(f"{folder} is named twice")
    manifests = [read_run(folder) for folder in folders]
    retrievals = [_retrieval_of(f, m) for f, m in zip(folders, manifests, strict=True)]
    _check_same_data(folders, [read_run(folder) for folder in retrievals])
    loaded = StoredRun(folders[0], data_dir, observer).load()
    ids = [query.id for query in loaded.dataset.queries]
    labels = _labels(folders, manifests)
    runs = [
        _opened(*parts, ids) for parts in zip(folders, retrievals, labels, manifests, strict=True)
    ]
    for run in runs:
        _check_references(run, loaded, observer)
    return runs, loaded


def _retrieval_of(folder: Path, manifest: Mapping[str, Any]) -> Path:
    name = manifest["asked"].get("retrieval_run")
    return folder if name is None else folder.parent / name


_SAME = {
    "corpus": "corpora",
    "split": "splits",
    "corpus_fingerprint": "tables",
    "queries_fingerprint": "queries",
}


def of_same_data(folders: Sequence[Path]) -> dict[str, list[Path]]:
    """The runs of each set of queries over the same tables, in the order they are named.

    Returns:
        What distinguishes a set, in words that may stand in the name of a file -> its run folders.

    Raises:
        StoreError: a folder holds no run.
    """
    sets: dict[tuple[str, ...], list[Path]] = {}
    words: dict[tuple[str, ...], list[str]] = {}
    for folder in folders:
        retrieval = read_run(_retrieval_of(folder, read_run(folder)))
        identity, asked = retrieval["identity"], retrieval["asked"]
        key = tuple(str(identity[name]) for name in _SAME)
        sets.setdefault(key, []).append(folder)
        known = (asked.get("about"), f"{retrieval.get('queries', 'other')} queries", *key[2:])
        words[key] = [f"{identity['corpus']} {identity['split']}", *filter(None, known)]
    return {_distinct(words[key], list(words.values())): found for key, found in sets.items()}


def _distinct(words: Sequence[str], others: Sequence[Sequence[str]]) -> str:
    """As many words as no other set begins with."""
    n = next(
        (n for n in range(1, len(words)) if [w[:n] for w in others].count(words[:n]) == 1),
        len(words),
    )
    return re.sub(r"[^A-Za-z0-9.]+", "-", " ".join(words[:n])).strip("-")


def _check_same_data(folders: Sequence[Path], retrievals: Sequence[Mapping[str, Any]]) -> None:
    first = retrievals[0]["identity"]
    for folder, manifest in zip(folders[1:], retrievals[1:], strict=True):
        for name, what in _SAME.items():
            one, other = str(first[name]), str(manifest["identity"][name])
            if one != other:
                raise ConfigError(
                    f"{folders[0]} and {folder} are of different {what} ({one:.12} and "
                    f"{other:.12}): all runs of one report are on the same queries over the same "
                    "tables; --limit and --database make other queries. Write a report of each."
                )


def _labels(folders: Sequence[Path], manifests: Sequence[Mapping[str, Any]]) -> list[str]:
    plain = [" + ".join(_named(manifest["asked"])) for manifest in manifests]
    tasks = [str(manifest["identity"]["task"]) for manifest in manifests]
    with_task = [
        f"{name} ({task.replace('_', ' ')})" for name, task in zip(plain, tasks, strict=True)
    ]
    labels = []
    for i, name in enumerate(plain):
        if plain.count(name) > 1:
            name = with_task[i]
        if with_task.count(with_task[i]) > 1:
            name = f"{plain[i]} [{folders[i].name[-6:]}]"
        labels.append(name)
    return labels if len(set(labels)) == len(labels) else [folder.name for folder in folders]


def _named(asked: Mapping[str, Any]) -> list[str]:
    return [str(asked[part]) for part in ("retriever", "generator") if asked.get(part)]


def _opened(
    folder: Path, retrieval: Path, label: str, manifest: Mapping[str, Any], ids: Sequence[str]
) -> ReportRun:
    scored, base = _scores(folder), _scores(retrieval)
    ranked_on = read_run(retrieval)
    values, base_scores = _per_query(retrieval, ids), base["scores"]
    if retrieval != folder:
        if ranked_on["asked"]["retriever"] == NO_CONTEXT:
            base_scores, values = _over_no_query(base_scores), _unknown(values)
        values |= _per_query(folder, ids)
    run = ReportRun(
        folder=folder,
        label=label,
        manifest=manifest,
        retrieval=ranked_on,
        scores={**base_scores, **scored["scores"]},
        counts=base["counts"],
        answers=scored.get("answers"),
        values=values,
        rankings=Lines(retrieval / "retrieval.jsonl"),
        generations=Lines(folder / "generations.jsonl"),
        judgements=Lines(folder / "judgements.jsonl"),
    )
    answered = [run.generations] if run.answers is not None else []
    for lines in (run.rankings, *answered):
        missing = next((query_id for query_id in ids if query_id not in lines), None)
        if missing is not None:
            raise StoreError(
                f"{lines.path}: query {missing!r:.80} is not there; finish the run with the "
                "command that began it"
            )
    return run


def _scores(folder: Path) -> dict[str, Any]:
    found = scores_file(folder)
    if not isinstance(found.get("scores"), dict) or not isinstance(found.get("counts"), dict):
        raise StoreError(
            f"{folder / 'scores.json'}: holds no scores; remove it and run the same command again"
        )
    return found


def _over_no_query(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The scores of rankings that answers are not built on, as `run` prints them."""
    none = {"value": None, "low": None, "high": None, "n": 0}
    return {name: {**score, **none} for name, score in scores.items()}


def _unknown(values: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    return {name: np.full_like(found, np.nan) for name, found in values.items()}


def _per_query(folder: Path, ids: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Metric -> values in the order of the queries."""
    from pyarrow import ArrowException, parquet

    check_tables(folder, read_run(folder))
    path = folder / "per_query.parquet"
    try:
        table = parquet.read_table(path)
        rows = {query_id: i for i, query_id in enumerate(table["query_id"].to_pylist())}
        order = np.array([rows[query_id] for query_id in ids], dtype=np.int64)
        return {
            name: table[name].to_numpy().astype(np.float64)[order]
            for name in table.column_names
            if name != "query_id" and not name.startswith(PREFIX)
        }
    except (OSError, KeyError, ValueError, ArrowException) as error:
        raise StoreError(
            f"{path}: cannot be read, or not of these queries ({error}); run the same command again"
        ) from error


def _check_references(run: ReportRun, loaded: Loaded, observer: Observer) -> None:
    if run.answers is None:
        return
    queries, identity = loaded.of_task(run.task).dataset.queries, run.manifest["identity"]
    earlier = is_earlier(identity)
    fingerprint = earlier_answers_fingerprint if earlier else answers_fingerprint
    if fingerprint(queries) != identity["queries_fingerprint"]:
        raise StoreError(
            f"{run.folder}: the queries or their reference answers are not what they were, so what "
            "is stored does not belong to them. Name the data of the run with --data-dir, or run "
            "again."
        )
    if earlier:
        observer.warning(
            f"{earlier_note(run.folder)}: its prompts may have been others than those shown"
        )
