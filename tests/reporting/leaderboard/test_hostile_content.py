"""What lies in an archive, line by line and field by field: refused, or wrong, never worse."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench import corpora
from target_bench.reporting.leaderboard import archive
from target_bench.reporting.leaderboard.archive import Archive, RefusedError, strict_json
from target_bench.reporting.leaderboard.submission import opened
from target_bench.reporting.leaderboard.verify import verify
from tests.builders import Recorder
from tests.reporting.leaderboard.forging import Files, packed, run_of, with_document, with_lines
from tests.reporting.leaderboard.refusing import MEBI, RANKINGS, refused


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
        b'{"query_id": "q", "query_id": "r", "tables": []}',
        b"",
    ],
    ids=lambda value: ascii(value[:30]),
)
def test_lines(at: Path, rankings: Files, line: bytes) -> None:
    assert RANKINGS in str(refused(packed(at, {**rankings, RANKINGS: line + b"\n"})))


def test_more_lines_than_are_read(
    at: Path, rankings: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MOST_LINES", 279)
    assert "more than 279 lines" in str(refused(packed(at, rankings)))


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
    path = packed(at, {**rankings, RANKINGS: json.dumps(record).encode() + b"\n"})
    verification = verify(path, observer=Recorder())
    assert [f.check for f in verification.findings] == ["readable"]
    assert f"{RANKINGS}, line 1: " in verification.findings[0].message


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "x" * 20_001},
        {"text": 1},
        {"seconds": -1.0},
        {"seconds": 1e11},
        {"cached": 1},
        {"reasoning": "x"},
        {"error": "x" * 501},
    ],
    ids=lambda value: str(value)[:20],
)
def test_answers(at: Path, everything: Files, changes: dict[str, object]) -> None:
    name = f"{run_of(everything, 'question_answering')}/generations.jsonl"
    files = with_lines(everything, name, lambda lines: [line | changes for line in lines])
    with pytest.raises(RefusedError), opened(packed(at, files)) as submission:
        submission.answers(int(name.split("/")[1]), corpora.load("mini"))


Change = Callable[[dict[str, object]], object]


@pytest.mark.parametrize(
    "change",
    [
        lambda run: run.update(corpus="../mini"),
        lambda run: run.update(corpus="os:system"),
        lambda run: run.update(corpus="evil.py:Corpus"),
        lambda run: run.update(distractors=["./folder:n=1"]),
        lambda run: run.update(distractors=["evil.py:Corpus:n=1"]),
        lambda run: run.update(split="nowhere"),
        lambda run: run.update(about="nothing"),
        lambda run: run.update(corpus_fingerprint="0" * 64),
        lambda run: run.update(queries_fingerprint="0" * 64),
        lambda run: run.update(database="nowhere"),
        lambda run: run.update(limit=3),
    ],
)
def test_data(at: Path, rankings: Files, change: Change) -> None:
    path = packed(at, with_document(rankings, "runs/0/run.json", change))
    verification = verify(path, observer=Recorder())
    assert [f.check for f in verification.findings] in (["data"], ["readable"])


@pytest.mark.parametrize(
    "change",
    [
        lambda run: run.update(cutoffs=[10, 5]),
        lambda run: run.update(cutoffs=[10**6]),
        lambda run: run.update(task="text_to_sql"),
        lambda run: run.update(retriever="x" * 501),
        lambda run: run.update(retriever="bm25\u202e"),
        lambda run: run.update(identity={"retriever": "bm25"}),
        lambda run: run.update(scores={"recall@10": 1}),
        lambda run: run.update(more=1),
        lambda run: run.update(cold=False),
        lambda run: run.pop("split"),
    ],
)
def test_run_documents(at: Path, rankings: Files, change: Change) -> None:
    path = packed(at, with_document(rankings, "runs/0/run.json", change))
    assert "runs/0/run.json" in str(refused(path))


@pytest.mark.parametrize("name", [RANKINGS, "card.json", "runs/0/run.json"])
def test_changed_after_packing(at: Path, rankings: Files, name: str) -> None:
    archive.write(at, {**rankings, name: rankings[name].replace(b"\n", b" \n", 1)})
    verification = verify(at, observer=Recorder())
    assert [finding.check for finding in verification.findings] == ["readable"]
    assert f"{name} was changed after packing" in verification.findings[0].message


def test_files_missing_and_superfluous(at: Path, rankings: Files) -> None:
    for name in (RANKINGS, "card.json", "runs/0/run.json"):
        files = {n: content for n, content in rankings.items() if n != name}
        assert "is missing" in str(refused(packed(at, files)))
    refused(packed(at, {**rankings, "runs/7/run.json": b"{}"}))
    archive.write(at, {**rankings, "runs/7/run.json": b"{}"})
    assert "index alone" in str(refused(at))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_damage_is_refused_or_harmless(
    data: st.DataObject, packed_retrieval: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever bytes are changed, what is read is what was packed, or it is refused."""
    content = bytearray(packed_retrieval.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.tbs.zip"
    path.write_bytes(content)
    try:
        with Archive(path) as damaged, Archive(packed_retrieval) as whole:
            for name in damaged.names & {RANKINGS}:
                assert list(damaged.lines(name)) == list(whole.lines(name))
    except RefusedError:
        pass


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_json_or_refused(raw: bytes) -> None:
    refusal = None
    try:
        strict_json(raw, "it")
    except RefusedError as error:
        refusal = error.check
    assert refusal in (None, "readable")
