"""What is recorded of a run but its answers and scores: its identity, and its typed manifest.

The identity is all that can change the result, fingerprints of the queries among it; its hash names
the run. The manifest holds it, the words of the command, the status, and what was recorded on the
way. Entries that this version does not know are kept and written back. Of each query, what its
scores can be broken down by is recorded beside its values.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.schema import NO_DATABASE, Query
from target_bench.core.settings import without_secrets
from target_bench.core.user_code import described


@dataclass(frozen=True, slots=True)
class Identity:
    """All that can change the result of a run.

    Attributes:
        content: the JSON object whose hash names the run folder; it is written as it was read.
    """

    content: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The hash at the end of the folder's name."""
        return run_key(self.content)

    @property
    def task(self) -> str:
        """Short name of the task."""
        return str(self.content["task"])

    @property
    def corpus(self) -> str:
        """Lower-case name of the corpus."""
        return str(self.content["corpus"])

    @property
    def split(self) -> str:
        """Full name of the split."""
        return str(self.content["split"])

    @property
    def corpus_fingerprint(self) -> str:
        """Hash of all tables."""
        return str(self.content["corpus_fingerprint"])

    @property
    def queries_fingerprint(self) -> str:
        """Hash of what the run reads of its queries."""
        return str(self.content["queries_fingerprint"])

    @property
    def top_k(self) -> tuple[int, ...]:
        """The cutoffs of rankings, ascending; empty for a run of answers."""
        return tuple(self.content.get("top_k", ()))

    @property
    def has_answers(self) -> bool:
        """Whether the run is one of answers, built on the rankings of another run."""
        return "generator" in self.content

    @property
    def retriever(self) -> Mapping[str, Any]:
        """The identity of what ranked, also for a run of answers."""
        found: Mapping[str, Any] = self.content.get(RANKING_TASK, self.content).get("retriever", {})
        return found

    @property
    def generator(self) -> Mapping[str, Any] | None:
        """The identity of what answered; None for rankings."""
        return self.content.get("generator")

    @property
    def prompt(self) -> Mapping[str, Any] | None:
        """The identity of the prompt; None where it is not recorded."""
        return self.content.get("prompt")

    @property
    def prompt_tables(self) -> int | None:
        """How many tables a prompt holds, where fewer than were retrieved."""
        tables = self.content.get(RANKING_TASK) or self.content.get("given") or {}
        found: int | None = tables.get("tables")
        return found

    @property
    def metrics(self) -> tuple[str, ...]:
        """The signatures of the metrics, and the settings of the task."""
        return tuple(self.content.get("metrics", ()))


def run_key(identity: Mapping[str, Any]) -> str:
    """Return the hash that names a run: equal for equal identities, on every machine."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


_ID = re.compile(r".*-([0-9a-f]{12})")


def key_of(folder: Path) -> str | None:
    """Return the hash that a run folder's name ends with, or None."""
    found = _ID.fullmatch(folder.name)
    return found[1] if found else None


def queries_fingerprint(queries: Sequence[Query]) -> str:
    """Return a hash of id, text, gold and origin of every query, in any order.

    Rankings depend on these. Their scores read the database of a query too, and their slices its
    metadata; both are computed again whenever a ranking is reused.
    """
    written = {query.id: ["synthetic"] * bool(query.metadata.get("synthetic")) for query in queries}
    asked = sorted((q.id, q.text, tuple(sorted(q.gold)), *written[q.id]) for q in queries)
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def answers_fingerprint(queries: Sequence[Query]) -> str:
    """Return a hash of every field of every query, in any order: a prompt or metric may read it."""
    asked = sorted(
        (query.id, [query.text, sorted(query.gold), query.answer, query.database_id])
        for query in queries
    )
    metadata = sorted((query.id, _canonical(query.metadata)) for query in queries)
    return hashlib.sha256(json.dumps([2, asked, metadata]).encode()).hexdigest()


def _canonical(value: Any) -> str:
    """Return a value of metadata as text, the same for equal lists and tuples, of numpy or not."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, AbstractSet):
        return sorted(map(_canonical, value))
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    as_python = getattr(value, "tolist", None)  # numpy's arrays and scalars
    if callable(as_python):
        return _plain(as_python())
    if isinstance(value, Sequence):
        return [_plain(inner) for inner in value]
    return [type(value).__name__, str(value)]


SLICE_PREFIX = "slice."
"""How the columns of ``per_query.parquet`` begin that hold no metric."""

_LONGEST = 64


def slice_columns(queries: Sequence[Query]) -> dict[str, list[Any]]:
    """Return the columns of metadata: column -> the value of every query, or None.

    ``gold_tables`` is how many tables answer the query, ``db_id`` its database if it is about one;
    the rest is metadata that is a number, a truth value or a short text in every query that has it.
    """
    found: dict[str, list[Any]] = {"gold_tables": [len(query.gold) for query in queries]}
    databases = [query.database_id for query in queries]
    if set(databases) - {NO_DATABASE}:
        found["db_id"] = [None if name == NO_DATABASE else name for name in databases]
    for name in sorted({name for query in queries for name in query.metadata}):
        values = [query.metadata.get(name) for query in queries]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) == 1 and kinds <= {str, int, float, bool} and not _long(values):
            found.setdefault(name, values)
    return {SLICE_PREFIX + name: values for name, values in found.items()}


def _long(values: Sequence[Any]) -> bool:
    return any(isinstance(value, str) and len(value) > _LONGEST for value in values)


Status = Literal["running", "finished", "failed", "interrupted"]
"""What a run recorded last.

``running`` is written when work begins, ``finished`` with the scores, ``failed`` when an error ends
the run, ``interrupted`` when the user does (Ctrl-C). A killed process leaves ``running``.
"""

FORMAT = 2
"""The version of the layout; a folder of another version is refused."""

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
        retriever_name: what the user calls the retriever; None without a name.
        generator_name: what the user calls the generator; None without a name.
        task: the task, with its settings; None for rankings.
        retrieval_run: name of the folder of the rankings that answers are built on.
        about: the task that the queries are about, where one was chosen.
        database: the only database that was asked about.
        limit: how many queries were asked at most.
        options: option -> value of how the run was made; None for one that was made in parts.
        prompting: option -> value of what its prompts are made of; None for rankings.
        more: entries that this version does not know.
    """

    corpus: str | None
    distractors: tuple[str, ...]
    retriever: str | None = None
    generator: str | None = None
    retriever_name: str | None = None
    generator_name: str | None = None
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
        ranks, answers = (
            self.retriever_name or self.retriever,
            self.generator_name or self.generator,
        )
        return " + ".join(filter(None, (ranks, answers)))

    def to_json(self) -> dict[str, Any]:
        """Return the mapping entry -> value, without empty entries except ``corpus``."""
        known = {name: getattr(self, name) for name in _ASKED}
        said = {name: value for name, value in known.items() if value is not None}
        return {"corpus": self.corpus, **said, "distractors": list(self.distractors), **self.more}


@dataclass(frozen=True, slots=True)
class MixedIn:
    """A set of distractor tables that was mixed into the corpus.

    Attributes:
        spec: how it was asked for.
        n: how many tables.
        ids: their ids, as text.
        near_copies: near-copies of gold tables that were drawn: ``id``, the gold table ``of``, and
            their ``similarity``.
    """

    spec: str
    n: int
    ids: tuple[str, ...] = ()
    near_copies: tuple[Mapping[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the mapping field name -> value, without ``near_copies`` where there are none."""
        near = {"near_copies": [dict(one) for one in self.near_copies]} if self.near_copies else {}
        return {"spec": self.spec, "n": self.n, "ids": list(self.ids), **near}


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is recorded of a run, but for its answers and scores.

    Attributes:
        id: name of the run folder when it was made.
        identity: all that can change the result.
        asked: the words of the command.
        status: what was recorded last; None before any work.
        error: the error that ended the last work on the run, its type first; credentials are
            masked. None after work that did not fail.
        queries: how many queries were asked.
        environment: interpreter, host, packages, accelerators and commit of the first work.
        files: SHA-256 of the data files, by name.
        data: where the data are from.
        data_notes: what a user should know about the data.
        distractors: what was mixed into the corpus.
        started: when the run began, as local time with offset.
        seconds: stage -> wall-clock seconds, over all times that the run was gone on with.
        timed_queries: how many queries ``seconds["retrieve"]`` covers; None before it is measured.
        timed_answers: how many answers ``seconds["generate"]`` covers; None likewise.
        from_caches: stage -> the caches that something in its time came out of.
        latency_ms: milliseconds of single queries, where measured.
        notes: what the retriever has to say about its work.
        tables: SHA-256 of the Parquet files, by name.
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
    data_notes: tuple[str, ...] = ()
    distractors: tuple[MixedIn, ...] = ()
    started: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    timed_queries: int | None = None
    timed_answers: int | None = None
    from_caches: Mapping[str, Sequence[str]] = field(default_factory=dict)
    latency_ms: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the document, without its seal and without entries that say nothing."""
        known = {name: getattr(self, name) for name in _ENTRIES}
        known |= {name: list(getattr(self, name)) for name in ("notes", "data_notes")}
        known["distractors"] = [one.to_json() for one in self.distractors]
        return {
            "format": FORMAT,
            "id": self.id,
            "identity": dict(self.identity.content),
            "asked": self.asked.to_json(),
            **{name: value for name, value in known.items() if value not in (None, {}, [])},
            **self.more,
        }


_ASKED = tuple(one.name for one in fields(Asked) if one.name != "more")
_ENTRIES = tuple(
    one.name for one in fields(Manifest) if one.name not in ("id", "identity", "asked", "more")
)


def asked_from(record: Mapping[str, Any]) -> Asked:
    """Return the words of a command, from a JSON object that is known to be right."""
    known = {name: record[name] for name in _ASKED if name in record}
    known["distractors"] = tuple(record["distractors"])
    return Asked(**known, more={name: v for name, v in record.items() if name not in _ASKED})


def described_error(error: BaseException) -> str:
    """Return an error as it is recorded: its type and message, credentials masked."""
    return without_secrets(described(error))[:LONGEST_ERROR]
