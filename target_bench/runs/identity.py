"""What makes two runs the same run."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from target_bench.schema import Query


def run_key(identity: Mapping[str, Any]) -> str:
    """The hash that names a run: equal for equal identities, on every machine."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def queries_fingerprint(queries: Sequence[Query]) -> str:
    """A hash of what is asked and what the gold tables are, whatever the order."""
    asked = sorted((query.id, query.text, tuple(sorted(query.gold))) for query in queries)
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def answers_fingerprint(queries: Sequence[Query]) -> str:
    """The same with the reference answers."""
    answers = sorted((query.id, query.answer) for query in queries)
    both = [queries_fingerprint(queries), answers]
    return hashlib.sha256(json.dumps(both).encode()).hexdigest()
