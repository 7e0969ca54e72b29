"""Packing runs into a submission: predictions, and what the runs are of."""

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from target_bench.core import registry
from target_bench.core.credentials import without_secrets
from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.files import atomic_write
from target_bench.core.identity import reads_gold
from target_bench.reporting.leaderboard.archive import (
    SUFFIX,
    RefusedError,
    SubmittedRun,
    check_lines,
    check_reproducible,
    check_zip,
    read_runs,
)
from target_bench.reporting.leaderboard.card import Card, describe_first_fault
from target_bench.runs.manifest import Command
from target_bench.runs.run import Run

SETTINGS = {"sets", "timeout", "workers"}
"""Settings of a task that leave open what its metrics measure."""


def pack(published: Mapping[str, tuple[SubmittedRun, str]], card: Card, out: Path) -> Path:
    """Write published runs and a card as one file; the same make the same bytes."""
    if not out.name.endswith(SUFFIX) or out.name == SUFFIX:
        raise ConfigError(f"-o {out}: the name of a submission ends in {SUFFIX}")
    members = {"card.yaml": yaml.safe_dump(card.model_dump(mode="json"), allow_unicode=True)}
    for folder, (run, lines) in published.items():
        members[f"{folder}/manifest.json"] = run.model_dump_json(indent=1)
        members[f"{folder}/{run.log.file}"] = lines
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            archive.writestr(info, members[name].encode(), zipfile.ZIP_DEFLATED)
    try:  # what is written can be read
        archive = check_zip(buffer)
        check_lines(archive, read_runs(archive, card))
    except RefusedError as error:
        raise ConfigError(f"cannot be submitted: {error}") from None
    try:
        atomic_write(out, buffer.getvalue())
    except OSError as error:
        raise StoreError(f"{out}: cannot be written: {error.strerror}") from error
    return out


def publish_all(folders: Sequence[Path]) -> dict[str, tuple[SubmittedRun, str]]:
    """Publish runs, and those of the rankings that their answers are built on, by name."""
    runs = {run.folder: run for run in (Run(folder.resolve()) for folder in folders)}
    for run in list(runs.values()):
        runs.setdefault(run.rankings_run.folder, run.rankings_run)
    published: dict[str, tuple[SubmittedRun, str]] = {}
    folders_by_name: dict[str, Path] = {}
    for folder, run in sorted(runs.items()):
        submitted, lines = publish(run)
        first = folders_by_name.setdefault(folder.name, folder)
        # The rankings below answers of two folders may be there twice.
        if first != folder and lines != published[folder.name][1]:
            raise ConfigError(
                f"{first} and {folder} have the same name and other predictions, but a submission "
                "holds one of them: leave one out, with the answers that are built on it"
            )
        published.setdefault(folder.name, (submitted, lines))
    return published


def publish(run: Run) -> tuple[SubmittedRun, str]:
    """Return what a submission says of a run, and its predictions as lines, sorted by query.

    They hold no times, no scores and nothing of the machine. A run that no board shows is refused.
    """
    folder, manifest, asked, identity = run.folder, run.manifest, run.command, run.identity
    settings = registry.parse("task", asked.task).settings
    _check_publishable(run, settings)
    generator = publish_label(asked.generator, asked.generator_name)
    try:
        submitted = SubmittedRun(
            task=identity.task,
            sets=bool(settings.get("sets")),
            corpus=_name_corpus(asked),
            split=identity.split,
            about=asked.about,
            distractors=list(asked.distractors),
            corpus_fingerprint=identity.corpus_fingerprint,
            queries_fingerprint=identity.queries_fingerprint,
            retriever=publish_label(asked.retriever, asked.retriever_name),
            generator=generator if identity.has_answers else None,
            top_k=list(run.rankings_run.identity.top_k),
            retrieval=asked.retrieval_run,
            date=(manifest.started or "")[:10],
        )
    except ValidationError as error:
        raise ConfigError(
            f"{folder}: cannot be submitted: {describe_first_fault(error)}"
        ) from error
    records: Mapping[str, Any] = run.answers if identity.has_answers else run.rankings
    lines: dict[str, str] = {}
    for query_id, record in records.items():
        hidden: dict[str, Any] = {"error": _keep_kind(record.error), "traceback": None}
        if identity.has_answers:
            hidden |= {"seconds": None, "cached": False, "shown_rows": ()}
        else:
            hidden |= {"scores": ()}
        lines[query_id] = submitted.log.to_json(replace(record, **hidden))
    if len(lines) != manifest.n_queries:
        raise StoreError(
            f"{folder}: holds {len(lines)} predictions, but its scores are of "
            f"{manifest.n_queries} queries; run the same command again"
        )
    return submitted, "".join(f"{lines[query_id]}\n" for query_id in sorted(lines))


def _check_publishable(run: Run, settings: Mapping[str, str]) -> None:
    """Refuse a run that others cannot repeat, or that is no result of a system on all queries."""
    folder, asked, identity = run.folder, run.command, run.identity
    try:
        check_reproducible(str(folder), identity.task, _name_corpus(asked), *asked.distractors)
    except RefusedError as error:
        raise ConfigError(f"cannot be submitted: {error}") from None
    if run.status != "finished":
        why = f" ({run.problem})" if run.status == "damaged" else ""
        raise StoreError(f"{folder}: is {run.status}{why}; run the same command again")
    if odd := sorted(settings.keys() - SETTINGS):
        raise ConfigError(
            f"{folder}: was run with {odd[0]} of {identity.task}, but a leaderboard scores every "
            f"run without that setting; run it with --task {identity.task}"
        )
    for part, system in (("retriever", identity.any_retriever), ("generator", identity.generator)):
        if reads_gold(system or {}):
            raise ConfigError(
                f"{folder}: its {part} is an upper bound that reads the gold; it is not a result "
                "of a system"
            )
    if asked.limit is not None:
        raise ConfigError(
            f"{folder}: was run with --limit, on a part of the queries; run it without, as scores "
            "of a board are of all of them"
        )


def _name_corpus(asked: Command) -> str:
    name = asked.corpus
    return "(made in Python)" if name is None else registry.spell_name("corpus", name)


def _keep_kind(error: str | None) -> str | None:
    """Keep the kind of an error alone: the rest may hold paths, addresses or prompts."""
    if error is None:
        return None
    kind = error.partition(":")[0]
    return kind if re.fullmatch(r"[a-z][a-z -]{0,30}", kind) else "failed"


_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\",]+", re.IGNORECASE)
_FOLDER = re.compile(
    r"(?<![\w.])(?:~[\\/]|\.{0,2}/|[A-Za-z]:[\\/]|\\\\)(?:[^\\/:,='\"\[\]{}()]+[\\/])*"
)


def publish_label(text: str | None, name: str | None) -> str | None:
    """Return a system as it was asked for, its own name in front, without folders and addresses."""
    if text is None:
        return None
    label = text if name is None else f"{name}={text}"
    return _FOLDER.sub("", _ADDRESS.sub("***", without_secrets(label)))
