"""The checks of a corpus pass what keeps the contract, and name what does not."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.data.own_data import from_folder
from target_bench.testing import Report, check_corpus, corpus_checks, run
from tests.real.data import DATA, needs_data

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


class NoTitle(Sound):
    """info."""

    info = replace(INFO, title="")


class UnknownTask(Sound):
    """answers."""

    info = replace(INFO, tasks=("tabel_qa",))


class NoLoader:
    """info."""

    info = INFO

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        return []


class RepeatsATable(Sound):
    """data."""

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        return [*super().tables(release, split), *super().tables(release, split)]


class NotTables(Sound):
    """data."""

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        return [{"table": 1} for _ in super().tables(release, split)]  # type: ignore[misc]


class TitleOfNumbers(Sound):
    """data."""

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        return [replace(t, context={"title": 7}) for t in super().tables(release, split)]


class RepeatsAQuery(Sound):
    """data."""

    def query(self, record: Mapping[str, Any]) -> Query:
        return replace(super().query(record), id="q")


class AnswersInNumbers(Sound):
    """data."""

    def query(self, record: Mapping[str, Any]) -> Query:
        return replace(super().query(record), answer=7)  # type: ignore[arg-type]


class GoldElsewhere(Sound):
    """data."""

    def query(self, record: Mapping[str, Any]) -> Query:
        return replace(super().query(record), gold=(TableId("0", "gone"),))


class AnotherDatabase(Sound):
    """data."""

    def query(self, record: Mapping[str, Any]) -> Query:
        return replace(super().query(record), database_id="shops")


class NoLabels(Sound):
    """answers."""

    def query(self, record: Mapping[str, Any]) -> Query:
        return replace(super().query(record), answer="perhaps")


class AnotherEachTime(Sound):
    """fingerprint."""

    made = 0

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        type(self).made += 1
        return [
            replace(t, context={"title": f"{self.made}"}) for t in super().tables(release, split)
        ]


class OrderOfASet(AnotherEachTime):
    """fingerprint."""

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        made = [table.context["title"] for table in super().tables(release, split)]
        order = slice(None, None, -1 if int(made[0]) % 2 else 1)
        return list(Sound.tables(self, release, split))[order]


class ReadsBesideTheRelease(Sound):
    """release."""

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        price = release.require("prices.txt").read_text(encoding="utf-8")
        yield Table(GOLD, ["EUR"], [[price]], {"title": "Prices"})


class NamesNoFile(Sound):
    """release."""

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        path = release.find("prices.txt")
        assert path is not None
        return super().tables(release, split)


class NoSuchDatabase(Sound):
    """databases."""

    def databases(self, release: Release, split: str) -> Mapping[str, Path]:
        return {"shops": release.folder / "shops.sqlite"}


BROKEN: list[type] = [
    cls
    for cls in list(vars().values())
    if isinstance(cls, type) and cls.__module__ == __name__ and cls not in (Sound,)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prices.txt").write_text("3\n", encoding="utf-8")
    _write(tmp_path / "test.jsonl", "True", "False")
    return tmp_path


def _write(path: Path, *labels: str) -> None:
    records = [{"id": f"q{i}", "text": f"Is it {i}?", "label": x} for i, x in enumerate(labels)]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")


def _report(corpus: Any, folder: Path, **options: Any) -> Report:
    return run("it", corpus_checks(corpus, data_dir=folder, **options))


def test_a_sound_one_passes(folder: Path) -> None:
    report = check_corpus(lambda: Sound(currency="GBP"), data_dir=folder)
    assert {outcome.check for outcome in report.skipped} == {"databases"}


def test_a_task_that_is_not_installed_is_left_out(folder: Path) -> None:
    class Both(Sound):
        info = replace(INFO, tasks=("retrieval", "fact_verification", "row_count"))

    report = _report(Both, folder)
    assert not report.failed
    (answers,) = (outcome for outcome in report.skipped if outcome.check == "answers")
    assert "row_count" in answers.detail


@pytest.mark.parametrize("cls", BROKEN, ids=lambda cls: cls.__name__)
def test_each_fault_is_named(cls: type, folder: Path) -> None:
    """The docstring is the check that fails first."""
    report = _report(cls, folder)
    assert report.failed[0].check == (cls.__doc__ or "").removesuffix("."), str(report)
    assert len(report.failed[0].detail) > 25


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
    report = check_corpus(name, data_dir=DATA, splits=[split])
    has_databases = name in ("spider", "bird")
    assert {o.check for o in report.skipped} == (set() if has_databases else {"databases"})
