"""Corpora that are declared, and data sets of the hub by name, from a server on this machine."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from target_bench import Columns, CorpusInfo, CorpusLoader, DataError, Hub, evaluate
from target_bench.cli.main import app
from target_bench.core.errors import ConfigError
from target_bench.core.schema import TableId
from target_bench.data import download
from target_bench.data.load import load, loader
from target_bench.data.reading import read
from tests.builders import json_lines
from tests.data.file_server import Server, server_in_use

REVISION = "a" * 40
CORPUS = f"""
from target_bench import Columns, CorpusInfo, CorpusLoader, Hub

class Planets(CorpusLoader):
    info = CorpusInfo(
        name="planets",
        tasks=("retrieval", "question_answering"),
        splits=("test", "validation"),
        licence="CC0",
        citation="Nobody, 2024",
        data=Hub(
            "me/planets-corpus",
            files="data/{{split}}-*.parquet",
            revision="{REVISION}",
            split_names={{"validation": "dev"}},
        ),
    )
    columns = Columns(
        query="question",
        answer="answers",
        table_id="table.name",
        header="table.header",
        rows="table.rows",
        context={{"title": "table.title"}},
        metadata={{"level": "level"}},
    )
"""


def _record(n: int, **changes: Any) -> dict[str, Any]:
    table = {
        "name": f"t{n // 2}",
        "title": f"Planet {n // 2}",
        "header": ["planet", "moons"],
        "rows": [[f"planet{n // 2}", str(n // 2)]],
    }
    return {
        "question": f"How many moons has planet{n // 2}?",
        "answers": [str(n // 2), f"{n // 2} moons"],
        "table": table,
        "level": None if n else "easy",
    } | changes


RECORDS = [_record(n) for n in range(6)]


def _parquet(records: list[dict[str, Any]]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_pylist(records), sink)
    return bytes(sink.getvalue())


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with server_in_use(tmp_path, monkeypatch) as served:
        (tmp_path / "planets.py").write_text(CORPUS, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        served.declared += loader("planets.py:Planets").info.sources("test")
        served.copies["me/planets-corpus"] = {
            "data/test-00000-of-00002.parquet": _parquet(RECORDS[:4]),
            "data/test-00001-of-00002.parquet": _parquet(RECORDS[4:]),
            "data/dev-00000-of-00001.parquet": _parquet(RECORDS[:2]),
            "data/train.parquet": b"not asked for",
        }
        yield served


def test_a_declaration_is_fetched_read_and_run(server: Server, tmp_path: Path) -> None:
    dataset = load("planets.py:Planets")
    assert [i.table_id for i in dataset.corpus.ids] == ["t0", "t1", "t2"]
    table = dataset.corpus["0", "t1"]
    assert (list(table.header), [list(row) for row in table.rows], dict(table.context)) == (
        ["planet", "moons"],
        [["planet1", "1"]],
        {"title": "Planet 1"},
    )
    assert [query.id for query in dataset.queries] == [str(n) for n in range(6)]
    query = dataset.queries[3]
    assert (query.text, query.answer) == (RECORDS[3]["question"], ("1", "1 moons"))
    assert query.gold == (TableId("0", "t1"),)
    assert [dict(q.metadata) for q in dataset.queries[:2]] == [{"level": "easy"}, {}]
    assert dataset.info.source == "https://huggingface.co/datasets/me/planets-corpus"
    assert len(load("planets.py:Planets", "dev").queries) == 2
    server.dead = True
    (result,) = evaluate("bm25", "planets.py:Planets", top_k=1, out=tmp_path / "runs")
    assert result.scores["recall@1"].value == 1


def test_a_declaration_is_verified_and_resumed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "_PARALLEL", 1)
    server.wrong["test-00001-of-00002.parquet"] = b"PAR1"
    with pytest.raises(DataError, match=r"1 of 2 files .*run the same command again to resume"):
        load("planets.py:Planets")
    server.wrong.clear()
    server.seen.clear()
    dataset = load("planets.py:Planets")
    assert server.gets("test-00000-of-00002.parquet") == 0
    (folder,) = (Path("cache") / "downloads").glob("planets-*/")
    (path,) = folder.rglob("test-00001*")
    path.write_bytes(_parquet([_record(4), _record(5, level="hard")]))
    assert len(dataset.queries) == 6
    with pytest.raises(DataError, match="not what was fetched"):
        read(loader("planets.py:Planets"), folder.resolve(), "test")


class Flat(CorpusLoader):
    info = CorpusInfo("flat", licence="CC0", data=Hub("me/flat", files="{split}.jsonl"))
    columns = Columns(query="q", query_id="id", answer="a", table_id="t", table="rows")


ROW = {"id": 7, "q": "how many?", "a": 3, "t": "x", "rows": [["n"], [3]]}


def test_files_that_are_here_are_read_where_they_lie(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text(json_lines([ROW]))
    dataset = read(Flat(), tmp_path, "test")
    assert (dataset.queries[0].id, dataset.queries[0].answer) == ("7", "3")
    assert list(dataset.corpus["0", "x"].rows) == [[3]]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"q": None}, "field 'q': expected text, found NoneType"),
        ({"t": 1.5}, "field 't': expected text or a whole number"),
        ({"rows": "ab"}, "field 'rows': expected a list of rows, the header first, found str"),
        ({"rows": [["n"], "ab"]}, "rows row 1 is not a list of cells: 'ab'"),
        ({"id": 8, "rows": [["n"], [4]]}, "line 2: table 0/x differs from that of "),
        ({"id": 7}, "query id '7' occurs twice"),
    ],
)
def test_broken_records_are_named(tmp_path: Path, changes: dict[str, Any], fault: str) -> None:
    (tmp_path / "test.jsonl").write_text(json_lines([ROW, ROW | changes]))
    with pytest.raises(DataError) as caught:
        read(Flat(), tmp_path, "test")
    assert fault in str(caught.value)


def test_columns_name_a_table() -> None:
    cases: list[dict[str, Any]] = [{}, {"table": "t", "header": "h", "rows": "r"}, {"header": "h"}]
    for fields in cases:
        with pytest.raises(ValueError, match="name the field of the table, or those of header"):
            Columns(table_id="id", **fields)


def test_what_is_missing_says_where_it_comes_from(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError) as caught:
        load("planets.py:Planets")
    for part in (
        "https://huggingface.co/datasets/me/planets-corpus",
        "data/test-*.parquet",
        "--offline",
    ):
        assert part in str(caught.value)


def test_a_data_set_of_the_hub_in_a_known_layout(server: Server, tmp_path: Path) -> None:
    queries = [{"query_id": "1", "query": "moons of Mars", "table_id": "moons"}]
    server.copies["me/moons"] = {
        "tables/moons.csv": b"planet,moons\nMars,2\n",
        "queries.jsonl": json_lines(queries).encode(),
        "README.md": b"# Moons",
    }
    dataset = load("hf:me/moons")
    assert (dataset.info.name, dataset.info.source) == (
        "me-moons",
        "https://huggingface.co/datasets/me/moons",
    )
    assert list(dataset.corpus["0", "moons"].header) == ["planet", "moons"]
    server.dead = True
    (result,) = evaluate("bm25", "hf:me/moons", top_k=1, out=tmp_path / "runs")
    assert result.scores["recall@1"].value == 1
    for command, shown in {
        "run hf:me/moons --retriever bm25 --top-k 1": "1.000",
        "search hf:me/moons Mars": "moons",
        "describe corpus hf:me/moons": "https://huggingface.co/datasets/me/moons",
        "data pull hf:me/moons": "all verified",
    }.items():
        server.dead = command.startswith("data") is False
        done = CliRunner().invoke(app, command.split())
        assert (done.exit_code, shown in done.output) == (0, True), (done.output, done.exception)
    assert len(load("mini", distractors=["hf:me/moons:n=1"]).corpus) == 140
    assert load("hf:me/moons:header_rows=0").corpus["0", "moons"].rows[0] == ["planet", "moons"]
    (path,) = (tmp_path / "cache" / "downloads").rglob("moons.csv")
    path.write_text("planet,moons\nMars,3\n")
    with pytest.raises(DataError, match=r"not what was fetched.*data pull hf:me/moons"):
        load("hf:me/moons")
    (record,) = (tmp_path / "cache" / "downloads").glob("me-moons-*/source.json")
    assert "f" * 40 in json.dumps(json.loads(record.read_bytes())["commits"])


def test_names_of_the_hub_that_are_none(server: Server) -> None:
    for name in ("hf:moons", "hf:/moons", "hf:a/b/c"):
        with pytest.raises(ConfigError, match="write hf:owner/name or hf:owner/name@revision"):
            loader(name)
    with pytest.raises(ConfigError, match=r"access was refused \(status 401\)"):
        loader("hf:me/nothing")


def _moons(n: int) -> dict[str, Any]:
    rows = [[f"planet{n}", str(n)]]
    table = {"title": f"Planet {n}", "header": ["planet", "moons"], "rows": rows}
    return {"question": f"How many moons has planet{n}?", "answers": [str(n)], "table": table}


COLUMNS = "query=question,answer=answers,header=table.header,rows=table.rows,title=table.title"


def test_a_data_set_of_the_hub_whose_columns_are_named(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From one command; interrupted and resumed, and a wrong byte is refused."""
    monkeypatch.setattr(download, "_PARALLEL", 1)
    server.copies["me/qa"] = {
        "data/test-00000-of-00002.parquet": _parquet([_moons(n) for n in range(3)]),
        "data/test-00001-of-00002.parquet": _parquet([_moons(n) for n in (2, 3)]),
        "data/dev.jsonl": json_lines([_moons(7)]).encode(),
        "README.md": b"# QA",
    }
    command = ["run", "hf:me/qa", "--columns", COLUMNS, "--retriever", "bm25", "--top-k", "1"]
    server.wrong["test-00001-of-00002.parquet"] = b"PAR1"
    done = CliRunner().invoke(app, command)
    assert done.exit_code != 0
    assert "run the same command again to resume" in " ".join(str(done.exception).split())
    server.wrong.clear()
    server.seen.clear()
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, "1.000" in done.output) == (0, True), (done.output, done.exception)
    assert server.gets("test-00000-of-00002.parquet") == 0
    server.dead = True
    done = CliRunner().invoke(app, [*command, "--corpus", "mini"])
    assert (done.exit_code, "mini" in done.output) == (0, True), (done.output, done.exception)
    (result,) = evaluate("bm25", "hf:me/qa", columns=COLUMNS, top_k=1, out=tmp_path / "runs")
    assert result.scores["recall@1"].value == 1
    mixed = {"corpora": ["mini", "hf:me/qa"], "columns": COLUMNS, "retrievers": ["bm25"]}
    Path("mixed.yaml").write_text(json.dumps(mixed))
    done = CliRunner().invoke(app, ["sweep", "mixed.yaml", "--dry-run"])
    assert (done.exit_code, "0 of 280" in done.output) == (0, True), (done.output, done.exception)
    dataset = load(f"hf:me/qa:{COLUMNS}")
    assert (len(dataset.corpus), len(dataset.queries), dataset.info.splits) == (
        4,
        5,
        ("test", "validation"),
    )
    assert dataset.queries[2].gold == dataset.queries[3].gold, "equal tables are one"
    assert len(load(f"hf:me/qa:{COLUMNS}", "dev").corpus) == 1
    (path,) = (tmp_path / "cache" / "downloads").rglob("test-00000*")
    path.write_bytes(_parquet([_moons(1), _moons(5), _moons(6)]))
    with pytest.raises(DataError, match="not what was fetched"):
        load(f"hf:me/qa:{COLUMNS}")


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot send SIGKILL or Ctrl-C to one process")
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_one_command_for_a_data_set_of_the_hub(
    server: Server, tmp_path: Path, stop: signal.Signals
) -> None:
    """As a process: stopped amid a file and resumed; one wrong byte of a file is refused."""
    server.declared.append(Hub("me/moons-qa", "*", REVISION))
    files = {f"data/test-0000{n}-of-00003.parquet": _parquet([_moons(n)]) for n in range(3)}
    server.copies["me/moons-qa"] = files
    last = list(files)[-1]
    command = ["run", f"hf:me/moons-qa@{REVISION}", "--columns", COLUMNS, "--retriever", "bm25"]
    command = [sys.executable, "-m", "target_bench", *command, "--top-k", "1"]
    home = tmp_path / "cache" / "downloads"

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    server.held.add(last)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not server.gets(last) or len(list(home.rglob("*.parquet"))) < 2:
        assert time.monotonic() < until, process.communicate()
        time.sleep(0.05)
    process.send_signal(stop)
    _, said = process.communicate(timeout=28)  # a server that says nothing is read for 30 s
    server.held.clear()
    assert process.returncode != 0
    assert ("2 of 3 files" in said) == (stop == signal.SIGINT), said

    server.seen.clear()
    content = files[last]
    server.wrong[last] = bytes([*content[:-9], content[-9] ^ 1, *content[-8:]])
    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert "is damaged: expected" in done.stderr
    assert not list(home.rglob(Path(last).name))
    assert not list(Path("runs").glob("*"))

    server.wrong.clear()
    done = run()
    assert done.returncode == 0, done.stderr
    assert "bm25: 100% of the right tables first (3 questions)." in done.stdout
    assert [server.gets(name) for name in files] == [0, 0, 2], "what was whole is not asked for"


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ("query=q,answers=a,table=t", "unknown column 'answers'"),
        ("query=q,answer=a", "name the field of the table, or those of header and rows"),
    ],
)
def test_columns_that_are_none(server: Server, columns: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        load(f"hf:me/qa:{columns}")
    with pytest.raises(ConfigError, match="for a data set of the hub"):
        evaluate("bm25", "mini", columns=columns)


def test_records_without_columns_are_told_how_to_name_them(server: Server) -> None:
    server.copies["me/qa"] = {"data/test.parquet": _parquet([_moons(1)])}
    done = CliRunner().invoke(app, ["run", "hf:me/qa", "--retriever", "bm25"])
    advice = "records (question, answers, table) are questions with their tables, say what is in"
    assert advice in str(done.exception)


def test_a_corpus_has_a_split() -> None:
    with pytest.raises(ConfigError, match=r"corpus shop: splits=\(\): expected a split"):
        CorpusInfo("shop", splits=())


def test_files_of_several_configurations(server: Server) -> None:
    server.copies["me/two"] = {
        f"{name}/test.csv": b'q,a,t\nwho?,Ann,"[[""n""], [""Ann""]]"\n' for name in ("x", "y")
    }
    columns = "query=q,answer=a,table=t"
    with pytest.raises(DataError, match=r"lies in x, y. Name one with files=, as in files=x/\*"):
        load(f"hf:me/two:{columns}")
    dataset = load(f"hf:me/two:{columns},files=y/*")
    assert [list(row) for table in dataset.corpus for row in table.rows] == [["Ann"]]
