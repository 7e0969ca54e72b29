"""The manifest of a run as it is read: every entry is checked.

A missing or wrong entry is a ``StoreError`` that names file, entry and value. Entries that this
version does not know, as a later one may add, are kept.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import StoreError
from target_bench.core.files import DamageError, parse_json, unsealed
from target_bench.runs.manifest import (
    FORMAT,
    Identity,
    Manifest,
    MixedIn,
    Status,
    asked_from,
)


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
    known |= {name: tuple(known[name]) for name in ("notes", "data_notes") if name in known}
    if "distractors" in known:
        known["distractors"] = tuple(
            MixedIn(
                *(one["spec"], one["n"], tuple(one.get("ids", ()))),
                near_copies=tuple(one.get("near_copies", ())),
            )
            for one in known["distractors"]
        )
    others = {"format", "id", "identity", "asked"}
    return Manifest(
        id=str(record.get("id", path.parent.name)),
        identity=Identity(record["identity"]),
        asked=asked_from(record["asked"]),
        more={n: value for n, value in record.items() if n not in ENTRIES and n not in others},
        **known,
    )


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
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read ({error}); move the folder away") from error
    if not isinstance(record, dict):
        raise StoreError(f"{path}: holds no manifest; move the folder away")
    _check_format(record.get("format"), path)
    try:
        return parse(unsealed(record), path)
    except DamageError as error:
        raise StoreError(
            f"{path}: damaged or edited: {error}; choose another --out folder and run it again, or "
            "move the folder away"
        ) from error


def _check_format(found: Any, path: Path) -> None:
    if found == FORMAT:
        return
    what, advice = "damaged", ""
    if isinstance(found, int):
        newer = found > FORMAT
        what = f"written by {'a newer' if newer else 'an earlier'} target-bench"
        advice = "update it, or " if newer else ""
    raise StoreError(
        f"{path}: {what} (format {found!r}; this version reads {FORMAT}); {advice}run the command "
        "again with another --out folder, or move this folder away"
    )


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
    return known and _is_texts(value.get("ids", [])) and _are_near_copies(value)


def _are_near_copies(value: Any) -> bool:
    found = value.get("near_copies", [])
    return isinstance(found, list) and all(
        isinstance(one, dict)
        and _is_texts([one.get("id"), one.get("of")])
        and _is_number(one.get("similarity"))
        for one in found
    )


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
    **dict.fromkeys(("retriever", "generator", "task", "retrieval_run"), _optional(_TEXT)),
    **dict.fromkeys(("retriever_name", "generator_name", "about", "database"), _optional(_TEXT)),
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
    "data_notes": _TEXTS,
    "distractors": Kind(
        "a list of spec, n, ids and near_copies",
        lambda v: isinstance(v, list) and all(map(_is_mixed_in, v)),
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
