"""Rankings made elsewhere: what is read, and what is said of a file that is broken."""

import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import FLAGS, CorpusInfo, Dataset, Query, Table, TableId
from target_bench.data.tables import MemoryCorpus
from target_bench.runs import ranking_files
from target_bench.runs.result import Result
from tests.builders import Counting, Recorder, only, same_scores, zipped
from tests.target import TARGET

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
    return ranking_files.read_run_file(path, dataset or _dataset())


def _tables(run_file: ranking_files.RunFile) -> dict[str, tuple[TableId, ...]]:
    return {query_id: ranking.tables for query_id, ranking in run_file.retrievals.items()}


def _score(
    tmp_path: Path, content: str, name: str = "x.run", **options: Any
) -> tuple[Result, list[str]]:
    """Score a file of rankings of two queries; the result and the warnings."""
    (tmp_path / name).write_text(content, encoding="utf-8")
    recorder = Recorder()
    target = TARGET(("retrieval", _dataset()), out=tmp_path, observer=recorder)
    return only(target.score(tmp_path / name, **options)), recorder.warnings


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
    run_file = ranking_files.read_run_file(tmp_path / name, _dataset())
    assert run_file.notes(_dataset().queries) == []
    assert _tables(run_file) == {"q1": (B, A), "q2": (C,)}
    assert run_file.retrievals["q1"].scores == (0.5, 0.25)


@pytest.mark.parametrize(
    ("rows", "tables", "resorted"),
    [
        (["a 3 1", "c 2 1", "b 9 5e0"], (B, C, A), True),
        (["c 0 1.0", "a 0 1.0", "b 0 1.0"], (C, A, B), False),  # ranks that say nothing
    ],
)
def test_order_of_a_trec_run(
    tmp_path: Path, rows: list[str], tables: tuple[TableId, ...], resorted: bool
) -> None:
    """By score; ties by the hash of the ids, whatever rank and line say."""
    content = "".join(f"q1 Q0 {row} x\n" for row in rows)
    ranking = _read(tmp_path, content).retrievals["q1"]
    assert (ranking.tables, ranking.resorted) == (tables, resorted)


PER_CENT, ENCODED, SPACED = (TableId("0", name) for name in ("100%", "a%20b", "a b"))
WORDS = _dataset((PER_CENT, ENCODED, SPACED), ("a%20b", "a b"))
SHOP, SLASH = TableId("shop", "t"), TableId("a/b", "t")
DATABASES = _dataset((SHOP, SLASH))
UNDERSCORES = _dataset((TableId("my__db", "t"), TableId("my", "other")))
NUMBERS = _dataset((TableId("0", "7"),), ("12",))


@pytest.mark.parametrize(
    ("dataset", "content", "query_id", "tables"),
    [
        # A table may stand as it is; our own export has words.
        (WORDS, "a%20b Q0 100%25 1 2 target-bench\na%20b Q0 a%20b 2 1 target-bench\n", "a b",
         (PER_CENT, SPACED)),
        (WORDS, "a%2520b Q0 a%2520b 2 1 x\na%2520b Q0 100% 3 0 x\n", "a%20b",
         (ENCODED, PER_CENT)),
        (WORDS, '{"query_id": "a%20b", "tables": ["a%20b", "a b", "100%"]}', "a%20b",
         (ENCODED, SPACED, PER_CENT)),
        (DATABASES, "q1 Q0 a%2Fb/t 1 2 x\nq1 Q0 shop/t 2 1 x\n", "q1", (SLASH, SHOP)),
        (DATABASES, "q1 Q0 a/b__t 1 2 x\nq1 Q0 shop__t 2 1 x\n", "q1", (SLASH, SHOP)),
        (DATABASES, '{"query_id": "q1", "tables": [["a/b", "t"], ["shop", "t"]]}', "q1",
         (SLASH, SHOP)),
        (UNDERSCORES, '{"query_id": "q1", "tables": ["my__db__t", "my__other"]}', "q1",
         (TableId("my__db", "t"), TableId("my", "other"))),
        (NUMBERS, "12 Q0 0/7 1 2 x\n", "12", (TableId("0", "7"),)),  # str(table.id)
        (NUMBERS, '{"query_id": 12, "tables": [[0, 7]]}', "12", (TableId("0", "7"),)),
    ],
)  # fmt: skip
def test_names_that_other_tools_write(
    tmp_path: Path, dataset: Dataset, content: str, query_id: str, tables: tuple[TableId, ...]
) -> None:
    assert _tables(_read(tmp_path, content, dataset)) == {query_id: tables}


def test_a_log_is_read_as_a_run_reads_it(tmp_path: Path) -> None:
    """A ranking replaces an earlier error."""
    lines = [
        '{"query_id": "q1", "tables": [], "error": "PluginError: gone"}',
        '{"query_id": "q1", "tables": [["0", "a"]]}',
    ]
    run_file = _read(tmp_path, "\n".join(lines))
    assert _tables(run_file) == {"q1": (A,)}
    assert run_file.retrievals["q1"].error is None


@pytest.mark.parametrize("last", ['"at": {"1": ["b"]}', '"error": "PluginError: gone"'])
def test_a_query_that_was_asked_again_at_each_cutoff_has_its_last_line(
    tmp_path: Path, last: str
) -> None:
    """As the log of a run, whose retriever turned out later to depend on k."""
    lines = [
        '{"query_id": "q1", "tables": ["a"]}',
        f'{{"query_id": "q1", "tables": ["b"], {last}}}',
    ]
    ranking = _read(tmp_path, "\n".join(lines)).retrievals["q1"]
    if ranking.error is None:
        assert (ranking.tables, ranking.at) == ((B,), {1: (B,)})
    else:
        assert ranking.error == "PluginError: gone"


def test_a_name_of_two_tables_is_refused(tmp_path: Path) -> None:
    dataset = _dataset((TableId("a", "b__c"), TableId("a__b", "c")))
    with pytest.raises(
        DataError, match=r"line 1: table 'a__b__c' is ambiguous: \['a', 'b__c'\] or"
    ):
        _read(tmp_path, '{"query_id": "q1", "tables": ["a__b__c"]}', dataset)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("q1 Q0 a 1\n", ["line 1", "expected 'query Q0 table rank score tag'", "'q1 Q0 a 1'"]),
        ("q1 Q0 a b 1 0.5 x\n", ["line 1", "expected"]),
        ("q1 Q0 a 1 0.5 x\nq1 Q0 b first 0.5 x\n", ["line 2", "expected"]),
        ("q1 Q0 a 1 nan x\n", ["line 1", "expected a finite score, found nan"]),
        ("q1 Q0 a 1 1e999 x\n", ["expected a finite score, found 1e999"]),
        ("q9 Q0 a 1 0.5 x\n", ["line 1", "query 'q9' is not in shop test", "--split"]),
        ("q1 Q0 z 1 0.5 x\n", ["line 1", "table 'z' is not in shop test", "like 'a'"]),
        ("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\nq1 Q0 a 3 0 x\n", ["line 3", "'q1'", "0/a a second time"]),
        ("", ["holds no ranking"]),
        (b"q1 Q0 a 1 0.5 x\nq1 Q0 \xff 2 0.4 x\n", ["not valid UTF-8 at line 2", "0xff"]),
        ('{"query_id": "q1"}', ["line 1", "no field 'tables'"]),
        ('{"query_id": "q1", "tables": "a"}', ["'tables': expected list"]),
        ('{"query_id": "q1", "tables": []}\n{"query_id": "q1", "tables": ["a"]}', ["two rankings"]),
        ('{"query_id": "q1", "tables": []}\n[]', ["line 2", "expected a JSON object"]),
        ('{"query_id": "q1", "tables": []}\n{"query\n', ["line 2", "not valid JSON"]),
        ('{"query_id": "q1", "tables": ["a", ["0", "a"]]}', ["line 1", "'q1' has a table twice"]),
        ('{"query_id": "q1", "tables": [["0", "z"]]}', ["table ['0', 'z'] is not in shop test"]),
        ('{"query_id": "q1", "tables": [5]}', ["table 5 is not in"]),
        ('{"query_id": "q9", "tables": []}', ["query 'q9' is not in shop test"]),
        (
            '{"query_id": "q1", "tables": ["a"], "scores": [1, 2]}',
            ["'scores': expected a finite number per table (1 in"],
        ),
        (
            '{"query_id": "q1", "tables": ["a"], "scores": [NaN]}',
            ["'scores': expected a finite number"],
        ),
        (
            '{"query_id": "q1", "tables": ["a"], "scores": [true]}',
            ["'scores': expected a finite number"],
        ),
        ('{"query_id": "q1", "tables": ["a"], "at": {"x": []}}', ["line 1", "'at': expected"]),
        ('{"query_id": "q1", "tables": ["a"], "at": [1]}', ["line 1", "found [1]"]),
        ('{"query_id": "q1", "tables": ["a"], "at": {"1": "a"}}', ["'at': expected an object"]),
        ('{"query_id": "q1", "tables": ["a"], "at": {"1": ["z"]}}', ["table 'z' is not in"]),
        (
            '{"query_id": "q1", "tables": ["a"], "scores": 5}',
            ["'scores': expected a finite number"],
        ),
    ],
)
def test_broken_files(tmp_path: Path, content: str | bytes, parts: list[str]) -> None:
    """The message names file, line and what was wrong."""
    with pytest.raises(DataError) as raised:
        _read(tmp_path, content)
    for part in ("their.run", *parts):
        assert part in str(raised.value)


def test_what_is_no_file_of_rankings(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"--run .*nowhere\.run: there is no such file"):
        ranking_files.read_run_file(tmp_path / "nowhere.run", _dataset())
    with pytest.raises(DataError, match=r"no such file \(in a run folder: retrieval\.jsonl\)"):
        ranking_files.read_run_file(tmp_path, _dataset())
    for name, content in (("x.gz", gzip.compress(TREC.encode() * 100)[:-9]), ("x.zip", b"PK")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=name):
            ranking_files.read_run_file(tmp_path / name, _dataset())
    with pytest.raises(ConfigError, match="--run"):
        TARGET(("retrieval", _dataset()), out=tmp_path, observer=Recorder()).score()


@pytest.mark.parametrize(("content", "failed"), [(TREC, 0), (JSON, 1)])
def test_missing_queries(tmp_path: Path, content: str, failed: int) -> None:
    """A TREC run cannot say that nothing was found; JSON lines can, so there it is a failure."""
    result, warnings = _score(tmp_path, content.splitlines(keepends=True)[0], top_k=1)
    counts = result.stored.counts
    assert (counts.asked, counts.failed, counts.empty) == (2, failed, 1 - failed)
    assert dict(result.errors) == ({"q2": "not in x.run"} if failed else {})
    assert "no ranking for 1 of 2 queries; they score 0" in warnings[0]
    assert result.per_query.values["recall@1"][1] == 0


def test_what_is_not_scored_is_not_missed(tmp_path: Path) -> None:
    """Rankings of later queries and deeper ranks are neither needed nor in the way."""
    result, _ = _score(tmp_path, TREC, top_k=2, limit=1)
    assert (result.stored.counts.asked, result.per_query.ids) == (1, ["q2"])
    result, warnings = _score(tmp_path, TREC.splitlines()[2], top_k=2, limit=1)
    assert (result.stored.counts.answered, warnings) == (1, [])
    result, _ = _score(tmp_path, TREC, top_k=1)
    assert (result.per_query.values["recall@1"].tolist(), result.stored.counts.short) == ([0, 0], 0)


def test_own_retrieval_file(tmp_path: Path) -> None:
    """``retrieval.jsonl`` scores as the run it is of; a file's order is its own, with no ties."""

    class Distances(Counting):
        def retrieve(self, query: str, top_k: int) -> Any:
            if len(query) % 7 == 0:
                raise RuntimeError("no")
            chosen = super().retrieve(query, top_k)[: len(query) % 5]
            return [(table_id, float(i)) for i, table_id in enumerate(chosen)]

    target = TARGET(("retrieval", "mini"), out=tmp_path, observer=Recorder())
    first = only(target.run(Distances(), top_k=[1, 5]))
    again = only(target.score(first.folder / "retrieval.jsonl", top_k=[1, 5]))
    assert again.stored.counts == replace(first.stored.counts, **dict.fromkeys(FLAGS, 0))
    assert first.stored.counts.resorted > 0
    assert again.stored.counts.failed > 0
    same_scores(first, again)
    assert dict(again.errors) == dict(first.errors)
    assert only(target.score(first.folder / "retrieval.jsonl", top_k=[1, 5])).run.reused


@pytest.mark.parametrize("form", ["TREC", "JSON"])
def test_distances_are_refused(tmp_path: Path, form: str) -> None:
    """In all rankings of several tables the nearest has the lowest score, and would be last."""
    dataset = _dataset(query_ids=[f"q{i}" for i in range(5)])

    def written(rankings: Sequence[Sequence[float]]) -> str:
        lines = []
        for i, scores in enumerate(rankings):
            if form == "JSON":
                ids = ["a", "b", "c"][: len(scores)]
                lines.append(f'{{"query_id": "q{i}", "tables": {ids}, "scores": {list(scores)}}}')
                lines[-1] = lines[-1].replace("'", '"')
            else:
                rows = zip("abc", scores, strict=False)
                lines += [f"q{i} Q0 {t} {n} {s} x" for n, (t, s) in enumerate(rows, start=1)]
        return "\n".join(lines) + "\n"

    with pytest.raises(DataError, match=r"in all 3 rankings with scores .* distances"):
        _read(tmp_path, written([(0.1, 0.2, 0.3), (0, 2, 2), (1, 3), (0.5,)]), dataset)
    for rankings in (
        [(0.1, 0.2), (0.1, 0.2)],  # too few to know
        [(0.1, 0.2), (0.1, 0.2), (0.1, 0.2), (0.3, 0.2)],
        [(1, 1, 1), (2, 2), (0,), (3, 3)],
    ):
        assert len(_read(tmp_path, written(rankings), dataset).retrievals) == len(rankings)


def test_ranks_that_nobody_counted_say_nothing(tmp_path: Path) -> None:
    """One number on all lines is no order, so nothing was in another one."""
    lines = [f"q{i} Q0 {t} 0 {s} x" for i in (1, 2) for t, s in (("a", 1), ("b", 3), ("c", 2))]
    run = _read(tmp_path, "\n".join(lines) + "\n")
    assert {run.retrievals[f"q{i}"].tables for i in (1, 2)} == {(B, C, A)}
    assert not any(ranking.resorted for ranking in run.retrievals.values())
