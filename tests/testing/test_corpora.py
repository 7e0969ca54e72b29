"""The checks of a corpus pass what keeps the contract, and name what does not."""

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.data.own_data import from_folder
from target_bench.testing import check_corpus, corpus_checks
from tests.real.data import DATA, needs_data
from tests.testing.faults import broken, expect_fault

INFO = CorpusInfo(
    name="shop",
    title="Our shop",
    tasks=("retrieval", "fact_verification"),
    splits=("test", "train"),
    licence="ours",
    citation="us",
    source="https://example.org/shop",
    files=("prices.txt",),
)
GOLD = TableId("0", "prices")


class Sound(CorpusLoader):
    """One table and two statements, in two files."""

    info = INFO

    def __init__(self, currency: str = "EUR") -> None:
        self.currency = currency

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        price = release.text(release.require("prices.txt")).strip()
        rows = [["tea", price], ["milk", "2"]]
        yield Table(GOLD, ["what", self.currency], rows, {"title": "Prices"})
        yield Table(TableId("0", "empty"), ["what"], [], {"title": "Nothing"})

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        for record in release.json_lines(release.require(f"{split}.jsonl")):
            yield self.query(record[1])

    def query(self, record: Mapping[str, Any]) -> Query:
        return Query(record["id"], record["text"], (GOLD,), record["label"])


class NoLoader:
    """Has no base class."""

    info = INFO


def _queries(**changes: Any) -> dict[str, Any]:
    return {"query": lambda self, record: replace(Sound.query(self, record), **changes)}


def _tables(change: Callable[[list[Any]], Any]) -> dict[str, Any]:
    def tables(self: Sound, release: Release, split: str) -> Any:
        return change(list(Sound.tables(self, release, split)))

    return {"tables": tables}


_MADE = itertools.count()


def _beside_the_release(_self: Sound, release: Release, _split: str) -> Iterable[Table]:
    price = release.require("prices.txt").read_text(encoding="utf-8")
    yield Table(GOLD, ["EUR"], [[price]], {"title": "Prices"})


def _naming_no_file(self: Sound, release: Release, split: str) -> Iterable[Table]:
    assert release.find("prices.txt") is not None
    return Sound.tables(self, release, split)


NO_FILE = {"databases": lambda _self, release, _split: {"shops": release.folder / "x.sqlite"}}

FAULTS = broken(
    Sound,
    {
        "no title": ("info", "info.title is ''", {"info": replace(INFO, title="")}),
        "an unknown task": (
            "answers",
            "Did you mean table_qa",
            {"info": replace(INFO, tasks=("tabel_qa",))},
        ),
        "a table twice": ("data", "occurs twice", _tables(lambda tables: tables * 2)),
        "dicts": ("data", "expected Table, found dict", _tables(lambda tables: [{}] * len(tables))),
        "a title of numbers": (
            "data",
            "a title of [7, None] is not text",
            _tables(lambda tables: [replace(t, context={"title": 7}) for t in tables]),
        ),
        "a query twice": ("data", "query id 'q' occurs twice", _queries(id="q")),
        "answers in numbers": ("data", "not 7", _queries(answer=7)),
        "gold elsewhere": ("data", "gold table 0/gone", _queries(gold=(TableId("0", "gone"),))),
        "another database": ("data", "of another database", _queries(database_id="shops")),
        "no labels": ("answers", "but is 'perhaps'", _queries(answer="perhaps")),
        "other cells each time": (
            "data",
            "a second loader gives other",
            _tables(lambda t: [t[0], replace(t[1], header=[f"{next(_MADE)}"])]),
        ),
        "another order each time": (
            "data",
            "a second loader gives other",
            _tables(lambda tables: tables[:: (-1) ** next(_MADE)]),
        ),
        "reads beside the release": ("release", "from no file", {"tables": _beside_the_release}),
        "names no file": ("release", "use release.require", {"tables": _naming_no_file}),
        "no such database": ("data", "should be the path of a file", NO_FILE),
    },
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prices.txt").write_text("3\n", encoding="utf-8")
    _write(tmp_path / "test.jsonl", "True", "False")
    return tmp_path


def _write(path: Path, *labels: str) -> None:
    records = [{"id": f"q{i}", "text": f"Is it {i}?", "label": x} for i, x in enumerate(labels)]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")


def test_a_sound_one_passes(folder: Path) -> None:
    report = check_corpus(lambda: Sound(currency="GBP"), data_dir=folder)
    assert not report.skipped


@pytest.mark.parametrize(
    ("cls", "check", "words"), [*FAULTS, (NoLoader, "info", "inherit CorpusLoader")]
)
def test_each_fault_is_named(cls: type, check: str, words: str, folder: Path) -> None:
    expect_fault(partial(corpus_checks, data_dir=folder), cls, check, words)


def test_a_folder_of_tables_and_one_in_targets_layout(tmp_path: Path) -> None:
    from tests.data.written import write_target

    (tmp_path / "own" / "tables").mkdir(parents=True)
    (tmp_path / "own" / "tables" / "t.csv").write_text("a,b\n1,2\n")
    line = '{"query_id": "q", "query": "What is b?", "table_id": "t", "answer": "2"}'
    (tmp_path / "own" / "queries.jsonl").write_text(line)
    assert not check_corpus(tmp_path / "own").failed
    mine = from_folder(tmp_path / "own")
    write_target(tmp_path / "shop", mine.corpus, mine.queries, "test", "jsonl", "hub")
    report = check_corpus(f"{__name__}:Sound", data_dir=tmp_path, skip={"answers": "no labels"})
    assert "release" not in {outcome.check for outcome in report.skipped}


def test_mini_keeps_the_contract() -> None:
    assert {outcome.check for outcome in check_corpus("mini").skipped} == {"release"}


CHECKED_ELSEWHERE = {"mini", "struc-bench", "wikitables2019", "e2e", "wikibio"}
"""The second is not among the real data, the third has no task: tests/corpora has tests of both."""


@needs_data
@pytest.mark.parametrize("name", sorted(set(registry.BUILT_IN["corpus"]) - CHECKED_ELSEWHERE))
def test_built_ins_keep_the_contract(name: str) -> None:
    """On the default split of the release files."""
    (split, *_) = registry.create("corpus", name).info.splits
    report = check_corpus(name, data_dir=DATA, split=split)
    assert not report.skipped
