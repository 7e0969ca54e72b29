"""Runs of earlier versions that cannot be reused, and what is said of them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from target_bench.core.errors import StoreError
from target_bench.core.observer import Observer
from target_bench.core.schema import Query
from target_bench.runs.manifest import Identity, queries_fingerprint
from target_bench.runs.manifest_checks import read_manifest
from target_bench.runs.store import Run

_OF_CODE = ("class", "code", "metrics")
"""Entries of identities by which a run of earlier code differs from one of today."""


def tell_of_earlier(run: Run, queries: Sequence[Query], observer: Observer) -> None:
    """Say why a new run of answers does not begin with those of an earlier version.

    Args:
        run: a new run about answers.
        queries: its queries.
        observer: gets the warnings.
    """
    for folder in run.namesakes():
        with suppress(StoreError):
            found = read_manifest(folder).identity
            note = _note(folder.name, found, run.identity, queries)
            if note is not None:
                observer.warning(
                    f"{note}: its answers are not reused, and all queries are answered again"
                )
                return


def _note(name: str, found: Identity, wanted: Identity, queries: Sequence[Query]) -> str | None:
    """Return the reason why a run with the same queries is not reused, or None."""
    if found.is_earlier:
        same = found.queries_fingerprint == earlier_answers_fingerprint(queries)
        return earlier_note(name) if same else None
    other_code = _names_modules(found.content) and not _names_modules(wanted.content)
    if other_code and _without_code(found.content) == _without_code(wanted.content):
        return (
            f"{name} was answered by an earlier version of target-bench, which identified code by "
            "the text of its files"
        )
    return None


def _names_modules(identity: Any) -> bool:
    """Return whether an identity names classes of target-bench by module, as old versions did."""
    if not isinstance(identity, Mapping):
        return False
    named = str(identity.get("class", "")).startswith("target_bench.")
    return named or any(map(_names_modules, identity.values()))


def _without_code(identity: Any) -> Any:
    if not isinstance(identity, Mapping):
        return identity
    return {name: _without_code(v) for name, v in identity.items() if name not in _OF_CODE}


def earlier_answers_fingerprint(queries: Sequence[Query]) -> str:
    """Return the fingerprint of version 1: id, text, gold tables and reference answers."""
    answers = sorted((query.id, query.answer) for query in queries)
    both = [queries_fingerprint(queries), answers]
    return hashlib.sha256(json.dumps(both).encode()).hexdigest()


def newly_named(metrics: Sequence[str], earlier: Sequence[str]) -> list[str]:
    """List the metrics and rules that the identity of an earlier run lacks.

    A run of version 0.1.0 names no versions of rules: they were the first.

    Args:
        metrics: ``metrics`` of an identity of today.
        earlier: ``metrics`` of the identity of the run.
    """
    known = {entry.partition(":")[0] for entry in earlier}
    new = [entry for entry in metrics if entry not in earlier]
    return [entry for entry in new if entry.partition(":")[0] in known or entry[-2:] != ":1"]


def earlier_note(name: object) -> str:
    """Describe the fault in the answers of such a run.

    Args:
        name: what it is called.
    """
    return (
        f"{name} was answered by an earlier version of target-bench, which did not record all that "
        "a prompt reads of a query (its database and metadata, such as evidence)"
    )


# Modules as version 0.1.0 named them in identities, wherever they are now. A later version needs
# none of this: its runs say what came from a cache.
_PACKAGES = ("target_bench.retrievers.", "target_bench.vector_indexes.")
_ASK_OTHERS = ("compat", "langchain", "llama_index", "qdrant")
_OWN_ANSWERS = ("target_bench.generators.extractive:", "target_bench.generators.transformers:")


def reads_no_cache(plugin: Mapping[str, Any]) -> bool:
    """Return whether a plug-in of version 0.1.0, by its identity, reads no cache, nor do its parts.

    An encoder without a revision has no recorded embeddings.
    """
    name = str(plugin.get("class", ""))
    module = name.partition(":")[0]
    ours = name.startswith(_PACKAGES) and module.rpartition(".")[2] not in _ASK_OTHERS
    unrecorded = name.startswith("target_bench.encoders.") and plugin.get("revision", "") is None
    parts = plugin.get("parts", {})
    if not (ours or unrecorded or name.startswith(_OWN_ANSWERS)) or not isinstance(parts, Mapping):
        return False
    return all(isinstance(part, Mapping) and reads_no_cache(part) for part in parts.values())
