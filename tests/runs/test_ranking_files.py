"""Rankings made elsewhere: what is read, and what is said of a file that is broken."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import MARKS, CorpusInfo, Dataset, Query, Table, TableId
from target_bench.data.tables import MemoryCorpus
from target_bench.harness.target import TARGET
from target_bench.runs import ranking_files
from target_bench.runs.result import Result
from tests.builders import Counting, Recorder, only, same_scores, zipped

INFO = CorpusInfo("shop", "Shop", ("retrieval",), ("test",), "ours", "us", "https://example.org")
A, B, C, ODD = (TableId("0", name) for name in ("a", "b", "c", "100% wool"))


def _dataset(
    ids: Sequence[TableId] = (A, B, C, ODD), query_ids: Sequence[str] = ("q1", "q2")
) -> Dataset:
    tables = [Table(table_id, ("x",), ((str(i),),)) for i, table_id in enumerate(ids)]
    queries = tuple(Query(query_id, f"text {query_id}", (ids[0],)) for query_id in query_ids)
    return Dataset(INFO, "test", MemoryCorpus(tables), queries)


def _read(
    tmp_path: Path, content: str | bytes, dataset: Dataset | None = None
) -> ranking_files.RunFile:
    path = tmp_path / "their.run"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return ranking_files.read(path, dataset or _dataset())


def _score(out: Path, run_file: Path, dataset: Dataset, **options: Any) -> tuple[Result, Recorder]:
    recorder = Recorder()
    target = TARGET(("retrieval", dataset), out=out, observer=recorder)
    return only(target.score(run_file, **options)), recorder


TREC = "q1 Q0 b 1 0.5 x\nq1 Q0 a 2 0.25 x\nq2 Q0 c 1 7 x\n"
JSON = (
    '{"query_id": "q1", "tables": ["b", ["0", "a"]], "scores": [0.5, 0.25]}\n'
    '{"query_id": "q2", "tables": ["c"]}\n'
)


@pytest.mark.parametrize("content", [TREC, JSON])
@pytest.mark.parametrize("how", ["plain", "gz", "zip", "bom", "crlf", "blank lines"])
def test_both_formats(tmp_path: Path, content: str, how: str) -> None:
    raw = content.encode()
    name, packed = {
        "plain": ("x.run", raw),
        "gz": ("x.run.gz", gzip.compress(raw)),
        "zip": ("x.run.zip", zipped({"x.run": raw})),
        "bom": ("x.run", b"\xef\xbb\xbf" + raw),
        "crlf": ("x.run", raw.replace(b"\n", b"\r\n")),
        "blank lines": ("x.run", b"\n" + raw.replace(b"\n", b"\n  \n")),
    }[how]
    (tmp_path / name).write_bytes(packed)
    found = ranking_files.read(tmp_path / name, _dataset())
    assert found.notes(_dataset().queries) == []
    assert {query: r.tables for query, r in found.retrievals.items()} == {"q1": (B, A), "q2": (C,)}
    assert found.retrievals["q1"].scores == (0.5, 0.25)


def test_order_of_a_trec_run(tmp_path: Path) -> None:
    """By score; ties by rank; lines and queries in any order."""
    content = "q1 Q0 a 3 1 x\nq2 Q0 a 1 -1 x\nq1 Q0 c 2 1 x\nq1 Q0 b 9 5e0 x\n"
    found = _read(tmp_path, content).retrievals
    assert found["q1"].tables == (B, C, A)
    assert found["q1"].resorted
    assert not found["q2"].resorted


def test_ranks_that_say_nothing(tmp_path: Path) -> None:
    """All the same: the order of the lines breaks ties, and nothing was resorted."""
    content = "".join(f"q1 Q0 {t} 0 1.0 x\n" for t in ("c", "a", "b"))
    found = _read(tmp_path, content).retrievals["q1"]
    assert (found.tables, found.resorted) == ((C, A, B), False)


def test_names_that_other_tools_write(tmp_path: Path) -> None:
    """A table may stand as it is; our own export has words."""
    per_cent, encoded, spaced = (TableId("0", n) for n in ("100%", "a%20b", "a b"))
    dataset = _dataset((per_cent, encoded, spaced), ("a%20b", "a b"))
    run = "a%20b Q0 100%25 1 2 target-bench\na%20b Q0 a%20b 2 1 target-bench\n"
    found = _read(tmp_path, run, dataset)
    assert {q: r.tables for q, r in found.retrievals.items()} == {"a b": (per_cent, spaced)}
    found = _read(tmp_path, "a%2520b Q0 a%2520b 2 1 x\na%2520b Q0 100% 3 0 x\n", dataset)
    assert {q: r.tables for q, r in found.retrievals.items()} == {"a%20b": (encoded, per_cent)}
    record = {"query_id": "a%20b", "tables": ["a%20b", "a b", "100%"]}
    found = _read(tmp_path, json.dumps(record), dataset)
    assert found.retrievals["a%20b"].tables == (encoded, spaced, per_cent)


def test_databases(tmp_path: Path) -> None:
    ids = (TableId("shop", "t"), TableId("a/b", "t"))
    dataset = _dataset(ids)
    found = _read(tmp_path, "q1 Q0 a%2Fb/t 1 2 x\nq1 Q0 shop/t 2 1 x\n", dataset)
    assert found.retrievals["q1"].tables == ids[::-1]
    record = {"query_id": "q1", "tables": [["a/b", "t"], ["shop", "t"]]}
    assert _read(tmp_path, json.dumps(record), dataset).retrievals["q1"].tables == ids[::-1]
    others = "q1 Q0 a/b__t 1 2 x\nq1 Q0 shop__t 2 1 x\n"
    assert _read(tmp_path, others, dataset).retrievals["q1"].tables == ids[::-1]
    with pytest.raises(DataError, match=r"table 'shop__u' is not in shop test"):
        _read(tmp_path, "q1 Q0 shop__u 1 2 x\n", dataset)
    with pytest.raises(DataError, match=r"table 't' is not in shop test"):
        _read(tmp_path, '{"query_id": "q1", "tables": ["t"]}', dataset)


def test_a_log_is_read_as_a_run_reads_it(tmp_path: Path) -> None:
    """A ranking replaces an earlier error; half a last line, of a killed process, is left out."""
    lines = [
        '{"query_id": "q1", "tables": [], "error": "PluginError: gone"}',
        '{"query_id": "q1", "tables": [["0", "a"]]}',
        '{"query_id": "q2", "tab',
    ]
    found = _read(tmp_path, "\n".join(lines))
    assert {q: (r.tables, r.error) for q, r in found.retrievals.items()} == {
        "q1": ((TableId("0", "a"),), None)
    }


def test_numbers_for_ids(tmp_path: Path) -> None:
    dataset = _dataset((TableId("0", "7"),), ("12",))
    found = _read(tmp_path, '{"query_id": 12, "tables": [[0, 7]]}', dataset)
    assert found.retrievals["12"].tables == (TableId("0", "7"),)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("q1 Q0 a 1\n", ["line 1", "expected 'query Q0 table rank score tag'", "'q1 Q0 a 1'"]),
        ("q1 Q0 a 1 0.5\n", ["line 1", "expected"]),
        ("q1 Q0 a b 1 0.5 x\n", ["line 1", "expected"]),
        ("q1 Q0 a 1 2 0.5 x\n", ["line 1", "expected"]),
        ("q1 Q0 a 1 0.5 x\nq1 Q0 b first 0.5 x\n", ["line 2", "expected"]),
        ("\nq1 Q0 a 1 high x\n", ["line 2", "expected"]),
        ("q1 Q0 a 1 nan x\n", ["line 1", "the score is nan"]),
        ("q1 Q0 a 1 -inf x\n", ["the score is -inf"]),
        ("q1 Q0 a 1 1e999 x\n", ["the score is 1e999"]),
        ("q9 Q0 a 1 0.5 x\n", ["line 1", "query 'q9' is not in shop test", "--split"]),
        ("q1 Q0 z 1 0.5 x\n", ["line 1", "table 'z' is not in shop test", "like 'a'"]),
        ("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\nq1 Q0 a 3 0 x\n", ["line 3", "'q1'", "0/a a second time"]),
        ("", ["holds no ranking"]),
        ("\n \n", ["holds no ranking"]),
        (b"q1 Q0 a 1 0.5 x\nq1 Q0 \xff 2 0.4 x\n", ["not valid UTF-8 at line 2", "0xff"]),
        ("q1 Q0 a 1 0.5 x\n".encode("utf-16"), ["not valid UTF-8"]),
        ('{"query_id": "q1"}', ["line 1", "no field 'tables'"]),
        ('{"tables": []}', ["no field 'query_id'"]),
        ('{"query_id": "q1", "tables": "a"}', ["'tables' should be list"]),
        ('{"query_id": "q1", "tables": []}\n{"query_id": "q1", "tables": ["a"]}', ["two rankings"]),
        ('{"query_id": "q1", "tables": []}\n[]', ["line 2", "expected a JSON object"]),
        ('{"query_id": "q1", "tables": []}\n{"query\n', ["line 2", "not valid JSON"]),
        ('{"query_id": "q1", "tables": ["a", ["0", "a"]]}', ["line 1", "'q1' has a table twice"]),
        ('{"query_id": "q1", "tables": [["0", "z"]]}', ["table ['0', 'z'] is not in shop test"]),
        ('{"query_id": "q1", "tables": [5]}', ["table 5 is not in"]),
        ('{"query_id": "q1", "tables": [["a"]]}', ["table ['a'] is not in"]),
        ('{"query_id": "q1", "tables": [[["0"], "a"]]}', ["is not in"]),
        ('{"query_id": "q1", "tables": [{"0": "a"}]}', ["is not in"]),
        ('{"query_id": "q9", "tables": []}', ["query 'q9' is not in shop test"]),
        ('{"query_id": "q1", "tables": ["a"], "scores": [1, 2]}', ["1 tables need as many"]),
        ('{"query_id": "q1", "tables": ["a"], "scores": [NaN]}', ["need as many numbers"]),
        ('{"query_id": "q1", "tables": ["a"], "scores": [1e999]}', ["need as many numbers"]),
        ('{"query_id": "q1", "tables": ["a"], "scores": ["1"]}', ["need as many numbers"]),
        ('{"query_id": "q1", "tables": ["a"], "scores": [true]}', ["need as many numbers"]),
        ('{"query_id": "q1", "tables": ["a"], "scores": "1"}', ["need as many numbers"]),
        ('{"query_id": "q1", "tables": ["a"], "scores": 5}', ["need as many numbers"]),
        (
            '{"query_id": "q1", "tables": ["a"], "scores": [1' + 400 * "0" + "]}",
            ["need as many numbers"],
        ),
    ],
)
def test_broken_files(tmp_path: Path, content: str | bytes, parts: list[str]) -> None:
    """The message names file, line and what was wrong."""
    with pytest.raises(DataError) as caught:
        _read(tmp_path, content)
    for part in ("their.run", *parts):
        assert part in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"--run .*nowhere\.run: there is no such file"):
        ranking_files.read(tmp_path / "nowhere.run", _dataset())
    with pytest.raises(DataError, match=r"is a folder; name the file, as in .*/retrieval\.jsonl"):
        ranking_files.read(tmp_path, _dataset())


def test_damaged_archives(tmp_path: Path) -> None:
    packed = gzip.compress(TREC.encode() * 100)
    for name, content in (("x.gz", packed[:-9]), ("x.gz", TREC.encode()), ("x.zip", b"PK")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=name):
            ranking_files.read(tmp_path / name, _dataset())


def test_missing_queries(tmp_path: Path) -> None:
    """A TREC run cannot say that nothing was found; JSON lines can, so there it is a failure."""
    dataset = _dataset()
    for content, failed, empty in ((TREC, 0, 1), (JSON, 1, 0)):
        path = tmp_path / f"{failed}.run"
        path.write_text(content.splitlines(keepends=True)[0], encoding="utf-8")
        result, recorder = _score(tmp_path, path, dataset, top_k=1)
        counts = result.counts
        assert (counts.asked, counts.answered) == (2, 2 - failed)
        assert (counts.failed, counts.empty) == (failed, empty)
        assert dict(result.errors) == ({"q2": f"not in {path.name}"} if failed else {})
        (note,) = recorder.warnings
        assert "no ranking for 1 of 2 queries; they score 0" in note
        assert result.per_query["recall@1"][1] == 0


def test_failed_queries_score_nothing(tmp_path: Path) -> None:
    """Whatever tables stand beside the error."""
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"query_id": "q1", "tables": ["a"], "error": "late"}\n'
        '{"query_id": "q2", "tables": ["a"]}\n',
        encoding="utf-8",
    )
    result, _ = _score(tmp_path, path, _dataset(), top_k=1)
    assert dict(result.errors) == {"q1": "late"}
    assert result.per_query["recall@1"].tolist() == [0, 1]


def test_limit(tmp_path: Path) -> None:
    """Rankings of later queries are neither needed nor in the way."""
    path = tmp_path / "x.run"
    path.write_text(TREC, encoding="utf-8")
    result, recorder = _score(tmp_path, path, _dataset(), top_k=2, limit=1)
    assert (result.counts.asked, result.scores["recall@2"].value) == (1, 1)
    path.write_text(TREC.splitlines()[1], encoding="utf-8")
    result, recorder = _score(tmp_path, path, _dataset(), top_k=2, limit=1)
    assert result.counts.answered == 1
    assert recorder.warnings == []


def test_deeper_than_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_text(TREC, encoding="utf-8")
    result, _ = _score(tmp_path, path, _dataset(), top_k=1)
    assert result.per_query["recall@1"].tolist() == [0, 0]
    assert result.counts.short == 0


def test_own_retrieval_file(tmp_path: Path) -> None:
    """``retrieval.jsonl`` scores as the run it is of; a file's order is its own, with no ties."""

    class Distances(Counting):
        def retrieve(self, query: str, top_k: int) -> Any:
            if len(query) % 7 == 0:
                raise RuntimeError("no")
            chosen = super().retrieve(query, top_k)[: len(query) % 5]
            return [(table_id, float(i)) for i, table_id in enumerate(chosen)]

    target = TARGET(("retrieval", "mini"), out=tmp_path, observer=Recorder())
    first = only(target.run(Distances(), top_k=[1, 5], on_error="record"))
    again = only(target.score(first.folder / "retrieval.jsonl", top_k=[1, 5]))
    assert again.counts == replace(first.counts, **dict.fromkeys(MARKS, 0))
    assert first.counts.resorted > 0
    assert again.counts.failed > 0
    same_scores(first, again)
    assert dict(again.errors) == dict(first.errors)
    assert only(target.score(first.folder / "retrieval.jsonl", top_k=[1, 5])).reused


def test_another_file_is_another_run(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    folders = []
    for content in (TREC, TREC.replace("0.25", "0.75"), TREC):
        path.write_text(content, encoding="utf-8")
        folders.append(_score(tmp_path, path, _dataset())[0].folder)
    assert folders[0] == folders[2] != folders[1]


def test_file_that_is_not_named(tmp_path: Path) -> None:
    target = TARGET(("retrieval", _dataset()), out=tmp_path, observer=Recorder())
    with pytest.raises(ConfigError, match="--run"):
        target.score()
