"""The typed manifest of a run: what was run on what, its status, and what was recorded on the way.

``manifest.json`` is checked when it is read: a missing or wrong entry is a ``StoreError`` that
names file, entry and value. Entries that this version does not know, as a later one may add, are
kept and written back.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import StoreError
from target_bench.core.files import WHOLLY, DamageError, unsealed
from target_bench.core.settings import without_secrets
from target_bench.runs.run_identity import Identity

Status = Literal["running", "finished", "failed", "interrupted"]
"""What a run recorded last.

``running`` is written when work begins, ``finished`` with the scores, ``failed`` when an error ends
the run, ``interrupted`` when the user does (Ctrl-C). A killed process leaves ``running``.
"""

FORMAT = 1
"""The version of the layout; a folder of another version is refused."""

NO_CONTEXT = "no-context"
"""The retriever of runs without tables: the lower bound of answers."""

LONGEST_ERROR = 2000
"""Characters of an error message that are recorded."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The words of the command, with which the run can be asked for again.

    Attributes:
        corpus: name or absolute path of the corpus; None for one that was made in Python.
        distractors: how each set of distractor tables was asked for.
        retriever: the retriever, with its settings; None where nothing was retrieved.
        generator: the generator, with its settings; None for rankings.
        task: the task, with its settings; None for rankings and in runs of version 0.1.0.
        retrieval_run: name of the folder of the rankings that answers are built on.
        about: the task that the queries are about, where one was chosen.
        database: the only database that was asked about.
        limit: how many queries were asked at most.
        options: option -> value of how the run was made; None in runs of version 0.1.0.
        prompting: option -> value of what its prompts are made of; None for rankings, and in runs
            of version 0.1.0.
        more: entries that this version does not know.
    """

    corpus: str | None
    distractors: tuple[str, ...]
    retriever: str | None = None
    generator: str | None = None
    task: str | None = None
    retrieval_run: str | None = None
    about: str | None = None
    database: str | None = None
    limit: int | None = None
    options: Mapping[str, Any] | None = None
    prompting: Mapping[str, Any] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What ranked, and what answered if anything did."""
        return " + ".join(filter(None, (self.retriever, self.generator)))

    def to_json(self) -> dict[str, Any]:
        """Return the mapping entry -> value, without empty entries except ``corpus``."""
        known = {name: getattr(self, name) for name in ASKED}
        said = {name: value for name, value in known.items() if value is not None}
        return {"corpus": self.corpus, **said, "distractors": list(self.distractors), **self.more}


@dataclass(frozen=True, slots=True)
class MixedIn:
    """A set of distractor tables that was mixed into the corpus.

    Attributes:
        spec: how it was asked for.
        n: how many tables.
        ids: their ids, as text.
    """

    spec: str
    n: int
    ids: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the mapping field name -> value."""
        return {"spec": self.spec, "n": self.n, "ids": list(self.ids)}


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is recorded of a run, but for its answers and scores.

    Attributes:
        id: name of the run folder when it was made.
        identity: all that can change the result.
        asked: the words of the command.
        status: what was recorded last; None in a run of version 0.1.0.
        error: the error that ended the last work on the run, its type first; credentials are
            masked. None after work that did not fail.
        queries: how many queries were asked.
        environment: interpreter, host, packages, accelerators and commit of the first work.
        files: SHA-256 of the data files, by name.
        data: where the data are from.
        distractors: what was mixed into the corpus.
        started: when the run began, as local time with offset.
        seconds: stage -> wall-clock seconds, over all times that the run was gone on with.
        timed_queries: how many queries ``seconds["retrieve"]`` covers; None before it is measured.
        timed_answers: how many answers ``seconds["generate"]`` covers; None likewise.
        from_caches: stage -> the caches that something in its time came out of.
        latency_ms: milliseconds of single queries, where measured.
        notes: what the retriever has to say about its work.
        tables: SHA-256 of the Parquet files, by name.
        sealed: whether every file of the run was sealed from its first line on.
        more: entries that this version does not know.
    """

    id: str
    identity: Identity
    asked: Asked
    status: Status | None = None
    error: str | None = None
    queries: int | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    data: str | None = None
    distractors: tuple[MixedIn, ...] = ()
    started: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    timed_queries: int | None = None
    timed_answers: int | None = None
    from_caches: Mapping[str, Sequence[str]] = field(default_factory=dict)
    latency_ms: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    sealed: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the document, without its seal and without entries that say nothing."""
        known = {name: getattr(self, name) for name in ENTRIES}
        known |= {
            "notes": list(self.notes),
            "distractors": [one.to_json() for one in self.distractors],
        }
        return {
            **({WHOLLY: True} if self.sealed else {}),
            "format": FORMAT,
            "id": self.id,
            "identity": dict(self.identity.content),
            "asked": self.asked.to_json(),
            **{name: value for name, value in known.items() if value not in (None, {}, [])},
            **self.more,
        }


def parse(record: Mapping[str, Any], path: Path) -> Manifest:
    """Return the manifest that a document without its seal holds.

    Args:
        record: the document.
        path: the file it is from, for messages.

    Raises:
        StoreError: an entry is missing or wrong.
    """
    check(record, ENTRIES, "", path)
    for name, rules in (("identity", IDENTITY), ("asked", ASKED)):
        check(record.get(name), rules, f"{name}.", path, REQUIRED[name])
    known = {name: record[name] for name in ENTRIES if name in record}
    known |= {name: tuple(known[name]) for name in ("notes",) if name in known}
    if "distractors" in known:
        known["distractors"] = tuple(
            MixedIn(one["spec"], one["n"], tuple(one.get("ids", ())))
            for one in known["distractors"]
        )
    others = {"format", "id", "identity", "asked", WHOLLY}
    return Manifest(
        id=str(record.get("id", path.parent.name)),
        identity=Identity(record["identity"]),
        asked=asked_from(record["asked"]),
        sealed=WHOLLY in record,
        more={n: value for n, value in record.items() if n not in ENTRIES and n not in others},
        **known,
    )


def asked_from(record: Mapping[str, Any]) -> Asked:
    """Return the words of a command, from a JSON object that is known to be right."""
    known = {name: record[name] for name in ASKED if name in record}
    known["distractors"] = tuple(record["distractors"])
    return Asked(**known, more={name: v for name, v in record.items() if name not in ASKED})


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a run folder.

    Raises:
        StoreError: there is none, it is not of this version, an entry is missing or wrong, or it
            is not what was written. One of an earlier target-bench has no seal and is read as it
            is.
    """
    path = folder / "manifest.json"
    if not folder.is_dir():
        raise StoreError(f"{folder}: there is no such run folder")
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{path}: cannot be read ({error}); move the folder away") from error
    if not isinstance(record, dict):
        raise StoreError(f"{path}: holds no manifest; move the folder away")
    _check_format(record.get("format"), path)
    try:
        return parse(unsealed(record, required=WHOLLY in record), path)
    except DamageError as error:
        raise StoreError(
            f"{path}: damaged or edited: {error}; choose another --out folder and run it again, or "
            "move the folder away"
        ) from error


def _check_format(found: Any, path: Path) -> None:
    if found == FORMAT:
        return
    newer = isinstance(found, int) and found > FORMAT
    written = "written by a newer target-bench: update it, or" if newer else "damaged:"
    raise StoreError(
        f"{path}: format {found!r}, but this version of target-bench reads {FORMAT}; choose "
        f"another --out folder ({written} move the folder away)"
    )


def described_error(error: BaseException) -> str:
    """Return an error as it is recorded: its type and message, credentials masked."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return without_secrets(text)[:LONGEST_ERROR]


_ADVICE = "run it again with another --out folder, or move the folder away"


class Kind(NamedTuple):
    """What an entry has to be.

    Attributes:
        words: for messages.
        fits: whether a value is of this kind.
    """

    words: str
    fits: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_mixed_in(value: Any) -> bool:
    known = isinstance(value, dict) and _is_text(value.get("spec")) and _is_whole(value.get("n"))
    return known and _is_texts(value.get("ids", []))


def _object_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def _optional(kind: Kind) -> Kind:
    return Kind(f"{kind.words} or null", lambda value: value is None or kind.fits(value))


_TEXT = Kind("a text", _is_text)
_WHOLE = Kind("a whole number from 0", _is_whole)
_OBJECT = Kind("an object", lambda value: isinstance(value, dict))
_TEXTS = Kind("a list of texts", _is_texts)
_TEXT_OF_EACH = Kind("an object of texts", _object_of(_is_text))

IDENTITY = {
    **dict.fromkeys(("task", "corpus", "split"), _TEXT),
    **dict.fromkeys(("corpus_fingerprint", "queries_fingerprint"), _TEXT),
    "top_k": Kind(
        "a list of whole numbers",
        lambda v: isinstance(v, list) and bool(v) and all(map(_is_whole, v)),
    ),
    "metrics": _TEXTS,
    **dict.fromkeys(("retriever", "generator", RANKING_TASK, "given"), _OBJECT),
}

ASKED = {
    "corpus": _optional(_TEXT),
    "distractors": _TEXTS,
    **dict.fromkeys(
        ("retriever", "generator", "task", "retrieval_run", "about", "database"), _optional(_TEXT)
    ),
    "limit": _optional(_WHOLE),
    **dict.fromkeys(("options", "prompting"), _optional(_OBJECT)),
}

REQUIRED = {
    "identity": ("task", "corpus", "split", "corpus_fingerprint", "queries_fingerprint"),
    "asked": ("corpus", "distractors"),
}

ENTRIES = {
    "status": _optional(
        Kind(f"one of {', '.join(get_args(Status))}", get_args(Status).__contains__)
    ),
    "error": _optional(_TEXT),
    "queries": _WHOLE,
    "environment": _OBJECT,
    "files": _TEXT_OF_EACH,
    "data": _optional(_TEXT),
    "distractors": Kind(
        "a list of spec, n and ids", lambda v: isinstance(v, list) and all(map(_is_mixed_in, v))
    ),
    "started": _TEXT,
    "seconds": Kind("an object of numbers", _object_of(_is_number)),
    "timed_queries": _WHOLE,
    "timed_answers": _WHOLE,
    "from_caches": Kind("an object of lists of texts", _object_of(_is_texts)),
    "latency_ms": _optional(_OBJECT),
    "notes": _TEXTS,
    "tables": _TEXT_OF_EACH,
}


def check(
    record: Any, rules: Mapping[str, Kind], where: str, path: Path, required: Sequence[str] = ()
) -> None:
    """See that the entries of an object are there and of their kind.

    Args:
        record: the object.
        rules: entry -> what it has to be, if it is there.
        where: what stands before the name of an entry in messages.
        path: the file that the object is from.
        required: the entries that have to be there.

    Raises:
        StoreError: one is not.
    """
    missing = [n for n in required if not isinstance(record, Mapping) or n not in record]
    if missing:
        raise StoreError(f"{path}: damaged (no {where}{missing[0]}); {_ADVICE}")
    for name, kind in rules.items():
        if name in record and not kind.fits(record[name]):
            value = f"{record[name]!r:.40}"
            raise StoreError(
                f"{path}: damaged ({where}{name} is {value}, not {kind.words}); {_ADVICE}"
            )
