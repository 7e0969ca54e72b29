"""A small corpus for the tests of the cache."""

from pathlib import Path

from target_bench import corpora
from target_bench.core.schema import Dataset
from tests.builders import ottqa_question, ottqa_table
from tests.data.strategies import exact

TABLES = [ottqa_table("Cup_0"), ottqa_table("Cup_1")]
QUESTIONS = [ottqa_question("q1", "Cup_1")]


def load(folder: Path, split: str | None = None) -> Dataset:
    return corpora.load("ottqa", split, data_dir=folder)


def same(one: Dataset, other: Dataset) -> None:
    assert one.corpus.fingerprint == other.corpus.fingerprint
    assert [exact(table) for table in one.corpus] == [exact(table) for table in other.corpus]
    assert one.queries == other.queries
    assert one.files == other.files


def entries(place: Path, kind: str) -> list[Path]:
    return sorted(place.glob(f"*-{kind}-*"))
