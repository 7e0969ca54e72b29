"""Packing runs into a submission: predictions, what they are of, and the card.

Names of machines, users and folders are removed from what is submitted.
"""

import hashlib
import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from getpass import getuser
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from pydantic import ValidationError

from target_bench.core import registry
from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.metric import SYNTHETIC
from target_bench.core.registry import installed_version
from target_bench.core.schema import MARKS, Generation, Retrieval
from target_bench.core.settings import is_secret, without_secrets
from target_bench.data.read_split import is_path
from target_bench.data.select import make_task
from target_bench.reporting.leaderboard import archive
from target_bench.reporting.leaderboard.archive import FORMAT, LARGEST_ARCHIVE, MOST_RUNS, SUFFIX
from target_bench.reporting.leaderboard.card import Card
from target_bench.reporting.leaderboard.document_models import Declared, RunDocument, first_fault
from target_bench.reporting.leaderboard.read_submission import LONGEST_ANSWER, LONGEST_ANSWERS
from target_bench.runs.integrity import check
from target_bench.runs.manifest import NO_CONTEXT, Asked, Identity
from target_bench.runs.record_log import JUDGEMENTS
from target_bench.runs.result import Result, read_run

_ENVIRONMENT = ("python", "machine", "processors", "threads", "packages")
_SECONDS = ("load", "embed_corpus", "retrieve", "generate", "score")
_LATENCY = ("p50", "p95", "p99", "queries", "threads")
_UPPER_BOUNDS = ("oracle", "gold")


def with_retrievals(folders: Sequence[Path]) -> list[Result]:
    """Return the runs in the folders, and the retrievals that runs of answers are built on.

    Raises:
        StoreError: one holds no run.
    """
    found: dict[Path, Result] = {}
    for run in map(read_run, map(Path.resolve, folders)):
        found |= {run.retrieval.folder: run.retrieval, run.folder: run}
    return sorted(found.values(), key=lambda run: (run.folder.name, str(run.folder)))


def corpora_of(folders: Sequence[Path]) -> list[str]:
    """Return the corpora that a card has to say something about; errors as for ``pack``."""
    return sorted({_corpus(run) for run in with_retrievals(folders)})


def pack(folders: Sequence[Path], card: Card, out: Path, partial: bool = False) -> Path:
    """Write runs and a card as one file; the same runs and card make the same bytes.

    Args:
        folders: run folders; the retrievals of runs of answers are packed with them.
        card: who made what.
        out: the file, ending in ``.tbs.zip``; its folder is made if it is missing.
        partial: take runs of a part of the queries too; the others will count as wrong.

    Raises:
        ConfigError: a run that others cannot check, or that is not a result of a system; a card
            that says nothing about a corpus; a name of another form.
        StoreError: a run that is not finished, or damaged; a file that cannot be written.
    """
    if not out.name.endswith(SUFFIX) or out.name == SUFFIX:
        raise ConfigError(f"-o {out}: the name of a submission ends in {SUFFIX}")
    runs = with_retrievals(folders)
    bases = {run.retrieval.folder for run in runs if run.retrieval is not run}
    for run in runs:
        _check_questions(run)
        if run.folder not in bases and not run.scores:
            raise ConfigError(
                f"{run.folder}: no query of {run.corpus} {run.split} has a reference here, so the "
                "run holds predictions and no scores, and a submission of it cannot be scored"
            )
    if not runs or len(runs) > MOST_RUNS:
        raise ConfigError(f"{len(runs)} runs: a submission holds 1 to {MOST_RUNS}")
    missing = [name for name in corpora_of(folders) if name not in card.training_data]
    if missing:
        raise ConfigError(
            f"the card says nothing about training on {', '.join(missing)}; "
            "add it to training_data as yes, no or unknown"
        )
    files = {"card.json": _document(card.model_dump(mode="json"))}
    for place, run in enumerate(runs):
        packed = _packed(run, runs, partial)
        files |= {f"runs/{place}/{name}": content for name, content in packed.items()}
    index = {
        "format": FORMAT,
        "written_by": f"target-bench {installed_version('target-bench')}",
        "partial": partial,
        "runs": len(runs),
        "files": {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)},
    }
    try:
        archive.write(out, {**files, "submission.json": _document(index)})
        size = out.stat().st_size
    except OSError as error:
        raise StoreError(f"{out}: cannot be written: {error.strerror}") from error
    if size > LARGEST_ARCHIVE:
        out.unlink()
        raise ConfigError(
            f"{out}: would have {size:,} bytes, but at most {LARGEST_ARCHIVE:,} are read; "
            "submit fewer runs at a time"
        )
    return out


def _packed(run: Result, runs: Sequence[Result], partial: bool) -> dict[str, bytes]:
    """Return the files of one run."""
    _check_undamaged(run)
    _check_task(run)
    _check_kind(run.asked, run.folder)
    _check_whole(run.asked, run.folder, partial)
    files = {"run.json": _document(_about(run, runs).model_dump(mode="json"))}
    if run.has_answers:
        answers = run.answers.values()
        _check_lengths([one.generation.text for one in answers], run.folder)
        lines = [_answer(one.generation, one.truncated) for one in answers]
        files["generations.jsonl"] = _lines(run, lines)
        if make_task(run.task).replays:
            records = [_judgement(run, query_id) for query_id in run.answers]
            files[JUDGEMENTS] = b"".join(_encoded(one) + b"\n" for one in records if one)
    else:
        rankings = [_ranking(one) for one in run.rankings.values()]
        files["retrieval.jsonl"] = _lines(run, rankings)
    return files


def _about(run: Result, runs: Sequence[Result]) -> RunDocument:
    """``run.json``: what a run is of, how it was made, and the scores it declares.

    Raises:
        ConfigError: something in it is longer or larger than a submission may hold.
    """
    asked, identity, manifest, times = run.asked, run.identity, run.manifest, run.own_times
    folders = [one.folder for one in runs]
    scores = {name: replace(score, spec=None).to_json() for name, score in run.scores.items()}
    try:
        return RunDocument(
            corpus=_corpus(run),
            split=identity.split,
            task=identity.task,
            about=asked.about,
            database=asked.database,
            limit=asked.limit,
            distractors=list(asked.distractors),
            retriever=_label(asked.retriever, asked.retriever_name) if asked.retriever else None,
            generator=_label(asked.generator or "", asked.generator_name)
            if run.has_answers
            else None,
            retrieval=None if run.retrieval is run else folders.index(run.retrieval.folder),
            cutoffs=list(run.retrieval.identity.top_k),
            corpus_fingerprint=identity.corpus_fingerprint,
            queries_fingerprint=identity.queries_fingerprint,
            files=scrubbed(manifest.files),
            identity=scrubbed(_identity(identity)),
            environment=scrubbed(_of(manifest.environment, _ENVIRONMENT) or {}),
            seconds=_of(times.seconds, _SECONDS) or {},
            timed_queries=times.timed_queries,
            latency_ms=_of(times.latency, _LATENCY),
            cold=True,
            scores={name: Declared(**score) for name, score in scores.items()},
            date=(manifest.started or "")[:10],
        )
    except ValidationError as error:
        raise ConfigError(f"{run.folder}: cannot be submitted: {first_fault(error)}") from error


def _label(text: str, name: str | None) -> str:
    """Return a plug-in as it was named, with its name in front where it has one."""
    named = name is not None and text != NO_CONTEXT
    return scrubbed_label(f"{name}={text}" if named else text)


def _check_undamaged(run: Result) -> None:
    checked = check(run.folder)
    if checked.problems:
        raise StoreError(
            f"{run.folder}: damaged, so it is not packed: {checked.problems[0]}. See target-bench "
            f"runs fsck {run.folder}"
        )
    run.scores  # noqa: B018 (an unfinished run is not packed)


def _check_task(run: Result) -> None:
    """See that the task can be loaded by its name, wherever the submission is verified."""
    if run.task not in registry.names("task"):
        raise ConfigError(
            f"{run.folder}: its task {run.task!r} is not registered, so others cannot load it by "
            "name. Offer it in an installed package, as an entry point of target_bench.tasks"
        )


def _check_questions(run: Result) -> None:
    """See that all questions are of people."""
    named = next((name for name in run.scores if name.endswith(SYNTHETIC)), None)
    if named is not None:
        raise ConfigError(
            f"{run.folder}: {named} is of synthetic questions, and a board compares systems by "
            "those of people; run it on the corpus as it was published"
        )


def _check_kind(asked: Asked, folder: Path) -> None:
    for name, found in (("retriever", asked.retriever), ("generator", asked.generator)):
        if found in _UPPER_BOUNDS:
            raise ConfigError(
                f"{folder}: its {name} is {found}, an upper bound that reads the gold; "
                "it is not a result of a system"
            )


def _check_whole(asked: Asked, folder: Path, partial: bool) -> None:
    for name, found in (("limit", asked.limit), ("database", asked.database)):
        if found is not None and not partial:
            raise ConfigError(
                f"{folder}: was run with --{name} {found}, on a part of the queries. Run all "
                "of them, or pass --partial: the others then count as wrong."
            )


def _check_lengths(texts: Sequence[str], folder: Path) -> None:
    longest, total = max(map(len, texts), default=0), sum(map(len, texts))
    if longest > LONGEST_ANSWER or total > LONGEST_ANSWERS:
        raise ConfigError(
            f"{folder}: its longest answer has {longest:,} characters and all together {total:,}; "
            f"at most {LONGEST_ANSWER:,} and {LONGEST_ANSWERS:,} are read. Limit the tokens of an "
            "answer."
        )


def _corpus(run: Result) -> str:
    """Return the registered name of the corpus."""
    names = [run.asked.corpus, *(spec.partition(":")[0] for spec in run.asked.distractors)]
    for name in names:
        canonical = None if name is None or is_path(name) else registry.canonical("corpus", name)
        if canonical not in registry.names("corpus"):
            raise ConfigError(
                f"{run.folder}: is of {'a corpus made in Python' if name is None else repr(name)}, "
                "which others cannot load by name; a submission is about named corpora: "
                f"{', '.join(registry.names('corpus'))}"
            )
    return registry.canonical("corpus", str(names[0]))


def _identity(identity: Identity) -> dict[str, Any]:
    """Return the plug-ins and the prompt."""
    found = {
        name: identity.content[name] for name in ("generator", "prompt") if name in identity.content
    }
    return {"retriever": identity.retriever, **found}


def _of(record: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, Any] | None:
    return None if record is None else {name: record[name] for name in names if name in record}


def _ranking(one: Retrieval) -> dict[str, Any]:
    return {
        "query_id": one.query_id,
        "tables": list(one.tables),
        **({"error": _kind(one.error)} if one.error is not None else {}),
        **{name: True for name in MARKS if getattr(one, name)},
    }


def _answer(one: Generation, truncated: bool) -> dict[str, Any]:
    known = {
        "input_tokens": one.input_tokens,
        "output_tokens": one.output_tokens,
        "cost": one.cost,
        "seconds": one.seconds,
        "finish_reason": one.finish_reason,
        "error": None if one.error is None else _kind(one.error),
        "cached": one.cached or None,
        "truncated": truncated or None,
    }
    shown = {name: value for name, value in known.items() if value is not None}
    return {"query_id": one.query_id, "text": one.text, **shown}


def _judgement(run: Result, query_id: str) -> dict[str, Any] | None:
    """Return the recorded judgement of an answer; None of a query without a reference."""
    found = run.judgements.get(query_id)
    return None if found is None else dict(found)


def _kind(error: str) -> str:
    """Return the kind of an error alone: the rest may hold paths, addresses or prompts."""
    kind = error.partition(":")[0]
    return kind if re.fullmatch(r"[a-z][a-z -]{0,30}", kind) else "failed"


def _lines(run: Result, records: list[dict[str, Any]]) -> bytes:
    if len(records) != run.n_queries:
        raise StoreError(
            f"{run.folder}: holds {len(records)} predictions, but its scores are of "
            f"{run.n_queries} queries; run the same command again"
        )
    ordered = sorted(records, key=lambda record: str(record["query_id"]))
    return b"".join(_encoded(record) + b"\n" for record in ordered)


def _document(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, indent=1, allow_nan=False).encode() + b"\n"


def _encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


_PART = r"[^/\\:,=\s'\"\[\]{}()]+"
_PATH = re.compile(rf"(?:~|\.{{1,2}})?(?:/{_PART})+/?|(?:[A-Za-z]:|\\)(?:[/\\]{_PART})+[/\\]?")
_ADDRESS = re.compile(r"\b(?:[a-z][a-z0-9+.-]*)://[^\s'\",]+", re.IGNORECASE)
_SHORTEST = 4  # letters of a name that is looked for in texts; shorter ones are parts of words


def scrubbed(value: Any) -> Any:
    """Return a JSON value without paths, addresses, secrets, and names of the machine and its user.

    Of a path the last part is kept, of the value of a setting with the name of a secret nothing.
    """
    if isinstance(value, dict):
        return {
            scrubbed_label(str(name)): "***" if is_secret(str(name)) and found else scrubbed(found)
            for name, found in value.items()
        }
    if isinstance(value, list | tuple):
        return [scrubbed(item) for item in value]
    if not isinstance(value, str):
        return value
    for path in (PurePosixPath(value), PureWindowsPath(value)):
        if path.is_absolute() and path.name:
            value = path.name
    return scrubbed_label(value)


def scrubbed_label(text: str) -> str:
    """Return the same of a text; paths inside it are shortened to their last part."""
    text = _ADDRESS.sub("***", without_secrets(text))
    text = text.replace(str(Path.home()), "~")
    text = _PATH.sub(_last_part, text)
    for name in _names():
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "***", text, flags=re.IGNORECASE)
    return text


def _last_part(match: re.Match[str]) -> str:
    found = match[0]
    before = match.string[match.start() - 1 : match.start()]
    if before.isalnum() and found[0] == "/":  # org/model, and/or: no path of a machine
        return found
    parts = [part for part in re.split(r"[/\\]", found) if part not in ("", "~", ".", "..")]
    return parts[-1] if parts else ""


def _names() -> list[str]:
    try:
        user = getuser()
    except (OSError, KeyError, ImportError):
        user = ""
    names = {platform.node(), user, Path.home().name}
    return sorted(name for name in names if len(name) >= _SHORTEST and name != "root")
