"""The base tables a statement reads."""

from pathlib import Path

import pytest

from target_bench.sql.gold_tables import gold_tables
from tests.sql.written import CONCERTS, sqlite_file

BOTH = ("singer", "the concert")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sqlite_file(tmp_path_factory.mktemp("gold") / "concerts.sqlite", CONCERTS)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT count(*) FROM SINGER", ("singer",)),
        ("SELECT 1 FROM `the concert`, singer", BOTH),
        ("SELECT name FROM french", ("singer",)),
        ("SELECT count(*) FROM french", ("singer",)),
        ("WITH c AS (SELECT * FROM singer) SELECT count(*) FROM c", ("singer",)),
        ("WITH singer AS (SELECT 1 AS x) SELECT count(*) FROM singer", ()),
        ("WITH singer AS (SELECT 1 AS x) SELECT x FROM singer", ()),
        ("WITH a AS (SELECT 1), singer AS (SELECT 2) SELECT * FROM a, main.singer", ("singer",)),
        ("SELECT s.name FROM singer s JOIN `the concert` USING (singer_id)", BOTH),
        ("SELECT name FROM singer NATURAL JOIN `the concert`", BOTH),
        ("WITH c AS (SELECT 1 AS age) SELECT name FROM singer JOIN c USING (age)", ("singer",)),
        ("SELECT name FROM sqlite_master", ()),
        ("SELECT 1", ()),
        ("SELECT 1 WHERE EXISTS (SELECT * FROM singer) -- the concert", ("singer",)),
        ('SELECT "no column" FROM singer', ("singer",)),
        ("SELECT value FROM json_each('[1]')", ()),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", ()),
    ],
)
def test_tables(path: Path, sql: str, expected: tuple[str, ...]) -> None:
    assert gold_tables(sql, path) == expected


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT height FROM singer", "no such column: height"),
        ("SELECT 1 FROM nowhere", "no such table: nowhere"),
        ("SELEC 1", "syntax error"),
        ("", "incomplete input"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("DELETE FROM singer", "not authorized"),
        ("UPDATE sqlite_master SET sql = ''", "may not be modified"),
        ("PRAGMA user_version = 5", "not authorized"),
        ("ATTACH 'x.sqlite' AS x", "not authorized"),
        ("SELECT 1 FROM singer WHERE name = '\ud800'", "surrogates"),
        ("SELECT 1\0", "null character"),
    ],
)
def test_not_a_query(path: Path, sql: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        gold_tables(sql, path)


def test_nothing_is_run_and_nothing_written(path: Path) -> None:
    before = path.read_bytes()
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"
    assert gold_tables(endless, path) == ()
    assert path.read_bytes() == before
    assert [other.name for other in path.parent.iterdir()] == [path.name]
