"""What makes two runs the same run."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from target_bench.core.schema import Query

EVERY_FIELD = 2
"""The version of the fingerprint of runs about answers, in ``queries_version`` of their identity.

Version 1, which no identity names, left out the database and the metadata of a query.
"""


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


def earlier_answers_fingerprint(queries: Sequence[Query]) -> str:
    """Return the fingerprint of version 1: id, text, gold tables and reference answers."""
    answers = sorted((query.id, query.answer) for query in queries)
    both = [queries_fingerprint(queries), answers]
    return hashlib.sha256(json.dumps(both).encode()).hexdigest()


def is_earlier(identity: Mapping[str, Any]) -> bool:
    """Return whether a run has answers and its fingerprint leaves out fields of its queries."""
    return "generator" in identity and identity.get("queries_version") != EVERY_FIELD


def newly_named(metrics: Sequence[str], earlier: Sequence[str]) -> list[str]:
    """Find what decides scores now and did not when a run was scored.

    A run of version 0.1.0 names no versions of rules: they were the first.

    Args:
        metrics: ``metrics`` of an identity of today.
        earlier: ``metrics`` of the identity of the run.
    """
    known = {entry.partition(":")[0] for entry in earlier}
    new = [entry for entry in metrics if entry not in earlier]
    return [entry for entry in new if entry.partition(":")[0] in known or entry[-2:] != ":1"]


def earlier_note(name: object) -> str:
    """Return what is wrong with the answers of such a run.

    Args:
        name: what it is called.
    """
    return (
        f"{name} was answered by an earlier version of target-bench, which did not record all that "
        "a prompt reads of a query (its database and metadata, such as evidence)"
    )


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
