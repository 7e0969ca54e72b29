"""What differs between two runs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from target_bench.runs.result import Result

PARTS = ("identity", "asked", "environment", "seconds", "scores", "counts")


@dataclass(frozen=True, slots=True)
class Differing:
    """One entry that is not the same in both.

    Attributes:
        part: ``identity`` (what makes it another run), ``asked``, ``environment``, ``seconds``,
            ``scores`` or ``counts``.
        path: where it stands, with dots.
        one: what the first run has, or None.
        other: what the second run has, or None.
    """

    part: str
    path: str
    one: Any
    other: Any


def differences(one: Result, other: Result) -> list[Differing]:
    """Return the entries in which two runs differ, part by part.

    Raises:
        StoreError: a manifest or scores file is damaged.
    """
    mine, theirs = _whole(one), _whole(other)
    found: list[Differing] = []
    for part in PARTS:
        here, there = dict(flat(mine.get(part))), dict(flat(theirs.get(part)))
        pairs = {path: (here.get(path), there.get(path)) for path in {**here, **there}}
        found += [Differing(part, path, a, b) for path, (a, b) in pairs.items() if a != b]
    return found


def _whole(run: Result) -> dict[str, Any]:
    """Return part -> its content."""
    parts = {
        "identity": run.identity.content,
        "asked": run.asked.to_json(),
        "environment": run.manifest.environment,
        "seconds": run.own_times.seconds,
    }
    if not run.is_scored:
        return parts
    return {
        **parts,
        "scores": {name: score.to_json()["value"] for name, score in run.scores.items()},
        "counts": run.denominators,
    }


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
