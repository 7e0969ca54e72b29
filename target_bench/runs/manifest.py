"""``manifest.json``: identity, command, status, and what was recorded of a run on the way.

The identity is all that can change the result; its hash names the run folder. What is read is
checked: a missing or wrong entry is a ``StoreError`` that names file, entry and value. Entries that
this version does not know are kept and written back.
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
from target_bench.core.files import DamageError, parse_json, remove_seal
from target_bench.core.identity import is_bound, is_no_context, reads_gold
from target_bench.core.schema import Query
from target_bench.core.user_code import describe_exception
from target_bench.metrics.retrieval import GRADES, read_grades

FORMAT: Literal[3] = 3
"""The version of the layout; a folder of another version is refused."""

LONGEST_ERROR = 2000
"""Characters of an error message that are recorded."""

Status = Literal["running", "finished"]
"""``running`` when work begins, ``finished`` with the scores."""

Count = Annotated[int, Field(strict=True, ge=0)]
Number = Annotated[float, Field(strict=True)]


class Entries(BaseModel):
    """A JSON object with entries of this version, and others that are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)


class Identity(Entries):
    """All that can change the result of a run."""

    task: str
    corpus: str
    split: str
    corpus_fingerprint: str  # of all tables
    queries_fingerprint: str  # of what the run reads of its queries
    top_k: tuple[Count, ...] = ()  # ascending; empty for a run of answers
    metrics: tuple[str, ...] = ()  # their signatures, and the settings of the task
    generator: dict[str, Any] | None = None
    prompt: dict[str, Any] | None = None
    retrieval: dict[str, Any] | None = None  # of answers: the retriever and the depth
    given: dict[str, Any] | None = None  # of answers from given tables: where they come from
    retriever: dict[str, Any] | None = None  # of rankings alone; see ``any_retriever``

    @classmethod
    def make(cls, **entries: Any) -> "Identity":
        """Make an identity of entries that JSON can hold, as they will be read again."""
        return cls.model_validate(_to_plain_json(entries))

    @cached_property
    def content(self) -> dict[str, Any]:
        """The JSON object as it was read, whose hash names the run folder."""
        return _to_plain_json(self.model_dump(exclude_unset=True))

    @property
    def key(self) -> str:
        """The hash at the end of the folder's name."""
        return run_key(self.content)

    @property
    def data(self) -> str:
        """``mini test``: the corpus and its split."""
        return f"{self.corpus} {self.split}"

    @property
    def has_answers(self) -> bool:
        """Whether the run is one of answers; its rankings, if any, are another run."""
        return self.generator is not None

    @property
    def is_bound(self) -> bool:
        """Whether it is of an upper or a lower bound, as ``oracle``, and no system to choose."""
        return is_bound(self.any_retriever) or is_bound(self.generator or {})

    @property
    def reads_gold(self) -> bool:
        """Whether it is of an upper bound: its rankings or answers come from the gold ones."""
        return reads_gold(self.any_retriever) or reads_gold(self.generator or {})

    @property
    def is_no_context(self) -> bool:
        """Whether its rankings are empty, as those of ``no-context``."""
        return is_no_context(self.any_retriever)

    @property
    def any_retriever(self) -> dict[str, Any]:
        """The identity of the retriever, also for a run of answers; empty without one."""
        whole = self.retriever if self.retrieval is None else self.retrieval.get("retriever")
        return whole or {}

    @property
    def prompt_tables(self) -> int | None:
        """How many tables a prompt holds, where fewer than were retrieved."""
        return (self.retrieval or self.given or {}).get("tables")


class Command(Entries):
    """The words of the command, with which the run can be asked for again."""

    corpus: str | None  # name or absolute path; None for one that was made in Python
    distractors: tuple[str, ...]
    task: str  # with its settings, as all plug-ins; of one that was made in Python, its name
    retriever: str | None = None
    generator: str | None = None
    retriever_name: str | None = None  # what the user calls it
    generator_name: str | None = None
    retrieval_run: str | None = None  # the folder of the rankings that answers are built on
    # the task to whose queries the run was limited, if these are not the ones of table retrieval
    about: str | None = None
    limit: Count | None = None
    options: dict[str, Any] | None = None  # None for a run that was made in parts
    prompting: dict[str, Any] | None = None

    @property
    def ranks_for_answers(self) -> bool:
        """Whether the rankings were made only to build answers to one task on."""
        return self.about is not None and self.generator is None

    @property
    def names(self) -> tuple[str, ...]:
        """What tables call retriever and generator: their names, else their texts."""
        retriever = self.retriever_name or self.retriever
        generator = self.generator_name or self.generator
        return tuple(filter(None, (retriever, generator)))

    @property
    def label(self) -> str:
        """``bm25 + extractive``: the retriever, and the generator if there is one."""
        return " + ".join(self.names)

    def to_json(self) -> dict[str, Any]:
        """Return the mapping entry -> value, without empty entries except ``corpus``."""
        return _to_plain_json({"corpus": self.corpus, **self.model_dump(exclude_none=True)})


class MixedIn(Entries):
    """A set of distractor tables that was mixed into the corpus."""

    spec: str
    n: Count
    ids: tuple[str, ...] = ()
    near_copies: tuple[dict[str, Any], ...] | None = None  # id, of (a gold table), similarity


class Manifest(Entries):
    """What is recorded of a run, but for its answers and scores."""

    format: Literal[3] = FORMAT
    id: str = ""  # name of the folder when it was made
    identity: Identity
    command: Command
    status: Status | None = None
    error: str | None = None  # what ended the last work; credentials are masked
    n_queries: Count | None = None
    corpus_tables: Count | None = None  # distractors among them
    environment: dict[str, Any] = {}  # of the first work
    files: dict[str, str] = {}  # data file -> SHA-256
    code: dict[str, str] = {}  # source file of the user's own -> SHA-256
    data: str | None = None  # where the data are from
    data_notes: tuple[str, ...] = ()
    distractors: tuple[MixedIn, ...] = ()
    started: str | None = None  # local time with offset
    seconds: dict[str, Number] = {}  # stage -> wall clock, over all times that work went on
    timed_queries: Count | None = None  # those in seconds["retrieve"]
    timed_answers: Count | None = None  # those in seconds["generate"]
    from_caches: dict[str, list[str]] = {}  # stage -> the caches that its time came out of
    latency_ms: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()  # the retriever's own
    value_file_hashes: dict[str, str] = {}  # file of per-query values -> SHA-256
    value_column_hashes: dict[str, str] = {}  # the same file -> SHA-256 of its columns
    logs: dict[str, str] = {}  # file of lines -> SHA-256, of a finished run

    def to_json(self) -> dict[str, Any]:
        """Return the document without its seal; an entry of ours that says nothing is left out."""
        document = _to_plain_json(self.model_dump(exclude_none=True))
        document |= {"identity": self.identity.content, "command": self.command.to_json()}
        unknown = self.model_extra or {}  # of a later version: kept as it is
        return {n: value for n, value in document.items() if n in unknown or value not in ({}, [])}


def _to_plain_json(document: Mapping[str, Any]) -> dict[str, Any]:
    # pydantic's own JSON mode loses lone surrogates.
    plain: dict[str, Any] = json.loads(json.dumps(document))
    return plain


_ADVICE = "run it again with another --out folder, or move the folder away"


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a run folder; ``StoreError`` where it is none of this version."""
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
        return Manifest.model_validate(remove_seal(record))
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


def describe_error(error: BaseException) -> str:
    """Return an error as it is recorded: its type and message, credentials masked."""
    return without_secrets(describe_exception(error))[:LONGEST_ERROR]


def run_key(identity: Mapping[str, Any]) -> str:
    """Return the hash that names a run: equal for equal identities, on every machine."""
    plain = json.loads(json.dumps(identity))  # keys are text there, and sort as such
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


_ID = re.compile(r".*-([0-9a-f]{12})")


def read_key(folder: Path) -> str | None:
    """Return the hash that a run folder's name ends with, or None."""
    match = _ID.fullmatch(folder.name)
    return match[1] if match else None


def queries_fingerprint(queries: Sequence[Query]) -> str:
    """Return a hash of the queries in any order: id, text, gold with grades, whether synthetic.

    Rankings depend on these. Their scores read the database of a query too, and their slices its
    metadata; both are computed again whenever a ranking is reused.
    """
    more: dict[str, list[Any]] = {query.id: ["synthetic"] * query.synthetic for query in queries}
    for query in queries:
        if GRADES in query.metadata:
            more[query.id].append(sorted(read_grades(query).items()))
    entries = sorted((q.id, q.text, tuple(sorted(q.gold)), *more[q.id]) for q in queries)
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()


_FINGERPRINT_VERSION = 2


def answers_fingerprint(queries: Sequence[Query]) -> str:
    """Return a hash of every field of every query, in any order: a prompt or metric may read it."""
    entries = sorted(
        (query.id, [query.text, sorted(query.gold), query.answer, query.database_id])
        for query in queries
    )
    metadata = sorted((query.id, _to_canonical_text(query.metadata)) for query in queries)
    content = [_FINGERPRINT_VERSION, entries, metadata]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _to_canonical_text(value: Any) -> str:
    """Write a value of metadata the same for equal lists and tuples, of numpy or not."""
    return json.dumps(_to_plain(value), sort_keys=True)


def _to_plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _to_plain(inner) for name, inner in value.items()}
    if isinstance(value, AbstractSet):
        return sorted(map(_to_canonical_text, value))
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    to_list = getattr(value, "tolist", None)  # numpy's arrays and scalars
    if callable(to_list):
        return _to_plain(to_list())
    if isinstance(value, Sequence):
        return [_to_plain(inner) for inner in value]
    return [type(value).__name__, str(value)]  # as a pair: 1 and a number of another type differ


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted path and value of a document; each metric is a path of its own."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from flatten(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and path == "metrics":
        for text in value:
            yield f"metrics: {text}", True
    elif isinstance(value, list):
        yield path, json.dumps(value, ensure_ascii=False)
    else:
        yield path, value
