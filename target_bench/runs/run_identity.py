"""What makes two runs the same run: its identity, and the fingerprints of queries in it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.schema import Query

EVERY_FIELD = 2
"""The version of the fingerprint of runs about answers, in ``queries_version`` of their identity.

Version 1, which no identity names, left out the database and the metadata of a query.
"""


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

    @property
    def is_earlier(self) -> bool:
        """Whether the fingerprint of the queries of answers leaves out fields, as in 0.1.0."""
        return is_earlier(self.content)


def run_key(identity: Mapping[str, Any]) -> str:
    """Return the hash that names a run: equal for equal identities, on every machine."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def queries_fingerprint(queries: Sequence[Query]) -> str:
    """Return a hash of id, text and gold of every query, in any order: what rankings depend on.

    Their scores read the database of a query too, and their slices its metadata; both are computed
    again whenever a ranking is reused.
    """
    asked = sorted((query.id, query.text, tuple(sorted(query.gold))) for query in queries)
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def answers_fingerprint(queries: Sequence[Query]) -> str:
    """Return a hash of every field of every query, in any order: a prompt or metric may read it."""
    fields = sorted(
        (query.id, [query.text, sorted(query.gold), query.answer, query.database_id])
        for query in queries
    )
    metadata = sorted((query.id, _canonical(query.metadata)) for query in queries)
    return hashlib.sha256(json.dumps([EVERY_FIELD, fields, metadata]).encode()).hexdigest()


def is_earlier(identity: Mapping[str, Any]) -> bool:
    """Return whether a run has answers and its fingerprint leaves out fields of its queries."""
    return "generator" in identity and identity.get("queries_version") != EVERY_FIELD


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
