"""Hostile submissions: each is refused by member, field and remedy, in bounded time and memory."""

import json
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench import corpora
from target_bench.core.errors import DataError
from target_bench.data.selection import select_queries
from target_bench.reporting.leaderboard import archive as reading
from target_bench.reporting.leaderboard.archive import MEBI, RefusedError
from target_bench.reporting.leaderboard.site import build_site
from target_bench.reporting.leaderboard.verify import verify
from target_bench.runs.manifest import answers_fingerprint
from tests.builders import Recorder, without
from tests.reporting.leaderboard import small
from tests.reporting.leaderboard.forging import (
    Files,
    Record,
    find,
    packed,
    refused,
    set_fields,
    with_lines,
    zip_members,
)

RANKINGS, MANIFEST = "run/retrieval.jsonl", "run/manifest.json"
MINI = corpora.load("mini")
TABLE_RETRIEVAL = select_queries(MINI, "retrieval")
IDS = [list(table) for table in MINI.corpus.ids]


# Archives


@pytest.mark.parametrize(
    "name",
    [
        "../evil", "runs/../../evil", "/etc/passwd", "C:\\evil", "C:/evil", "..\\evil",
        "run\\manifest.json", "run/../run/manifest.json", "\\\\server\\share\\evil", "run/",
        "run/manifest.json\x1b[2J", "run/manifest.json\u202egnp", "run/evil.pkl", "nested.zip",
        "card.json", "run/deep/manifest.json", "RUN/manifest.json", "x" * 60_000,
    ],
    ids=lambda name: ascii(name[:30]),
)  # fmt: skip
def test_names_of_members(at: Path, name: str) -> None:
    message = refused(at, zip_members([(name, b"x")]))
    assert message.startswith(f"member {name[:80]!a}: a submission has card.yaml")


def _with_header(value: int, **offsets: int) -> bytes:
    """A zip with another byte in its local header, in its directory, or in both."""
    content = bytearray(zip_members([("card.yaml", b"{}")]))
    for name, offset in offsets.items():
        content[content.index({"local": b"PK\3\4", "directory": b"PK\1\2"}[name]) + offset] = value
    return bytes(content)


def _link() -> bytes:
    info = zipfile.ZipInfo("card.yaml")
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zip_members([(info, b"/etc/passwd")])


def _end(*fields: int) -> bytes:
    return struct.pack("<4s4HLLH", b"PK\5\6", *fields, 0)


def _more_members_than_counted() -> bytes:
    content = zip_members([(f"run-{i}/manifest.json", b"{}") for i in range(202)])
    *_, size, start, _ = struct.unpack("<4s4HLLH", content[-22:])
    return content[:-22] + _end(0, 0, 1, 1, size, start)


def _zip64(*, locator: bool) -> bytes:
    content = zip_members([("card.yaml", b"{}")])
    if locator:
        return content[:-22] + struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1) + content[-22:]
    return content[:-22] + _end(0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)


def _nested_bomb() -> bytes:
    bomb = zip_members([("bomb", bytes(50 * MEBI))])
    return zip_members([(f"{i}.zip", bomb) for i in range(20)])


def _twice() -> bytes:
    content = zip_members([("card.yaml", b"{}"), ("carD.yaml", b"[]")])
    return content.replace(b"carD", b"card")


ARCHIVES: dict[str, tuple[Callable[[], bytes], str]] = {
    "a name that ends at NUL": (
        lambda: zip_members([("card.yaml-evil", b"{}")]).replace(b"yaml-evil", b"yaml\0evil"),
        "a submission has card.yaml",
    ),
    "nested bomb": (_nested_bomb, "a submission has card.yaml"),
    "a name twice": (_twice, "member 'card.yaml': is there twice"),
    "link": (_link, "member 'card.yaml': is a link"),
    "encrypted": (lambda: _with_header(1, local=6, directory=8), "encrypted"),
    **{
        f"method {n}": (lambda n=n: _with_header(n, directory=10), "unknown method")  # type: ignore[misc]
        for n in (12, 14, 93, 97)
    },
    "a million members": (
        lambda: b"PK\1\2".ljust(46, b"\0") * 10**6 + _end(0, 0, 9, 9, 46 * 10**6, 0), "are read",
    ),
    "more members than counted": (_more_members_than_counted, "has 202 files"),
    "zip64": (lambda: _zip64(locator=True), "zip64"),
    "counts of zip64": (lambda: _zip64(locator=False), "has 65,535 files"),
    "no end": (lambda: b"PK", "does not end like a zip"),
    "no card": (lambda: zip_members([(MANIFEST, b"{}")]), "card.yaml: is missing"),
    "a large card": (lambda: zip_members([("card.yaml", bytes(MEBI))]), "card.yaml: has 1,048,576"),
}  # fmt: skip


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives(at: Path, name: str) -> None:
    content, message = ARCHIVES[name]
    assert message in refused(at, content())


def test_cut_off_lengthened_and_too_large(
    at: Path, rankings: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = packed(at, rankings).read_bytes()
    for changed in (content[:-1], content[: len(content) // 2], content + b"\0", b"#!" + content):
        refused(at, changed, DataError)
    monkeypatch.setattr(reading, "LARGEST_TOTAL", 1000)
    assert "the archive unpacks to" in refused(packed(at, rankings))
    monkeypatch.setattr(reading, "LARGEST_ARCHIVE", 1000)
    assert "submit fewer runs at a time" in refused(at)


def test_a_bomb_that_lies_about_its_size(at: Path, rankings: Files) -> None:
    """What is declared is read, and no more: the rest does not fit the checksum."""
    whole = zip_members(list(rankings.items()))
    content = whole.replace(struct.pack("<L", len(rankings[RANKINGS])), struct.pack("<L", 10))
    assert content != whole
    refused(at, content)


def test_a_folder_and_no_zip(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.tbs.zip"):
        with pytest.raises(DataError, match=path.name) as caught:
            verify(path)
        assert not isinstance(caught.value, RefusedError)
    (tmp_path / "text.tbs.zip").write_text("no zip file")
    with pytest.raises(RefusedError, match="the file is not a zip"):
        verify(tmp_path / "text.tbs.zip")
    entries, rejected = build_site(tmp_path, tmp_path / "site")
    assert (entries, [path.name for path in rejected]) == ([], ["text.tbs.zip"])


@pytest.mark.parametrize("name", ["a\u202eb.tbs.zip", ".tbs.zip", "a\nb.tbs.zip"])
def test_names_that_no_row_can_have(tmp_path: Path, rankings: Files, name: str) -> None:
    assert "the name of the file" in refused(packed(tmp_path / name, rankings))


def test_members_missing_and_superfluous(at: Path, rankings: Files) -> None:
    for name in (RANKINGS, "card.yaml", MANIFEST):
        assert f"{name}: is missing" in refused(packed(at, without(rankings, name)))
    more = {**rankings, "run/generations.jsonl": b""}
    assert "run/generations.jsonl: belongs to no run" in refused(packed(at, more))
    twice = {f"b/{n[4:]}": raw for n, raw in rankings.items() if n.startswith("run/")}
    assert "has the task and data of b" in refused(packed(at, rankings | twice))
    assert "holds 0 runs" in refused(packed(at, {"card.yaml": rankings["card.yaml"]}))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_damage_is_refused_or_harmless(
    data: st.DataObject, packed_retrieval: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever bytes are changed, the scores are those of what was packed, or it is refused."""
    content = bytearray(packed_retrieval.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.tbs.zip"
    path.write_bytes(content)
    try:
        with reading.open_archive(path) as damaged, reading.open_archive(packed_retrieval) as whole:
            ((folder, run),) = reading.read_runs(
                whole, small.card(trained_on={"mini": "no"})
            ).items()
            mine, theirs = (
                reading.read_rankings(each, folder, run, run.make_task(), TABLE_RETRIEVAL, [])
                for each in (damaged, whole)
            )
            assert mine == theirs
    except (DataError, KeyError):
        pass


# Lines


@pytest.mark.parametrize(
    "line",
    [
        b'{"query_id": "' + b"x" * 2 * MEBI + b'", "tables": []}',
        b" " * 100 * MEBI,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"query_id": "q\xff", "tables": []}',
        '{"query_id": "q", "tables": []}'.encode("utf-16"),
        b'\xef\xbb\xbf{"query_id": "q", "tables": []}',
        b'{"query_id": "q\\ud800", "tables": []}',
        b'{"query_id": "q", "tables": NaN}',
        b'{"query_id": "q", "tables": ' + b"9" * 100_000 + b"}",
        b"",
        b"[]",
        b'{"query_id": 1, "tables": []}',
        b'{"query_id": "q"}',
        b'{"query_id": "q", "tables": "0/x"}',
        b'{"query_id": "q", "tables": [["0", "x", "y"]]}',
        b'{"query_id": "q", "tables": [["0", 1]]}',
        json.dumps({"query_id": "q", "tables": [["0", "x"]] * 1001}).encode(),
        json.dumps({"query_id": "q", "tables": [["0", "x" * 501]]}).encode(),
        b'{"query_id": "q", "tables": [], "gold": 1}',
        b'{"query_id": "q", "tables": [], "tied": 1}',
        b'{"query_id": "q", "tables": [], "at": {"one": []}}',
    ],
    ids=lambda value: ascii(value[:40]),
)
def test_lines(at: Path, rankings: Files, line: bytes) -> None:
    assert f"{RANKINGS}, line 1: " in refused(packed(at, {**rankings, RANKINGS: line + b"\n"}))


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "x" * 20_001}, {"text": 1}, {"cost": -1.0}, {"cost": 1e11},
        {"input_tokens": 2**60},
        {"reasoning": "x"}, {"error": "x" * 501}, {"truncated": 1},
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_lines_of_answers(at: Path, everything: Files, changes: Record) -> None:
    name = find(everything, "generations.jsonl", "question")
    files = with_lines(everything, name, lambda lines: [line | changes for line in lines])
    assert f"{name}, line 1: {next(iter(changes))}: " in refused(packed(at, files))


PREDICTIONS: dict[str, tuple[Callable[[Record], Record], str]] = {
    "a query that is not asked": (
        lambda line: line | {"query_id": "x\u202e"},
        "is not a query of this run",
    ),
    "a query twice": (lambda line: line | {"query_id": "rowing-1"}, "is there twice"),
    "a table twice": (lambda line: line | {"tables": IDS[:1] * 2}, "names a table twice"),
    "a table of elsewhere": (
        lambda line: line | {"tables": [["x", "y"]]},
        "which is not in the corpus",
    ),
    "too deep": (lambda line: line | {"tables": IDS[:11]}, "has 11 tables at 10"),
    "too deep at a smaller cutoff": (lambda line: line | {"at": {"1": IDS[:2]}}, "2 tables at 1"),
    "the largest cutoff twice": (lambda line: line | {"at": {"10": IDS[:1]}}, "at: has 10"),
    "no cutoff": (lambda line: line | {"at": {"3": IDS[:2]}}, "at 3, which is not a cutoff"),
    "tables of a failed query": (lambda line: line | {"error": "x"}, "has tables and an error"),
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_predictions(at: Path, rankings: Files, name: str) -> None:
    change, message = PREDICTIONS[name]
    first = json.loads(rankings[RANKINGS].splitlines()[0])["query_id"]

    def forge(lines: list[Record]) -> list[Record]:
        changed = change(lines[1])
        if changed["query_id"] == "rowing-1":
            changed["query_id"] = first
        return [lines[0], changed, *lines[2:]]

    said = refused(packed(at, with_lines(rankings, RANKINGS, forge)))
    assert said.startswith(f"{RANKINGS}, query '")
    assert message in said


# Manifests and cards


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"corpus": "../mini"}, "corpus '../mini' is not registered"),
        ({"distractors": ["./folder:n=1"]}, "corpus './folder' is not registered"),
        ({"distractors": ["evil.py:Corpus:n=1"]}, "corpus 'evil.py' is not registered"),
        ({"distractors": ["gittables:n=-1"]}, MANIFEST),
        ({"split": "nowhere"}, MANIFEST), ({"split": None}, "split: "),
        ({"about": "nothing"}, MANIFEST),
        ({"corpus_fingerprint": "0" * 64}, "corpus_fingerprint: the tables of mini"),
        ({"queries_fingerprint": "0" * 64}, "queries_fingerprint: the queries or gold of mini"),
        ({"queries_fingerprint": "0"}, "queries_fingerprint: "),
        ({"task": "nothing"}, "task: 'nothing' is not registered"),
        ({"task": "evil.py:Task"}, "task: 'evil.py:Task' is not registered"),
        ({"task": "question_answering"}, "generator: expected one for question_answering"),
        ({"generator": "gold"}, "retrieval"),
        ({"retrieval": "../run"}, "retrieval: "),
        ({"top_k": [10, 5]}, "top_k should be ascending"),
        ({"top_k": [10**6]}, "top_k.0: "), ({"top_k": []}, "top_k belongs to"),
        ({"retriever": "x" * 501}, "retriever: "), ({"retriever": "bm25\u202e"}, "retriever: "),
        ({"retriever": "\ud800"}, MANIFEST), ({"date": "today"}, "date: "),
        ({"scores": {}}, "scores: there is no such field"), ({"host": "x"}, "host: there is no"),
    ],
    ids=lambda value: ascii(value)[:50],
)  # fmt: skip
def test_manifests(at: Path, rankings: Files, fields: Record, message: str) -> None:
    assert message in refused(packed(at, set_fields(rankings, MANIFEST, **fields)))


def test_answers_built_on_themselves(at: Path, everything: Files) -> None:
    folder = find(everything, "generations.jsonl", "question").partition("/")[0]
    files = set_fields(everything, f"{folder}/manifest.json", retrieval=folder)
    assert f"retrieval: {folder!r} is no run of rankings" in refused(packed(at, files))


def test_answers_to_queries_of_another_task(at: Path, everything: Files) -> None:
    """With their right fingerprint: a build of many submissions does not end at this one."""
    folder = find(everything, "generations.jsonl", "question").partition("/")[0]
    name = f"{folder}/manifest.json"
    others = select_queries(MINI, "text_to_sql").queries
    right = answers_fingerprint(others)
    basis = json.loads(everything[name])["retrieval"]
    files = set_fields(everything, name, about="text_to_sql", queries_fingerprint=right)
    files[f"{folder}/generations.jsonl"] = b""
    files[f"{basis}/retrieval.jsonl"] = b""
    files = set_fields(files, f"{basis}/manifest.json", about="question_answering")
    assert f"{name}: cannot be scored: " in refused(packed(at, files))


CARD = {
    "name": "Wide Retriever", "authors": ["Ann Other", "李雷"], "kind": "dense",
    "parameters": "110M", "trained_on": {"mini": "no"}, "chosen_on": "validation",
    "licence": "MIT", "paper": "https://example.org/a?b=1",
}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "<script>alert(1)</script>"}, "name: holds < or >"),
        ({"name": "a\u202eb"}, "name: holds U+202E"), ({"name": "a\u2066b"}, "U+2066"),
        ({"name": "\u3164 \u3164"}, "name: is empty"), ({"name": "\u2800"}, "name: is empty"),
        ({"name": "a\u0007b"}, "U+0007"), ({"name": "x" * 81}, "at most 80"),
        ({"name": 12}, "valid string"), ({"name": None}, "valid string"),
        ({"name": "\ud800"}, "card.yaml: "),
        ({"authors": []}, "at least 1"), ({"authors": ["Ann", "<b>Bo</b>"]}, "authors.1"),
        ({"authors": ["x"] * 51}, "at most 50"), ({"kind": "magic"}, "'lexical'"),
        ({"parameters": "many"}, "such as 0, 110M or 7.5B"), ({"parameters": -1}, "greater"),
        ({"parameters": 10**16}, "less than"), ({"parameters": True}, "parameters"),
        ({"trained_on": {"mini": "perhaps"}}, "trained_on.mini"),
        ({"trained_on": {"../etc": "no"}}, "pattern"), ({"trained_on": {}}, "add 'mini: no'"),
        ({"trained_on": None}, "as in {mini: no}"), ({"trained_on": False}, "as in {mini: no}"),
        ({"authors": "Ann Other"}, "as in [Ann Other]"),
        ({"chosen_on": "all of them"}, "'nothing', 'train', 'validation', 'test'"),
        ({"paper": "javascript:alert(1)"}, "https://"), ({"code": "JaVaScRiPt:x"}, "https://"),
        ({"paper": "https://ann:secret@example.org"}, "password"),
        ({"paper": "https://exa mple.org"}, "percent-encode"),
        ({"paper": "https://example.org/\"onload=x"}, "percent-encode"),
        ({"paper": "https:///x"}, "https://"), ({"website": "x"}, "no such field"),
    ],
    ids=lambda value: ascii(value)[:40],
)  # fmt: skip
def test_cards(at: Path, rankings: Files, fields: Record, message: str) -> None:
    """As JSON, which is YAML."""
    card = json.dumps(CARD | fields).encode()
    said = refused(packed(at, {**rankings, "card.yaml": card}))
    assert said.startswith("card.yaml: ")
    assert message in said


@pytest.mark.parametrize(
    "content",
    [
        b"name: \xff", b"", b"- a", b"\0", b"paper: *a", b"paper: {", b"? [a]\n: b",
        b"paper: !!python/object/apply:os.system [ls]", b"[" * 400,
        "\n".join(['a: &a ["x"]', *(f"{n}: &{n} [{'*a,' * 9}]" for n in "bcdefg")]).encode(),
    ],
    ids=lambda raw: ascii(raw[:20]),
)  # fmt: skip
def test_no_card(at: Path, rankings: Files, content: bytes) -> None:
    assert "card.yaml: " in refused(packed(at, {**rankings, "card.yaml": content}))


def test_a_deep_card(at: Path, rankings: Files) -> None:
    """Not traced: tracing memory through so deep a recursion takes minutes."""
    with pytest.raises(RefusedError, match=r"card\.yaml: not valid YAML: maximum recursion"):
        verify(packed(at, {**rankings, "card.yaml": b"[" * 16_000}))


# What is accepted with a note


@pytest.mark.parametrize(
    ("change", "note", "recall"),
    [
        (lambda lines: lines, "", 0.98214),
        (lambda lines: lines[::-1], "", 0.98214),
        (lambda lines: lines[::2], "140 of 280 queries are missing", 0.49107),
    ],
    ids=["nothing", "order", "half"],
)
def test_notes(at: Path, rankings: Files, change: Any, note: str, recall: float) -> None:
    """Missing queries are wrong."""
    entry = verify(packed(at, with_lines(rankings, RANKINGS, change)), observer=Recorder())
    (scores,) = entry.scores.values()
    assert [note in said for said in entry.notes] == [True] * bool(note)
    assert (scores.counts.asked, scores["success@1"].n) == (280, 280)
    assert scores["recall@10"].value == pytest.approx(recall, abs=0.01)
