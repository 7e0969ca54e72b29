"""What is recorded of a run but its answers and scores: its identity, and its manifest.

The identity is all that can change the result, fingerprints of the queries among it; its hash names
the run. The manifest holds it, the words of the command, the status, and what was recorded on the
way. What is read is checked: a missing or wrong entry is a ``StoreError`` that names file, entry
and value. Entries that this version does not know are kept and written back.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from target_bench.core.credentials import without_secrets
from target_bench.core.errors import StoreError, reason
from target_bench.core.files import DamageError, parse_json, unsealed
from target_bench.core.identity import is_bound, is_no_context, reads_gold
from target_bench.core.schema import Query
from target_bench.core.user_code import described
from target_bench.metrics.retrieval import GRADES, read_grades

FORMAT: Literal[2] = 2
"""The version of the layout; a folder of another version is refused."""

LONGEST_ERROR = 2000
"""Characters of an error message that are recorded."""

Status = Literal["running", "finished"]
"""What a run recorded last: ``running`` when work begins, ``finished`` with the scores."""

Count = Annotated[int, Field(strict=True, ge=0)]
Number = Annotated[float, Field(strict=True)]


class Entries(BaseModel):
    """A JSON object with known entries, and others that are kept."""

    model_config = ConfigDict(
        frozen=True, extra="allow", hide_input_in_errors=True, populate_by_name=True
    )


class Identity(Entries):
    """All that can change the result of a run.

    Attributes:
        task: short name of the task.
        corpus: lower-case name of the corpus.
        split: full name of the split.
        corpus_fingerprint: hash of all tables.
        queries_fingerprint: hash of what the run reads of its queries.
        top_k: the cutoffs of rankings, ascending; empty for a run of answers.
        metrics: the signatures of the metrics, and the settings of the task.
        generator: the identity of what answered; None for rankings.
        prompt: the identity of the prompt; None where it is not recorded.
        retrieval: of a run of answers: the identity of the retriever and the depth of its rankings.
        given: of a run of answers from given tables: where they come from.
    """

    task: str
    corpus: str
    split: str
    corpus_fingerprint: str
    queries_fingerprint: str
    top_k: tuple[Count, ...] = ()
    metrics: tuple[str, ...] = ()
    generator: dict[str, Any] | None = None
    prompt: dict[str, Any] | None = None
    retrieval: dict[str, Any] | None = None
    given: dict[str, Any] | None = None
    own_retriever: dict[str, Any] | None = Field(None, alias="retriever")

    @cached_property
    def content(self) -> dict[str, Any]:
        """The JSON object as it was read, whose hash names the run folder."""
        return _as_json(self.model_dump(exclude_unset=True, by_alias=True))

    @property
    def key(self) -> str:
        """The hash at the end of the folder's name."""
        return run_key(self.content)

    @property
    def has_answers(self) -> bool:
        """Whether the run is one of answers, built on the rankings of another run."""
        return self.generator is not None

    @property
    def is_bound(self) -> bool:
        """Whether it is of an upper or a lower bound, as ``oracle``, and no system to choose."""
        return is_bound(self.retriever) or is_bound(self.generator or {})

    @property
    def reads_gold(self) -> bool:
        """Whether it is of an upper bound: its rankings or answers come from the gold ones."""
        return reads_gold(self.retriever) or reads_gold(self.generator or {})

    @property
    def is_no_context(self) -> bool:
        """Whether its rankings are empty, as those of ``no-context``."""
        return is_no_context(self.retriever)

    @property
    def retriever(self) -> dict[str, Any]:
        """The identity of what ranked, also for a run of answers; empty where nothing did."""
        whole = self.own_retriever if self.retrieval is None else self.retrieval.get("retriever")
        return whole or {}

    @property
    def prompt_tables(self) -> int | None:
        """How many tables a prompt holds, where fewer than were retrieved."""
        return (self.retrieval or self.given or {}).get("tables")


class Command(Entries):
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
        limit: how many queries were asked at most.
        options: option -> value of how the run was made; None for one that was made in parts.
        prompting: option -> value of what its prompts are made of; None for rankings.
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
    limit: Count | None = None
    options: dict[str, Any] | None = None
    prompting: dict[str, Any] | None = None

    @property
    def is_basis(self) -> bool:
        """Whether it is of rankings that were made for answers to some of the questions."""
        return self.about is not None and self.generator is None

    @property
    def names(self) -> tuple[str, ...]:
        """What tables call retriever and generator: their names, else how they were asked for."""
        retriever = self.retriever_name or self.retriever
        generator = self.generator_name or self.generator
        return tuple(filter(None, (retriever, generator)))

    @property
    def label(self) -> str:
        """What ranked, and what answered if anything did."""
        return " + ".join(self.names)

    def to_json(self) -> dict[str, Any]:
        """Return the mapping entry -> value, without empty entries except ``corpus``."""
        return _as_json({"corpus": self.corpus, **self.model_dump(exclude_none=True)})


class MixedIn(Entries):
    """A set of distractor tables that was mixed into the corpus.

    Attributes:
        spec: how it was asked for.
        n: how many tables.
        ids: their ids, as text.
        near_copies: the near-copies of gold tables that were drawn, if there are any: of each its
            ``id``, the gold table that it is a copy ``of``, and their ``similarity`` from 0 to 1.
    """

    spec: str
    n: Count
    ids: tuple[str, ...] = ()
    near_copies: tuple[dict[str, Any], ...] | None = None


class Manifest(Entries):
    """What is recorded of a run, but for its answers and scores.

    Attributes:
        format: the version of the layout.
        id: name of the run folder when it was made.
        identity: all that can change the result.
        asked: the words of the command.
        status: what was recorded last; None before any work.
        error: what ended the last work on the run (also ``KeyboardInterrupt``), its type first;
            credentials are masked. None after work that did not fail.
        queries: how many queries were asked.
        corpus_tables: how many tables the corpus had, distractors among them.
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
        values: SHA-256 of the columns that they were made of, by name.
        logs: SHA-256 of the files of lines, by name, of a finished run.
    """

    format: Literal[2] = FORMAT
    id: str = ""
    identity: Identity
    asked: Command
    status: Status | None = None
    error: str | None = None
    queries: Count | None = None
    corpus_tables: Count | None = None
    environment: dict[str, Any] = {}
    files: dict[str, str] = {}
    data: str | None = None
    data_notes: tuple[str, ...] = ()
    distractors: tuple[MixedIn, ...] = ()
    started: str | None = None
    seconds: dict[str, Number] = {}
    timed_queries: Count | None = None
    timed_answers: Count | None = None
    from_caches: dict[str, list[str]] = {}
    latency_ms: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    tables: dict[str, str] = {}
    values: dict[str, str] = {}
    logs: dict[str, str] = {}

    def to_json(self) -> dict[str, Any]:
        """Return the document without its seal; an entry of ours that says nothing is left out."""
        document = _as_json(self.model_dump(by_alias=True, exclude_none=True))
        document |= {"identity": self.identity.content, "asked": self.asked.to_json()}
        unknown = self.model_extra or {}  # of a later version: kept as it is
        return {n: value for n, value in document.items() if n in unknown or value not in ({}, [])}


def _as_json(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with lists for tuples; pydantic's own JSON mode loses lone surrogates."""
    plain: dict[str, Any] = json.loads(json.dumps(document))
    return plain


_ADVICE = "run it again with another --out folder, or move the folder away"


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a run folder.

    Raises:
        StoreError: there is none, it is not of this version, an entry is missing or wrong, or it
            is not what was written.
    """
    path = folder / "manifest.json"
    if not folder.is_dir():
        raise StoreError(f"{folder}: there is no such run folder")
    try:
        record = parse_json(path.read_bytes())
        if not isinstance(record, dict):
            raise DamageError("it holds no JSON object")
        if record.get("format") != FORMAT:
            raise StoreError(
                f"{path}: of another version of target-bench (format {record.get('format')!r}; "
                f"this one reads {FORMAT}); {_ADVICE}"
            )
        return Manifest.model_validate(unsealed(record))
    except ValidationError as error:
        problem = error.errors()[0]
        entry, value = ".".join(map(str, problem["loc"])), f"{problem['input']!r:.40}"
        expected = problem["msg"].lower().partition(" or instance of ")[0]  # a class of ours
        wrong = f"{entry} is {value}: {expected}"
        if problem["type"] == "missing":
            wrong = f"no {entry}"
        raise StoreError(f"{path}: damaged ({wrong}); {_ADVICE}") from error
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read ({reason(error)}); {_ADVICE}") from error


def described_error(error: BaseException) -> str:
    """Return an error as it is recorded: its type and message, credentials masked."""
    return without_secrets(described(error))[:LONGEST_ERROR]


def run_key(identity: Mapping[str, Any]) -> str:
    """Return the hash that names a run: equal for equal identities, on every machine."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


_ID = re.compile(r".*-([0-9a-f]{12})")


def key_of(folder: Path) -> str | None:
    """Return the hash that a run folder's name ends with, or None."""
    match = _ID.fullmatch(folder.name)
    return match[1] if match else None


def queries_fingerprint(queries: Sequence[Query]) -> str:
    """Return a hash of id, text, gold with its grades, and origin of every query, in any order.

    Rankings depend on these. Their scores read the database of a query too, and their slices its
    metadata; both are computed again whenever a ranking is reused.
    """
    written: dict[str, list[Any]] = {query.id: ["synthetic"] * query.synthetic for query in queries}
    for query in queries:
        if GRADES in query.metadata:
            written[query.id].append(sorted(read_grades(query).items()))
    entries = sorted((q.id, q.text, tuple(sorted(q.gold)), *written[q.id]) for q in queries)
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()


def answers_fingerprint(queries: Sequence[Query]) -> str:
    """Return a hash of every field of every query, in any order: a prompt or metric may read it."""
    entries = sorted(
        (query.id, [query.text, sorted(query.gold), query.answer, query.database_id])
        for query in queries
    )
    metadata = sorted((query.id, _canonical(query.metadata)) for query in queries)
    return hashlib.sha256(json.dumps([2, entries, metadata]).encode()).hexdigest()


def _canonical(value: Any) -> str:
    """Return a value of metadata as text, the same for equal lists and tuples, of numpy or not."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    """Return a value of metadata as JSON has it; names of any kind, as pairs, become text."""
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


def flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Return dotted path -> value; a list of texts, such as metrics, is a set of paths."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from flat(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and path == "metrics":
        for text in value:
            yield f"metrics: {text}", True
    elif isinstance(value, list):
        yield path, json.dumps(value, ensure_ascii=False)
    elif value is not None or path:
        yield path, value
