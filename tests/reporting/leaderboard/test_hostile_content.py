"""What lies in an archive, line by line and field by field: refused, or wrong, never worse."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench import corpora
from target_bench.reporting.leaderboard import submission as submission_file
from target_bench.reporting.leaderboard.submission import RefusedError, opened, strict_json
from target_bench.reporting.leaderboard.verify import verify
from tests.builders import Recorder, without
from tests.reporting.leaderboard.forging import (
    MEBI,
    RANKINGS,
    RUN,
    Files,
    packed,
    refused,
    run_of,
    verified,
    with_document,
    with_lines,
)


@pytest.mark.parametrize(
    "line",
    [
        b'{"query_id": "' + b"x" * 2 * MEBI + b'", "tables": []}',
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 20 + b"1" + b"}" * 20,
        b'{"query_id": "q\xff", "tables": []}',
        '{"query_id": "q", "tables": []}'.encode("utf-16"),
        b'\xef\xbb\xbf{"query_id": "q", "tables": []}',
        b'{"query_id": "q", "tables": NaN}',
        b'{"query_id": "q", "tables": -Infinity}',
        b'{"query_id": "q", "tables": 1e999}',
        b'{"query_id": "q", "tables": ' + b"9" * 100_000 + b"}",
        b'{"query_id": "q", "tables": [9007199254740993]}',
        b'{"query_id": "q", "query_id": "r", "tables": []}',
        b"",
    ],
    ids=lambda value: ascii(value[:30]),
)
def test_lines(at: Path, rankings: Files, line: bytes) -> None:
    assert RANKINGS in refused(packed(at, {**rankings, RANKINGS: line + b"\n"}))


def test_more_lines_than_are_read(
    at: Path, rankings: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission_file, "MOST_LINES", 279)
    assert "more than 279 lines" in refused(packed(at, rankings))


@pytest.mark.parametrize(
    "record",
    [
        [],
        {"query_id": 1, "tables": []},
        {"query_id": "q"},
        {"query_id": "q", "tables": "0/x"},
        {"query_id": "q", "tables": [["0", "x", "y"]]},
        {"query_id": "q", "tables": [["0", 1]]},
        {"query_id": "q", "tables": [["0", "x"]] * 1001},
        {"query_id": "q", "tables": [["0", "x" * 501]]},
        {"query_id": "q", "tables": [], "gold": 1},
        {"query_id": "q", "tables": [], "resorted": "yes"},
        {"query_id": "q", "tables": [], "tied": 1},
    ],
    ids=lambda record: json.dumps(record)[:40],
)
def test_records(at: Path, rankings: Files, record: object) -> None:
    forged = {**rankings, RANKINGS: json.dumps(record).encode() + b"\n"}
    (finding,) = verified(at, forged).findings
    assert finding.check == "readable"
    assert f"{RANKINGS}, line 1: " in finding.message


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "x" * 20_001}, {"text": 1}, {"seconds": -1.0}, {"seconds": 1e11}, {"cached": 1},
        {"reasoning": "x"}, {"error": "x" * 501},
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_answers(at: Path, everything: Files, changes: dict[str, object]) -> None:
    name = f"{run_of(everything, 'question_answering')}/generations.jsonl"
    files = with_lines(everything, name, lambda lines: [line | changes for line in lines])
    with pytest.raises(RefusedError), opened(packed(at, files)) as submission:
        submission.answers(int(name.split("/")[1]), corpora.load("mini"))


OTHER_DATA: list[dict[str, Any]] = [
    {"distractors": ["./folder:n=1"]},
    {"distractors": ["evil.py:Corpus:n=1"]},
    {"split": "nowhere"},
    {"about": "nothing"},
    {"corpus_fingerprint": "0" * 64},
    {"queries_fingerprint": "0" * 64},
    {"task": "nothing"},
]
UNREADABLE: list[dict[str, Any]] = [
    {"corpus": "../mini"}, {"corpus": "os:system"}, {"corpus": "evil.py:Corpus"},
    {"cutoffs": [10, 5]}, {"cutoffs": [10**6]}, {"task": "text_to_sql"},
    {"retriever": "x" * 501}, {"retriever": "bm25\u202e"}, {"more": 1}, {"cold": False},
    {"limit": 3}, {"identity": {"retriever": "bm25"}}, {"scores": {}},
    {"seconds": {"retrieve": -1.0}}, {"latency_ms": {"p50": -0.5}},
    {"date": "9999-99-99"}, {"date": "9999-12-31"},
    {"environment": {"python": "\ud800"}}, {"environment": {"\udfff": "x"}},
    {"identity": {"retriever": {"class": "BM25", "config": {"x": "a\udc80"}}}},
    {"split": None},
]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "check"),
    [(f, "data") for f in OTHER_DATA] + [(f, "readable") for f in UNREADABLE],
    ids=lambda value: ascii(value)[:50],
)
def test_documents_of_runs(at: Path, rankings: Files, fields: dict[str, Any], check: str) -> None:
    forged = with_document(rankings, RUN, lambda run: run.update(fields))
    (finding,) = verified(at, forged).findings
    assert (finding.check, finding.level) == (check, "rejected")
    assert finding.message.isprintable()


@pytest.mark.parametrize("name", [RANKINGS, "card.json", RUN])
def test_changed_after_packing(at: Path, rankings: Files, name: str) -> None:
    submission_file.write(at, {**rankings, name: rankings[name].replace(b"\n", b" \n", 1)})
    (finding,) = verify(at, observer=Recorder()).findings
    assert finding.check == "readable"
    assert f"{name} was changed after packing" in finding.message


def test_files_missing_and_superfluous(at: Path, rankings: Files) -> None:
    for name in (RANKINGS, "card.json", RUN):
        assert "is missing" in refused(packed(at, without(rankings, name)))
    more = {**rankings, "runs/7/run.json": b"{}"}
    assert "superfluous" in refused(packed(at, more))
    submission_file.write(at, more)
    assert "index alone" in refused(at)


def test_another_format(at: Path, rankings: Files) -> None:
    files = with_document(rankings, "submission.json", lambda index: index.update(format=2))
    assert refused(packed(at, files)) == ("submission.json: format: input should be 3 (found 2)")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_json_or_refused(raw: bytes) -> None:
    refusal = None
    try:
        strict_json(raw, "it")
    except RefusedError as error:
        refusal = error.check
    assert refusal in (None, "readable")
