"""Packing runs into a submission: predictions, what they are of, and the card.

Names of machines, users and folders are removed from what is submitted.
"""

import hashlib
import json
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from getpass import getuser
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from pydantic import ValidationError

from target_bench.core import registry
from target_bench.core.credentials import is_secret, without_secrets
from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.identity import reads_gold
from target_bench.core.registry import installed_version
from target_bench.core.task_names import make_task
from target_bench.data.load import is_path
from target_bench.reporting.leaderboard.documents import (
    MOST_RUNS,
    AnswerLine,
    Card,
    RankingLine,
    RunDocument,
    first_fault,
)
from target_bench.reporting.leaderboard.submission import (
    LARGEST_ARCHIVE,
    LONGEST_ANSWERS,
    SUFFIX,
    predictions_file,
    write,
)
from target_bench.runs.result import Result, read_run
from target_bench.runs.times import cold

_ENVIRONMENT = ("python", "machine", "processors", "threads", "packages")
_SECONDS = ("load", "embed_corpus", "retrieve", "generate", "score")
_LATENCY = ("p50", "p95", "p99", "queries", "threads")


def pack(folders: Sequence[Path], card: Card, out: Path) -> Path:
    """Write runs and a card as one file; the same runs and card make the same bytes.

    Args:
        folders: run folders; the retrievals of runs of answers are packed with them.
        card: who made what.
        out: the file, ending in ``.tbs.zip``; its folder is made if it is missing.

    Raises:
        ConfigError: a run that others cannot check, or that is not a result of a system; a card
            that says nothing about a corpus; a name of another form.
        StoreError: a run that is not finished, or damaged; a file that cannot be written.
    """
    if not out.name.endswith(SUFFIX) or out.name == SUFFIX:
        raise ConfigError(f"-o {out}: the name of a submission ends in {SUFFIX}")
    runs = with_retrievals(folders)
    if not runs or len(runs) > MOST_RUNS:
        raise ConfigError(f"{len(runs)} runs: a submission holds 1 to {MOST_RUNS}")
    bases = {run.retrieval.folder for run in runs if run.retrieval is not run}
    for run in runs:
        _check(run, is_basis=run.folder in bases)
    _check_settings(runs)
    missing = [name for name in corpora_of(runs) if name not in card.training_data]
    if missing:
        raise ConfigError(
            f"the card says nothing about training on {', '.join(missing)}; "
            "add it to training_data as yes, no or unknown"
        )
    files = {"card.json": _json(card.model_dump(mode="json"))}
    for place, run in enumerate(runs):
        try:
            document = _run_document(run, runs)
            predictions = _predictions(run)
        except ValidationError as error:
            message = f"{run.folder}: cannot be submitted: {first_fault(error)}"
            raise ConfigError(message) from error
        files[f"runs/{place}/run.json"] = _json(document.model_dump(mode="json"))
        files[predictions_file(document, place)] = predictions
    index = {
        "format": 3,
        "written_by": f"target-bench {installed_version('target-bench')}",
        "runs": len(runs),
        "files": {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)},
    }
    try:
        write(out, {**files, "submission.json": _json(index)})
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


def with_retrievals(folders: Sequence[Path]) -> list[Result]:
    """Return the runs in the folders, and the retrievals that runs of answers are built on.

    Raises:
        StoreError: one holds no run.
    """
    runs: dict[Path, Result] = {}
    for run in map(read_run, map(Path.resolve, folders)):
        runs |= {run.retrieval.folder: run.retrieval, run.folder: run}
    return sorted(runs.values(), key=lambda run: (run.folder.name, str(run.folder)))


def corpora_of(runs: Sequence[Result]) -> list[str]:
    """Return the registered names of the corpora that a card has to say something about.

    Raises:
        ConfigError: a run is of a corpus without a registered name.
    """
    return sorted({_corpus(run) for run in runs})


def scrubbed(value: Any) -> Any:
    """Return a JSON value without paths, addresses, secrets, and names of the machine and its user.

    Of a path the last part is kept, of the value of a setting with the name of a secret nothing.
    """
    if isinstance(value, dict):
        return {
            _scrubbed_text(str(name)): "***" if is_secret(str(name)) and inner else scrubbed(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [scrubbed(item) for item in value]
    if not isinstance(value, str):
        return value
    for path in (PurePosixPath(value), PureWindowsPath(value)):
        if path.is_absolute() and path.name:
            value = path.name
    return _scrubbed_text(value)


def _check(run: Result, is_basis: bool) -> None:
    """See that a run is whole, that others can check it, and that it is a result of a system."""
    command, identity, folder = run.asked, run.identity, run.folder
    if run.problem is not None:
        raise StoreError(f"{folder}: damaged, so it is not packed: {run.problem}")
    registered = run.task in registry.names("task")
    judge = make_task(run.task).judge if registered else None
    for fault, message in (
        (
            run.is_synthetic,
            "its questions are synthetic, and a board compares systems by those of people; run it "
            "on the corpus as it was published",
        ),
        (
            not is_basis and not run.scores,
            f"no query of {run.corpus} {run.split} has a reference here, so the run holds "
            "predictions and no scores, and a submission of it cannot be scored",
        ),
        (
            not registered,
            f"its task {run.task!r} is not registered, so others cannot load it by name. Offer it "
            "in an installed package, as an entry point of target_bench.tasks",
        ),
        (
            judge is not None and judge.replays,
            f"a model judges answers to {run.task}, so that others cannot compute its scores again",
        ),
        (
            reads_gold(identity.retriever) or reads_gold(identity.generator or {}),
            f"its {'generator' if reads_gold(identity.generator or {}) else 'retriever'} is an "
            "upper bound that reads the gold; it is not a result of a system",
        ),
        (
            command.limit is not None,
            "was run with --limit, on a part of the queries; run it without, as "
            "scores of a board are of all of them",
        ),
    ):
        if fault:
            raise ConfigError(f"{folder}: {message}")


def _check_settings(runs: Sequence[Result]) -> None:
    """See that there is one setting of one system for each task and data.

    Raises:
        ConfigError: there are several, of which a board would show the best.
    """
    chosen: dict[tuple[Any, ...], Result] = {}
    for run in runs:
        command = run.asked
        data = (run.task, command.about, _corpus(run), run.identity.split, *command.distractors)
        other = chosen.setdefault(data, run)
        if other is not run:
            raise ConfigError(
                f"{other.folder.name} and {run.folder.name} are of the same task and data: a "
                "submission has one setting of one system for each corpus. Choose one on another "
                "split than the submitted one, and say in the card which (chosen_on); other "
                "systems are submissions of their own"
            )


def _corpus(run: Result) -> str:
    """Return the registered name of the corpus."""
    names = [run.asked.corpus, *(spec.partition(":")[0] for spec in run.asked.distractors)]
    known = registry.names("corpus")
    for name in names:
        if name is None or is_path(name) or registry.canonical("corpus", name) not in known:
            raise ConfigError(
                f"{run.folder}: is of {'a corpus made in Python' if name is None else repr(name)}, "
                "which others cannot load by name; a submission is about named corpora: "
                f"{', '.join(known)}"
            )
    return registry.canonical("corpus", str(names[0]))


def _run_document(run: Result, runs: Sequence[Result]) -> RunDocument:
    """Return ``run.json``: what a run is of, and how it was made."""
    command, identity, manifest, times = run.asked, run.identity, run.manifest, cold(run.manifest)
    folders = [other.folder for other in runs]
    made = {n: identity.content[n] for n in ("generator", "prompt") if n in identity.content}
    generator = (
        _label(command.generator, command.generator_name) if run.identity.has_answers else None
    )
    return RunDocument(
        corpus=_corpus(run),
        split=identity.split,
        task=identity.task,
        about=command.about,
        distractors=list(command.distractors),
        retriever=_label(command.retriever, command.retriever_name),
        generator=generator,
        retrieval=None if run.retrieval is run else folders.index(run.retrieval.folder),
        cutoffs=list(run.retrieval.identity.top_k),
        corpus_fingerprint=identity.corpus_fingerprint,
        queries_fingerprint=identity.queries_fingerprint,
        files=scrubbed(manifest.files),
        identity=scrubbed({"retriever": identity.retriever, **made}),
        environment=scrubbed(_only(_ENVIRONMENT, manifest.environment)),
        seconds=_only(_SECONDS, times.seconds),
        timed_queries=times.timed_queries,
        latency_ms=None if times.latency is None else _only(_LATENCY, times.latency),
        cold=True,
        date=(manifest.started or "")[:10],
        sets="set_f1" in run.scores,
    )


def _label(text: str | None, name: str | None) -> str | None:
    """Return a plug-in as it was named, with its name in front where it has one."""
    return _scrubbed_text(text if name is None else f"{name}={text}") if text else None


def _only(names: Sequence[str], record: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: record[name] for name in names if name in record} if record else {}


def _predictions(run: Result) -> bytes:
    """Return the lines of rankings or answers, by the ids of their queries."""
    lines: Iterable[RankingLine | AnswerLine]
    if run.identity.has_answers:
        total = sum(len(answer.generation.text) for answer in run.answers.values())
        if total > LONGEST_ANSWERS:
            raise ConfigError(
                f"{run.folder}: all answers together have {total:,} characters; at most "
                f"{LONGEST_ANSWERS:,} are read. Limit the tokens of an answer."
            )
        lines = [
            AnswerLine(
                **{n: v for n, v in asdict(a.generation).items() if n in AnswerLine.model_fields}
                | {"error": _kind(a.generation.error), "truncated": a.truncated}
            )
            for a in run.answers.values()
        ]
    else:
        lines = [
            RankingLine(
                query_id=ranking.query_id,
                tables=[list(table) for table in ranking.tables],
                error=_kind(ranking.error),
                resorted=ranking.resorted,
                tied=ranking.tied,
                cut=ranking.cut,
            )
            for ranking in run.rankings.values()
        ]
    if len(lines) != run.n_queries:
        raise StoreError(
            f"{run.folder}: holds {len(lines)} predictions, but its scores are of "
            f"{run.n_queries} queries; run the same command again"
        )
    records = (line.model_dump(exclude_defaults=True) for line in lines)
    return b"".join(
        json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        for record in sorted(records, key=lambda record: str(record["query_id"]))
    )


def _kind(error: str | None) -> str | None:
    """Return the kind of an error alone: the rest may hold paths, addresses or prompts."""
    if error is None:
        return None
    kind = error.partition(":")[0]
    return kind if re.fullmatch(r"[a-z][a-z -]{0,30}", kind) else "failed"


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, indent=1, allow_nan=False).encode() + b"\n"


_PART = r"[^/\\:,=\s'\"\[\]{}()]+"
_PATH = re.compile(rf"(?:~|\.{{1,2}})?(?:/{_PART})+/?|(?:[A-Za-z]:|\\)(?:[/\\]{_PART})+[/\\]?")
_ADDRESS = re.compile(r"\b(?:[a-z][a-z0-9+.-]*)://[^\s'\",]+", re.IGNORECASE)
_SHORTEST = 4  # letters of a name that is looked for in texts; shorter ones are parts of words


def _scrubbed_text(text: str) -> str:
    """Return ``scrubbed`` of a text; paths inside it are shortened to their last part."""
    text = _ADDRESS.sub("***", without_secrets(text)).replace(str(Path.home()), "~")
    text = _PATH.sub(_last_part, text)
    try:
        user = getuser()
    except (OSError, KeyError, ImportError):
        user = ""
    for name in {platform.node(), user, Path.home().name} - {"root"}:
        if len(name) >= _SHORTEST:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "***", text, flags=re.IGNORECASE)
    return text


def _last_part(match: re.Match[str]) -> str:
    path = match[0]
    before = match.string[match.start() - 1 : match.start()]
    if before.isalnum() and path[0] == "/":  # org/model, and/or: no path of a machine
        return path
    parts = [part for part in re.split(r"[/\\]", path) if part not in ("", "~", ".", "..")]
    return parts[-1] if parts else ""
