"""What several test modules share."""

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from target_bench.core.files import FIELD, add_seal
from target_bench.core.observer import Observer
from target_bench.core.schema import Corpus, TableId
from target_bench.core.user_code import split_user_line
from target_bench.runs.manifest import Command, Identity, Manifest
from target_bench.runs.result import Result

ROOT = Path(__file__).parent.parent

Record = dict[str, Any]
How = Literal["plain", "gz", "zip"]
HOWS: tuple[How, ...] = ("plain", "gz", "zip")
ASKED = Command(corpus="mini", distractors=(), retriever="bm25", task="retrieval")
"""The words of a command."""


def run_identity(**more: Any) -> Record:
    """An identity with all that a run needs, and more."""
    fingerprints = {"corpus_fingerprint": "c" * 64, "queries_fingerprint": "d" * 64}
    return {"task": "retrieval", "corpus": "mini", "split": "test", **fingerprints, **more}


def first_manifest(identity: Record | None = None, **entries: Any) -> Manifest:
    """What a new run of three queries begins with."""
    made = Identity.model_validate(identity or run_identity())
    return Manifest(identity=made, **{"command": ASKED, "n_queries": 3, **entries})


class Recorder(Observer):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.warnings: list[str] = []
        self.steps = 0

    def stage(self, name: str, total: int | None = None) -> None:
        self.stages.append(name)

    def advance(self, steps: int) -> None:
        self.steps += steps

    def warning(self, message: str) -> None:
        self.warnings.append(message)


class Counting:
    """A retriever without any base class: the first tables of the corpus, whatever the query."""

    def __init__(self) -> None:
        self.embedded: list[Corpus] = []
        self.calls: list[tuple[str, int]] = []

    def embed_corpus(self, corpus: Corpus) -> None:
        self.embedded.append(corpus)

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        self.calls.append((query, top_k))
        return list(self.embedded[-1].ids[:top_k])


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def write_release(folder: Path, name: str, content: str | bytes, how: How = "plain") -> Path:
    """Write a release file as it is, or as ``.gz`` or ``.zip``."""
    raw = content.encode() if isinstance(content, str) else content
    path = folder / (name if how == "plain" else f"{name}.{how}")
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = {
        "plain": lambda: raw,
        "gz": lambda: gzip.compress(raw, mtime=0),
        "zip": lambda: zipped({name: raw}),
    }
    path.write_bytes(packed[how]())
    return path


def tarred(members: Mapping[str, bytes]) -> bytes:
    """A ``.tar.gz`` of these files, in their order."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def json_lines(records: Iterable[object]) -> str:
    """One JSON document a line."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def cells(*texts: str) -> list[list[Any]]:
    """A header or a row in OTT-QA's shape."""
    return [[text, []] for text in texts]


def ottqa_table(uid: str, /, **changes: Any) -> Record:
    """A line of OTT-QA's ``dev_tables.jsonl``."""
    return {
        "url": f"https://en.wikipedia.org/wiki/{uid}",
        "title": f"Page {uid}",
        "header": cells("Year", "Winner"),
        "data": [cells("2001", f"Ann {uid}"), cells("2002", "Bo")],
        "section_title": "Results",
        "section_text": "A section .",
        "uid": uid,
        "intro": "An introduction .",
    } | changes


def ottqa_question(question_id: str, table_id: str, /, **changes: Any) -> Record:
    """A record of OTT-QA's ``dev.json``."""
    return {
        "question_id": question_id,
        "question": f"Who won {table_id} in 2001 ?",
        "table_id": table_id,
        "answer-text": f"Ann {table_id}",
        "question_postag": "WP VBD NN IN CD .",
    } | changes


def write_ottqa(
    folder: Path, tables: Iterable[object], questions: object, how: How = "plain"
) -> Path:
    """OTT-QA's validation split."""
    write_release(folder, "dev.json", json.dumps(questions), how)
    write_release(folder, "dev_tables.jsonl", json_lines(tables), how)
    return folder


def only(results: Sequence[Result]) -> Result:
    """The one result."""
    (result,) = results
    return result


def same_scores(first: Result, other: Result) -> None:
    """Assert equal scores, intervals included, and equal values of every query."""
    assert dict(first.scores) == dict(other.scores)
    for name, values in first.per_query.values.items():
        mine = dict(zip(first.per_query.ids, values, strict=True))
        theirs = dict(zip(other.per_query.ids, other.per_query.values[name], strict=True))
        assert mine == theirs


def rewrite(path: Path, change: Callable[[Record], Record | None]) -> Record:
    """Change a document of a run as its maker would: with the seal of what it then holds.

    Args:
        path: ``manifest.json`` or ``scores.json``.
        change: changes the document in place, or gives another.

    Returns:
        The document, without its seal.
    """
    record = json.loads(path.read_bytes())
    record.pop(FIELD, None)
    record = change(record) or record
    path.write_text(json.dumps(add_seal(record), indent=2), encoding="utf-8")
    return record


def unfinish(folder: Path) -> None:
    """Leave the manifest of a run as a process does that is killed at work."""
    rewrite(
        folder / "manifest.json",
        lambda manifest: without(manifest, "logs") | {"status": "running"},
    )


def without(record: Record, *names: str) -> Record:
    """A copy of a document without some of its fields."""
    return {name: value for name, value in record.items() if name not in names}


def rewrite_lines(path: Path, change: Callable[[list[Record]], object]) -> list[Record]:
    """The same for the lines of a log, which ``change`` changes in place."""
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    change(records)
    path.write_bytes(b"".join(json.dumps(r).encode() + b"\n" for r in records))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    rewrite(
        path.with_name("manifest.json"),
        lambda manifest: manifest.get("logs", {}).update({path.name: sha256}),
    )
    return records


def messages_of(result: Result) -> dict[str, str]:
    """Query id -> its error, without the line of a user's file that it ends with."""
    return {query_id: split_user_line(error)[0] for query_id, error in result.errors.items()}
