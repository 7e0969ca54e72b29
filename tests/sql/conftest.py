"""One pool for the tests that need no limits of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from target_bench.sql.workers import Pool
from tests.sql.written import duckdb_file, sqlite_file


@pytest.fixture(scope="package")
def pool() -> Iterator[Pool]:
    with Pool(2) as shared:
        yield shared


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return sqlite_file(tmp_path / "people.sqlite")


@pytest.fixture
def ducks(tmp_path: Path) -> Path:
    return duckdb_file(tmp_path / "people.duckdb")
