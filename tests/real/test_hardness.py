"""Hardness against Spider's own: its published split, and every query of it."""

import gzip
import json
from collections import Counter

import pytest

from target_bench.sql.hardness import hardness
from tests.real.data import DATA

needs_spider = pytest.mark.skipif(
    not (DATA / "spider").is_dir(), reason=f"no Spider in {DATA} (set TARGET_BENCH_DATA)"
)


@needs_spider
def test_every_query_of_spider_dev_has_its_official_hardness() -> None:
    with gzip.open(DATA / "spider" / "dev_derived.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    ours = [hardness(record["query"]) for record in records]
    wrong = [
        (record["query"], record["hardness"], level)
        for record, level in zip(records, ours, strict=True)
        if level != record["hardness"]
    ]
    assert wrong == []
    assert Counter(ours) == {"easy": 248, "medium": 446, "hard": 174, "extra": 166}
