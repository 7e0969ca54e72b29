"""What the entries of a manifest have to be: their kinds, and the check of a document."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import StoreError

Status = Literal["running", "finished", "failed", "interrupted"]
"""What a run recorded last.

``running`` is written when work begins, ``finished`` with the scores, ``failed`` when an error ends
the run, ``interrupted`` when the user does (Ctrl-C). A killed process leaves ``running``.
"""

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
