"""What a trained model's folder says of its training: ``target_bench.json`` and the pairs.

``target_bench.json`` states base, corpora, settings and versions. ``target_bench_pairs.jsonl``
holds one line per training pair: ids, and hashes by which the same question and the same table are
known again under any id, in any corpus.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from target_bench.core.errors import DataError
from target_bench.core.files import parse_json, sha256_of

RECORD = "target_bench.json"
PAIRS = "target_bench_pairs.jsonl"
FORMAT = 1

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Used:
    """A question and one of its gold tables, as they were used.

    Attributes:
        use: ``train``, or ``validation``: the weights were chosen by it.
        corpus: the corpus's name.
        split: its split.
        query_id: the question's id.
        table: the table's database id and own id.
        query: the hash of the question's words (``words_hash``).
        content: the hash of the table's header and rows, in hexadecimal.
        negatives: the same of the tables that served as hard negatives.
    """

    use: Literal["train", "validation"]
    corpus: str
    split: str
    query_id: str
    table: tuple[str, str]
    query: str
    content: str
    negatives: tuple[str, ...] = ()


def words_hash(text: str) -> str:
    """Return a hash of the words of a text, without case, width, spaces and punctuation."""
    words = " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def write(folder: Path, record: Mapping[str, Any], pairs: Iterable[Used]) -> None:
    """Write both files.

    Raises:
        OSError: they cannot be written.
    """
    lines = (json.dumps(asdict(pair)) + "\n" for pair in pairs)
    (folder / PAIRS).write_text("".join(lines), encoding="ascii", newline="\n")
    whole = {"format": FORMAT, **record, "pairs_sha256": sha256_of(folder / PAIRS)}
    text = json.dumps(whole, indent=2) + "\n"
    (folder / RECORD).write_text(text, encoding="ascii", newline="\n")


def is_recorded(folder: Path) -> bool:
    """Return whether a folder holds a model with such a record."""
    return (folder / RECORD).is_file()


def read(folder: Path) -> dict[str, Any]:
    """Return the content of ``target_bench.json``.

    Raises:
        DataError: it is missing, broken or of another version.
    """
    path = folder / RECORD
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
        if found["format"] == FORMAT:
            return dict(found)
        problem = f"it is of format {found['format']!r}, and this version reads {FORMAT}"
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"{type(error).__name__}: {error}"
    raise DataError(f"{path}: what this model was trained on cannot be read: {problem}")


def read_pairs(folder: Path) -> list[Used]:
    """Return the pairs of a model.

    Raises:
        DataError: a file is missing or broken, or the pairs are not those of the record.
    """
    stated = read(folder).get("pairs_sha256")
    path = folder / PAIRS
    try:
        if sha256_of(path) != stated:
            raise ValueError(f"its SHA-256 is not the pairs_sha256 of {RECORD}")
        with path.open(encoding="ascii") as lines:
            return [_used(parse_json(line)) for line in lines]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"{path}: what this model was trained on cannot be read: {error}"
        ) from error


def _used(line: dict[str, Any]) -> Used:
    database_id, table_id = line["table"]
    return Used(**{**line, "table": (database_id, table_id), "negatives": tuple(line["negatives"])})
