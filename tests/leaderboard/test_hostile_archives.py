"""Hostile archives are refused, by name of what is wrong, in bounded time and memory."""

import io
import json
import random
import stat
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.errors import DataError
from target_bench.leaderboard import archive
from target_bench.leaderboard.archive import Archive, RefusedError, strict_json
from target_bench.leaderboard.reading import opened
from target_bench.leaderboard.verification import verify
from tests.builders import Recorder
from tests.leaderboard.forging import Files, packed, run_of, with_document, with_lines

MEBI = 1024 * 1024
SECONDS, BYTES = 10.0, 64 * MEBI
"""What refusing may take at most."""

RANKINGS = "runs/0/retrieval.jsonl"


def zipped(members: Sequence[tuple[str | zipfile.ZipInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members:
            opened.writestr(name, content)
    return buffer.getvalue()


def refused(path: Path, content: bytes | None = None) -> RefusedError:
    """How a file is refused: soon, and without much memory."""
    if content is not None:
        path.write_bytes(content)
    tracemalloc.start()
    start = time.perf_counter()
    with pytest.raises(RefusedError) as caught:
        _read_all(path)
    seconds, (_, most) = time.perf_counter() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < SECONDS
    assert most < BYTES
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000
    verification = verify(path, observer=Recorder())
    assert verification.verdict == "rejected"
    assert verification.entry is None
    assert [finding.check for finding in verification.findings] == [caught.value.check]
    return caught.value


def _read_all(path: Path) -> None:
    with opened(path) as submission:
        for name in sorted(submission.archive.names):
            if name.endswith(".jsonl"):
                for _ in submission.archive.lines(name):
                    pass


@pytest.fixture
def at(tmp_path: Path) -> Path:
    return tmp_path / "hostile.tbs.zip"


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "runs/../../evil",
        "/etc/passwd",
        "C:\\evil",
        "C:/evil",
        "..\\evil",
        "runs\\0\\run.json",
        "runs/0/../0/run.json",
        "\\\\server\\share\\evil",
        "runs/0/run.json\x1b[2J",
        "runs/0/run.json\u202egnp",
        "runs/0/evil.pkl",
        "runs/100/run.json",
        "nested.zip",
        "card.yaml",
        "runs/0/",
        "x" * 60_000,
    ],
    ids=lambda name: ascii(name[:30]),
)
def test_names(at: Path, name: str) -> None:
    error = refused(at, zipped([(name, b"x")]))
    assert error.check == "archive"


def test_name_that_ends_at_nul(at: Path) -> None:
    content = zipped([("card.json-evil", b"{}")]).replace(b"card.json-evil", b"card.json\0evil")
    assert refused(at, content).check == "archive"


def test_nested_zip_bomb(at: Path) -> None:
    inner = zipped([("bomb", bytes(50 * MEBI))])
    assert "no such file" in str(refused(at, zipped([(f"{i}.zip", inner) for i in range(20)])))


def test_flat_zip_bomb(at: Path) -> None:
    error = refused(at, zipped([(RANKINGS, bytes(200 * MEBI))]))
    assert error.check == "sizes"
    assert "unpacks to" in str(error)


def test_zip_bomb_that_lies_about_its_size(at: Path, rankings: Files) -> None:
    """What is declared is read, and no more: the rest does not fit the checksum."""
    whole = zipped(list(rankings.items()))
    size = struct.pack("<L", len(rankings[RANKINGS]))
    small = struct.pack("<L", 10)
    content = whole.replace(size, small)
    assert content != whole
    assert refused(at, content).check == "archive"


def test_files_that_lie_over_each_other(at: Path) -> None:
    content = bytearray(zipped([("card.json", b"a" * 500), ("submission.json", b"b" * 500)]))
    directory = content.rindex(b"PK\1\2")
    content[directory + 42 : directory + 46] = bytes(4)  # the second file begins at the first
    assert "lies over" in str(refused(at, bytes(content)))


def test_many_small_bombs(at: Path) -> None:
    names = sorted(archive.NAMES - {"card.json"})[:300]
    error = refused(at, zipped([(name, bytes(MEBI // 4) * 9) for name in names]))
    assert error.check == "sizes"


def test_many_documents_of_tiny_values(at: Path, rankings: Files) -> None:
    """Each takes twenty times its bytes in memory; so not all of them are read."""
    chance = random.Random(1)
    tiny: dict[str, object] = {"x": [chance.choice(([], {})) for _ in range(300_000)]}
    run = json.loads(rankings["runs/0/run.json"]) | {"environment": tiny}
    files = {f"runs/{i}/run.json": _compact(run) for i in range(10)}
    files |= {f"runs/{i}/retrieval.jsonl": rankings[RANKINGS] for i in range(10)}
    index = json.loads(rankings["submission.json"]) | {"runs": 10}
    packed(at, {**rankings, **files, "submission.json": _compact(index)})
    tracemalloc.start()
    with pytest.raises(RefusedError, match="documents have more than") as caught, opened(at):
        pass
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.check == "sizes"
    assert most < 2 * BYTES


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def test_symbolic_link(at: Path) -> None:
    info = zipfile.ZipInfo("card.json")
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "is a link" in str(refused(at, zipped([(info, b"/etc/passwd")])))


def test_a_name_twice(at: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = zipped([("card.json", b"{}"), ("card.json", b"[]")])
    assert "is there twice" in str(refused(at, content))


def test_encrypted(at: Path) -> None:
    content = bytearray(zipped([("card.json", b"{}")]))
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(signature) + offset] |= 1
    assert "encrypted" in str(refused(at, bytes(content)))


@pytest.mark.parametrize("method", [12, 14, 93, 97])
def test_unknown_compression(at: Path, method: int) -> None:
    content = bytearray(zipped([("card.json", b"{}")]))
    content[content.index(b"PK\1\2") + 10] = method
    assert f"method {method}" in str(refused(at, bytes(content)))


def test_millions_of_entries(at: Path) -> None:
    """They are not even listed."""
    record = bytearray(46)
    record[:4] = b"PK\1\2"
    n = 1_000_000
    end = struct.pack("<4s4HLLH", b"PK\5\6", 0, 0, n % 65535, n % 65535, 46 * n, 0, 0)
    assert refused(at, bytes(record) * n + end).check == "sizes"


def test_more_entries_than_are_counted(at: Path) -> None:
    content = zipped([(f"runs/{i}/run.json", b"{}") for i in range(99)] * 1)
    end = struct.unpack("<4s4HLLH", content[-22:])
    lying = struct.pack("<4s4HLLH", end[0], 0, 0, 1, 1, *end[5:])
    error = refused(at, content[:-22] + lying)
    assert error.check == "archive"


def test_zip64(at: Path) -> None:
    content = zipped([("card.json", b"{}")])
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    assert "zip64" in str(refused(at, content[:-22] + locator + content[-22:]))
    end = struct.pack("<4s4HLLH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert "zip64" in str(refused(at, content[:-22] + end))


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip file " * 10], ids=len)
def test_no_zip(at: Path, content: bytes) -> None:
    assert refused(at, content).check == "archive"


def test_truncated_and_lengthened(at: Path, packed_retrieval: Path) -> None:
    content = packed_retrieval.read_bytes()
    for changed in (content[:-1], content[: len(content) // 2], content + b"\0", b"#!" + content):
        assert refused(at, changed).check == "archive"


def test_archive_of_many_bytes(at: Path) -> None:
    with at.open("wb") as file:
        file.truncate(archive.LARGEST_ARCHIVE + 1)
    assert refused(at).check == "sizes"


def test_a_folder_and_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.tbs.zip"):
        with pytest.raises(DataError, match=path.name):
            verify(path)


@pytest.mark.parametrize(
    ("line", "check"),
    [
        (b'{"query_id": "' + b"x" * 2 * MEBI + b'", "tables": []}', "sizes"),
        (b"[" * 100_000 + b"]" * 100_000, "json"),
        (b'{"a":' * 20 + b"1" + b"}" * 20, "json"),
        (b'{"query_id": "q\xff", "tables": []}', "encoding"),
        ('{"query_id": "q", "tables": []}'.encode("utf-16"), "encoding"),
        (b'\xef\xbb\xbf{"query_id": "q", "tables": []}', "json"),
        (b'{"query_id": "q", "tables": NaN}', "json"),
        (b'{"query_id": "q", "tables": -Infinity}', "json"),
        (b'{"query_id": "q", "tables": 1e999}', "json"),
        (b'{"query_id": "q", "tables": ' + b"9" * 100_000 + b"}", "json"),
        (b'{"query_id": "q", "query_id": "r", "tables": []}', "json"),
        (b"", "json"),
    ],
    ids=lambda value: ascii(value[:30]),
)
def test_lines(at: Path, rankings: Files, line: bytes, check: str) -> None:
    error = refused(packed(at, {**rankings, RANKINGS: line + b"\n"}))
    assert error.check == check
    assert RANKINGS in str(error)


def test_more_lines_than_are_read(
    at: Path, rankings: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MOST_LINES", 279)
    assert refused(packed(at, rankings)).check == "sizes"


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
    ],
    ids=lambda record: json.dumps(record)[:40],
)
def test_records(at: Path, rankings: Files, record: object) -> None:
    path = packed(at, {**rankings, RANKINGS: json.dumps(record).encode() + b"\n"})
    verification = verify(path, observer=Recorder())
    assert [f.check for f in verification.findings] == ["archive"]


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"text": "x" * 20_001}, "sizes"),
        ({"text": 1}, "archive"),
        ({"seconds": -1.0}, "archive"),
        ({"cached": 1}, "archive"),
        ({"reasoning": "x"}, "archive"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_answers(at: Path, everything: Files, changes: dict[str, object], check: str) -> None:
    name = f"{run_of(everything, 'question_answering')}/generations.jsonl"
    files = with_lines(everything, name, lambda lines: [line | changes for line in lines])
    with pytest.raises(RefusedError) as caught, opened(packed(at, files)) as submission:
        submission.answers(int(name.split("/")[1]), ())
    assert caught.value.check == check


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
    assert [f.check for f in verification.findings] in (["data"], ["card"])


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
        lambda run: run.pop("split"),
    ],
)
def test_run_documents(at: Path, rankings: Files, change: Change) -> None:
    assert (
        refused(packed(at, with_document(rankings, "runs/0/run.json", change))).check == "archive"
    )


@pytest.mark.parametrize("name", [RANKINGS, "card.json", "runs/0/run.json"])
def test_changed_after_packing(at: Path, rankings: Files, name: str) -> None:
    archive.write(at, {**rankings, name: rankings[name].replace(b"\n", b" \n", 1)})
    verification = verify(at, observer=Recorder())
    assert [finding.check for finding in verification.findings] == ["hashes"]
    assert name in verification.findings[0].message


def test_files_missing_and_superfluous(at: Path, rankings: Files) -> None:
    for name in (RANKINGS, "card.json", "runs/0/run.json"):
        files = {n: content for n, content in rankings.items() if n != name}
        assert refused(packed(at, files)).check == "archive"
    assert refused(packed(at, {**rankings, "runs/7/run.json": b"{}"})).check == "archive"
    archive.write(at, {**rankings, "runs/7/run.json": b"{}"})
    assert refused(at).check == "hashes"


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
    assert refusal in (None, "json", "encoding")
