"""The logs of a run: what is written comes back, a torn end is cut off, and damage is told."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import StoreError
from target_bench.core.schema import Generation, Retrieval, TableId
from target_bench.runs.record_log import ANSWERS, RANKINGS, Log

odd_text = st.one_of(
    st.text(st.characters(), max_size=12),
    st.sampled_from(['"', "\\", "\n", "\r\n", "\u2028", "\x00", "\ud800", "\udfff\ud800", "é'"]),
)
numbers = st.floats(allow_nan=False, allow_infinity=False)
scored = st.lists(st.tuples(st.builds(TableId, odd_text, odd_text), numbers), max_size=4)
retrievals = st.builds(
    lambda query_id, ranked, has_scores, error, marks: Retrieval(
        query_id,
        tuple(table_id for table_id, _ in ranked),
        tuple(score for _, score in ranked if has_scores),
        error,
        *marks,
    ),
    *(
        odd_text,
        scored,
        st.booleans(),
        st.none() | odd_text,
        st.tuples(st.booleans(), st.booleans()),
    ),
)
counts, amounts = st.none() | st.integers(0), st.none() | st.floats(0, 1e300)
answers = st.builds(
    Generation, odd_text, odd_text, st.none() | odd_text, *(counts, counts, amounts, amounts),
    st.booleans(),
    shown_rows=st.lists(st.integers(-1, 9**9), max_size=4).map(tuple),
    truncated=st.booleans(),
)  # fmt: skip
A, B = TableId("0", "a"), TableId("0", "b")
LOGS: list[tuple[Log[Any], list[Any]]] = [
    (
        RANKINGS,
        [
            Retrieval("q1", (A, B), (2.5, 1.0)),
            Retrieval("q2", (), error="raised ValueError: no"),
            Retrieval("q3", (TableId("1", "a"),), resorted=True, tied=True),
        ],
    ),
    (
        ANSWERS,
        [
            Generation("q1", "Ann", shown_rows=(3,)),
            Generation("q2", "", error="raised: ValueError: no"),
            Generation("q3", "a longer answer é", shown_rows=(2, -1), truncated=True),
        ],
    ),
]


def _append(records: Log[Any], folder: Path, *values: Any) -> None:
    with records.open(folder) as append:
        append(values)


@pytest.mark.parametrize(("records", "values"), [(RANKINGS, retrievals), (ANSWERS, answers)])
@given(st.data())
def test_anything_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    records: Log[Any],
    values: st.SearchStrategy[Any],
    data: st.DataObject,
) -> None:
    written = data.draw(st.lists(values, max_size=4, unique_by=records.query_id))
    folder = tmp_path_factory.mktemp("run")
    assert records.read(folder) == {}
    for value in written:
        _append(records, folder, value)
    assert list(records.read(folder).values()) == written


def test_what_is_not_known_is_not_written(tmp_path: Path) -> None:
    answered = Generation("q2", "x", "no", shown_rows=(2, -1), truncated=True)
    _append(ANSWERS, tmp_path, Generation("q1", ""), answered)
    lines = (tmp_path / "generations.jsonl").read_bytes().splitlines()
    assert [*map(json.loads, lines)] == [
        {"query_id": "q1", "text": ""},
        {"query_id": "q2", "text": "x", "error": "no", "shown_rows": [2, -1], "truncated": True},
    ]


@pytest.mark.parametrize(("records", "values"), LOGS)
def test_a_torn_last_line_is_cut_off(tmp_path: Path, records: Log[Any], values: list[Any]) -> None:
    """At every byte: what a killed process left of the line is dropped, the rest is kept."""
    path = tmp_path / records.file
    _append(records, tmp_path, *values)
    whole = path.read_bytes()
    for end in range(whole[:-1].rindex(b"\n") + 1, len(whole)):
        path.write_bytes(whole[:end])
        assert list(records.read(tmp_path).values()) == values[:2]
        assert path.read_bytes() == whole[:end]  # it may be what another process is writing
        _append(records, tmp_path, values[2])
        assert path.read_bytes() == whole


@pytest.mark.parametrize(("records", "values"), LOGS)
def test_a_finished_file_is_read_as_it_was_written_or_not_at_all(
    tmp_path: Path, records: Log[Any], values: list[Any]
) -> None:
    """By its SHA-256: with any bit flipped, cut at any byte, or lost."""
    path = tmp_path / records.file
    _append(records, tmp_path, *values)
    whole = path.read_bytes()
    sha256 = hashlib.sha256(whole).hexdigest()
    assert list(records.read(tmp_path, sha256).values()) == values
    damaged = [whole[:end] for end in range(0, len(whole), 7)]
    damaged += [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(len(whole))]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(StoreError, match=rf"{records.file}: damaged .*; remove it and run"):
            records.read(tmp_path, sha256)
        with pytest.raises(StoreError, match="damaged"):
            records.check(tmp_path, sha256)
    path.unlink()
    with pytest.raises(StoreError, match="missing; run the same command again"):
        records.read(tmp_path, sha256)


GOOD = {"query_id": "q2", "text": "x"}


@pytest.mark.parametrize(
    ("records", "line", "part"),
    [
        (RANKINGS, b'{"query_id": "q2", "tab', "remove the line"),
        (RANKINGS, b"", "remove the line"),
        (RANKINGS, {"tables": []}, "query_id"),
        (RANKINGS, {"query_id": "q2"}, "tables"),
        *(
            (RANKINGS, {"query_id": "q2", "tables": [table]}, "is no id of a table")
            for table in (["0"], ["0", "a", "b"], "ab", ["0", 5], 5)
        ),
        (ANSWERS, [], "remove the line"),
        (ANSWERS, None, "remove the line"),
        (ANSWERS, {"query_id": "q2"}, "text"),
        (ANSWERS, {"text": "x"}, "query_id"),
        (ANSWERS, GOOD | {"text": None}, "its text is NoneType"),
        (ANSWERS, GOOD | {"query_id": 5}, "its query_id is int"),
        (ANSWERS, GOOD | {"error": 1}, "its error is int"),
        (ANSWERS, GOOD | {"cost": float("nan")}, "its cost is nan"),
        (ANSWERS, GOOD | {"input_tokens": 1.5}, "its input_tokens is float"),
        (ANSWERS, GOOD | {"input_tokens": True}, "its input_tokens is bool"),
        (ANSWERS, GOOD | {"cost": False}, "its cost is bool"),
        (ANSWERS, GOOD | {"cached": 1}, "its cached is int"),
        (ANSWERS, GOOD | {"shown_rows": 5}, "damaged"),
        (ANSWERS, GOOD | {"colour": "red"}, "colour"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, records: Log[Any], line: Any, part: str) -> None:
    """Torn ones (bytes), and those that another tool wrote."""
    values = dict(LOGS)[records]
    path = tmp_path / records.file
    _append(records, tmp_path, *values)
    lines = path.read_bytes().split(b"\n")
    lines[1] = line if isinstance(line, bytes) else json.dumps(line).encode()
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(StoreError, match=rf"{records.file}, line 2: damaged") as raised:
        records.read(tmp_path)
    assert part in str(raised.value)


@pytest.mark.skipif(os.name != "posix", reason="a folder cannot be opened elsewhere")
def test_the_names_of_a_new_log_and_its_folder_reach_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    with RANKINGS.open(tmp_path):
        assert synced == [tmp_path.stat().st_ino, tmp_path.parent.stat().st_ino]
    with RANKINGS.open(tmp_path):
        assert len(synced) == 3, "its name is there already"


def test_what_the_system_takes_in_parts_is_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a pipe, a quota or an interrupt make of it."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, content: write(file, bytes(content[:7])))
    records, values = LOGS[0]
    _append(records, tmp_path, *values)
    assert [*records.iterate(tmp_path)] == values
