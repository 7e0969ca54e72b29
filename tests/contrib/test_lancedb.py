"""The retriever lancedb, in a folder."""

from pathlib import Path

import pytest

from target_bench.core import registry
from tests.contrib.test_duckdb import finds_the_nearest, is_identified_without_its_place
from tests.retrievers.encoders import UnitWords

LanceDB = registry.resolve("retriever", "lancedb")


@pytest.mark.filterwarnings("default")  # those of the client are not ours
def test_the_nearest(tmp_path: Path) -> None:
    pytest.importorskip("lancedb.table")
    finds_the_nearest(LanceDB(str(tmp_path / "db"), encoder=UnitWords()))
    encoder = UnitWords()
    is_identified_without_its_place(
        LanceDB(encoder=encoder), LanceDB("x", "y", encoder), LanceDB(encoder=encoder, rows=1)
    )
